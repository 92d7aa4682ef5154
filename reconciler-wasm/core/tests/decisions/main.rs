//! What the reconciler decides, one case a test: a cluster, one change, the effects.
#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by panicking"
)]

mod fixture;
mod tls;

use contract::{Observed, Phase, Reason};
use fixture::{effects, fresh, healthy, id, member, reports, written};
use serde_json::json;

#[test]
fn a_healthy_cluster_gets_no_action() {
    for size in [1, 3, 5, 7] {
        let decision = healthy(size).decide();
        assert_eq!(decision.actions, [], "size {size}");
        assert_eq!(decision.requeue.unwrap().why, Reason::HealthCheck);
    }
}

#[test]
fn birth_remembers_the_plan_before_it_starts_all_members_together() {
    let decision = fresh(3).decide();
    let status = written(&decision).unwrap();
    let birth = status.birth.unwrap();
    assert_eq!(decision.actions[0].effect.name(), "UpdateStatus");
    assert_eq!(status.phase, Phase::Creating);
    assert_eq!(birth.members.len(), 3);
    let pods = effects(&decision)
        .iter()
        .filter(|effect| effect.starts_with("Apply Pod "))
        .count();
    assert_eq!(pods, 3);
    assert!(!effects(&decision).contains(&"Apply Service shop-client".to_owned()));
}

#[test]
fn clients_get_their_service_when_a_quorum_has_answered() {
    let mut world = healthy(3);
    let planned = world
        .status
        .member_records
        .iter()
        .map(|record| record.name.clone())
        .collect();
    world.status.cluster_id = None;
    world.status.birth = Some(contract::Birth {
        token: "t".to_owned(),
        members: planned,
        image: "quay.io/coreos/etcd:v3.6.16".to_owned(),
        started_at: "2026-11-18T11:06:00Z".to_owned(),
        attempt: 1,
    });
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.truncate(1);
    }
    let decision = world.decide();
    let status = written(&decision).unwrap();
    assert!(status.cluster_id.is_some() && status.birth.is_none());
    assert_eq!(effects(&decision), ["Apply Service shop-client"]);
}

#[test]
fn a_missing_pod_is_made_again_on_its_own_disk() {
    let decision = healthy(3).without_pod(1).decide();
    assert_eq!(effects(&decision), ["Apply Pod shop-m1"]);
    assert!(reports(&decision, Reason::PodMissing));
}

#[test]
fn all_pods_gone_with_all_disks_there_is_not_quorum_loss() {
    let world = healthy(3)
        .without_pod(0)
        .without_pod(1)
        .without_pod(2)
        .without_list();
    assert_eq!(
        effects(&world.decide()),
        [
            "Apply Pod shop-m0",
            "Apply Pod shop-m1",
            "Apply Pod shop-m2"
        ]
    );
}

#[test]
fn a_pod_deleted_with_its_data_is_replaced_by_a_new_member() {
    let world = healthy(3).on_empty_dir().without_pod(2);
    assert_eq!(
        effects(&world.decide()),
        [format!("RemoveMember {}", id(2))]
    );
}

#[test]
fn a_volume_that_is_gone_is_a_lost_disk() {
    let decision = healthy(3).without_pod(1).without_volume(1).decide();
    assert_eq!(effects(&decision), [format!("RemoveMember {}", id(1))]);
    assert!(reports(&decision, Reason::DiskLost));
}

/// A crash between the claim and the pod leaves a claim whose identity is known.
#[test]
fn a_pod_on_a_claim_that_stands_names_its_uid() {
    let mut world = healthy(3).wanting(5).with_learner(3, true).without_pod(3);
    world.rows()[3].name = String::new();
    let decision = world.decide();
    let pod = decision
        .actions
        .iter()
        .find(|action| action.effect.target() == "shop-m3")
        .unwrap();
    assert_eq!(pod.pre.claim_uid.as_deref(), Some("disk-shop-m3"));
}

#[test]
fn a_wiped_disk_is_known_from_the_last_words_of_etcd() {
    let decision = healthy(3).wiped(1).decide();
    assert_eq!(
        effects(&decision),
        [
            format!("RemoveMember {}", id(1)),
            "Delete Pod shop-m1".to_owned(),
            "Delete PersistentVolumeClaim shop-m1".to_owned()
        ]
    );
    assert!(reports(&decision, Reason::DiskLost));
}

