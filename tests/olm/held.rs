//! An upgrade that waits until no cluster is in mid-change, and goes on by itself.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::olm::Subscriber;
use tests::scenario::{Cluster, spec};
use tests::testbed::wait;

use crate::Ground;
use crate::edges::begin;

const PATIENCE: Duration = Duration::from_secs(180);

/// A cluster that is being born and finds no node holds the next release up; once it goes, OLM goes on without a word.
pub(crate) async fn held(ground: &Ground) -> Result<()> {
    let subscriber = begin(ground, "testing", "0.1.0").await?;
    let steady = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "steady");
    steady.create(spec::in_pods(1)).await?;
    steady.becomes_healthy(1).await?;
    let unborn = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "unborn");
    let nowhere = json!({"size": 1, "pod": {"nodeSelector": {"disk": "none"}}});
    unborn.create(nowhere).await?;
    let words = format!("In mid-change: {}/unborn", subscriber.namespace());
    upgradeable(&subscriber, "0.1.0", "False", &words).await?;

    subscriber.approve("0.2.0").await?;
    let why = wait::until("a release that is held", PATIENCE, async || {
        let phases = subscriber.phases().await?;
        let phase = |version: &str| phases.get(&format!("binnacle.v{version}")).cloned();
        ensure!(
            phase("0.2.0").as_deref() == Some("Pending"),
            "CSVs are {phases:?}"
        );
        let csv = subscriber
            .kubectl(&[
                "get",
                "clusterserviceversion",
                "binnacle.v0.2.0",
                "--output=json",
            ])
            .await?;
        let csv: Value = serde_json::from_str(&csv)?;
        let status = &csv["status"];
        ensure!(
            status["reason"] == "OperatorConditionNotUpgradeable",
            "it says {} {}",
            status["reason"],
            status["message"]
        );
        Ok(status["message"].as_str().unwrap_or_default().to_owned())
    })
    .await?;
    eprintln!("held: {why}");
    ensure!(why.contains("unborn"), "it does not say for whom: {why}");
    // Who holds it is still looked after.
    steady.resize(3).await?;
    steady.becomes_healthy(3).await?;

    unborn.delete().await?;
    let freed = Instant::now();
    subscriber.succeeds("0.2.0").await?;
    eprintln!("it went on within {:.1} s", freed.elapsed().as_secs_f32());
    upgradeable(&subscriber, "0.2.0", "True", "No cluster is in mid-change").await?;
    steady.delete().await?;
    subscriber.uninstall().await
}

/// Waits until the OperatorCondition of a version says so.
async fn upgradeable(
    subscriber: &Subscriber,
    version: &str,
    wanted: &str,
    words: &str,
) -> Result<()> {
    let name = format!("binnacle.v{version}");
    wait::until(
        format!("Upgradeable={wanted} of {name}"),
        PATIENCE,
        async || {
            let found = subscriber
                .kubectl(&["get", "operatorcondition", &name, "--output=json"])
                .await?;
            let found: Value = serde_json::from_str(&found)?;
            let conditions = found["spec"]["conditions"].as_array();
            let told = conditions
                .and_then(|all| all.iter().find(|one| one["type"] == "Upgradeable"))
                .context("nothing was told yet")?;
            let message = told["message"].as_str().unwrap_or_default();
            let is_so = told["status"] == wanted && message.contains(words);
            ensure!(is_so, "it says {told}");
            Ok(())
        },
    )
    .await
}
