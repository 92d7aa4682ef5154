//! The pod that is made, and what is read from one.

use contract::{Contents, Millis, RehearsalState};
use serde_json::{Value, json};

use super::*;

fn wanted(image: &str) -> Rehearse {
    Rehearse {
        run: "0a1b".to_owned(),
        key: "dir/etcd.backup_v7_2026-11-21-17:00:00".to_owned(),
        sha256: "ab".repeat(32),
        revision: 7,
        image: image.to_owned(),
        operator_image: "binnacle:dev".to_owned(),
        within: Millis::seconds(600),
    }
}

fn made(image: &str) -> Value {
    let resource = Resource {
        api_version: "etcd.database.coreos.com/v1beta2".to_owned(),
        kind: "EtcdBackup".to_owned(),
        namespace: "ns".to_owned(),
        name: "nightly".to_owned(),
        uid: "uid-1".to_owned(),
        ..Resource::default()
    };
    let spec = json!({
        "clusterRef": {"name": "shop"}, "storageType": "S3", "clientTLSSecret": "not-for-the-pod",
        "s3": {"path": "bucket/dir/etcd.backup", "awsSecret": "aws", "endpoint": "http://minio:9000"},
        "backupPolicy": {"backupIntervalInSecond": 60, "verify": "restore"},
    });
    let spec = EtcdBackupSpec::deserialize(&spec).expect("a spec");
    let place = Place::of(&spec).expect("a place");
    json!(pod(&resource, &spec, &place, &wanted(image)))
}

#[test]
fn a_rehearsal_listens_to_nobody_and_only_its_first_container_has_the_stores_secret() {
    let pod = made("quay.io/coreos/etcd:v3.6.16");
    let containers = [
        pod["spec"]["initContainers"]
            .as_array()
            .expect("a list")
            .clone(),
        pod["spec"]["containers"]
            .as_array()
            .expect("a list")
            .clone(),
    ]
    .concat();
    let names: Vec<_> = containers.iter().map(|one| one["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            Some("fetch"),
            Some("restore"),
            Some("etcd"),
            Some("witness")
        ]
    );
    for container in &containers {
        let text = container.to_string();
        let has_secret = text.contains("store-credentials");
        assert_eq!(has_secret, container["name"] == "fetch", "{text}");
        assert!(container["ports"].is_null(), "{text}");
        for listened in text.split("--listen-").skip(1) {
            assert!(listened.contains("=http://127.0.0.1:"), "{text}");
        }
    }
    let fetch = containers[0]["args"].to_string();
    assert!(fetch.contains("bucket/dir/etcd.backup_v7_"), "{fetch}");
    assert!(
        !fetch.contains("not-for-the-pod") && !fetch.contains("verify"),
        "{fetch}"
    );
    let spec = &pod["spec"];
    assert_eq!(spec["automountServiceAccountToken"], json!(false));
    assert_eq!(spec["activeDeadlineSeconds"], json!(600));
    assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], json!("uid-1"));
    // Services and budgets of clusters must not find it.
    assert_eq!(pod["metadata"]["labels"], json!({"app": "etcd-rehearsal"}));
}

#[test]
fn an_old_etcd_restores_with_its_own_tool() {
    let tool = |image| made(image)["spec"]["initContainers"][1]["command"][0].clone();
    assert_eq!(
        tool("quay.io/coreos/etcd:v3.4.34"),
        "/usr/local/bin/etcdctl"
    );
    assert_eq!(
        tool("quay.io/coreos/etcd:v3.5.35"),
        "/usr/local/bin/etcdutl"
    );
}

fn seen(status: Value) -> RehearsalState {
    let pod = json!({"metadata": {"name": "a"}, "status": status});
    state::of(&serde_json::from_value(pod).expect("a pod"))
}

fn ended(name: &str, code: i32, message: &str) -> Value {
    json!({"name": name, "ready": false, "restartCount": 0, "image": "", "imageID": "",
        "state": {"terminated": {"exitCode": code, "message": message}}})
}

#[test]
fn what_the_witness_leaves_is_the_answer_and_nothing_else_is() {
    let answer = RehearsalState::Answered {
        contents: Contents {
            revision: 7,
            keys: 12_004,
            hash: 5,
            compact_revision: 1,
        },
        took: Millis(3_100),
    };
    let words = json!(answer).to_string();
    let with = |message: &str| {
        seen(json!({"phase": "Succeeded", "containerStatuses": [ended("witness", 0, message)]}))
    };
    assert_eq!(with(&words), answer);
    for other in ["", "{}", r#"{"running":{"doing":"x"}}"#] {
        assert!(matches!(
            with(other),
            RehearsalState::Failed {
                container: None,
                ..
            }
        ));
    }
}

#[test]
fn who_failed_is_named_and_what_may_pass_is_told_from_what_does_not() {
    let failed = |containers: Value| match seen(
        json!({"phase": "Failed", "initContainerStatuses": containers}),
    ) {
        RehearsalState::Failed {
            container,
            why,
            permanent,
        } => (container, why, permanent),
        other @ (RehearsalState::Running { .. } | RehearsalState::Answered { .. }) => {
            panic!("{other:?}")
        }
    };
    let damaged = "error: what is stored as a is no backup: cut short";
    assert_eq!(
        failed(json!([ended("fetch", 2, damaged)])),
        (
            Some("fetch".to_owned()),
            "what is stored as a is no backup: cut short".to_owned(),
            true
        )
    );
    let (_, _, permanent) = failed(json!([ended("fetch", 75, "error: the store failed")]));
    assert!(!permanent);
    let (container, _, _) = failed(json!([
        ended("fetch", 0, ""),
        ended("restore", 1, "Error: x")
    ]));
    assert_eq!(container.as_deref(), Some("restore"));
    let evicted = seen(
        json!({"phase": "Failed", "reason": "Evicted", "message": "no room",
        "initContainerStatuses": [ended("restore", 137, "")]}),
    );
    assert_eq!(
        evicted,
        RehearsalState::Failed {
            container: None,
            why: "Evicted: no room".to_owned(),
            permanent: false,
        }
    );
}

#[test]
fn what_a_rehearsal_waits_for_is_told() {
    let doing = |status: Value| match seen(status) {
        RehearsalState::Running { doing } => doing,
        other @ (RehearsalState::Answered { .. } | RehearsalState::Failed { .. }) => {
            panic!("{other:?}")
        }
    };
    let container = |state: Value| json!([{"name": "restore", "ready": false, "restartCount": 0, "image": "", "imageID": "", "state": state}]);
    let pulling =
        container(json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}));
    assert_eq!(
        doing(json!({"phase": "Pending", "initContainerStatuses": pulling})),
        "restore waits (ImagePullBackOff: no such image)"
    );
    let running = container(json!({"running": {}}));
    assert_eq!(
        doing(json!({"phase": "Pending", "initContainerStatuses": running})),
        "restore runs"
    );
    let unscheduled = json!([{"type": "PodScheduled", "status": "False", "message": "no node"}]);
    assert_eq!(
        doing(json!({"phase": "Pending", "conditions": unscheduled})),
        "its pod has no node (no node)"
    );
}
