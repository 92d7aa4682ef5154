//! A quorum lost for good, and the consent to go on from one member.

use contract::{
    Child, ConditionStatus, Effect, FindingKind, Observed, Reason, Recovery, RecoveryStage, names,
};
use serde_json::json;

use crate::fixture::{World, effects, healthy, id, member, reports, written};

/// Two of three disks are empty, and the third member answers.
fn lost() -> World {
    healthy(3).wiped(1).wiped(2).without_list().settle()
}

fn consent(survivor: &str) -> serde_json::Value {
    json!({"clusterID": "c1", "survivor": survivor})
}

fn consented() -> World {
    lost().spec("quorumRecovery", consent(&member(0)))
}

fn recovery(stage: RecoveryStage) -> Recovery {
    Recovery {
        cluster_id: "c1".to_owned(),
        survivor: member(0),
        stage,
        started_at: "2026-11-18T11:06:40Z".to_owned(),
        given_up: vec![member(1), member(2)],
    }
}

fn stopping() -> World {
    let mut world = consented();
    world.status.recovery = Some(recovery(RecoveryStage::Stopping));
    world
}

/// All pods are gone, their claims are not.
fn forcing() -> World {
    let mut world = stopping().without_pod(0).without_pod(1).without_pod(2);
    world.snapshot.etcd.membership = Observed::Absent;
    world.status.recovery = Some(recovery(RecoveryStage::Forcing));
    world
}

/// The survivor answers as the only member.
fn alone(flag: &str) -> World {
    let mut world = consented().without_pod(1).without_pod(2);
    let whole = healthy(3);
    world.snapshot.etcd = whole.snapshot.etcd;
    world.rows().truncate(1);
    world.snapshot.etcd.endpoints.truncate(1);
    let pod = &mut world.pods()[0];
    let key = names::FORCE_NEW_CLUSTER_ANNOTATION.to_owned();
    pod.annotations.insert(key, flag.to_owned());
    world.status.recovery = Some(recovery(RecoveryStage::Forcing));
    world
}

fn stage(world: &World) -> Option<RecoveryStage> {
    let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
    status.recovery.map(|recovery| recovery.stage)
}

fn condition(world: &World, kind: &str) -> (ConditionStatus, String, String) {
    let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
    let found = status.conditions.into_iter().find(|one| one.kind == kind);
    let found = found.unwrap();
    (found.status, found.reason, found.message)
}

#[test]
fn the_condition_names_the_candidate_and_what_to_type() {
    let (status, reason, message) = condition(&lost(), "Blocked");
    assert_eq!(
        (status, reason.as_str()),
        (ConditionStatus::True, "QuorumLost")
    );
    let command = "kubectl --namespace prod patch etcd shop --type merge --patch \
        '{\"spec\":{\"quorumRecovery\":{\"clusterID\":\"c1\",\"survivor\":\"shop-m0\"}}}'";
    assert!(message.contains(command), "{message}");
    assert!(
        message.len() < 1024,
        "an event holds {} bytes",
        message.len()
    );
}

#[test]
fn the_candidate_is_the_one_with_the_highest_raft_index() {
    let mut world = healthy(5).wiped(0).wiped(1).wiped(2).without_list();
    for (index, raft) in [(3, 1000), (4, 1001)] {
        if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[index].status {
            status.raft_index = raft;
        }
    }
    assert!(
        condition(&world, "Blocked")
            .2
            .contains("go on from shop-m4 alone")
    );
}

#[test]
fn without_a_consent_nothing_happens_however_long() {
    assert_eq!(effects(&lost().later(1_000_000).decide()), [""; 0]);
}

/// Members 1 and 2 do not answer and are not Ready.
fn silent() -> World {
    let mut world = healthy(3).silent(1).silent(2).without_list();
    for pod in world.pods() {
        pod.ready = false;
    }
    world.settle()
}

/// Whoever is Ready has a quorum: the operator may be the one that is cut off.
#[test]
fn members_that_are_ready_are_not_lost_though_the_operator_does_not_reach_them() {
    let world = healthy(3).silent(1).silent(2).without_list().settle();
    let world = world
        .spec("quorumRecovery", consent("shop-m0"))
        .later(1_000);
    let decision = world.decide();
    assert!(written(&decision).is_none_or(|status| status.recovery.is_none()));
    assert!(!condition(&world, "Blocked").2.contains("To consent"));
}