/// The healthy member holds the only copy: nothing of it, and nothing beside it, may be touched.
#[test]
fn two_of_three_disks_gone_destroys_nothing() {
    let decision = healthy(3).wiped(1).wiped(2).without_list().decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::QuorumLost));
}

#[test]
fn a_member_that_does_not_answer_has_time_to_come_back() {
    let world = healthy(3).silent(1);
    assert_eq!(effects(&world.decide()), [""; 0]);
    let world = world.settle();
    assert_eq!(effects(&world.clone().later(100).decide()), [""; 0]);
    assert_eq!(
        effects(&world.clone().later(200).decide()),
        ["Delete Pod shop-m1"]
    );
    let decision = world.later(400).decide();
    assert_eq!(effects(&decision)[0], format!("RemoveMember {}", id(1)));
}

#[test]
fn a_member_out_of_memory_is_not_replaced() {
    let mut world = healthy(3).wiped(1).settle();
    let exit = world.pods()[1].last_exit.as_mut().unwrap();
    exit.reason = "OOMKilled".to_owned();
    exit.message = String::new();
    let decision = world.later(4000).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::OutOfMemory));
}

#[test]
fn growing_adds_a_learner_and_raises_the_budget_first() {
    let effects = effects(&healthy(3).wanting(5).decide());
    assert_eq!(effects[0], "Apply PodDisruptionBudget shop");
    assert!(effects[1].starts_with("AddLearner shop-"), "{effects:?}");
    assert_eq!(effects.len(), 2);
}

#[test]
fn a_member_that_etcd_knows_and_that_has_no_pod_gets_one() {
    let world = healthy(3).wanting(5).with_learner(3, false);
    let effects = effects(&world.decide());
    assert!(
        effects.contains(&"Apply PersistentVolumeClaim shop-m3".to_owned()),
        "{effects:?}"
    );
    assert!(
        effects.contains(&"Apply Pod shop-m3".to_owned()),
        "{effects:?}"
    );
    assert!(
        !effects
            .iter()
            .any(|effect| effect.starts_with("AddLearner"))
    );
}

/// etcd would answer "unhealthy cluster".
#[test]
fn the_member_list_is_left_alone_until_voters_have_been_connected_for_five_seconds() {
    let mut world = healthy(3).wanting(5);
    for record in &mut world.status.member_records[1..] {
        record.since = "2026-11-18T11:06:38Z".to_owned();
    }
    let decision = world.decide();
    assert_eq!(effects(&decision), ["Apply PodDisruptionBudget shop"]);
    assert!(reports(&decision, Reason::Settling));
    assert!(effects(&world.later(5).decide())[1].starts_with("AddLearner"));

    let mut world = healthy(3).wanting(1);
    world.status.member_records[2].since = "2026-11-18T11:06:38Z".to_owned();
    assert_eq!(effects(&world.decide()), [""; 0]);
    assert_eq!(
        effects(&world.later(5).decide())[0],
        format!("RemoveMember {}", id(2))
    );
}

/// Found by the simulator: a majority of two was waited for, of which there was one.
#[test]
fn a_sole_member_may_grow() {
    let effects = effects(&healthy(1).wanting(2).decide());
    assert!(effects[1].starts_with("AddLearner"), "{effects:?}");
}

#[test]
fn another_version_on_a_living_cluster_is_said_and_not_mixed_in() {
    let decision = healthy(3)
        .without_pod(1)
        .spec("version", json!("3.7.3"))
        .decide();
    assert!(reports(&decision, Reason::VersionNotApplied));
    let pod = decision
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            contract::Effect::Apply { object } => Some(serde_json::to_string(object).unwrap()),
            _ => None,
        });
    assert!(pod.unwrap().contains("etcd:v3.6.16"));
}

