//! What becomes of stored backups when their object is deleted: they stay, or go first where the spec asks for it.

use anyhow::{Context, Result, ensure};
use contract::{GROUP, ResourceKind, STORED_FINALIZER, VERSION};
use kube::ResourceExt;
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;

use super::{PATIENCE, apply, status};
use crate::minio::MinIo;

/// All goes with its object, once the store answers, and nothing else; who changes their mind meanwhile keeps it.
pub(crate) async fn going(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    scenario
        .create_healthy("plain", spec::on_volumes(1))
        .await?;
    store.bucket()?.write("gone_vip", "somebody else's").await?;
    for (name, policy) in [
        ("gone", json!({"backupIntervalInSecond": 3})),
        ("kept", json!({"backupIntervalInSecond": 3})),
        ("once", json!({})),
    ] {
        apply(scenario, &asking(name, &store, policy)).await?;
    }
    wait::until("two backups of each, and the one", PATIENCE, async || {
        let keys = store.keys().await?;
        let count = |name: &str| keys.iter().filter(|key| key.starts_with(name)).count();
        let are_there = count("gone_v") > 2 && count("kept_v") > 1 && count("once") == 1;
        ensure!(are_there, "stored are {keys:?}");
        ensure!(status(scenario, "once").await?.succeeded, "it is not told");
        Ok(())
    })
    .await?;
    let backup = scenario.resource(ResourceKind::EtcdBackup, "gone");
    let finalizers = backup.get().await?.finalizers().to_vec();
    ensure!(finalizers == [STORED_FINALIZER], "{finalizers:?}");

    store.freeze()?;
    for name in ["gone", "kept", "once"] {
        let arguments = ["delete", "etcdbackup", name, "--wait=false"];
        scenario.kubectl(&arguments).await?;
    }
    wait::until("the way out of a lost store", PATIENCE, async || {
        let told = status(scenario, "kept").await?.conditions;
        let progress = told
            .iter()
            .find(|condition| condition.kind == "Progressing");
        let message = &progress.context("nothing is told")?.message;
        let is_told = message.contains("spec.backupPolicy.whenDeleted to Retain");
        ensure!(is_told, "{message}");
        Ok(())
    })
    .await?;
    let retain = json!({"spec": {"backupPolicy": {"whenDeleted": "Retain"}}}).to_string();
    let arguments = [
        "patch",
        "etcdbackup",
        "kept",
        "--type=merge",
        "--patch",
        &retain,
    ];
    scenario.kubectl(&arguments).await?;
    is_gone(scenario, "kept").await?;

    store.thaw()?;
    is_gone(scenario, "gone").await?;
    is_gone(scenario, "once").await?;
    let keys = store.keys().await?;
    let (kept, others): (Vec<_>, Vec<_>) = keys.iter().partition(|key| key.starts_with("kept_v"));
    ensure!(kept.len() > 1 && others == ["gone_vip"], "{keys:?}");
    Ok(())
}

/// A backup of the cluster `plain` that takes what it stored along.
fn asking(name: &str, store: &MinIo, mut policy: Value) -> Value {
    policy["whenDeleted"] = json!("Delete");
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdBackup", "metadata": {"name": name},
        "spec": {
            "clusterRef": {"name": "plain"}, "storageType": "S3", "s3": store.block(name, "aws"),
            "backupPolicy": policy,
        },
    })
}

async fn is_gone(scenario: &Scenario, name: &str) -> Result<()> {
    let backup = scenario.resource(ResourceKind::EtcdBackup, name);
    wait::until(format!("the end of {name}"), PATIENCE, async || {
        let found = backup.find().await?;
        ensure!(found.is_none(), "it is still there: {found:?}");
        Ok(())
    })
    .await
}
