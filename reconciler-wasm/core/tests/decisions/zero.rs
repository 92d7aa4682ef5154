//! Size 0 and back: what is stopped, what stays, what is refused.

use contract::{ConditionStatus, Effect, FindingKind, Observed, Phase, Reason, VolumePhase};

use crate::fixture::{World, effects, fresh, healthy, id, member, reports, written};

const STOPS: [&str; 3] = [
    "Delete Pod shop-m1",
    "Delete Pod shop-m2",
    "Delete Pod shop-m0",
];
const STARTS: [&str; 3] = [
    "Apply Pod shop-m0",
    "Apply Pod shop-m1",
    "Apply Pod shop-m2",
];

/// The cluster remembers that it sleeps; its pods are still there.
fn falling_asleep() -> World {
    healthy(3).wanting(0).settle()
}

/// All pods are gone.
fn asleep() -> World {
    let mut world = falling_asleep()
        .without_pod(0)
        .without_pod(1)
        .without_pod(2)
        .without_list();
    world.snapshot.etcd.membership = Observed::Absent;
    world.settle()
}

fn condition(world: &World, kind: &str) -> (ConditionStatus, String, String) {
    let found = world
        .status
        .conditions
        .iter()
        .find(|condition| condition.kind == kind)
        .unwrap();
    (found.status, found.reason.clone(), found.message.clone())
}

#[test]
fn size_0_stops_all_members_after_remembering_it_the_leader_last() {
    let decision = healthy(3).wanting(0).decide();
    assert_eq!(decision.actions[0].effect.name(), "UpdateStatus");
    assert!(decision.actions[0].pre.members.is_some());
    assert_eq!(decision.actions[0].pre.healthy_voters, Some(2));
    assert!(written(&decision).unwrap().asleep_since.is_some());
    assert_eq!(effects(&decision), STOPS);
    for action in &decision.actions {
        if let Effect::Delete { grace_seconds, .. } = action.effect {
            assert_eq!(grace_seconds, None);
            assert!(action.pre.scaled_to_zero && action.pre.claim_uid.is_some());
        }
    }
    assert!(reports(&decision, Reason::ScaledToZero));
}

#[test]
fn what_a_crash_left_running_is_stopped_without_a_quorum() {
    let world = falling_asleep()
        .without_pod(0)
        .without_pod(1)
        .without_list();
    assert_eq!(effects(&world.decide()), ["Delete Pod shop-m2"]);
}

#[test]
fn a_sleeping_cluster_is_at_rest_and_keeps_what_it_was() {
    let world = asleep();
    let decision = world.decide();
    assert_eq!(decision.actions, []);
    assert_eq!(decision.requeue.unwrap().why, Reason::HealthCheck);
    assert_eq!(world.status.phase, Phase::Running);
    assert_eq!(world.status.ready_members, 0);
    assert_eq!(world.status.members.unready.len(), 3);
    assert_eq!(world.status.cluster_id, healthy(3).status.cluster_id);
    assert!(!reports(&decision, Reason::QuorumLost));
    let (status, reason, message) = condition(&world, "Available");
    assert_eq!(
        (status, reason.as_str()),
        (ConditionStatus::False, "ScaledToZero")
    );
    assert!(
        message.contains("Set spec.size to 1, 3, 5 or 7"),
        "{message}"
    );
    for kind in ["Degraded", "Scaling", "Blocked", "Progressing"] {
        assert_eq!(condition(&world, kind).0, ConditionStatus::False, "{kind}");
    }
}

#[test]
fn a_sleeping_cluster_stays_at_rest_for_ever() {
    let world = asleep().later(400_000);
    assert_eq!(world.decide().actions, []);
}

/// It is a living cluster that is asked for 3 again: same disks, same ids, no birth.
#[test]
fn with_a_size_again_all_members_start_together_on_their_disks() {
    let decision = asleep().wanting(3).decide();
    assert_eq!(effects(&decision), STARTS);
    assert!(reports(&decision, Reason::WakingUp));
    assert!(!reports(&decision, Reason::QuorumLost));
    let status = written(&decision).unwrap();
    assert!(status.asleep_since.is_some(), "no quorum answers yet");
    assert!(
        decision
            .actions
            .iter()
            .all(|action| action.pre.birth_token.is_none())
    );
}

