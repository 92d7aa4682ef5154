//! Files there and back again, and what is said of them.

use super::*;

const SECRETS: Defaults<'_> = Defaults {
    storage_class: None,
    store_secret: Some("aws"),
};

fn documents(text: &str) -> Vec<Value> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("a file");
    documents::read(file.path()).expect("YAML")
}

fn convert(text: &str, defaults: Defaults<'_>) -> Result<(Vec<Value>, String), String> {
    converted(Path::new("a.yaml"), documents(text), defaults)
        .map(|Converted { objects, left }| {
            let left: Vec<String> = left
                .iter()
                .map(|left| format!("{}, {}", left.object, left.about))
                .collect();
            (objects, left.join("\n"))
        })
        .map_err(|error| format!("{error:#}"))
}

/// Back again, from objects.
fn back(objects: Vec<Value>) -> Vec<Value> {
    converted(Path::new("b.yaml"), objects, SECRETS)
        .expect("it can be said")
        .objects
}

const EXAMPLE: &str = include_str!("../../../docs/examples/improbable.yaml");
const COREOS: &str = concat!(
    include_str!("../../../docs/examples/cluster.yaml"),
    "---\n",
    include_str!("../../../docs/examples/backup.yaml"),
);

#[test]
fn the_example_is_said_in_the_other_dialect_and_comes_back() {
    let (objects, left) = convert(EXAMPLE, SECRETS).expect("it can be said");
    assert_eq!(
        objects,
        [
            json!({
                "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
                "metadata": {"name": "my-cluster", "namespace": "default"},
                "spec": {"size": 3, "version": "3.4.34", "pod": {
                    "annotations": {"prometheus.io/port": "2379"},
                    "resources": {"limits": {"cpu": "2", "memory": "200Mi"}},
                    "etcdEnv": [{"name": "GOMAXPROCS", "value": "2"}],
                    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"},
                    "persistentVolumeClaimSpec": {
                        "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                        "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "standard",
                    },
                }},
            }),
            json!({
                "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdBackup",
                "metadata": {"name": "nightly", "namespace": "default"},
                "spec": {
                    "etcdEndpoints": ["http://my-cluster.default.svc:2379"], "storageType": "S3",
                    "backupPolicy": {"schedule": "30 3 * * *", "timeZone": "Europe/London"},
                    "s3": {
                        "path": "backups/default/nightly.db", "awsSecret": "aws",
                        "endpoint": "http://minio.example:9000", "forcePathStyle": true,
                    },
                },
            }),
        ]
    );
    for words in [
        "EtcdCluster my-cluster, its data: it stays on the claims",
        "EtcdBackupSchedule nightly, spec.successfulBackupsHistoryLimit: ",
        "EtcdBackupSchedule nightly, spec.backupTemplate.destination.objectURLTemplate: each backup is named s3://backups/default/nightly.db_v<revision>_<time> here",
    ] {
        assert!(left.contains(words), "{left}");
    }
    // What both can say stays as it is from here on, however often it goes over.
    let there = back(objects.clone());
    assert_eq!(back(there), objects);
}

