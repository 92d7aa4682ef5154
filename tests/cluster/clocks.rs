//! An operator whose clock is wrong.
//!
//! libfaketime tells its process another time; everybody else's clock stays right.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use contract::ConditionStatus;
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;
use tokio::process::Command;

use crate::standing::Standing;
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(120);
const HOUR: i64 = 3_600;
/// Tries of one write; a client library retries much longer.
const TRIES: u32 = 10;
/// Where Debian has the library; the loader puts the machine's own folder in the place of `$LIB`.
const LIBRARY: &str = "/usr/$LIB/faketime/libfaketimeMT.so.1";

/// Which way an operator's clock is wrong, by an hour.
#[derive(Clone, Copy)]
enum Off {
    Ahead,
    Behind,
}

impl Off {
    const fn seconds(self) -> i64 {
        match self {
            Self::Ahead => HOUR,
            Self::Behind => -HOUR,
        }
    }

    /// As the operator says it.
    const fn words(self) -> &'static str {
        match self {
            Self::Ahead => "s ahead of the API server's",
            Self::Behind => "s behind the API server's",
        }
    }

    /// What makes a program's clock so, for a shell.
    fn environment(self) -> String {
        let seconds = self.seconds();
        format!(
            "LD_PRELOAD='{LIBRARY}' FAKETIME={seconds:+} FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1"
        )
    }
}

/// The operator's program with such a clock. It is no child of another one, so it ends as the program does.
async fn operator_off(scenario: &Scenario, off: Off) -> Result<PathBuf> {
    let environment = off.environment();
    let told = Command::new("sh")
        .args([
            "-c",
            &format!("echo $(($({environment} date +%s) - $(date +%s)))"),
        ])
        .output()
        .await?;
    let told: i64 = String::from_utf8(told.stdout)?.trim().parse()?;
    ensure!(
        (told - off.seconds()).abs() < HOUR / 2,
        "libfaketime is missing; `.ci/bootstrap suites` installs it on Debian"
    );
    let program = scenario.suite().programs.program.display();
    let script = format!("#!/bin/sh\nexec env {environment} '{program}' \"$@\"\n");
    let file = scenario.folder().join("off.sh");
    fs::write(&file, script)?;
    fs::set_permissions(&file, Permissions::from_mode(0o755))?;
    Ok(file)
}

/// Certificates of the operator's own, and clients that need none.
fn with_certificates(size: i64) -> Value {
    let mut spec = spec::on_volumes(size);
    spec["TLS"] = json!({"auto": {}, "plainClients": true});
    spec
}

/// The Secrets of a cluster and their versions.
async fn secrets(scenario: &Scenario, cluster: &Cluster) -> Result<Vec<String>> {
    let columns = "--output=custom-columns=:metadata.name,:metadata.resourceVersion";
    let listed = scenario
        .kubectl(&["get", "secrets", "--no-headers", columns])
        .await?;
    let own = format!("{}-", cluster.name());
    let of_it = listed.lines().filter(|line| line.starts_with(&own));
    Ok(of_it.map(str::to_owned).collect())
}

/// Waits until the resource says that the clock is why no certificate is made.
async fn is_told(cluster: &Cluster, off: Off) -> Result<()> {
    let words = [
        "ClocksDiffer",
        off.words(),
        "set the clocks of the operator's node and of the control plane right",
    ];
    let (kind, stands) = ("DecisionRefused", ConditionStatus::True);
    cluster
        .awaits_condition(kind, stands, kind, &words, PATIENCE)
        .await
        .map(drop)
}

/// Waits until so many members vote and are Ready. Healthy and at rest is no cluster that waits for a certificate.
async fn votes(cluster: &Cluster, size: usize) -> Result<()> {
    wait::until(format!("{size} members that vote"), PATIENCE, async || {
        let members = cluster.members().await?;
        let voters = members.iter().filter(|member| !member.learner).count();
        ensure!(voters == size && members.len() == size, "{members:?}");
        let ready = cluster.status().await?.ready_members;
        ensure!(usize::try_from(ready)? == size, "{ready} are ready");
        Ok(())
    })
    .await
}

pub(crate) async fn an_hour_ahead(scenario: &mut Scenario) -> Result<()> {
    an_hour_off(scenario, Off::Ahead).await
}

/// Times that were remembered lie in the future of this one, and certificates that were just made are not valid yet.
pub(crate) async fn an_hour_behind(scenario: &mut Scenario) -> Result<()> {
    an_hour_off(scenario, Off::Behind).await
}

async fn an_hour_off(scenario: &mut Scenario, off: Off) -> Result<()> {
    let cluster = scenario
        .create_healthy("early", with_certificates(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    scenario.stop_operator().await?;
    let program = operator_off(scenario, off).await?;
    scenario.start_operator_as(&program).await?;
    // It would take a lease that was not renewed for an hour.
    let right = scenario.another_operator().await?;
    cluster.is_healthy(3).await?;
    standing.is_kept(&cluster).await?;
    cluster.delete_pod(&cluster.leader().await?).await?;
    cluster.becomes_healthy(3).await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await?;

    let before = secrets(scenario, &cluster).await?;
    ensure!(before.len() == 4, "Secrets are {before:?}");
    let another = json!({"TLS": {"auto": {"generation": 2}}});
    cluster.edit(another).await?;
    is_told(&cluster, off).await?;
    cluster.resize(5).await?;
    votes(&cluster, 5).await?;
    cluster.resize(3).await?;
    votes(&cluster, 3).await?;
    is_told(&cluster, off).await?;
    let unborn = scenario.create("unborn", with_certificates(1)).await?;
    is_told(&unborn, off).await?;
    for (one, expected) in [(&cluster, before.clone()), (&unborn, Vec::new())] {
        let now = secrets(scenario, one).await?;
        ensure!(now == expected, "{expected:?} became {now:?}");
    }
    ensure!(unborn.pods().await?.is_empty(), "a member was started");
    writer.goes_on(50, PATIENCE).await?;
    let journal = writer.finish().await?;
    eprintln!(
        "  an hour off: {} writes were acknowledged, {} failed, the longest pause was {:?}",
        journal.len(),
        journal.failed,
        journal.longest_pause
    );

    let leads = right.metric("binnacle_leading", "").await?;
    ensure!(leads == 0.0, "two lead at once");
    scenario.operator()?.leads(PATIENCE).await?;
    right.stop().await?;
    scenario.stop_operator().await?;
    scenario.start_operator().await?;
    unborn.becomes_healthy(1).await?;
    wait::until("fresh authorities", PATIENCE, async || {
        let now = secrets(scenario, &cluster).await?;
        ensure!(now != before, "the Secrets are the old ones");
        let conditions = cluster.status().await?.conditions;
        let refused = conditions.iter().find(|one| one.kind == "DecisionRefused");
        ensure!(refused.is_none(), "{refused:?}");
        Ok(())
    })
    .await
}
