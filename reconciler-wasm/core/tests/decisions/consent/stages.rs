//! The stages of a recovery, and its end.

use super::*;

#[test]
fn every_member_is_stopped_the_survivor_last() {
    let decision = stopping().decide();
    assert_eq!(
        effects(&decision),
        [
            "Delete Pod shop-m1",
            "Delete Pod shop-m2",
            "Delete Pod shop-m0"
        ]
    );
    assert!(reports(&decision, Reason::RecoveringQuorum));
    assert_eq!(
        condition(&stopping(), "Recovering").0,
        ConditionStatus::True
    );
}

/// Who still runs could vote with those on the other side of a cut.
#[test]
fn a_pod_that_does_not_end_is_waited_for() {
    let mut world = stopping().without_pod(0).without_pod(1);
    for pod in world.pods() {
        pod.deleted = Some(pod.created);
    }
    let decision = world.later(100_000).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(decision.report.findings[0].message.contains("--force"));
}

#[test]
fn the_survivor_is_started_alone_once_nobody_is_left() {
    let world = stopping().without_pod(0).without_pod(1).without_pod(2);
    assert_eq!(effects(&world.decide()), [""; 0]);
    assert_eq!(stage(&world), Some(RecoveryStage::Forcing));
    let decision = forcing().decide();
    assert_eq!(effects(&decision), ["Apply Pod shop-m0"]);
    let action = decision
        .actions
        .iter()
        .find(|one| one.pre.recovery)
        .unwrap();
    assert_eq!(action.pre.claim_uid.as_deref(), Some("disk-shop-m0"));
    let Effect::Apply { object } = &action.effect else {
        panic!("no pod")
    };
    let Child::Pod(pod) = &**object else {
        panic!("no pod")
    };
    let annotations = pod.metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations[names::FORCE_NEW_CLUSTER_ANNOTATION], "true");
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let env = container.env.as_ref().unwrap();
    assert!(
        env.iter()
            .any(|one| one.name == "ETCD_FORCE_NEW_CLUSTER" && one.value_from.is_some())
    );
}

/// Its data may be of the newer version, whatever the spec asks for meanwhile.
#[test]
fn the_survivor_starts_with_the_image_that_it_ran() {
    let ran = "quay.io/coreos/etcd:v3.6.16";
    let mut world = forcing().spec("version", json!("3.5.35"));
    world.status.member_records[0].image = Some(ran.to_owned());
    let decision = world.decide();
    assert_eq!(effects(&decision), ["Apply Pod shop-m0"]);
    let words = serde_json::to_string(&decision.actions).unwrap();
    assert!(
        words.contains(ran) && !words.contains("etcd:v3.5.35"),
        "{words}"
    );
}

#[test]
fn a_pod_that_came_late_is_stopped_before_the_survivor_starts() {
    let mut world = forcing();
    world.snapshot.objects.pods = healthy(3).snapshot.objects.pods;
    world.pods().truncate(2);
    assert_eq!(
        effects(&world.decide()),
        ["Delete Pod shop-m0", "Delete Pod shop-m1"]
    );
}

#[test]
fn the_flag_is_taken_back_before_anything_else() {
    let decision = alone("true").decide();
    assert_eq!(effects(&decision), ["AnnotatePod Pod shop-m0"]);
    assert_eq!(stage(&alone("true")), Some(RecoveryStage::Forcing));
}

#[test]
fn learners_that_old_etcd_keeps_are_taken_out() {
    let mut world = alone("");
    let mut learner = world.rows()[0].clone();
    learner.id = id(7);
    learner.learner = true;
    learner.peer_urls = vec!["http://shop-m7.shop.prod.svc:2380".to_owned()];
    world.rows().push(learner);
    assert_eq!(
        effects(&world.decide()),
        [format!("RemoveMember {}", id(7))]
    );
}

/// Its kubelet may not have heard that the flag was taken back.
#[test]
fn the_survivors_pod_is_made_once_more_without_the_flag() {
    assert_eq!(stage(&alone("")), Some(RecoveryStage::Renewing));
    let mut world = alone("");
    world.status = written(&world.decide()).unwrap();
    assert_eq!(effects(&world.decide()), ["Delete Pod shop-m0"]);
    let mut gone = world.clone().without_pod(0);
    gone.snapshot.etcd.membership = Observed::Absent;
    assert_eq!(effects(&gone.decide()), ["Apply Pod shop-m0"]);
    assert_eq!(stage(&gone), Some(RecoveryStage::Renewing));
}

