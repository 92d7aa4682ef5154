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
