//! What pods are made with where `spec.etcd`, `spec.pod.probes` and `spec.pod.resources` say something, and where they do not.

use contract::{Decision, Effect, Reason, names};
use serde_json::{Value, json};

use crate::fixture::{World, effects, healthy, reports, written};

/// What 0.1.0 marked pods with that were made from a `spec.pod` of claims alone.
const SHAPE_OF_BEFORE: &str = "08f44b07b5901a25";

/// The container of the pod that a decision makes.
fn container(decision: &Decision) -> Value {
    let made = decision.actions.iter().find_map(|action| {
        let Effect::Apply { object } = &action.effect else {
            return None;
        };
        let pod = serde_json::to_value(object).unwrap();
        pod.pointer("/pod/spec/containers/0").cloned()
    });
    made.unwrap_or_else(|| panic!("no pod is made: {:?}", effects(decision)))
}

fn policy(mut more: Value) -> Value {
    more["persistentVolumeClaimSpec"] = json!({"resources": {"requests": {"storage": "1Gi"}}});
    more
}

fn variables<'a>(container: &'a Value, name: &str) -> Vec<&'a str> {
    let env = container["env"].as_array().unwrap().iter();
    env.filter(|variable| variable["name"] == name)
        .map(|variable| variable["value"].as_str().unwrap())
        .collect()
}

/// The only finding that the spec cannot be followed for.
fn refused(world: &World) -> String {
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::InvalidSpec));
    decision.report.findings[0].message.clone()
}

#[test]
fn settings_with_fields_reach_etcd_and_roll_one_pod_at_a_time() {
    let asked = json!({
        "quotaBackendBytes": "4Gi", "autoCompactionMode": "periodic",
        "autoCompactionRetention": "8h", "snapshotCount": 20_000,
    });
    let made = healthy(3).spec("etcd", asked.clone()).without_pod(1);
    let container = container(&made.decide());
    for (name, value) in [
        ("ETCD_QUOTA_BACKEND_BYTES", "4294967296"),
        ("ETCD_AUTO_COMPACTION_MODE", "periodic"),
        ("ETCD_AUTO_COMPACTION_RETENTION", "8h"),
        ("ETCD_SNAPSHOT_COUNT", "20000"),
    ] {
        assert_eq!(variables(&container, name), [value]);
    }
    let living = healthy(3).shaped().spec("etcd", asked).settle().decide();
    assert_eq!(effects(&living), ["Delete Pod shop-m1"]);
    assert!(reports(&living, Reason::Reshaping));
}

#[test]
fn a_setting_that_the_environment_has_too_is_the_fields_and_that_is_said() {
    let env = json!([
        {"name": "ETCD_QUOTA_BACKEND_BYTES", "value": "1"},
        {"name": "ETCD_MAX_TXN_OPS", "value": "256"},
    ]);
    let world = healthy(3)
        .spec("pod", policy(json!({"etcdEnv": env})))
        .spec("etcd", json!({"quotaBackendBytes": "4Gi"}));
    let container = container(&world.clone().without_pod(1).decide());
    let quota = variables(&container, "ETCD_QUOTA_BACKEND_BYTES");
    assert_eq!(
        quota,
        ["4294967296"],
        "the kubelet would take the last of two"
    );
    assert_eq!(variables(&container, "ETCD_MAX_TXN_OPS"), ["256"]);
    let status = written(&world.decide()).unwrap();
    let applied = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "SpecApplied")
        .unwrap();
    assert_eq!(applied.reason, "AcceptedNotUsed");
    assert!(
        applied.message.contains("ETCD_QUOTA_BACKEND_BYTES")
            && applied.message.contains("spec.etcd.quotaBackendBytes"),
        "{}",
        applied.message
    );
}

/// Moved from the environment to its field, a setting is the same one.
#[test]
fn a_setting_that_moves_to_its_field_restarts_nobody() {
    let env = json!([{"name": "ETCD_SNAPSHOT_COUNT", "value": "10"}]);
    let moved = healthy(3)
        .spec("pod", policy(json!({"etcdEnv": env})))
        .shaped()
        .spec("pod", policy(json!({})))
        .spec("etcd", json!({"snapshotCount": 10}))
        .settle();
    assert_eq!(effects(&moved.decide()), [""; 0]);
}

#[test]
fn settings_that_etcd_cannot_follow_are_refused_with_their_field() {
    for (settings, words) in [
        (
            json!({"quotaBackendBytes": "4 GB"}),
            "spec.etcd.quotaBackendBytes",
        ),
        (
            json!({"autoCompactionMode": "revision"}),
            "spec.etcd.autoCompactionMode",
        ),
        (
            json!({"autoCompactionMode": "daily"}),
            "spec.etcd.autoCompactionMode",
        ),
        (
            json!({"autoCompactionRetention": "soon"}),
            "spec.etcd.autoCompactionRetention",
        ),
        (json!({"snapshotCount": 0}), "spec.etcd.snapshotCount"),
    ] {
        let message = refused(&healthy(3).spec("etcd", settings).without_pod(1));
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn probes_are_as_patient_as_the_spec_says() {
    let patient = json!({"startupSeconds": 900, "livenessSeconds": 115, "readinessSeconds": 20});
    let world = healthy(3).spec("pod", policy(json!({"probes": patient})));
    let made = container(&world.without_pod(1).decide());
    assert_eq!(made["livenessProbe"]["initialDelaySeconds"], 900);
    assert_eq!(made["livenessProbe"]["periodSeconds"], 10);
    assert_eq!(made["livenessProbe"]["failureThreshold"], 12);
    assert_eq!(made["readinessProbe"]["failureThreshold"], 20);
    let plain = container(&healthy(3).without_pod(1).decide());
    assert_eq!(plain["livenessProbe"]["initialDelaySeconds"], 60);
    assert_eq!(plain["livenessProbe"]["failureThreshold"], 6);
    assert_eq!(plain["readinessProbe"]["failureThreshold"], 3);
    for (field, seconds) in [
        ("startupSeconds", 3_601),
        ("livenessSeconds", 29),
        ("readinessSeconds", 0),
    ] {
        let probes = json!({"probes": {field: seconds}});
        let message = refused(&healthy(3).spec("pod", policy(probes)).without_pod(1));
        assert!(
            message.contains(field) && message.contains("it can be"),
            "{message}"
        );
    }
}

#[test]
fn a_pod_asks_for_what_the_spec_says_or_for_a_little() {
    let made = |resources: Value| {
        let world = healthy(3).spec("pod", policy(json!({"resources": resources})));
        container(&world.without_pod(1).decide())["resources"].clone()
    };
    let default = json!({"requests": {"cpu": "100m", "memory": "100Mi"}});
    assert_eq!(made(Value::Null), default);
    assert_eq!(made(json!({})), json!({}));
    let limits = json!({"limits": {"memory": "1Gi"}});
    assert_eq!(made(limits.clone()), limits);
}

/// An operator that builds pods with other defaults restarts nobody: its shape is that of the spec.
#[test]
fn pods_made_before_there_were_defaults_are_left_as_they_are() {
    let mut world = healthy(3);
    let shape = (
        names::SHAPE_ANNOTATION.to_owned(),
        SHAPE_OF_BEFORE.to_owned(),
    );
    for pod in world.pods() {
        pod.annotations.extend([shape.clone()]);
    }
    assert_eq!(effects(&world.settle().decide()), [""; 0]);
}
