//! A cluster that is born from a backup.

use anyhow::{Context, Result, ensure};
use contract::ResourceKind;
use serde_json::json;
use tests::scenario::{Scenario, spec};
use tests::testbed::{Progress, wait};

use super::{PATIENCE, back_up, holds, succeeded, wish};
use crate::backup::{KEY, apply};
use crate::members::restarts;
use crate::minio::MinIo;

/// An EtcdRestore waits for its cluster; created after it, the cluster is born from the backup of an older version.
pub(crate) async fn born_from(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    scenario
        .testbed()
        .load_etcd("3.5.35", &Progress::silent())
        .await?;
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let mut older = spec::in_pods(1);
    older["version"] = json!("3.5.35");
    let source = scenario.create_healthy("older", older).await?;
    source.etcd().await?.put("kept", "yes").await?;
    back_up(scenario, &store, &source).await?;

    apply(scenario, &wish("anew", "newer", store.block(KEY, "aws"))).await?;
    holds(scenario, "anew", "does not exist").await?;
    let cluster = scenario.create("newer", spec::in_pods(3)).await?;
    let status = succeeded(scenario, "anew").await?;
    cluster.becomes_healthy(3).await?;
    let proof = status.proof.context("there is no proof")?;
    ensure!(proof.etcd_version == "3.5.0", "of {}", proof.etcd_version);
    ensure!(cluster.etcd().await?.get("kept").await? == "yes", "no data");
    ensure!(
        cluster.etcd().await?.version().await? == "3.6.16",
        "it is another version"
    );
    ensure!(
        source.etcd().await?.cluster_id().await? != cluster.etcd().await?.cluster_id().await?,
        "both are one cluster"
    );
    // Its data is in its pod: what filled it must do nothing when its container starts again.
    let names = cluster.member_names().await?;
    for name in &names {
        scenario
            .testbed()
            .kill_member(scenario.namespace(), name)
            .await?;
        wait::until("the restart of its container", PATIENCE, async || {
            ensure!(
                restarts(&cluster.pod(name).await?) > 0,
                "it was not restarted"
            );
            Ok(())
        })
        .await?;
        cluster.becomes_healthy(3).await?;
    }
    ensure!(cluster.member_names().await? == names, "a member was lost");
    let restore = scenario.resource(ResourceKind::EtcdRestore, "anew");
    restore.delete().await?;
    cluster.becomes_healthy(3).await
}
