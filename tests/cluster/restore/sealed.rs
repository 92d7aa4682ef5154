//! A restore of members that speak TLS, after the loss of their quorum, from a store whose authority nobody else knows.

use anyhow::{Context as _, Result, ensure};
use tests::scenario::Scenario;

use super::{identity, succeeded, wish};
use crate::backup::{self, KEY, apply};
use crate::minio::MinIo;

/// Members that speak TLS keep their certificates; the quorum was lost with two disks.
pub(crate) async fn with_tls(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start_sealed(scenario).await?;
    let mut untold = store.secret("aws");
    let keys = untold["stringData"].as_object_mut();
    keys.context("no keys")?.remove("ca.crt");
    apply(scenario, &untold).await?;
    let cluster = backup::sealed(scenario).await?;
    backup::back_up_sealed(scenario, &cluster, &store, 30).await?;
    let distrusted = backup::ended(scenario, "sealed").await?;
    ensure!(
        !distrusted.succeeded && distrusted.reason.contains("certificate"),
        "it ended as {distrusted:?}"
    );
    scenario
        .kubectl(&["delete", "etcdbackup", "sealed"])
        .await?;
    apply(scenario, &store.secret("aws")).await?;
    backup::back_up_sealed(scenario, &cluster, &store, 60).await?;
    backup::succeeded(scenario, "sealed").await?;
    let uids = identity(&cluster).await?;

    let members = cluster.member_names().await?;
    let lost: Vec<&str> = members.iter().skip(1).map(String::as_str).collect();
    crate::disks::wipe(scenario, &lost).await?;
    cluster
        .becomes_blocked("QuorumLost", &["Nothing is removed"])
        .await?;
    apply(scenario, &wish("sealed", "sealed", store.block(KEY, "aws"))).await?;
    succeeded(scenario, "sealed").await?;
    cluster.becomes_healthy(3).await?;
    ensure!(cluster.etcd().await?.get("kept").await? == "yes", "no data");
    ensure!(identity(&cluster).await? == uids, "another identity");
    for pod in cluster.pods().await? {
        let volumes = pod.spec.and_then(|spec| spec.volumes).unwrap_or_default();
        let mut secrets = volumes.iter().filter_map(|one| one.secret.as_ref());
        ensure!(
            secrets.any(|one| one.secret_name.as_deref() == Some("etcd-peer-tls")),
            "a member has no certificate"
        );
    }
    no_credentials_recorded(scenario).await
}

/// Recordings are read by many; the keys of the store are not theirs.
async fn no_credentials_recorded(scenario: &mut Scenario) -> Result<()> {
    scenario.stop_operator().await?;
    let mut looked_at = 0;
    for entry in std::fs::read_dir(scenario.folder().join("recordings"))? {
        let path = entry?.path();
        if !path.is_file() {
            continue;
        }
        let raw = std::fs::read(&path)?;
        let text = zstd::decode_all(raw.as_slice()).unwrap_or(raw);
        let text = String::from_utf8_lossy(&text);
        looked_at += text.matches("EtcdRestore").count();
        ensure!(
            !text.contains("minio-password"),
            "{} holds the password",
            path.display()
        );
    }
    ensure!(looked_at > 0, "no decision on a restore is recorded");
    scenario.start_operator().await
}