/// Found by the simulator: a request that came late made a pod that nothing starts, and a lost node took the claim from
/// under another one.
#[test]
fn a_pod_that_has_never_run_is_stopped_without_its_claim_and_no_other() {
    let waiting = |ran: bool, claim: Option<&str>| {
        let mut world = asleep();
        let mut stray = healthy(1).pods()[0].clone();
        stray.name = "shop-late".to_owned();
        stray.claim = claim.map(str::to_owned);
        stray.running = false;
        stray.ran = ran;
        world.pods().push(stray);
        world.decide()
    };
    let decision = waiting(false, Some("shop-late"));
    assert_eq!(effects(&decision), ["Delete Pod shop-late"]);
    let pre = &decision.actions.last().unwrap().pre;
    assert!(pre.scaled_to_zero && pre.claim_uid.is_none());

    let on_lost = |ran: bool, phase: VolumePhase, deleted: bool| {
        let mut world = asleep();
        let mut pod = healthy(3).pods()[0].clone();
        (pod.ran, pod.running) = (ran, ran);
        world.pods().push(pod);
        let now = world.snapshot.now;
        let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes else {
            unreachable!("they were listed")
        };
        volumes[0].phase = phase;
        volumes[0].deleted = deleted.then_some(now);
        effects(&world.decide())
    };
    let stopped = ["Delete Pod shop-m0"];
    assert_eq!(on_lost(true, VolumePhase::Bound, false), stopped);
    assert_eq!(on_lost(false, VolumePhase::Lost, false), stopped);
    assert_eq!(on_lost(true, VolumePhase::Lost, false), [""; 0]);
    assert_eq!(on_lost(false, VolumePhase::Bound, true), [""; 0]);
}

/// Found by the simulator: the pod of a member that left was seen only after the others had been stopped, and its claim
/// waited for its end. People were told to set another size.
#[test]
fn the_pod_of_a_member_that_left_is_stopped_while_the_others_can_return() {
    let beside = |owner: &str, world: World| {
        let mut world = world;
        let mut stray = healthy(1).pods()[0].clone();
        stray.name = "shop-gone".to_owned();
        stray.owner = Some(owner.to_owned());
        assert!(stray.ran && stray.running);
        world.pods().push(stray);
        world.decide()
    };
    let own = asleep().snapshot.resource.uid;
    let decision = beside(&own, asleep());
    assert_eq!(effects(&decision), ["Delete Pod shop-gone"]);
    let pre = &decision.actions.last().unwrap().pre;
    assert!(pre.scaled_to_zero && pre.claim_uid.is_none());
    assert_eq!(pre.departed.as_deref(), Some("shop-gone"));
    assert_eq!(effects(&beside("somebody", asleep())), [""; 0]);
    let mut lost = asleep();
    let Observed::Seen(volumes) = &mut lost.snapshot.objects.volumes else {
        unreachable!("they were listed")
    };
    volumes.truncate(1);
    assert_eq!(effects(&beside(&own, lost)), [""; 0]);
}

/// Found by the simulator: a sole member's claim was deleted before its pod was stopped, and a person was told to set another
/// size, though it served.
#[test]
fn a_member_whose_claim_goes_before_it_is_stopped_wakes_the_others_while_they_are_a_quorum() {
    for size in [1, 3] {
        let mut world = healthy(size).wanting(0).settle();
        assert!(world.status.asleep_since.is_some());
        if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
            volumes[0].deleted = Some(volumes[0].created);
        }
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0]);
        assert!(reports(&decision, Reason::WakingUp));
        world.status = written(&decision).unwrap();
        assert_eq!(world.status.asleep_since, None);
        let next = effects(&world.decide());
        let changes = ["AddLearner", "RemoveMember", "MoveLeader"];
        assert!(
            changes.iter().any(|change| next[0].starts_with(change)),
            "{next:?}"
        );
    }
}

/// It was waited for, for ever, and people were told to end it by force, which would have taken its data.
#[test]
fn a_pod_whose_claim_goes_in_sleep_is_kept_and_told_with_the_way_out() {
    let mut world = falling_asleep()
        .without_pod(1)
        .without_pod(2)
        .without_list();
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        volumes[0].deleted = Some(volumes[0].created);
    }
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let [told] = &decision.report.findings[..] else {
        panic!("{:?}", decision.report.findings)
    };
    assert_eq!(told.kind, FindingKind::Blocked);
    let words = &told.message;
    assert!(words.contains("a new member takes its place"), "{words}");
    assert!(!words.contains("delete pod"), "{words}");
    assert!(words.contains("Set spec.size to 1, 3, 5 or 7"), "{words}");
}

