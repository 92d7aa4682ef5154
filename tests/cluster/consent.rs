//! A quorum lost for good, and a person who consents to go on from one member.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::RecoveryStage;
use serde_json::{Value, json};
use tests::scenario::{Children, Cluster, Scenario, spec};
use tests::testbed::wait;

use crate::disks::wipe;
use crate::members::restarts;

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn two_disks_gone(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("survivor", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    let id = etcd.cluster_id().await?;
    let names = cluster.member_names().await?;
    let [survivor, others @ ..] = names.as_slice() else {
        anyhow::bail!("there are no members")
    };
    let survivors_id = cluster.etcd_of(survivor).id().await?;
    let lost: Vec<&str> = others.iter().map(String::as_str).collect();
    wipe(scenario, &lost).await?;

    let words = ["Nothing is removed or deleted", "To consent: kubectl"];
    let told = cluster.becomes_blocked("QuorumLost", &words).await?;
    let before = Children::of(&cluster).await?.uids();
    let offered = patch(&told.message)?;
    ensure!(
        offered["spec"]["quorumRecovery"]["survivor"] == json!(survivor),
        "{offered} names another than {survivor}"
    );

    let wrong = json!({"spec": {"quorumRecovery": {"clusterID": "c0ffee", "survivor": survivor}}});
    consent(scenario, &cluster, &wrong).await?;
    cluster
        .becomes_blocked("ConsentNotUsed", &["is not this cluster's id"])
        .await?;
    ensure!(
        Children::of(&cluster).await?.uids() == before,
        "a wrong consent did something"
    );

    consent(scenario, &cluster, &offered).await?;
    cluster
        .awaits_event("Warning", "RecoveringQuorum", survivor)
        .await?;
    cluster.becomes_healthy(3).await?;
    let etcd = cluster.etcd().await?;
    ensure!(etcd.cluster_id().await? == id, "it is another cluster");
    ensure!(etcd.get("kept").await? == "yes", "the data is gone");
    ensure!(
        cluster.etcd_of(survivor).id().await? == survivors_id,
        "the survivor is another member"
    );
    let members = cluster.members().await?;
    ensure!(
        members.iter().all(|member| !others.contains(&member.name)),
        "members are {members:?}"
    );
    let recovery = cluster.status().await?.recovery;
    ensure!(
        recovery.as_ref().map(|recovery| recovery.stage) == Some(RecoveryStage::Done),
        "the recovery is {recovery:?}"
    );

    // With the flag still set this would leave it alone once more.
    scenario
        .testbed()
        .kill_member(scenario.namespace(), survivor)
        .await?;
    wait::until("the survivor to start again", PATIENCE, async || {
        let pod = cluster.pod(survivor).await?;
        ensure!(restarts(&pod) > 0, "it was not restarted yet");
        cluster.etcd_of(survivor).id().await.map(drop)
    })
    .await?;
    cluster.becomes_healthy(3).await?;
    ensure!(
        cluster.members().await? == members,
        "{members:?} became {:?}",
        cluster.members().await?
    );
    cluster.etcd().await?.put("after", "all").await
}

pub(crate) async fn stale(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("stale", spec::on_volumes(3))
        .await?;
    let names = cluster.member_names().await?;
    let [survivor, others @ ..] = names.as_slice() else {
        anyhow::bail!("there are no members")
    };
    let id = cluster
        .status()
        .await?
        .cluster_id
        .context("no cluster id")?;
    let early = json!({"spec": {"quorumRecovery": {"clusterID": id, "survivor": survivor}}});
    let before = Children::of(&cluster).await?.uids();
    consent(scenario, &cluster, &early).await?;
    cluster
        .awaits_event("Warning", "ConsentNotUsed", "it is not needed")
        .await?;
    cluster.is_healthy(3).await?;

    let lost: Vec<&str> = others.iter().map(String::as_str).collect();
    wipe(scenario, &lost).await?;
    cluster
        .becomes_blocked("ConsentNotUsed", &["it was there before this loss"])
        .await?;
    scenario.is_looked_at_again().await?;
    ensure!(
        Children::of(&cluster).await?.uids() == before,
        "a stale consent did something"
    );

    let removed = json!({"spec": {"quorumRecovery": null}});
    consent(scenario, &cluster, &removed).await?;
    let told = cluster
        .becomes_blocked("QuorumLost", &["To consent: kubectl"])
        .await?;
    consent(scenario, &cluster, &patch(&told.message)?).await?;
    cluster.becomes_healthy(3).await
}

/// The patch in the command that a condition tells a person to type.
fn patch(message: &str) -> Result<Value> {
    let patch = message
        .split("--patch '")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .with_context(|| format!("no patch in {message:?}"))?;
    Ok(serde_json::from_str(patch)?)
}

async fn consent(scenario: &Scenario, cluster: &Cluster, patch: &Value) -> Result<()> {
    let patch = patch.to_string();
    let name = cluster.name();
    scenario
        .kubectl(&["patch", "etcd", name, "--type", "merge", "--patch", &patch])
        .await
        .map(drop)
}
