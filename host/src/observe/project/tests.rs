//! Projections from objects as an API server sends them.

use serde_json::json;

use super::*;

fn decode<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).expect("the fixture is a valid object")
}

#[test]
fn a_running_member_shows_address_node_readiness_and_how_it_was_started() {
    let projected = pod(decode(json!({
        "metadata": {
            "name": "kv-0000", "namespace": "infra", "uid": "u1", "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "etcd", "etcd_cluster": "kv"},
            "annotations": {
                "etcd.database.coreos.com/initial-cluster": "kv-0000=http://kv-0000.kv.infra.svc:2380",
                "etcd.database.coreos.com/initial-cluster-state": "new",
                "kubectl.kubernetes.io/last-applied-configuration": "{}"
            },
            "ownerReferences": [{"apiVersion": "v1", "kind": "EtcdCluster", "name": "kv", "uid": "owner", "controller": true}],
            "managedFields": [{"manager": "binnacle"}]
        },
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "etcd", "image": "quay.io/coreos/etcd:v3.6.16"}],
            "volumes": [{"name": "etcd-data", "persistentVolumeClaim": {"claimName": "kv-0000"}}]
        },
        "status": {
            "phase": "Running", "podIP": "10.0.0.7",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:05Z"}],
            "containerStatuses": [{
                "name": "etcd", "image": "", "imageID": "", "ready": true, "restartCount": 2,
                "state": {"running": {}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-01T00:00:01Z"}}
            }]
        }
    })));
    assert_eq!(projected.owner.as_deref(), Some("owner"));
    assert_eq!(projected.ip.as_deref(), Some("10.0.0.7"));
    assert_eq!(projected.node.as_deref(), Some("n1"));
    assert!(projected.ready && projected.running);
    assert_eq!(projected.ready_since, Some(Millis(1_767_225_605_000)));
    assert_eq!((projected.ran, projected.restarts), (true, 2));
    assert_eq!(projected.claim.as_deref(), Some("kv-0000"));
    assert_eq!(projected.initial_cluster_state.as_deref(), Some("new"));
    assert_eq!(
        projected.annotations.len(),
        2,
        "kubectl's copy of the object is dropped"
    );
    let exit = projected.last_exit.expect("it ended before");
    assert_eq!((exit.reason.as_str(), exit.code), ("OOMKilled", 137));
}

#[test]
fn a_pod_of_the_archived_operator_shows_its_initial_cluster_from_its_flags() {
    let projected = pod(decode(json!({
        "metadata": {"name": "kv-0000"},
        "spec": {"containers": [{
            "name": "etcd",
            "command": ["/usr/local/bin/etcd", "--initial-cluster=kv-0000=http://kv-0000.kv:2380", "--initial-cluster-state=new"]
        }]}
    })));
    assert_eq!(
        projected.initial_cluster.as_deref(),
        Some("kv-0000=http://kv-0000.kv:2380")
    );
    assert_eq!(projected.initial_cluster_state.as_deref(), Some("new"));
}

#[test]
fn a_pod_that_waits_says_why() {
    let projected = pod(decode(json!({
        "metadata": {"name": "kv-0000"},
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}],
            "containerStatuses": [{
                "name": "etcd", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
            }]
        }
    })));
    assert_eq!(
        projected.unschedulable.as_deref(),
        Some("Unschedulable: 0/3 nodes")
    );
    assert_eq!(
        projected.waiting.as_deref(),
        Some("ImagePullBackOff: no such image")
    );
    assert!(!projected.running && !projected.ran);
}

#[test]
fn last_words_are_cut_to_whole_characters() {
    let text = tail(format!("x{}", "é".repeat(2000)));
    assert!(text.len() <= LAST_WORDS);
    assert!(text.chars().all(|character| character == 'é'));
}

#[test]
fn a_resource_with_wrong_types_still_projects() {
    let object: DynamicObject = decode(json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
        "metadata": {"name": "kv", "namespace": "infra", "uid": "u", "resourceVersion": "9", "generation": 3},
        "spec": "not an object", "status": ["nor", "this"]
    }));
    let projected = resource(object);
    assert_eq!(projected.spec, json!("not an object"));
    assert_eq!(projected.status, json!(["nor", "this"]));
    assert_eq!(projected.generation, 3);
}

#[test]
fn service_and_budget_keep_what_decides() {
    let projected = service(decode(json!({
        "metadata": {"name": "kv-client"},
        "spec": {"clusterIP": "10.1.1.1", "selector": {"app": "etcd"}, "ports": [{"name": "client", "port": 2379}, {"name": "a", "port": 1}]}
    })));
    assert_eq!(projected.ports[0].name, "a");
    assert_eq!(projected.cluster_ip.as_deref(), Some("10.1.1.1"));
    let budget = disruption_budget(decode(json!({
        "metadata": {"name": "kv"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"etcd_cluster": "kv"}}}
    })));
    assert_eq!(budget.min_available.as_deref(), Some("2"));
}

#[test]
fn a_claim_shows_size_and_resize() {
    let projected = volume(decode(json!({
        "metadata": {"name": "kv-0000", "uid": "disk"},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"},
            "conditions": [{"type": "FileSystemResizePending", "status": "True", "message": "waiting"}]}
    })));
    assert_eq!(projected.phase, VolumePhase::Bound);
    assert_eq!(projected.requested.as_deref(), Some("2Gi"));
    assert_eq!(projected.capacity.as_deref(), Some("1Gi"));
    assert_eq!(
        projected.resize.as_deref(),
        Some("FileSystemResizePending: waiting")
    );
}
