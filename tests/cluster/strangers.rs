//! Pods whose labels or owner somebody edits, and pods of others with a cluster's labels.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;

use crate::backup::apply;

const PATIENCE: Duration = Duration::from_secs(60);

/// Nothing of it is lost or made again, the way back is told, and it is one that works.
pub(crate) async fn edited(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("lone", json!({"size": 1})).await?;
    let member = cluster.leader().await?;
    let uid = cluster.pod(&member).await?.metadata.uid;
    cluster.etcd().await?.put("kept", "yes").await?;

    let disowned = json!({"metadata": {"ownerReferences": null}}).to_string();
    let patch = ["patch", "pod", &member, "--type=merge", "--patch"];
    scenario
        .kubectl(&[&patch[..], &[&disowned]].concat())
        .await?;
    let told = cluster
        .becomes_blocked(
            "ForeignObject",
            &[&member, "Put its owner back", "patch pod"],
        )
        .await?;
    let owner = told
        .message
        .split('\'')
        .nth(1)
        .context("no patch is told")?;
    scenario.kubectl(&[&patch[..], &[owner]].concat()).await?;
    is_free(&cluster).await?;

    let label =
        |value: &'static str| ["label", "--overwrite", "pod", &member, value].map(str::to_owned);
    let run = async |words: [String; 5]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        scenario.kubectl(&words).await
    };
    run(label("etcd_cluster-")).await?;
    cluster
        .becomes_blocked("ForeignObject", &[&member, "etcd_cluster=lone"])
        .await?;
    run(label("etcd_cluster=lone")).await?;
    is_free(&cluster).await?;

    ensure!(
        cluster.pod(&member).await?.metadata.uid == uid,
        "it was made again"
    );
    ensure!(
        cluster.etcd().await?.get("kept").await? == "yes",
        "it is empty"
    );
    Ok(())
}

/// It is told and left alone, until its label is taken off as the condition says.
pub(crate) async fn with_labels(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("led", spec::on_volumes(1)).await?;
    let member = cluster.leader().await?;
    let image = cluster
        .pod(&member)
        .await?
        .spec
        .and_then(|spec| spec.containers.into_iter().next()?.image)
        .context("the member has no image")?;
    let stranger = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "stranger", "labels": {"app": "etcd", "etcd_cluster": "led"}},
        "spec": {
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "etcd", "image": image, "command": ["etcd"],
                "securityContext": {
                    "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    });
    apply(scenario, &stranger).await?;
    cluster
        .becomes_blocked(
            "ForeignObject",
            &["Pod stranger", "label pod stranger etcd_cluster-"],
        )
        .await?;
    scenario
        .kubectl(&["label", "pod", "stranger", "etcd_cluster-"])
        .await?;
    is_free(&cluster).await?;
    scenario.kubectl(&["get", "pod", "stranger"]).await?;
    Ok(())
}

async fn is_free(cluster: &Cluster) -> Result<()> {
    wait::until("nothing that is in its way", PATIENCE, async || {
        let conditions = cluster.status().await?.conditions;
        let blocked = conditions.iter().find(|one| one.kind == "Blocked");
        let blocked = blocked.context("nothing is said")?;
        ensure!(
            blocked.status == ConditionStatus::False,
            "{}",
            blocked.message
        );
        Ok(())
    })
    .await?;
    cluster.becomes_healthy(1).await
}