#[test]
fn another_size_is_reached_only_after_all_are_back() {
    for size in [1, 5] {
        let mut effects = effects(&asleep().wanting(size).decide());
        effects.retain(|effect| !effect.contains("PodDisruptionBudget"));
        assert_eq!(effects, STARTS, "size {size}");
    }
}

/// Two answer, the third is still starting after hours of sleep: it is not one that was down for hours.
#[test]
fn a_member_that_starts_late_after_a_long_sleep_is_not_replaced() {
    let slept = asleep().status;
    let mut world = healthy(3).silent(2).later(100_000);
    world.status = slept;
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let status = written(&decision).unwrap();
    assert_eq!(status.asleep_since, None);
    world.status = status;
    let next = world.later(5);
    assert_eq!(effects(&next.decide()), [""; 0]);
    assert!(reports(&next.decide(), Reason::MemberUnhealthy));
}

#[test]
fn size_0_again_before_a_quorum_answers_stops_them_again() {
    let mut world = healthy(3).wanting(0).without_list();
    world.status = asleep().status;
    assert_eq!(effects(&world.decide()).len(), 3);
}

#[test]
fn pods_that_still_end_are_waited_for_when_the_size_is_set_again() {
    let mut world = falling_asleep().wanting(3).without_list();
    for pod in world.pods() {
        pod.deleted = Some(pod.created);
    }
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::WakingUp));
}

#[test]
fn a_learner_leaves_before_the_others_are_stopped() {
    let world = healthy(1).with_learner(1, true).wanting(0);
    let decision = world.decide();
    assert_eq!(effects(&decision)[0], format!("RemoveMember {}", id(1)));
    assert_eq!(written(&decision).unwrap().asleep_since, None);
}

/// Its claim is there and may be empty.
#[test]
fn a_member_that_never_ran_keeps_the_others_awake() {
    let mut world = healthy(3).wanting(0);
    world.rows()[2].name = String::new();
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::ScaledToZero));
}

#[test]
fn a_member_without_a_disk_is_replaced_before_the_others_are_stopped() {
    let decision = healthy(3).wiped(1).wanting(0).decide();
    assert_eq!(effects(&decision)[0], format!("RemoveMember {}", id(1)));
}

#[test]
fn a_member_that_is_down_with_its_disk_holds_up_nobody() {
    let decision = healthy(3).silent(1).wanting(0).decide();
    assert_eq!(effects(&decision).len(), 3);
}

#[test]
fn nothing_is_stopped_without_a_quorum() {
    let decision = healthy(3)
        .silent(1)
        .silent(2)
        .without_list()
        .wanting(0)
        .decide();
    assert_eq!(effects(&decision), [""; 0]);
}

/// A claim under deletion goes when its pod does, and the data with it. The simulator found one that people had to see to.
#[test]
fn nobody_is_stopped_before_a_member_whose_claim_goes_has_left() {
    let going = |size: usize, index: usize| {
        let mut world = healthy(size).wanting(0);
        if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
            volumes[index].deleted = Some(volumes[index].created);
        }
        world.decide()
    };
    let decision = going(3, 1);
    let leaves = [
        format!("RemoveMember {}", crate::fixture::id(1)),
        "Delete Pod shop-m1".to_owned(),
    ];
    assert_eq!(effects(&decision), leaves);
    let finding = &decision.report.findings[0];
    assert!(finding.message.contains(&member(1)), "{}", finding.message);
    let sole = effects(&going(1, 0));
    let joins = |effect: &String| effect.starts_with("AddLearner");
    assert!(sole.iter().any(joins), "{sole:?}");
    let stops = |effect: &String| effect.starts_with("Delete");
    assert!(!sole.iter().any(stops), "{sole:?}");
}

#[test]
fn a_cluster_without_claims_is_kept_and_told_so() {
    let world = healthy(3).on_empty_dir().wanting(0);
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let finding = &decision.report.findings[0];
    assert_eq!(
        (finding.kind, finding.reason),
        (FindingKind::Invalid, Reason::InvalidSpec)
    );
    for words in ["spec.size 0", "Members that exist are kept", "1, 3, 5 or 7"] {
        assert!(finding.message.contains(words), "{}", finding.message);
    }
    let healed = healthy(3).on_empty_dir().wanting(0).without_pod(2);
    assert_eq!(
        effects(&healed.decide()),
        [format!("RemoveMember {}", id(2))]
    );
}

