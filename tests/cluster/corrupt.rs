//! Data that changes under the feet of members: etcd's own comparison finds it, and hashes say whose it is.
//!
//! A value is overwritten in the data files themselves, where etcd keeps no checksums.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;

const PATIENCE: Duration = Duration::from_secs(120);
/// The value that is written, and what overwrites it; both of one length.
const TRUTH: &str = "as-it-was-written-by-the-client";
const LIE: &str = "as-one-disk-has-it-all-at-once!";

/// Members compare their data every few seconds.
fn comparing(mut spec: Value) -> Value {
    spec["pod"]["etcdEnv"] = json!([{"name": "ETCD_CORRUPT_CHECK_TIME", "value": "3s"}]);
    spec
}

async fn written(scenario: &Scenario, name: &str) -> Result<Cluster> {
    let spec = comparing(spec::on_volumes(3));
    let cluster = scenario.create_healthy(name, spec).await?;
    cluster.etcd().await?.put("kept", TRUTH).await?;
    Ok(cluster)
}

/// Overwrites the value on the member's disk.
async fn spoil(scenario: &Scenario, member: &str) -> Result<()> {
    let folder = scenario
        .testbed()
        .volume_folder(scenario.namespace(), member)
        .await?;
    let file = folder.join("data/member/snap/db");
    // It reaches the file within etcd's own interval.
    wait::until(
        format!("the value in {}", file.display()),
        PATIENCE,
        async || {
            let bytes = fs::read(&file)?;
            let found: Vec<u64> = bytes
                .windows(TRUTH.len())
                .zip(0..)
                .filter(|(window, _)| *window == TRUTH.as_bytes())
                .map(|(_, at)| at)
                .collect();
            ensure!(!found.is_empty(), "it is not there");
            let file = OpenOptions::new().write(true).open(&file)?;
            for at in found {
                file.write_all_at(LIE.as_bytes(), at)?;
            }
            Ok(())
        },
    )
    .await
}

/// The members, the leader first.
async fn leader_first(cluster: &Cluster) -> Result<Vec<String>> {
    let leader = cluster.leader().await?;
    let mut names = cluster.member_names().await?;
    names.sort_by_key(|name| *name != leader);
    Ok(names)
}

pub(crate) async fn outvoted(scenario: &mut Scenario) -> Result<()> {
    let cluster = written(scenario, "outvoted").await?;
    let names = leader_first(&cluster).await?;
    let victim = names.last().context("there are no members")?;
    spoil(scenario, victim).await?;
    let words = format!("{victim} differs from a quorum with equal hashes");
    cluster
        .awaits_event("Normal", "DataCorrupt", &words)
        .await?;
    wait::until("three members without it", PATIENCE, async || {
        cluster.is_healthy(3).await?;
        let now = cluster.member_names().await?;
        ensure!(!now.contains(victim), "{now:?}");
        for member in now {
            let value = cluster.etcd_of(&member).get_serializable("kept").await?;
            ensure!(value == TRUTH, "{member} has {value}");
        }
        Ok(())
    })
    .await?;
    cluster.etcd().await?.put("kept", "on and on").await?;
    for name in names.iter().filter(|name| *name != victim) {
        ensure!(
            cluster.member_names().await?.contains(name),
            "{name} is gone"
        );
    }
    Ok(())
}
