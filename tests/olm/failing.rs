//! A release whose operator never gets ready, and the one that mends it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tests::olm::{Approval, FAILING_CATALOG, Subscriber};
use tests::scenario::{Cluster, spec};
use tests::testbed::wait;

use crate::Ground;

/// The Deployment says after four minutes that it makes no progress.
const PATIENCE: Duration = Duration::from_secs(600);

/// The old operator keeps working, the ClusterServiceVersion says why, and the next release takes the place of both.
pub(crate) async fn forward(ground: &Ground) -> Result<()> {
    let subscriber = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-failing")
        .await?
        .of_catalog(FAILING_CATALOG);
    subscriber.group(&[subscriber.namespace()]).await?;
    subscriber
        .subscribe("testing", Approval::Manual, Some("0.1.0"))
        .await?;
    subscriber.approve("0.1.0").await?;
    subscriber.succeeds("0.1.0").await?;
    let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "living");
    cluster.create(spec::on_volumes(1)).await?;
    cluster.becomes_healthy(1).await?;

    subscriber.approve("0.2.0").await?;
    let why = has_failed(&subscriber, "binnacle.v0.2.0").await?;
    eprintln!("it failed: {why}");
    let phases = subscriber.phases().await?;
    let old = phases.get("binnacle.v0.1.0").map(String::as_str);
    ensure!(old == Some("Replacing"), "CSVs are {phases:?}");
    // Who is replaced works on.
    cluster.resize(3).await?;
    cluster.becomes_healthy(3).await?;

    subscriber.fail_forward().await?;
    subscriber.approve("0.3.0").await?;
    subscriber.succeeds("0.3.0").await?;
    cluster.resize(1).await?;
    cluster.becomes_healthy(1).await?;
    cluster.delete().await?;
    subscriber.uninstall().await
}

/// Waits until OLM has given up on a release, and answers why.
async fn has_failed(subscriber: &Subscriber, csv: &str) -> Result<String> {
    wait::until(format!("the failure of {csv}"), PATIENCE, async || {
        let found = subscriber
            .kubectl(&["get", "clusterserviceversion", csv, "--output=json"])
            .await?;
        let found: Value = serde_json::from_str(&found)?;
        let past = found["status"]["conditions"].as_array();
        let past = past.context("it has no conditions")?;
        let failed = past
            .iter()
            .find(|one| one["phase"] == "Failed")
            .with_context(|| format!("it is {}", found["status"]["phase"]))?;
        let (reason, message) = (&failed["reason"], &failed["message"]);
        ensure!(
            reason == "InstallCheckFailed",
            "it failed for {reason}: {message}"
        );
        Ok(format!("{reason}: {message}"))
    })
    .await
}