/// The spec is what is asked of new members; where the data is, the pods say.
#[test]
fn one_member_with_its_data_in_the_pod_keeps_the_cluster_awake() {
    let mut world = healthy(3).wanting(0);
    world.pods()[2].claim = None;
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::InvalidSpec));
}

/// Found by the simulator: it was said that a new member takes its place, and none came.
#[test]
fn where_no_size_can_be_followed_another_member_takes_the_place_of_one_whose_claim_goes() {
    let of = |voters: usize| {
        let mut world = healthy(voters).wanting(0);
        world.pods()[1].claim = None;
        let now = world.snapshot.now;
        let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes else {
            unreachable!("they were listed")
        };
        volumes[2].deleted = Some(now);
        let decision = world.decide();
        assert!(reports(&decision, Reason::InvalidSpec));
        effects(&decision).first().cloned().unwrap_or_default()
    };
    assert!(of(3).starts_with("AddLearner "), "{}", of(3));
    assert!(of(4).starts_with("RemoveMember "), "{}", of(4));
    let mut kept = healthy(3).wanting(0);
    kept.pods()[1].claim = None;
    assert_eq!(effects(&kept.decide()), [""; 0]);
}

#[test]
fn a_size_that_is_left_out_stops_nobody_and_wakes_nobody() {
    let mut world = healthy(3);
    world
        .snapshot
        .resource
        .spec
        .as_object_mut()
        .unwrap()
        .remove("size");
    assert_eq!(effects(&world.decide()), [""; 0]);
    assert!(reports(&world.decide(), Reason::InvalidSpec));
    let mut world = asleep();
    world
        .snapshot
        .resource
        .spec
        .as_object_mut()
        .unwrap()
        .remove("size");
    assert_eq!(effects(&world.decide()), [""; 0]);
    assert!(reports(&world.decide(), Reason::InvalidSpec));
}

#[test]
fn a_new_cluster_of_size_0_starts_nothing() {
    let decision = fresh(0).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::ScaledToZero));
    let in_pods = fresh(0).spec("pod", serde_json::json!({})).decide();
    assert_eq!(effects(&in_pods), [""; 0]);
    assert!(reports(&in_pods, Reason::InvalidSpec));
}

#[test]
fn a_paused_cluster_is_not_stopped() {
    let world = healthy(3).wanting(0).spec("paused", true.into());
    assert_eq!(effects(&world.decide()), [""; 0]);
    let world = asleep().spec("paused", true.into());
    assert!(written(&world.decide()).unwrap().asleep_since.is_some());
}

#[test]
fn a_claim_lost_in_sleep_is_told_and_a_majority_lost_is_quorum_loss() {
    let one = asleep().without_volume(1).decide();
    assert!(reports(&one, Reason::DiskLost) && reports(&one, Reason::ScaledToZero));
    let two = asleep().without_volume(1).without_volume(2).decide();
    assert!(reports(&two, Reason::QuorumLost));
    assert_eq!(effects(&two), [""; 0]);
}

#[test]
fn a_missing_pod_is_not_made_again_only_to_be_stopped() {
    let decision = healthy(3).without_pod(1).wanting(0).decide();
    assert_eq!(
        effects(&decision),
        ["Delete Pod shop-m2", "Delete Pod shop-m0"]
    );
}

/// On a node that is gone its pod never ends, and its claim with it.
#[test]
fn what_is_left_of_a_former_member_and_on_its_way_out_keeps_nobody_awake() {
    let mut world = healthy(3).wanting(0);
    let mut pod = world.pods()[0].clone();
    pod.name = "shop-former".to_owned();
    pod.uid = "uid-of-the-former".to_owned();
    pod.claim = Some("shop-former".to_owned());
    (pod.running, pod.ready, pod.ip) = (false, false, None);
    world.pods().push(pod);
    let sleeps = |world: &World| written(&world.decide()).and_then(|status| status.asleep_since);
    assert_eq!(sleeps(&world), None, "it is cleared away first");
    world.pods()[3].deleted = Some(world.snapshot.now);
    assert!(sleeps(&world).is_some());
}
