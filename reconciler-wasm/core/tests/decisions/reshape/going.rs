//! Pods whose claims are being deleted, and pods that do not run while nobody confirms who is a member.

use contract::{Millis, Observed, Reason};

use super::changed;
use crate::fixture::{World, claims_of_deletions, effects, healthy, id, reports};

impl World {
    /// Somebody deleted the member's claim: it goes with the pod.
    fn with_claim_going(mut self, index: usize) -> Self {
        if let Observed::Seen(volumes) = &mut self.snapshot.objects.volumes {
            volumes[index].deleted = Some(Millis(1));
        }
        self
    }

    /// The member's container does not run.
    fn stopped(mut self, index: usize) -> Self {
        self.pods()[index].running = false;
        self.silent(index)
    }
}

/// Found by a reader: the pod of a sole member was made again for another label, and the only copy went with its claim.
#[test]
fn a_pod_is_not_made_again_while_its_claim_goes_and_its_member_is_replaced() {
    for size in [1, 2, 3] {
        let decision = changed(size).with_claim_going(0).decide();
        let effects = effects(&decision);
        assert!(
            !effects.contains(&"Delete Pod shop-m0".to_owned()),
            "{effects:?}"
        );
    }
    let decision = healthy(1).with_claim_going(0).decide();
    let grows = |effect: &String| effect.starts_with("AddLearner");
    assert!(
        effects(&decision).iter().any(grows),
        "{:?}",
        effects(&decision)
    );
    assert!(reports(&decision, Reason::DiskLost));
    let lost = healthy(2).wanting(1).with_claim_going(0).decide();
    let removal = format!("RemoveMember {}", id(0));
    let moves = |effect: &String| effect.starts_with("MoveLeader") || *effect == removal;
    assert!(effects(&lost).iter().any(moves), "{:?}", effects(&lost));
}

/// Found by the simulator: no node took the learner's pod for that, and it was waited for like one that no node has room for.
#[test]
fn a_learner_whose_claim_goes_makes_room_for_another_one() {
    let mut world = healthy(3)
        .wanting(4)
        .with_learner(3, true)
        .with_claim_going(3);
    let removal = format!("RemoveMember {}", id(3));
    assert!(effects(&world.decide()).contains(&removal));
    let pod = &mut world.pods()[3];
    pod.running = false;
    pod.unschedulable = Some("persistentvolumeclaim is being deleted".to_owned());
    assert!(effects(&world.silent(3).decide()).contains(&removal));
}

/// Found by the simulator: the archived operator's pods never restart, and with one that ended the claim went, too.
#[test]
fn a_pod_that_ended_is_left_while_its_claim_goes_and_nobody_has_its_data() {
    let mut world = healthy(1)
        .settle()
        .with_claim_going(0)
        .stopped(0)
        .without_list();
    world.pods()[0].phase = contract::PodPhase::Failed;
    let decision = world.decide();
    assert!(effects(&decision).is_empty(), "{:?}", effects(&decision));
    assert!(
        reports(&decision, Reason::DataLost),
        "{:?}",
        decision.report
    );
}

/// The claim may be on its way out by the time the pod goes: whoever looks then must know which one is meant.
#[test]
fn a_pod_that_ended_is_taken_away_with_its_claim_named() {
    let mut world = healthy(3).stopped(1);
    world.pods()[1].phase = contract::PodPhase::Failed;
    let decision = world.decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m1"]);
    assert_eq!(claims_of_deletions(&decision), ["disk-shop-m1"]);
}

/// The envelope would refuse it again and again.
#[test]
fn a_member_that_is_down_is_not_made_again_while_its_claim_goes() {
    let deletion = "Delete Pod shop-m2".to_owned();
    let down = healthy(3).silent(2).settle().later(160);
    assert!(effects(&down.decide()).contains(&deletion));
    let going = down.with_claim_going(2).decide();
    assert!(!effects(&going).contains(&deletion));
}

/// Found by a reader: the only pod was made again with a node selector that no node has, and stayed when that was corrected.
#[test]
fn without_a_list_a_corrected_spec_reaches_pods_that_do_not_run() {
    let stuck = || changed(1).stopped(0).without_list();
    let decision = stuck().decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m0"]);
    assert!(reports(&decision, Reason::Reshaping));
    let mut actions = decision.actions.iter();
    let deletion = actions.find(|action| action.effect.name() == "Delete");
    let pre = &deletion.unwrap().pre;
    let volume = stuck().snapshot.objects.volumes.seen().unwrap()[0]
        .uid
        .clone();
    assert_eq!(pre.claim_uid, Some(volume));
    assert!(pre.successor.is_some() && pre.touches.is_none());
    let going = stuck().with_claim_going(0).decide();
    assert!(effects(&going).is_empty(), "{:?}", effects(&going));
    let runs = changed(1).silent(0).without_list().decide();
    assert!(effects(&runs).is_empty(), "{:?}", effects(&runs));
    let two = changed(3).stopped(1).stopped(2).without_list().decide();
    assert_eq!(effects(&two), ["Delete Pod shop-m1"]);
    let fits = healthy(1).stopped(0).without_list().decide();
    assert!(effects(&fits).is_empty(), "{:?}", effects(&fits));
}

/// Somebody took the claim's owner, or its finalizers, away: no other pod may be made on it, and it was to be, for ever.
#[test]
fn a_member_on_a_claim_that_is_not_the_clusters_any_more_is_replaced() {
    let world = healthy(3).settle().without_volume(1);
    let first = effects(&world.decide())
        .first()
        .cloned()
        .unwrap_or_default();
    assert!(first.starts_with("AddLearner"), "{first}");
    let asleep = healthy(3).settle().without_volume(1).wanting(0).decide();
    let first = effects(&asleep).first().cloned();
    assert_eq!(first, Some(format!("RemoveMember {}", id(1))));
}