#[test]
fn what_failed_last_time_is_said_unless_etcd_only_asked_for_patience() {
    let mut world = healthy(3);
    let past = |message: &str| contract::PastOutcome {
        effect: "AddLearner".to_owned(),
        kind: None,
        target: "shop-x".to_owned(),
        outcome: contract::OutcomeKind::Failed,
        message: message.to_owned(),
    };
    world.snapshot.outcomes = vec![past("etcdserver: unhealthy cluster")];
    assert!(!reports(&world.decide(), Reason::ActionFailed));
    world.snapshot.outcomes = vec![past("connection refused")];
    assert!(reports(&world.decide(), Reason::ActionFailed));
}

#[test]
fn a_learner_that_caught_up_gets_its_vote() {
    let effects = effects(&healthy(3).wanting(5).with_learner(3, true).decide());
    assert!(
        effects.contains(&format!("Promote {}", id(3))),
        "{effects:?}"
    );
}

#[test]
fn a_learner_that_is_not_wanted_any_more_is_taken_out() {
    let world = healthy(3).with_learner(3, true);
    let effects = effects(&world.decide());
    assert_eq!(effects[0], format!("RemoveMember {}", id(3)));
}

#[test]
fn shrinking_takes_the_newest_member_and_what_it_leaves() {
    let world = healthy(5).wanting(3);
    assert_eq!(
        effects(&world.decide()),
        [
            format!("RemoveMember {}", id(4)),
            "Delete Pod shop-m4".to_owned(),
            "Delete PersistentVolumeClaim shop-m4".to_owned()
        ]
    );
}

#[test]
fn leadership_moves_before_its_member_leaves() {
    let mut world = healthy(5).wanting(3);
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.leader = Some(id(4));
        }
    }
    assert_eq!(effects(&world.decide()), [format!("MoveLeader {}", id(0))]);
}

#[test]
fn nothing_is_scaled_while_a_member_is_down() {
    let decision = healthy(3).silent(2).wanting(5).decide();
    assert_eq!(effects(&decision), ["Apply PodDisruptionBudget shop"]);
}

#[test]
fn what_a_departed_member_left_is_deleted() {
    let mut world = healthy(3);
    world.rows().remove(2);
    world.snapshot.etcd.endpoints.truncate(2);
    let effects = effects(&world.decide());
    assert!(
        effects.contains(&"Delete Pod shop-m2".to_owned()),
        "{effects:?}"
    );
    assert!(
        effects.contains(&"Delete PersistentVolumeClaim shop-m2".to_owned()),
        "{effects:?}"
    );
}

/// Found by the simulator: alone, a member's initial cluster names nobody but itself already at birth, so only the
/// state tells a sealed pod. Unsealed, its wiped disk would found an empty cluster under the same id.
#[test]
fn a_sole_member_is_sealed_too() {
    let mut world = healthy(1);
    world.pods()[0].annotations.insert(
        contract::names::INITIAL_STATE_ANNOTATION.to_owned(),
        "new".to_owned(),
    );
    assert_eq!(effects(&world.decide()), ["AnnotatePod Pod shop-m0"]);
}

/// Found by the simulator: the removal was refused as a second change, pass after pass.
#[test]
fn a_learner_is_seen_to_before_a_lost_voter_is_replaced() {
    let world = healthy(4).wanting(5).with_learner(4, true).wiped(1);
    let effects = effects(&world.decide());
    assert!(
        effects.contains(&format!("Promote {}", id(4))),
        "{effects:?}"
    );
    assert!(
        !effects
            .iter()
            .any(|effect| effect.starts_with("RemoveMember")),
        "{effects:?}"
    );
}

/// Found by the simulator: a message with a fresh name in it made the status new in each pass.
#[test]
fn a_status_says_the_same_in_the_next_pass() {
    for paused in [true, false] {
        let mut world = healthy(3).wanting(5).spec("paused", json!(paused)).settle();
        world.snapshot.entropy = "ab".repeat(16);
        assert_eq!(written(&world.decide()), None, "paused {paused}");
    }
}

/// Found by the simulator: without a quorum, also a member that never said its name may hold the data that counts.
#[test]
fn without_a_list_every_remembered_claim_gets_its_pod() {
    let mut world = healthy(3).silent(0).without_pod(2).without_list();
    world.status.member_records[2].disk = None;
    assert_eq!(effects(&world.decide()), ["Apply Pod shop-m2"]);
}