/// Their nodes may come back.
#[test]
fn members_that_are_down_with_their_disks_are_given_time() {
    let world = silent();
    let early = world.clone().later(60).decide();
    assert!(
        early
            .report
            .findings
            .iter()
            .all(|finding| finding.kind != FindingKind::Blocked)
    );
    let world = world.later(331);
    assert!(
        condition(&world, "Blocked")
            .2
            .contains("go on from shop-m0 alone")
    );
    let consented = world.spec("quorumRecovery", consent("shop-m0"));
    assert_eq!(stage(&consented), Some(RecoveryStage::Stopping));
}

#[test]
fn a_consent_given_early_waits_until_the_loss_is_clear() {
    let world = silent();
    let decision = world.spec("quorumRecovery", consent("shop-m0")).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(written(&decision).is_none_or(|status| status.recovery.is_none()));
}

#[test]
fn a_recovery_is_remembered_before_anything_is_done() {
    let decision = consented().decide();
    assert_eq!(effects(&decision), [""; 0]);
    let recovery = written(&decision).unwrap().recovery.unwrap();
    assert_eq!(recovery.stage, RecoveryStage::Stopping);
    assert_eq!(recovery.given_up, [member(1), member(2)]);
    let event = |action: &contract::Action| match &action.effect {
        Effect::Event { reason, .. } => reason == "RecoveringQuorum",
        _ => false,
    };
    assert!(decision.actions.iter().any(event));
}

#[test]
fn a_wrong_consent_does_nothing_and_says_why() {
    let cases = [
        (
            json!({"clusterID": "c2", "survivor": member(0)}),
            "is not this cluster's id",
        ),
        (
            json!({"clusterID": "c1", "survivor": "shop-m9"}),
            "is not a voting member",
        ),
        (
            json!({"clusterID": "c1", "survivor": member(1)}),
            "is gone or empty",
        ),
        (json!({}), "is not this cluster's id"),
    ];
    for (consent, words) in cases {
        let decision = lost().spec("quorumRecovery", consent.clone()).decide();
        assert_eq!(effects(&decision), [""; 0], "{consent}");
        let finding = &decision.report.findings[0];
        assert_eq!(finding.reason, Reason::ConsentNotUsed, "{consent}");
        assert!(finding.message.contains(words), "{}", finding.message);
        assert!(written(&decision).is_none_or(|status| status.recovery.is_none()));
    }
}

#[test]
fn a_survivor_that_does_not_answer_is_not_gone_on_from() {
    let world = healthy(3)
        .silent(0)
        .wiped(1)
        .wiped(2)
        .without_list()
        .settle();
    let decision = world
        .spec("quorumRecovery", consent(&member(0)))
        .later(400)
        .decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(
        decision.report.findings[0]
            .message
            .contains("does not answer")
    );
}

#[test]
fn a_survivor_with_its_data_in_its_pod_is_not_offered() {
    let world = healthy(3)
        .on_empty_dir()
        .wiped(1)
        .wiped(2)
        .without_list()
        .settle();
    let (_, _, message) = condition(&world, "Blocked");
    assert!(message.contains("etcdctl snapshot save"), "{message}");
    let decision = world.spec("quorumRecovery", consent(&member(0))).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::ConsentNotUsed));
}

#[test]
fn a_consent_found_while_a_quorum_answers_counts_for_no_later_loss() {
    let healthy = healthy(3).spec("quorumRecovery", consent(&member(0)));
    let status = written(&healthy.decide()).unwrap();
    assert_eq!(status.recovery.as_ref().unwrap().stage, RecoveryStage::Void);
    let mut rests = healthy;
    rests.status = status.clone();
    assert_eq!(rests.decide().actions, []);
    let mut later = consented();
    later.status.recovery = status.recovery;
    let decision = later.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(
        decision.report.findings[0]
            .message
            .contains("before this loss")
    );
    assert_eq!(stage(&later), Some(RecoveryStage::Void));
}

#[test]
fn a_consent_that_was_removed_can_be_given_again() {
    let mut world = healthy(3);
    world.status.recovery = Some(Recovery {
        given_up: Vec::new(),
        ..recovery(RecoveryStage::Void)
    });
    assert_eq!(written(&world.decide()).unwrap().recovery, None);
}

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

#[test]
fn claims_kept_by_one_recovery_stay_kept_through_another() {
    let mut world = lost();
    world.status.recovery = Some(recovery(RecoveryStage::Done));
    world.status = written(&world.decide()).unwrap();
    assert_eq!(world.decide().actions, []);
    let kept = world.status.recovery.clone().unwrap();
    assert_eq!(kept.given_up, [member(1), member(2)]);
    let again = world.spec("quorumRecovery", consent(&member(0)));
    assert_eq!(stage(&again), Some(RecoveryStage::Stopping));
}
