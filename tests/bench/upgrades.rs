//! An upgrade of three members by one minor version under a client that writes, over three bare restarts to the same image.
//!
//! A bare restart is what Kubernetes needs for it: a pod of the yardstick gets the image, and nobody decides or checks anything.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tests::scenario::{Scenario, spec};
use tests::testbed::Progress;
use tokio::time::Instant;

use crate::figure::{Aim, Figure};
use crate::part::Bench;
use crate::writer::Writer;
use crate::{sight, yardstick};

const FROM: &str = "3.6.16";
const TO: &str = "3.7.3";
/// Tries of one write; a client library retries much longer.
const TRIES: u32 = 10;
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let mut scenario = Scenario::begin(&bench.suite, "upgrades").await?;
    for version in [FROM, TO] {
        let progress = Progress::on_stderr();
        scenario.testbed().load_etcd(version, &progress).await?;
    }
    let (mut failures, mut upgrades, mut restarts) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..bench.samples {
        let yard = format!("yard-{number}");
        restarts.push(restart(&scenario, &yard).await?.as_secs_f64());
        let cluster = format!("raised-{number}");
        let (took, failed) = upgrade(&scenario, &cluster).await?;
        upgrades.push(took.as_secs_f64());
        failures.push(f64::from(failed));
    }
    scenario.stop_operator().await?;
    Ok(vec![
        Figure::median("upgrade_3_failed_writes", "writes", failures).aiming_at(Aim::AtMost(0.0)),
        Figure::ratio("upgrade_3_over_restarts", upgrades, restarts).aiming_at(Aim::AtMost(3.0)),
    ])
}

/// The sum of three restarts, each from a pod's image being another one until the pod is ready.
async fn restart(scenario: &Scenario, name: &str) -> Result<Duration> {
    yardstick::ready(scenario, name).await?;
    let image = format!("quay.io/coreos/etcd:v{TO}");
    let mut sum = Duration::ZERO;
    for pod in yardstick::pods(name) {
        sum += sight::of_restart(scenario, &pod, &image).await?;
    }
    yardstick::remove(scenario, name).await?;
    Ok(sum)
}

/// From the spec being another one until all members run it and are healthy, and the writes that failed meanwhile.
async fn upgrade(scenario: &Scenario, name: &str) -> Result<(Duration, u32)> {
    let mut spec = spec::on_volumes(3);
    spec["version"] = json!(FROM);
    // Else a young cluster has written no snapshot of its log, and does not go to the next minor version.
    spec["pod"]["etcdEnv"] = json!([{"name": "ETCD_SNAPSHOT_COUNT", "value": "10"}]);
    let cluster = scenario.create_healthy(name, spec).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    let began = Instant::now();
    cluster.edit(json!({"version": TO})).await?;
    let moved = sight::of_healthy(&cluster, 3, |status| {
        ensure!(
            status.current_version == TO && !sight::is_true(status, "Upgrading"),
            "it is at {}",
            status.current_version
        );
        Ok(())
    })
    .await?;
    writer.goes_on(50, PATIENCE).await?;
    let journal = writer.finish().await?;
    eprintln!(
        "  {} writes were acknowledged, the longest pause was {:?}",
        journal.len(),
        journal.longest_pause
    );
    cluster.delete().await?;
    Ok((moved - began, u32::try_from(journal.failed)?))
}