/// Found by the simulator: the lost member stood in its own way.
#[test]
fn a_founding_member_that_never_answered_is_replaced() {
    let mut world = healthy(3).without_pod(2).without_volume(2);
    world.rows()[2].name = String::new();
    world.status.member_records[2].disk = None;
    world.status.member_records[2].health = contract::MemberHealth::Unhealthy;
    let decision = world.decide();
    assert!(effects(&decision).contains(&"Apply Pod shop-m2".to_owned()));

    let mut world = world.settle();
    let mut pod = world.pods()[0].clone();
    pod.name = member(2);
    pod.claim = Some(member(2));
    pod.running = false;
    pod.unschedulable = Some("volume node affinity conflict".to_owned());
    pod.uid = "uid-lost".to_owned();
    world.pods().push(pod);
    let effects = effects(&world.later(400).decide());
    assert_eq!(effects[0], format!("RemoveMember {}", id(2)));
}

/// Found by the simulator: a disk emptied between the Service and the seal would have been founded anew.
#[test]
fn clients_get_their_service_only_when_a_majority_is_sealed() {
    let mut world = healthy(3);
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.truncate(1);
    }
    for pod in world.pods() {
        pod.annotations.insert(
            contract::names::INITIAL_STATE_ANNOTATION.to_owned(),
            "new".to_owned(),
        );
    }
    assert_eq!(
        effects(&world.decide()),
        [
            "AnnotatePod Pod shop-m0",
            "AnnotatePod Pod shop-m1",
            "AnnotatePod Pod shop-m2",
            "Apply Service shop-client"
        ]
    );
    let world = world.silent(1).silent(2).without_list();
    assert_eq!(effects(&world.decide()), ["AnnotatePod Pod shop-m0"]);
}

/// Found by the simulator: a learner whose claim is tied to a lost node waited for that node for ever.
#[test]
fn a_learner_tied_to_a_lost_node_makes_room_for_another() {
    let mut world = healthy(3).wanting(5).with_learner(3, true).silent(3);
    world.rows()[3].name = String::new();
    let pod = world.pods().last_mut().unwrap();
    pod.running = false;
    pod.unschedulable = Some("volume node affinity conflict".to_owned());
    let world = world.settle();
    let removal = format!("RemoveMember {}", id(3));
    assert!(!effects(&world.decide()).contains(&removal));
    assert!(effects(&world.later(200).decide()).contains(&removal));
}

#[test]
fn a_paused_cluster_gets_status_only() {
    let world = healthy(3).without_pod(1).spec("paused", json!(true));
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(written(&decision).unwrap().control_paused);
}

#[test]
fn unreadable_pods_stop_everything() {
    let mut world = healthy(3).wanting(5);
    world.snapshot.objects.pods = Observed::Unknown("forbidden".to_owned());
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::KubernetesUnreadable));
}

#[test]
fn a_deleted_resource_gets_no_action() {
    let mut world = healthy(3).without_pod(1);
    world.snapshot.resource.deleted = Some(world.snapshot.now);
    assert_eq!(world.decide().actions, []);
}

#[test]
fn a_foreign_service_under_the_peers_name_stops_the_birth() {
    let mut world = fresh(3);
    world
        .snapshot
        .objects
        .foreign
        .push(contract::ForeignObject {
            kind: contract::ObjectKind::Service,
            name: "shop".to_owned(),
            owner: "nobody".to_owned(),
        });
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::ForeignObject));

    // The same when it is found out only after the plan was written.
    let mut planned = fresh(3).settle();
    planned.snapshot.objects.foreign = world.snapshot.objects.foreign;
    let decision = planned.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::ForeignObject));
}

#[test]
fn objects_without_memory_are_never_born_over() {
    let mut world = healthy(3).without_list();
    world.status = contract::EtcdClusterStatus::default();
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::UnreadableStatus));
}

#[test]
fn a_confirmed_list_gives_a_lost_memory_back() {
    let mut world = healthy(3);
    world.status = contract::EtcdClusterStatus::default();
    assert!(written(&world.decide()).unwrap().cluster_id.is_some());
}

