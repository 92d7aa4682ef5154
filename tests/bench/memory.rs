//! The operator's resident memory: with no cluster, and with a crowd of cluster objects that have no pods.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::Api;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::json;
use tests::scenario::Scenario;
use tests::testbed::wait;
use tokio::time::{Instant, sleep};

use crate::figure::{Aim, Figure};
use crate::part::Bench;

const CROWD: usize = 100;
/// Memory that changes by less than this within [`QUIET`] has settled.
const GRAIN_MIB: f64 = 0.25;
const QUIET: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let (mut idle, mut crowded) = (Vec::new(), Vec::new());
    for _ in 0..bench.samples.min(3) {
        let mut scenario = Scenario::begin(&bench.suite, "memory").await?;
        idle.push(settled(&scenario).await?);
        crowd(&scenario).await?;
        crowded.push(settled(&scenario).await?);
        scenario.stop_operator().await?;
    }
    Ok(vec![
        Figure::median("rss_mib_idle", "MiB", idle).aiming_at(Aim::AtMost(20.0)),
        Figure::median("rss_mib_100_clusters", "MiB", crowded),
    ])
}

/// Makes the crowd and waits until the operator has looked at each. Paused, so that no pod is made.
async fn crowd(scenario: &Scenario) -> Result<()> {
    for number in 0..CROWD {
        let spec = json!({"size": 3, "paused": true});
        scenario.create(&format!("crowd-{number:03}"), spec).await?;
    }
    let kind = GroupVersionKind::gvk(contract::GROUP, contract::VERSION, contract::KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, contract::PLURAL);
    let api: Api<DynamicObject> =
        Api::namespaced_with(scenario.testbed().client(), scenario.namespace(), &resource);
    wait::until("a look at each of the crowd", PATIENCE, async || {
        let all = api.list(&ListParams::default()).await?.items;
        let told = all
            .iter()
            .filter(|one| one.data.pointer("/status/controlPaused") == Some(&json!(true)));
        ensure!(told.count() == CROWD, "not all were looked at");
        Ok(())
    })
    .await
}

/// The memory once it has stopped changing.
pub(crate) async fn settled(scenario: &Scenario) -> Result<f64> {
    let deadline = Instant::now() + PATIENCE;
    let mut settled = resident(scenario)?;
    let mut since = Instant::now();
    while since.elapsed() < QUIET {
        if Instant::now() > deadline {
            bail!("the operator's memory does not settle; it is {settled:.1} MiB");
        }
        sleep(Duration::from_millis(250)).await;
        let found = resident(scenario)?;
        if (found - settled).abs() > GRAIN_MIB {
            (settled, since) = (found, Instant::now());
        }
    }
    resident(scenario)
}

/// Lets the kernel's count of the most memory begin anew
/// (<https://docs.kernel.org/filesystems/proc.html>, `clear_refs`).
pub(crate) fn forget_peak(scenario: &Scenario) -> Result<()> {
    Ok(fs::write(
        format!("{}/clear_refs", process(scenario)?),
        "5",
    )?)
}

/// The most memory since then.
pub(crate) fn peak(scenario: &Scenario) -> Result<f64> {
    told(scenario, "VmHWM:")
}

fn resident(scenario: &Scenario) -> Result<f64> {
    told(scenario, "VmRSS:")
}

fn process(scenario: &Scenario) -> Result<String> {
    let id = scenario.operator()?.id();
    Ok(format!(
        "/proc/{}",
        id.context("the operator does not run")?
    ))
}

/// A line of what the kernel tells of the operator, in MiB.
fn told(scenario: &Scenario, word: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("{}/status", process(scenario)?))?;
    let line = status.lines().find_map(|line| line.strip_prefix(word));
    let line = line.with_context(|| format!("the kernel tells no {word}"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
