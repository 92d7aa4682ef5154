//! Restores of `etcd.improbable.io/v1alpha1`: a new cluster from a backup in a real S3 server, and what is in its way.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::scenario::Scenario;

use super::OF_THE_FINAL_STATE;
use super::backups::{apply, ends, events, manifest, reaches, spec, url};
use super::theirs::Theirs;
use crate::minio::MinIo;

const KIND: &str = "etcdrestores.etcd.improbable.io";

fn restore(store: &MinIo, name: &str, cluster: &str) -> Value {
    json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdRestore",
        "metadata": {"name": name},
        "spec": {
            "source": {"objectURL": url(store, "a.db"), "secretName": "aws"},
            "clusterTemplate": {"clusterName": cluster, "spec": {
                "replicas": 3, "version": "3.6.16",
                "storage": {"volumeClaimTemplate": {
                    "storageClassName": "local", "resources": {"requests": {"storage": "64Mi"}},
                }},
            }},
        },
    })
}

/// The cluster is made with all the data of the backup, and its restore is completed when it is healthy at its size. Where a
/// claim or a cluster stands in its place the restore fails, and nothing of it is touched.
pub(super) async fn made(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    cluster.becomes_healthy(1).await?;
    cluster.etcdctl(&["put", "kept", "yes"]).await?;
    apply(scenario, &manifest("a", &spec(&store, "a.db", Some("aws")))).await?;
    ends(scenario, "a", "Completed").await?;

    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "taken-1"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "local",
            "resources": {"requests": {"storage": "64Mi"}}},
    });
    apply(scenario, &claim).await?;
    for (name, cluster, words) in [
        ("in-the-way", "taken", "PersistentVolumeClaim taken-1"),
        ("living", "final-cluster", "exists already"),
    ] {
        apply(scenario, &restore(&store, name, cluster)).await?;
        let failed = reaches(scenario, KIND, name, "Failed").await?;
        let why = failed["status"]["reason"].as_str().unwrap_or_default();
        ensure!(why.contains(words), "{why}");
        let told = events(scenario, name).await?;
        ensure!(told.contains("RestoreFailed"), "{told}");
    }
    let clusters = ["get", "etcdclusters.etcd.improbable.io", "--output=name"];
    let clusters = scenario.kubectl(&clusters).await?;
    ensure!(!clusters.contains("taken"), "there are {clusters}");

    let object = restore(&store, "again", "restored").to_string();
    let restored = Theirs::apply(scenario, &object, "restored").await?;
    let done = reaches(scenario, KIND, "again", "Completed").await?;
    restored.becomes_healthy(3).await?;
    ensure!(done["status"]["stage"] == "Succeeded", "{}", done["status"]);
    let read = restored
        .etcdctl(&["get", "kept", "--print-value-only"])
        .await?;
    ensure!(read.trim() == "yes", "the data is {read:?}");
    let made = restored.get(&restored.object()).await?;
    let metadata = &made["metadata"];
    ensure!(
        metadata["labels"]["etcd.improbable.io/restored-from"] == "again"
            && metadata["ownerReferences"] == Value::Null,
        "its metadata is {metadata}"
    );
    let shown = scenario.kubectl(&["get", "ietcdrestore", "again"]).await?;
    ensure!(shown.contains("Completed"), "{shown}");
    Ok(())
}
