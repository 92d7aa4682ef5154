//! What a spec may ask for, and what is answered to the rest.

use contract::Reason;
use serde_json::json;

use crate::fixture::{effects, fresh, healthy, reports, written};

#[test]
fn a_pod_made_again_has_the_image_that_its_member_ran() {
    let decision = healthy(3)
        .without_pod(1)
        .spec("version", json!("3.7.3"))
        .decide();
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
fn bad_specs_are_named_and_change_nothing() {
    let cases = [
        ("version", json!(36), "spec.version cannot be read"),
        ("size", json!("three"), "spec.size cannot be read"),
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
        // Nobody looks at members meanwhile, so what was said of them holds no more.
        let is_unsure = |kind: &str| {
            let mut all = conditions.iter();
            let found = all.find(|condition| condition.kind == kind);
            found.is_some_and(|found| found.status == contract::ConditionStatus::Unknown)
        };
        assert!(is_unsure("Available") && is_unsure("Degraded") && is_unsure("Scaling"));
    }
}

/// The archived operator did nothing more to such a cluster either; a status that still called all well hid it.
#[test]
fn a_version_or_repository_that_cannot_be_followed_is_told_and_what_runs_is_healed() {
    for (key, value, words) in [
        ("version", "banana", "MAJOR.MINOR.PATCH"),
        ("version", "3.3.27", "3.4.34"),
        ("version", "4.0.0", "3.6.16"),
        ("repository", "quay.io/coreos/etcd@sha256:abc", "digest"),
        ("repository", "host:5000/etcd:v3", "tag"),
        ("repository", "bad image", "white space"),
    ] {
        let world = healthy(3).settle().spec(key, json!(value));
        let decision = world.decide();
        let told = &decision.report.findings[0];
        assert!(
            told.message.contains(words),
            "{key}={value}: {}",
            told.message
        );
        assert_eq!(effects(&decision), [""; 0], "{key}={value}");
        let status = written(&decision).unwrap();
        let blocked = status.conditions.iter().find(|one| one.kind == "Blocked");
        assert_eq!(blocked.unwrap().message, told.message);
        let world = world.without_pod(1);
        assert_eq!(
            effects(&world.decide()),
            ["Apply Pod shop-m1"],
            "{key}={value}"
        );
        let status = written(&world.decide()).unwrap();
        assert_eq!(status.ready_members, 2, "{key}={value}");
        // Nothing is born of it.
        assert_eq!(effects(&fresh(3).spec(key, json!(value)).decide()), [""; 0]);
    }
}

#[test]
fn a_size_that_cannot_be_followed_keeps_and_heals_what_is_there() {
    for size in [-1, 8, 1000] {
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
