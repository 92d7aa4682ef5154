//! A status that somebody edited by hand: it comes back from what is seen, or that is said; nothing is destroyed for it.

use contract::{Decision, EtcdClusterStatus, Reason};
use serde_json::{Value, json};

use crate::fixture::{World, effects, healthy, reports, written};

/// A cluster whose stored status was changed.
fn edited(mut world: World, edit: impl FnOnce(&mut Value)) -> World {
    let mut status = serde_json::to_value(&world.status).unwrap();
    edit(&mut status);
    world.status = serde_json::from_value(status).unwrap();
    world
}

/// Decides until nothing is written any more; none of the decisions on the way does anything else.
fn comes_to_rest(mut world: World) -> (EtcdClusterStatus, Decision) {
    for _ in 0..10 {
        world = world.later(1);
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0], "{:?}", decision.report);
        match written(&decision) {
            Some(status) => world.status = status,
            None => return (world.status, decision),
        }
    }
    panic!("it does not come to rest");
}

/// What somebody does to a status.
type Edit = fn(&mut Value);

#[test]
fn what_the_members_say_stands_in_it_again() {
    let edits: [(&str, Edit); 11] = [
        ("all", |status| *status = json!({})),
        ("clusterId", |status| status["clusterId"] = Value::Null),
        ("phase", |status| status["phase"] = json!("Failed")),
        ("size", |status| {
            status["size"] = json!(7);
            status["readyMembers"] = json!(-1);
        }),
        ("members", |status| status["members"] = json!({})),
        ("memberRecords", |status| {
            status["memberRecords"] = json!([])
        }),
        ("disk", |status| {
            status["memberRecords"][0]["disk"] = json!("another");
        }),
        ("id", |status| {
            status["memberRecords"][1]["id"] = json!("99")
        }),
        ("health", |status| {
            status["memberRecords"][2]["health"] = json!("Unhealthy");
        }),
        ("asleepSince", |status| {
            status["asleepSince"] = json!("2026-11-18T10:00:00Z");
        }),
        ("conditions", |status| status["conditions"] = json!([])),
    ];
    let whole = serde_json::to_value(healthy(3).status).unwrap();
    for (what, edit) in edits {
        let (status, _) = comes_to_rest(edited(healthy(3), edit));
        let status = serde_json::to_value(status).unwrap();
        for key in ["clusterId", "phase", "size", "readyMembers", "members"] {
            assert_eq!(status[key], whole[key], "{key} after {what}");
        }
        assert_eq!(status["asleepSince"], Value::Null);
        for (record, was) in [0, 1, 2].map(|at| (at, &whole["memberRecords"][at])) {
            for key in ["name", "id", "disk", "health", "role"] {
                let now = &status["memberRecords"][record][key];
                assert_eq!(*now, was[key], "{key} after {what}");
            }
        }
    }
}

#[test]
fn another_id_is_told_with_the_way_back_and_changes_nothing() {
    for world in [healthy(3), healthy(3).silent(2), healthy(1)] {
        let wrong = edited(world, |status| status["clusterId"] = json!("beef"));
        let (status, decision) = comes_to_rest(wrong.later(3_600));
        assert!(reports(&decision, Reason::ClusterIdMismatch));
        let blocked = status.conditions.iter().find(|one| one.kind == "Blocked");
        let words = &blocked.unwrap().message;
        assert!(words.contains("this cluster is beef"), "{words}");
        assert!(
            words.contains(r#"'{"status":{"clusterId":null}}'"#),
            "{words}"
        );
    }
}
