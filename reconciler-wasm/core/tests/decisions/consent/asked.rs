//! What is offered, asked for, and waited for.

use super::*;

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
fn who_has_newer_data_that_goes_with_its_pod_is_named_beside_the_candidate() {
    let mut world = healthy(5).wiped(0).wiped(1).wiped(2).without_list();
    for (index, raft) in [(3, 1000), (4, 1001)] {
        if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[index].status {
            status.raft_index = raft;
        }
    }
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        for volume in volumes.iter_mut().filter(|one| one.name == member(4)) {
            volume.deleted = Some(volume.created);
        }
    }
    let words = condition(&world, "Blocked").2;
    assert!(words.contains("go on from shop-m3 alone"), "{words}");
    assert!(
        words.contains("shop-m4 has newer data, which goes with its pod: save it first")
            && words.contains("port-forward shop-m4 2379"),
        "{words}"
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
    assert!(reports(&decision, Reason::ConsentNotUsed));
    let words = "shop-m0 does not answer (";
    let mut findings = decision.report.findings.iter();
    assert!(findings.any(|finding| finding.message.contains(words)));
    assert!(written(&decision).is_none_or(|status| status.recovery.is_none()));
}

/// Found by the simulator: it had joined on a new claim as the others lost theirs, and was gone on from.
#[test]
fn a_survivor_that_has_received_nothing_yet_is_not_offered() {
    let mut world = lost();
    let Observed::Seen(answer) = &mut world.snapshot.etcd.endpoints[0].status else {
        panic!("it answers");
    };
    answer.raft_index = 0;
    let (_, _, message) = condition(&world, "Blocked");
    assert!(!message.contains("To consent"), "{message}");
    let decision = world.spec("quorumRecovery", consent(&member(0))).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::ConsentNotUsed));
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

/// The envelope asks that nobody names a leader, and a learner names one that is gone until it starts again.
#[test]
fn a_learner_that_may_only_remember_a_leader_is_to_be_started_again_first() {
    assert_eq!(stage(&consented()), Some(RecoveryStage::Stopping));
    let world = consented().with_forgetful_learner();
    assert_eq!(stage(&world), None);
    let decision = world.decide();
    let mut findings = decision.report.findings.iter();
    let words =
        findings.find(|one| one.kind == FindingKind::Blocked && one.message.contains(FORGETFUL));
    let words = &words.unwrap().message;
    assert!(
        words.contains(&format!("delete pod {FORGETFUL}")),
        "{words}"
    );
}
