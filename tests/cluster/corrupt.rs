//! Data that changes under the feet of members: etcd's own comparison finds it, and hashes say whose it is.
//!
//! A value is overwritten in the data files themselves, where etcd keeps no checksums.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use contract::ConditionStatus;
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;

use crate::standing::Standing;

const PATIENCE: Duration = Duration::from_secs(120);
/// The value that is written, and what overwrites it; all of one length.
const TRUTH: &str = "as-it-was-written-by-the-client";
const LIE: &str = "as-one-disk-has-it-all-at-once!";
const OTHER_LIE: &str = "as-another-disk-has-it-instead!";

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

/// Overwrites the value on members' disks, each with its own lie, at one instant as far as anybody can see.
async fn spoil(scenario: &Scenario, lies: &[(&str, &str)]) -> Result<()> {
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());
    let mut files = Vec::new();
    for (member, lie) in lies {
        let folder = testbed.volume_folder(namespace, member).await?;
        let file = folder.join("data/member/snap/db");
        // It reaches the file within etcd's own interval.
        wait::until(
            format!("the value in {}", file.display()),
            PATIENCE,
            async || places(&file).map(drop),
        )
        .await?;
        files.push((file, lie));
    }
    // A process that goes on could write the page anew, elsewhere, between the look and the lie.
    for (member, _) in lies {
        testbed.freeze_member(namespace, member).await?;
    }
    for (file, lie) in files {
        let db = OpenOptions::new().write(true).open(&file)?;
        for at in places(&file)? {
            db.write_all_at(lie.as_bytes(), at)?;
        }
    }
    for (member, _) in lies {
        testbed.thaw_member(namespace, member).await?;
    }
    Ok(())
}

/// Where the value is in the file.
fn places(file: &Path) -> Result<Vec<u64>> {
    let bytes = fs::read(file)?;
    let found: Vec<u64> = bytes
        .windows(TRUTH.len())
        .zip(0..)
        .filter(|(window, _)| *window == TRUTH.as_bytes())
        .map(|(_, at)| at)
        .collect();
    ensure!(!found.is_empty(), "it is not there");
    Ok(found)
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
    spoil(scenario, &[(victim, LIE)]).await?;
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

/// Three members, three sets of data: nobody knows whose is right.
pub(crate) async fn undecided(scenario: &mut Scenario) -> Result<()> {
    let cluster = written(scenario, "undecided").await?;
    let names = leader_first(&cluster).await?;
    let [leader, first, second] = names.as_slice() else {
        bail!("members are {names:?}")
    };
    let standing = Standing::of(&cluster).await?;
    spoil(scenario, &[(first, LIE), (second, OTHER_LIE)]).await?;

    let words = [
        "No 2 of 3 voters have equal hashes",
        "nothing is removed or deleted",
        leader,
        first,
        second,
        "etcdctl snapshot save",
    ];
    cluster.becomes_blocked("DataCorrupt", &words).await?;
    for (kind, status) in [
        ("Available", ConditionStatus::False),
        ("Degraded", ConditionStatus::True),
    ] {
        let words = ["members disagree on their data"];
        cluster
            .awaits_condition(kind, status, "DataCorrupt", &words, PATIENCE)
            .await?;
    }
    scenario.is_looked_at_again().await?;
    // No member is Ready, and the list goes on.
    standing.has_its_objects_but_for(&cluster, &[]).await?;
    let members = cluster.etcd_of(leader).members().await?;
    ensure!(members == standing.members, "members are {members:?}");
    for effect in ["Delete", "RemoveMember", "AddLearner", "Disarm"] {
        let label = format!("effect=\"{effect}\"");
        let done = scenario
            .operator()?
            .metric("binnacle_effects_total", &label)
            .await?;
        ensure!(done == 0.0, "{done} times {effect}");
    }
    // The way out that the condition names: every copy can be had, and one of them is right.
    for (member, value) in [(leader, TRUTH), (first, LIE), (second, OTHER_LIE)] {
        let file = scenario.folder().join(format!("{member}.db"));
        let path = file.display().to_string();
        let save = ["--command-timeout=10s", "snapshot", "save", &path];
        scenario
            .testbed()
            .etcdctl(scenario.namespace(), member, "http", &save)
            .await?;
        let saved = fs::read(&file)?;
        let has_it = saved
            .windows(value.len())
            .any(|window| window == value.as_bytes());
        ensure!(has_it, "the snapshot of {member} has no {value}");
    }
    Ok(())
}
