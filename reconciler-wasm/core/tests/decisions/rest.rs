//! A cluster at rest, paused, deleted or not to be read: what stays undone, and what is said.

use contract::{ConditionStatus, Effect, FindingKind, Observed, Reason};
use serde_json::json;

use crate::fixture::{World, effects, fresh, healthy, member, reports, written};

#[test]
fn a_healthy_cluster_gets_no_action() {
    for size in [1, 3, 5, 7] {
        let decision = healthy(size).decide();
        assert_eq!(decision.actions, [], "size {size}");
        assert_eq!(decision.requeue.unwrap().why, Reason::HealthCheck);
    }
}

/// A clock that was a day ahead for a moment made every patience last a day.
#[test]
fn a_remembered_time_that_lies_ahead_is_written_anew_once_and_counts_from_now() {
    let world = healthy(3).later(-86_400);
    let now = world.snapshot.now.0.div_euclid(1000) * 1000;
    let status = written(&world.decide()).expect("a status");
    for record in &status.member_records {
        for time in [&record.since, &record.role_since] {
            let time: jiff::Timestamp = time.parse().expect("a time");
            assert_eq!(time.as_millisecond(), now, "{}", record.name);
        }
    }
    assert_eq!(world.settle().later(1).decide().actions, []);
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
fn members_that_long_answered_and_are_not_connected_are_said_to_a_person() {
    let mut world = healthy(3);
    world.snapshot.outcomes = vec![contract::PastOutcome {
        effect: "AddLearner".to_owned(),
        kind: None,
        target: "shop-x".to_owned(),
        outcome: contract::OutcomeKind::Failed,
        message: "etcdserver: unhealthy cluster".to_owned(),
    }];
    world.status.member_records[2].since = "2026-11-18T11:06:38Z".to_owned();
    assert!(!reports(&world.decide(), Reason::Settling));
    world = world.later(60);
    assert!(reports(&world.decide(), Reason::Settling));
    world.snapshot.outcomes.clear();
    assert!(!reports(&world.decide(), Reason::Settling));
}

/// Fresh eyes found a label that no pod may have told nowhere but in the operator's log.
#[test]
fn what_the_api_server_will_not_have_waits_for_a_person() {
    let mut world = fresh(1).later(60);
    let refused = |message: &str| contract::PastOutcome {
        effect: "Apply".to_owned(),
        kind: Some(contract::ObjectKind::Pod),
        target: "shop-x".to_owned(),
        outcome: contract::OutcomeKind::Failed,
        message: message.to_owned(),
    };
    let blocked = |world: &World| {
        let written = written(&world.decide()).unwrap();
        let mut conditions = written.conditions.into_iter();
        let found = conditions.find(|condition| condition.kind == "Blocked");
        let found = found.unwrap();
        (found.status, found.message)
    };
    for words in [
        "Pod \"shop-x\" is invalid: metadata.labels: Invalid value: \"bad key!\"",
        "pods \"shop-x\" is forbidden: exceeded quota: small",
        "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression",
    ] {
        world.snapshot.outcomes = vec![refused(words)];
        let (status, message) = blocked(&world);
        assert_eq!(status, ConditionStatus::True);
        assert!(message.contains(words), "{message}");
    }
    world.snapshot.outcomes = vec![refused("connection refused")];
    assert_eq!(blocked(&world).0, ConditionStatus::False);
}

/// The API server may refuse a status beside a spec of wrong types, and a refused effect ends the pass.
#[test]
fn an_unreadable_spec_is_told_by_an_event_before_the_status() {
    let decision = healthy(3).spec("size", json!("three")).decide();
    assert_eq!(told(&decision)[0], "InvalidSpec");
    assert!(matches!(
        decision.actions.last().unwrap().effect,
        Effect::UpdateStatus { .. }
    ));
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

#[test]
fn a_paused_cluster_gets_status_only() {
    let world = healthy(3).without_pod(1).spec("paused", json!(true));
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(written(&decision).unwrap().control_paused);
}

#[test]
fn unreadable_pods_stop_everything_and_only_a_missing_right_waits_for_a_person() {
    for (why, kind) in [
        (
            "pods is forbidden: User \"binnacle\" cannot list",
            FindingKind::Blocked,
        ),
        ("connection refused", FindingKind::Waiting),
    ] {
        let mut world = healthy(3).wanting(5);
        world.snapshot.objects.pods = Observed::Unknown(why.to_owned());
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0]);
        let found = &decision.report.findings[0];
        assert_eq!(
            (found.reason, found.kind),
            (Reason::KubernetesUnreadable, kind)
        );
    }
}

/// The status once said that all was as specified, while nothing could go on without a person.
#[test]
fn what_waits_for_a_person_is_not_told_as_being_at_rest() {
    let world = healthy(3).wiped(1).wiped(2).without_list();
    let status = written(&world.decide()).unwrap();
    let progressing = status
        .conditions
        .iter()
        .find(|one| one.kind == "Progressing");
    let told = progressing.map(|one| (one.status, one.reason.as_str()));
    assert_eq!(told, Some((ConditionStatus::False, "QuorumLost")));
}

#[test]
fn a_deleted_resource_gets_no_action() {
    let mut world = healthy(3).without_pod(1);
    world.snapshot.resource.deleted = Some(world.snapshot.now);
    assert_eq!(world.decide().actions, []);
}

#[test]
fn a_confirmed_list_gives_a_lost_memory_back() {
    let mut world = healthy(3);
    world.status = contract::EtcdClusterStatus::default();
    assert!(written(&world.decide()).unwrap().cluster_id.is_some());
}

#[test]
fn a_status_that_cannot_be_read_stops_everything() {
    let mut world = healthy(3).without_pod(1);
    world.status = contract::EtcdClusterStatus::default();
    world.snapshot.resource.status = json!({ "clusterId": 7 });
    let decision = world.decide();
    assert_eq!(told(&decision), ["UnreadableStatus"]);
    assert_eq!(decision.actions.len(), 1, "nothing but the event");
    assert!(
        decision.report.findings[0]
            .message
            .contains("status.clusterId")
    );
}

/// The archived operator went on without a word, and took nobody's answer for a lost member.
#[test]
fn an_etcd_that_has_users_is_told_about_and_left_alone() {
    let refused =
        || Observed::Unknown("the call failed: etcdserver: user name is empty".to_owned());
    for (of_list, of_members) in [(true, false), (true, true), (false, true)] {
        let mut world = healthy(3);
        world.snapshot.etcd.membership = if of_list {
            refused()
        } else {
            Observed::Unknown("no member answers".to_owned())
        };
        for endpoint in world
            .snapshot
            .etcd
            .endpoints
            .iter_mut()
            .filter(|_| of_members)
        {
            endpoint.status = Observed::Unknown("etcdserver: user name is empty".to_owned());
        }
        let world = world.settle().later(3_600);
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0]);
        let conditions = written(&decision).map_or(world.status.conditions, |one| one.conditions);
        let blocked = conditions.iter().find(|one| one.kind == "Blocked").unwrap();
        assert_eq!(blocked.reason, "MembersUnknown");
        assert!(
            blocked.message.contains("user name is empty")
                && blocked.message.contains("spec.TLS.static.operatorSecret"),
            "{}",
            blocked.message
        );
    }
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

fn told(decision: &contract::Decision) -> Vec<&str> {
    let effects = decision.actions.iter().map(|action| &action.effect);
    effects
        .filter_map(|effect| match effect {
            Effect::Event { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
        .collect()
}