#[test]
fn the_examples_of_the_first_dialect_come_back_as_they_were() {
    let class = Defaults {
        storage_class: Some("standard"),
        ..Defaults::default()
    };
    let why = convert(COREOS, Defaults::default()).expect_err("no class is named");
    assert!(
        why.contains("EtcdCluster example, spec.pod.persistentVolumeClaimSpec.storageClassName: ")
            && why.contains("--storage-class"),
        "{why}"
    );
    let (there, left) = convert(COREOS, class).expect("it can be said");
    assert!(
        left.contains(
            "EtcdCluster example, spec.storage.whenDeleted: written as fields of Binnacle's own"
        ),
        "{left}"
    );
    let mut wanted = documents(COREOS);
    for (path, value) in [
        ("storageClassName", json!("standard")),
        ("volumeMode", json!("Filesystem")),
    ] {
        wanted[0]["spec"]["pod"]["persistentVolumeClaimSpec"][path] = value;
    }
    wanted[0]["spec"]["pod"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Delete"});
    assert_eq!(back(there), wanted);
}

#[test]
fn a_restore_of_theirs_is_a_restore_and_a_cluster_and_one_of_ours_needs_both() {
    let text = r#"
apiVersion: etcd.improbable.io/v1alpha1
kind: EtcdRestore
metadata: {name: again, namespace: prod}
spec:
  source: {objectURL: "s3://b/k.db"}
  clusterTemplate:
    clusterName: shop
    spec:
      replicas: 3
      version: 3.4.34
      storage: {volumeClaimTemplate: {storageClassName: "", resources: {requests: {storage: 1Gi}}}}
"#;
    let (objects, _) = convert(text, SECRETS).expect("it can be said");
    let kinds: Vec<_> = objects
        .iter()
        .map(|object| (&object["kind"], &object["metadata"]))
        .collect();
    assert_eq!(
        kinds,
        [
            (
                &json!("EtcdRestore"),
                &json!({"name": "again", "namespace": "prod"})
            ),
            (
                &json!("EtcdCluster"),
                &json!({"name": "shop", "namespace": "prod"})
            ),
        ]
    );
    let there = back(objects.clone());
    assert_eq!(there.len(), 1, "the cluster is in its restore: {there:?}");
    assert_eq!(back(there), objects);
    let alone = serde_yaml::to_string(&objects[0]).expect("YAML");
    let why = convert(&alone, SECRETS).expect_err("it has no cluster");
    assert!(
        why.contains("Put the EtcdCluster \"shop\" into the same file"),
        "{why}"
    );
}

#[test]
fn what_was_done_is_not_done_once_more() {
    let done = EXAMPLE
        .split("---\n")
        .nth(1)
        .expect("a schedule")
        .replace("EtcdBackupSchedule", "EtcdBackup");
    for (group, status) in [
        ("etcd.improbable.io/v1alpha1", "{phase: Completed}"),
        ("etcd.improbable.io/v1alpha1", "{phase: Failed}"),
        ("etcd.database.coreos.com/v1beta2", "{succeeded: true}"),
        (
            "etcd.database.coreos.com/v1beta2",
            "{succeeded: false, Reason: no}",
        ),
    ] {
        let done = done.replace("etcd.improbable.io/v1alpha1", group);
        let (objects, left) =
            convert(&format!("{done}status: {status}\n"), SECRETS).expect("it can be said");
        assert!(objects.is_empty(), "{objects:?}");
        assert!(
            left.contains("EtcdBackup nightly, all of it: it is"),
            "{left}"
        );
    }
    for (group, status) in [
        ("etcd.improbable.io/v1alpha1", json!({"phase": "Completed"})),
        (
            "etcd.database.coreos.com/v1beta2",
            json!({"succeeded": false, "reason": "no"}),
        ),
    ] {
        let restore = json!({"apiVersion": group, "kind": "EtcdRestore", "metadata": {"name": "a"}, "spec": {}, "status": status});
        assert_eq!(back(vec![restore]), Vec::<Value>::new());
    }
}

#[test]
fn a_list_as_kubectl_prints_it_is_cleaned_and_other_objects_pass() {
    let text = r#"
apiVersion: v1
kind: List
items:
- apiVersion: etcd.improbable.io/v1alpha1
  kind: EtcdCluster
  metadata:
    name: shop
    uid: 0a
    resourceVersion: "7"
    labels: {team: a}
    annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
    finalizers: [example.com/mine]
    ownerReferences: [{name: a}]
  spec:
    replicas: 1
    version: 3.4.34
    sise: 3
    storage: {volumeClaimTemplate: {storageClassName: a, resources: {requests: {storage: 1}}}}
  status: {replicas: 1}
- apiVersion: etcd.improbable.io/v1alpha1
  kind: EtcdPeer
  metadata: {name: shop-0}
  spec: {}
- apiVersion: v1
  kind: Secret
  metadata: {name: aws}
"#;
    let (objects, left) = convert(text, SECRETS).expect("it can be said");
    assert_eq!(
        objects[0]["metadata"],
        json!({"name": "shop", "labels": {"team": "a"}})
    );
    assert_eq!(objects[0].get("status"), None);
    assert_eq!(
        objects[1],
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aws"}})
    );
    assert_eq!(objects.len(), 2);
    for words in [
        "EtcdCluster shop, spec.sise: no such field is known",
        "EtcdCluster shop, metadata.finalizers: ",
        "EtcdCluster shop, metadata.ownerReferences: ",
        "EtcdPeer shop-0, all of it: ",
    ] {
        assert!(left.contains(words), "{words:?} is not in {left}");
    }
}

#[test]
fn what_cannot_be_converted_is_refused_in_words() {
    let both = format!("{EXAMPLE}---\n{COREOS}");
    let wrong_type = EXAMPLE.replace("replicas: 3", "replicas: three");
    let bad = EXAMPLE
        .replace("name: my-cluster\n", "name: my.cluster\n")
        .replace("version: 3.4.34", "version: v3.4")
        .replace("replicas: 3", "replicas: 9");
    let newer = EXAMPLE.replace("etcd.improbable.io/v1alpha1", "etcd.improbable.io/v1beta1");
    let nameless = EXAMPLE.replace("  name: my-cluster\n", "");
    for (text, words) in [
        ("", &["a.yaml has no object of etcd.database"][..]),
        (
            "kind: Secret\napiVersion: v1",
            &["there is nothing to convert"],
        ),
        (
            "just words",
            &["a.yaml: document 1 has no apiVersion or no kind"],
        ),
        (both.as_str(), &["Convert one of them at a time"]),
        (
            newer.as_str(),
            &["etcd.improbable.io/v1beta1 EtcdCluster is no kind that can be converted"],
        ),
        (
            nameless.as_str(),
            &["document 1: the EtcdCluster has no metadata.name. Give it one"],
        ),
        (
            wrong_type.as_str(),
            &["EtcdCluster my-cluster, spec.replicas: invalid type: string \"three\""],
        ),
        (
            bad.as_str(),
            &[
                "nothing is printed:",
                "EtcdCluster my.cluster, metadata.name: it is also the name of a Service",
                "EtcdCluster my.cluster, spec.replicas: etcd.improbable.io wants 1 to 7",
                "EtcdCluster my.cluster, spec.version: etcd.improbable.io wants MAJOR.MINOR.PATCH",
            ],
        ),
    ] {
        let why = convert(text, SECRETS).expect_err("it is refused");
        for word in words {
            assert!(why.contains(word), "{word:?} is not in {why}");
        }
    }
    let why = convert(EXAMPLE, Defaults::default()).expect_err("no Secret is named");
    assert!(
        why.contains(
            "EtcdBackupSchedule nightly, spec.backupTemplate.destination.objectURLTemplate: "
        ) && why.contains("--store-secret"),
        "{why}"
    );
}
