//! Living clusters of the dialect: other versions, a pause, and the optional fields that the archived operator did not have.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::wait;

use super::theirs::{PEERS, Theirs};
use super::{OF_THE_FINAL_STATE, OF_THE_RELEASE, PATIENCE, merge};
use crate::upgrade;

/// More than etcd takes for a snapshot of its log when it is asked for one every ten entries.
const KEYS: usize = 25;

/// A version that does not exist is taken back, and the next minor version is reached member by member on the same claims.
pub(super) async fn versions(scenario: &mut Scenario) -> Result<()> {
    upgrade::load(scenario, &["3.6.16", "3.7.3"]).await?;
    let cluster = Theirs::apply(scenario, OF_THE_RELEASE, "my-cluster").await?;
    cluster.becomes_healthy(3).await?;
    let claims = cluster.uids("pvc").await?;
    cluster
        .edit(&json!({"etcd": {"snapshotCount": 10}}), &[])
        .await?;
    cluster.becomes_healthy(3).await?;
    for number in 0..KEYS {
        let key = format!("key/{number}");
        cluster.etcdctl(&["put", &key, "kept"]).await?;
    }

    cluster.edit(&json!({"version": "3.6.99"}), &[]).await?;
    let words = [
        "the image quay.io/coreos/etcd:v3.6.99 cannot be had",
        "spec.version back to 3.6.16",
    ];
    cluster.tells(&words).await?;
    cluster.edit(&json!({"version": "3.6.16"}), &[]).await?;
    cluster.becomes_healthy(3).await?;

    cluster.edit(&json!({"version": "3.7.3"}), &[]).await?;
    cluster.runs(3, "3.7.3").await?;
    ensure!(cluster.uids("pvc").await? == claims, "other claims");
    let last = format!("key/{}", KEYS - 1);
    let read = cluster
        .etcdctl(&["get", &last, "--print-value-only"])
        .await?;
    ensure!(read.trim() == "kept", "the data is gone: {read:?}");
    Ok(())
}

/// Nothing of a paused cluster is made, changed or deleted, its peers no more than its pods; afterwards all is made good.
pub(super) async fn paused(scenario: &mut Scenario) -> Result<()> {
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    cluster.becomes_healthy(1).await?;
    cluster
        .edit(&json!({"paused": true, "replicas": 3}), &[])
        .await?;
    let peer = format!("{PEERS}/final-cluster-0");
    scenario.kubectl(&["delete", &peer]).await?;
    wait::until("the pause in the status", PATIENCE, async || {
        let status = cluster.status().await?;
        ensure!(status["controlPaused"] == true, "its status is {status}");
        Ok(())
    })
    .await?;
    for _ in 0..2 {
        scenario.is_looked_at_again().await?;
    }
    for (kind, left) in [("pods", 1), (PEERS, 0)] {
        let found = cluster.labelled(kind).await?;
        ensure!(found.len() == left, "{kind} are {found:?}");
    }
    cluster.edit(&json!({"paused": false}), &[]).await?;
    cluster.becomes_healthy(3).await
}

/// Certificates that the operator makes, a disruption budget, and what pods may be told beside annotations.
pub(super) async fn optional_fields(scenario: &mut Scenario) -> Result<()> {
    let mut manifest: Value = serde_yaml::from_str(OF_THE_FINAL_STATE)?;
    merge(
        &mut manifest["spec"],
        &json!({
            "replicas": 3,
            "etcd": {"quotaBackendBytes": 67_108_864},
            "podTemplate": {"metadata": {"labels": {"team": "one"}}},
        }),
    );
    manifest["spec"]["tls"] = json!({"auto": {}});
    let cluster = Theirs::apply(scenario, &manifest.to_string(), "final-cluster").await?;
    cluster.becomes_healthy(3).await?;
    let budget = cluster.get("poddisruptionbudget/final-cluster").await?;
    ensure!(
        budget["spec"]["minAvailable"] == 2,
        "the budget is {}",
        budget["spec"]
    );
    let pod = cluster.get("pod/final-cluster-0").await?;
    let label = &pod["metadata"]["labels"]["team"];
    ensure!(
        label == "one",
        "its labels are {}",
        pod["metadata"]["labels"]
    );
    let command = pod["spec"]["containers"][0].to_string();
    for word in ["--client-cert-auth", "67108864"] {
        ensure!(command.contains(word), "{word} is not in {command}");
    }
    let plain = [
        "exec",
        "final-cluster-0",
        "--",
        "etcdctl",
        "--endpoints=http://final-cluster:2379",
        "get",
        "key",
    ];
    let answer = scenario.kubectl(&plain).await;
    ensure!(answer.is_err(), "it answers in plain text: {answer:?}");
    Ok(())
}
