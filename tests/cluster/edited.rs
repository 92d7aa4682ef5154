//! A status that somebody edited: what it should be comes back, and no member is touched.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tests::scenario::{Children, Scenario, spec};

/// Another id in the status is told with the command that brings the right one back, and a status that is taken away as a
/// whole comes back; no member is touched.
pub(crate) async fn comes_back(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("scribbled", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    let id = etcd.cluster_id().await?;
    let before = Children::of(&cluster).await?.uids();
    let patch = async |kind: &str, patch: &str| {
        scenario
            .kubectl(&[
                "patch",
                "etcd",
                "scribbled",
                "--subresource=status",
                kind,
                "--patch",
                patch,
            ])
            .await
    };
    let wrong = json!({"status": {"clusterId": "beef"}}).to_string();
    patch("--type=merge", &wrong).await?;
    let said = cluster
        .becomes_blocked("ClusterIdMismatch", &["beef", "status.clusterId"])
        .await?;
    let way = said.message.split("--patch '").nth(1).context("no way")?;
    patch("--type=merge", way.trim_end_matches('\'')).await?;
    cluster.becomes_healthy(3).await?;
    let removal = json!([{"op": "remove", "path": "/status"}]).to_string();
    patch("--type=json", &removal).await?;
    cluster.becomes_healthy(3).await?;
    cluster.becomes_unblocked().await?;
    let etcd = cluster.etcd().await?;
    ensure!(etcd.cluster_id().await? == id, "it is another cluster");
    ensure!(etcd.get("kept").await? == "yes", "the key is gone");
    ensure!(
        Children::of(&cluster).await?.uids() == before,
        "something was made anew"
    );
    Ok(())
}