#[test]
fn another_cluster_in_our_place_is_left_alone() {
    let mut world = healthy(3).wanting(5);
    if let Observed::Seen(list) = &mut world.snapshot.etcd.membership {
        list.cluster_id = contract::ClusterId(0xdead);
    }
    let decision = world.decide();
    assert!(reports(&decision, Reason::ClusterIdMismatch));
    assert!(
        !effects(&decision)
            .iter()
            .any(|effect| effect.contains("Member") || effect.contains("Learner"))
    );
}

#[test]
fn bad_specs_are_named_and_change_nothing() {
    let cases = [
        ("version", json!("banana"), "MAJOR.MINOR.PATCH"),
        ("version", json!("3.3.27"), "3.4.34"),
        ("version", json!("4.0.0"), "3.6.16"),
        ("version", json!(36), "spec.version cannot be read"),
        ("size", json!("three"), "spec.size cannot be read"),
        (
            "repository",
            json!("quay.io/coreos/etcd@sha256:abc"),
            "digest",
        ),
        ("repository", json!("host:5000/etcd:v3"), "tag"),
        ("pod", json!({ "labels": { "app": "x" } }), "reserved"),
        ("pod", json!({ "labels": { "etcd_node": "x" } }), "reserved"),
        (
            "TLS",
            json!({ "static": { "operatorSecret": "s" } }),
            "belong together",
        ),
    ];
    for (key, value, words) in cases {
        let decision = healthy(3).without_pod(1).spec(key, value.clone()).decide();
        let finding = &decision.report.findings[0];
        assert!(
            finding.message.contains(words),
            "{key}={value}: {}",
            finding.message
        );
        assert_eq!(effects(&decision), [""; 0], "{key}={value}");
        let conditions = written(&decision).unwrap().conditions;
        let blocked = conditions
            .iter()
            .find(|condition| condition.kind == "Blocked")
            .unwrap();
        assert_eq!(blocked.message, finding.message);
    }
}

#[test]
fn a_size_that_cannot_be_followed_keeps_and_heals_what_is_there() {
    for size in [0, -1, 8, 1000] {
        let decision = healthy(3).without_pod(1).wanting(size).decide();
        assert_eq!(effects(&decision), ["Apply Pod shop-m1"], "size {size}");
        assert!(reports(&decision, Reason::InvalidSpec), "size {size}");
        assert_eq!(effects(&fresh(size).decide()), [""; 0], "size {size}");
    }
}

#[test]
fn good_specs_are_followed() {
    for (key, value) in [
        ("version", json!("v3.6.16")),
        ("version", json!("")),
        ("repository", json!("host:5000/mirror/etcd")),
    ] {
        let decision = fresh(3).spec(key, value.clone()).decide();
        assert!(
            effects(&decision)
                .iter()
                .any(|effect| effect.starts_with("Apply Pod")),
            "{key}={value}"
        );
    }
}

#[test]
fn a_status_that_cannot_be_read_stops_everything() {
    let mut world = healthy(3).without_pod(1);
    world.status = contract::EtcdClusterStatus::default();
    world.snapshot.resource.status = json!({ "clusterId": 7 });
    let decision = world.decide();
    assert_eq!(decision.actions, []);
    assert!(
        decision.report.findings[0]
            .message
            .contains("status.clusterId")
    );
}

#[test]
fn an_event_is_told_once() {
    let world = healthy(3).silent(1);
    let first = world.decide();
    let count = |decision: &contract::Decision| {
        decision
            .actions
            .iter()
            .filter(|action| action.effect.name() == "Event")
            .count()
    };
    assert_eq!(count(&first), 1);
    assert_eq!(count(&world.settle().decide()), 0);
}

#[test]
fn names_are_new_in_each_snapshot_and_equal_in_the_same() {
    let one = fresh(3);
    let mut other = fresh(3);
    other.snapshot.entropy = "ff".repeat(16);
    assert_eq!(one.decide(), one.decide());
    assert_ne!(effects(&one.decide()), effects(&other.decide()));
    assert!(!effects(&one.decide()).contains(&format!("Apply Pod {}", member(0))));
}