/// Where nobody shows the list, the envelope goes by the status: it remembers the survivor alone.
#[test]
fn a_survivor_that_went_down_is_made_once_more_too() {
    let mut world = alone("");
    world.status = written(&world.decide()).unwrap();
    let records = &world.status.member_records;
    let remembered: Vec<_> = records.iter().map(|one| (&one.name, one.role)).collect();
    assert_eq!(remembered, [(&member(0), MemberRole::Voter)]);
    let mut down = world.without_list();
    down.pods()[0].deleted = Some(contract::Millis(0));
    let words = &down.decide().report.findings[0].message;
    assert!(words.contains("--force"), "{words}");
    down.pods()[0].deleted = None;
    let decision = down.decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m0"]);
    let delete = decision
        .actions
        .iter()
        .find(|one| one.pre.recovery)
        .unwrap();
    assert_eq!(delete.pre.claim_uid.as_deref(), Some("disk-shop-m0"));
}

/// The survivor answers as the only member, and nothing of the flag is left.
fn renewed() -> World {
    let mut world = alone("");
    world.status = written(&world.decide()).unwrap();
    world.pods()[0]
        .annotations
        .remove(names::FORCE_NEW_CLUSTER_ANNOTATION);
    world
}

#[test]
fn then_it_is_a_cluster_of_one_that_grows_and_keeps_the_old_claims() {
    let world = renewed();
    assert_eq!(stage(&world), Some(RecoveryStage::Done));
    let mut done = world;
    done.status = written(&done.decide()).unwrap();
    let decision = done.decide();
    let effects = effects(&decision);
    assert!(
        effects
            .iter()
            .any(|effect| effect.starts_with("AddLearner")),
        "{effects:?}"
    );
    assert!(
        effects.iter().all(|effect| !effect.starts_with("Delete")),
        "{effects:?}"
    );
}

#[test]
fn the_old_claims_go_when_the_cluster_has_its_size_again() {
    let mut world = renewed().wanting(1);
    world.status = written(&world.decide()).unwrap();
    let mut effects = effects(&world.decide());
    effects.retain(|effect| effect.contains("PersistentVolumeClaim"));
    assert_eq!(
        effects,
        [
            "Delete PersistentVolumeClaim shop-m1",
            "Delete PersistentVolumeClaim shop-m2"
        ]
    );
}

#[test]
fn a_used_consent_may_stay_and_does_nothing() {
    let mut world = healthy(3).spec("quorumRecovery", consent(&member(0)));
    world.status.recovery = Some(Recovery {
        given_up: vec!["shop-x1".to_owned()],
        ..recovery(RecoveryStage::Done)
    });
    let decision = world.clone().settle().decide();
    assert_eq!(decision.actions, []);
    let mut again = consented();
    again.status.recovery = world.status.recovery;
    assert_eq!(effects(&again.decide()), [""; 0]);
    assert_eq!(stage(&again), Some(RecoveryStage::Done));
}

#[test]
fn a_quorum_that_comes_back_ends_the_recovery() {
    let mut world = stopping();
    world.snapshot.etcd = healthy(3).snapshot.etcd;
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert_eq!(stage(&world), Some(RecoveryStage::Void));
    // Nobody takes the flag back later, and whoever has it starts alone beside the others.
    let flag = names::FORCE_NEW_CLUSTER_ANNOTATION.to_owned();
    world.pods()[0].annotations.insert(flag, "true".to_owned());
    assert_eq!(effects(&world.decide()), ["AnnotatePod Pod shop-m0"]);
    assert_eq!(stage(&world), Some(RecoveryStage::Stopping));
}

#[test]
fn a_consent_taken_back_in_time_starts_the_members_again() {
    let mut world = stopping();
    world
        .snapshot
        .resource
        .spec
        .as_object_mut()
        .unwrap()
        .remove("quorumRecovery");
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert_eq!(written(&decision).unwrap().recovery, None);
    let mut late = forcing();
    late.snapshot
        .resource
        .spec
        .as_object_mut()
        .unwrap()
        .remove("quorumRecovery");
    let decision = late.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert_eq!(decision.report.findings[0].kind, FindingKind::Blocked);
}

#[test]
fn a_paused_cluster_is_not_recovered() {
    assert_eq!(
        effects(&stopping().spec("paused", true.into()).decide()),
        [""; 0]
    );
}

/// The person who is told to remove it and set it again does so while the quorum is lost.
#[test]
fn a_stale_consent_removed_during_the_loss_can_be_given_again() {
    let mut world = lost();
    world.status.recovery = Some(Recovery {
        given_up: Vec::new(),
        ..recovery(RecoveryStage::Void)
    });
    world.status = written(&world.decide()).unwrap();
    assert_eq!(world.status.recovery, None);
    let again = world.spec("quorumRecovery", consent(&member(0)));
    assert_eq!(stage(&again), Some(RecoveryStage::Stopping));
}
