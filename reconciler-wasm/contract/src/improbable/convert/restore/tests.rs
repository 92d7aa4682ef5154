//! Restores there and back again.

use serde_json::json;

use super::*;

const SUBJECT: Subject<'_> = Subject {
    name: "shop",
    namespace: None,
    uid: None,
    created: None,
    store_secret: Some("aws"),
};

#[test]
fn a_restore_comes_back_as_it_was() {
    let spec: EtcdRestoreSpec = serde_json::from_value(json!({
        "source": {"objectURL": "s3://b/k.db?endpoint=http://minio:9000&s3ForcePathStyle=true", "secretName": "own"},
        "clusterTemplate": {"clusterName": "shop", "spec": {"replicas": 3, "version": "3.4.34"}},
        "bumpRevision": 0,
    }))
    .expect("a spec");
    let carried = restore_from(&spec, &SUBJECT).expect("it can be said");
    assert_eq!(carried.left, []);
    assert_eq!(
        serde_json::to_value(&carried.spec).expect("JSON"),
        json!({
            "etcdCluster": {"name": "shop"}, "backupStorageType": "S3", "bumpRevision": 0,
            "s3": {"path": "b/k.db", "awsSecret": "own", "endpoint": "http://minio:9000", "forcePathStyle": true},
        })
    );
    let back = restore_to(&carried.spec, spec.cluster_template.spec.clone());
    assert_eq!(back.expect("it can be said").spec, spec);
}

#[test]
fn the_consent_to_give_up_a_living_cluster_stays_behind() {
    let spec: crate::EtcdRestoreSpec = serde_json::from_value(json!({
        "etcdCluster": {"name": "shop"}, "backupStorageType": "GCS", "replaces": "531c971146267f50",
        "gcs": {"path": "b/k", "gcpSecret": "s"},
    }))
    .expect("a spec");
    let carried = restore_to(&spec, EtcdClusterSpec::default()).expect("it can be said");
    assert_eq!(
        carried.left.first().map(|left| left.field.as_str()),
        Some("spec.replaces")
    );
    let back = restore_from(&carried.spec, &SUBJECT).expect("it can be said");
    assert!(
        back.left
            .iter()
            .any(|left| left.why.contains("begin with a slash"))
    );
    assert_eq!(
        back.spec,
        crate::EtcdRestoreSpec {
            replaces: None,
            ..spec
        }
    );
}

#[test]
fn a_restore_names_its_cluster_and_a_backup() {
    let spec: EtcdRestoreSpec =
        serde_json::from_value(json!({"source": {"objectURL": "s3://b/k"}})).expect("a spec");
    let why = restore_from(&spec, &SUBJECT).expect_err("it is refused");
    assert_eq!(
        why.first().map(|why| why.field.as_str()),
        Some("spec.clusterTemplate.clusterName")
    );
}
