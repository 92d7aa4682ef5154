//! A quota that is used up: etcd refuses writes until there is room again.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use etcd_client::{Client, DeleteOptions};
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;

/// Small, so that it is used up in a moment.
const QUOTA: &str = "8388608";
const VALUE: usize = 256 * 1024;
const PATIENCE: Duration = Duration::from_secs(180);

/// The keys themselves fill the quota; a person deletes them, as the condition says.
pub(crate) async fn keys_deleted(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("full", tiny()).await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let mut client = connect(&cluster).await?;
    let refused = fill(&mut client, |number| format!("big/{number}")).await?;
    ensure!(refused.contains("space"), "the refusal is {refused}");
    let words = ["only reads and deletes"];
    let (degraded, reason) = (ConditionStatus::True, "NoSpace");
    cluster
        .awaits_condition("Degraded", degraded, reason, &words, PATIENCE)
        .await?;
    let options = DeleteOptions::new().with_prefix();
    client.delete("big/", Some(options)).await?;
    is_cured(&cluster).await
}

/// One key overwritten again and again: nobody has to delete anything.
pub(crate) async fn history_only(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("forgetful", tiny()).await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let mut client = connect(&cluster).await?;
    let refused = fill(&mut client, |_| "big".to_owned()).await?;
    ensure!(refused.contains("space"), "the refusal is {refused}");
    is_cured(&cluster).await
}

fn tiny() -> serde_json::Value {
    let mut spec = spec::on_volumes(3);
    spec["pod"]["etcdEnv"] = json!([{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": QUOTA}]);
    spec
}

async fn connect(cluster: &Cluster) -> Result<Client> {
    Ok(Client::connect([cluster.client_address().await?], None).await?)
}

/// Writes until etcd refuses; answers its refusal.
async fn fill(client: &mut Client, key: impl Fn(usize) -> String) -> Result<String> {
    for number in 0..200 {
        if let Err(error) = client.put(key(number), vec![b'x'; VALUE], None).await {
            return Ok(error.to_string());
        }
    }
    Err(anyhow::anyhow!("etcd took everything"))
}

/// Writes work again, what was written before is there, and the operator says what it did.
async fn is_cured(cluster: &Cluster) -> Result<()> {
    wait::until("a write", PATIENCE, async || {
        cluster.etcd().await?.put("again", "yes").await
    })
    .await?;
    cluster
        .awaits_event("Normal", "NoSpace", "takes writes again")
        .await?;
    let kept = cluster.etcd().await?.get("kept").await?;
    ensure!(kept == "yes", "what was written before is {kept:?}");
    cluster.becomes_healthy(3).await?;
    // The event is told with the last remedy; the pass after it sees that the alarm has ended, and forgets the cure.
    wait::until("the cure is over", PATIENCE, async || {
        let status = cluster.status().await?;
        let cure = &status.space_cure;
        ensure!(cure.is_none(), "it is still remembered: {cure:?}");
        let blocked = status.conditions.iter().find(|one| one.kind == "Blocked");
        let blocked = blocked.context("there is no condition Blocked")?;
        let is = &blocked.status;
        ensure!(*is == ConditionStatus::False, "{}", blocked.message);
        Ok(())
    })
    .await
}
