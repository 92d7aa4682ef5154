//! What holds a recovery up: a claim that does not stay, and pods of somebody else.

use contract::RestorationStage;

use super::*;
use crate::restore::{Restored as _, proven};

/// The claim's deletion was asked for; the pod that is on it keeps it for now.
fn claim_going(mut world: World, index: usize) -> World {
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        for volume in volumes.iter_mut().filter(|one| one.name == member(index)) {
            volume.deleted = Some(volume.created);
        }
    }
    world
}

fn blocked(world: &World) -> String {
    let (status, reason, message) = condition(world, "Blocked");
    assert_eq!(status, ConditionStatus::True, "{message}");
    assert_eq!(reason, "RecoveringQuorum");
    message
}

/// The envelope lets no pod go whose claim is asked about and does not stay.
#[test]
fn a_claim_that_goes_keeps_nobody_but_the_survivor_from_being_stopped() {
    let world = claim_going(stopping(), 1);
    let decision = world.decide();
    let stops = decision.actions.iter().filter(|one| one.pre.recovery);
    let claims: Vec<(String, Option<&str>)> = stops
        .map(|one| (one.effect.target(), one.pre.claim_uid.as_deref()))
        .collect();
    let expected = [
        (member(1), None),
        (member(2), None),
        (member(0), Some("disk-shop-m0")),
    ];
    assert_eq!(claims, expected);
}

#[test]
fn nobody_is_stopped_while_the_survivors_claim_goes() {
    let world = claim_going(stopping(), 0);
    assert_eq!(effects(&world.decide()), [""; 0]);
    let words = blocked(&world);
    assert!(words.contains("port-forward shop-m0 2379"), "{words}");
    assert!(words.contains(r#""quorumRecovery":null"#), "{words}");
    for gone in [
        claim_going(stopping(), 0).without_pod(0),
        stopping().without_pod(0).without_volume(0),
    ] {
        assert_eq!(effects(&gone.decide()), [""; 0]);
        let words = blocked(&gone);
        assert!(!words.contains("port-forward"), "{words}");
        assert!(words.contains(r#""quorumRecovery":null"#), "{words}");
    }
}

#[test]
fn a_survivor_on_a_claim_that_goes_is_saved_and_not_started_once_more() {
    let mut renewing = claim_going(alone(""), 0);
    renewing.status.recovery = Some(recovery(RecoveryStage::Renewing));
    assert_eq!(effects(&renewing.decide()), [""; 0]);
    let words = blocked(&renewing);
    assert!(words.contains("port-forward shop-m0 2379"), "{words}");
    let mut late = claim_going(forcing(), 0);
    late.snapshot.objects.pods = healthy(1).snapshot.objects.pods;
    assert_eq!(effects(&late.decide()), [""; 0]);
    let words = blocked(&late);
    assert!(words.contains("port-forward shop-m0 2379"), "{words}");
}

/// The restore waited for the end of a recovery whose way out it was.
#[test]
fn a_restore_does_not_wait_for_a_recovery_whose_survivor_lost_its_disk() {
    let restoring = |world: World| {
        let world = world.with(proven()).settle().later(400);
        let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
        status.restoration.map(|one| one.stage)
    };
    assert_eq!(restoring(forcing()), Some(RestorationStage::Waiting));
    let gone = || forcing().without_volume(0);
    let words = blocked(&gone());
    assert!(words.contains("by an EtcdRestore"), "{words}");
    assert_eq!(
        restoring(gone()),
        Some(RestorationStage::Waiting),
        "the two others have their disks"
    );
    assert_eq!(
        restoring(gone().without_volume(1)),
        Some(RestorationStage::Filling)
    );
    let mut running = claim_going(forcing(), 0);
    running.snapshot.objects.pods = healthy(1).snapshot.objects.pods;
    assert_eq!(restoring(running), Some(RestorationStage::Waiting));
}

/// Somebody's pod, with an address and under the cluster's labels: the envelope starts nobody alone beside it.
fn with_strangers(mut world: World, change: impl Fn(&mut contract::Pod)) -> World {
    let mut theirs = healthy(1);
    let mut pod = theirs.pods()[0].clone();
    (pod.name, pod.uid) = ("shop-theirs".to_owned(), "uid-theirs".to_owned());
    pod.owner = None;
    change(&mut pod);
    let mut endpoint = theirs.snapshot.etcd.endpoints[0].clone();
    (endpoint.pod, endpoint.pod_uid) = (pod.name.clone(), pod.uid.clone());
    endpoint.status = Observed::Unknown("deadline exceeded".to_owned());
    world.snapshot.etcd.endpoints.push(endpoint);
    world.snapshot.etcd.membership = Observed::Unknown("nobody answers".to_owned());
    world.pods().push(pod);
    world
}

fn stopped() -> World {
    stopping().without_pod(0).without_pod(1).without_pod(2)
}

#[test]
fn a_strangers_pod_holds_the_recovery_and_the_condition_says_how_to_take_it_away() {
    for (world, at) in [
        (stopped(), RecoveryStage::Stopping),
        (forcing(), RecoveryStage::Forcing),
    ] {
        let world = with_strangers(world, |_| {});
        assert_eq!(effects(&world.decide()), [""; 0]);
        assert_eq!(stage(&world), Some(at));
        let words = blocked(&world);
        assert!(
            words.contains("label pod shop-theirs etcd_cluster-"),
            "{words}"
        );
    }
}

#[test]
fn a_members_pod_that_lost_its_owner_holds_the_recovery_until_it_has_it_back() {
    let world = with_strangers(stopped(), |pod| {
        (pod.name, pod.claim) = (member(1), Some(member(1)));
    });
    assert_eq!(effects(&world.decide()), [""; 0]);
    assert_eq!(stage(&world), Some(RecoveryStage::Stopping));
    let words = blocked(&world);
    assert!(words.contains("patch pod shop-m1 --type merge"), "{words}");
}

#[test]
fn a_pod_of_a_deleted_cluster_is_waited_for_before_the_survivor_starts_alone() {
    let world = with_strangers(forcing(), |pod| pod.deleted = Some(pod.created));
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let finding = &decision.report.findings[0];
    assert_eq!(finding.kind, FindingKind::Waiting);
    let words = &finding.message;
    assert!(
        words.contains("shop-theirs") && words.contains("--force"),
        "{words}"
    );
}
