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
const HOUR: Duration = Duration::from_secs(3600);
/// Tries of one write; a client library retries much longer.
const TRIES: u32 = 10;
/// Where Debian has the library; the loader puts the machine's own folder in the place of `$LIB`.
const LIBRARY: &str = "/usr/$LIB/faketime/libfaketimeMT.so.1";

/// What makes a program's clock so much ahead, for a shell.
fn ahead(by: Duration) -> String {
    let seconds = by.as_secs();
    format!(
        "LD_PRELOAD='{LIBRARY}' FAKETIME=+{seconds} FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1"
    )
}

/// The operator's program with such a clock. It is no child of another one, so it ends as the program does.
async fn operator_ahead(scenario: &Scenario, by: Duration) -> Result<PathBuf> {
    let told = Command::new("sh")
        .args([
            "-c",
            &format!("echo $(($({} date +%s) - $(date +%s)))", ahead(by)),
        ])
        .output()
        .await?;
    let told: i64 = String::from_utf8(told.stdout)?.trim().parse()?;
    let is_ahead = told > i64::try_from(by.as_secs())? / 2;
    ensure!(
        is_ahead,
        "libfaketime is missing; `.ci/bootstrap suites` installs it on Debian"
    );
    let program = scenario.suite().programs.program.display();
    let script = format!("#!/bin/sh\nexec env {} '{program}' \"$@\"\n", ahead(by));
    let file = scenario.folder().join("ahead.sh");
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
async fn is_told(cluster: &Cluster) -> Result<()> {
    let words = [
        "ClocksDiffer",
        "s ahead of the API server's",
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
    let cluster = scenario
        .create_healthy("early", with_certificates(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    scenario.stop_operator().await?;
    let program = operator_ahead(scenario, HOUR).await?;
    scenario.start_operator_as(&program).await?;
    cluster.is_healthy(3).await?;
    standing.is_kept(&cluster).await?;
    cluster.delete_pod(&cluster.leader().await?).await?;
    cluster.becomes_healthy(3).await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await?;

    let before = secrets(scenario, &cluster).await?;
    ensure!(before.len() == 4, "Secrets are {before:?}");
    let another = json!({"TLS": {"auto": {"generation": 2}}});
    cluster.edit(another).await?;
    is_told(&cluster).await?;
    cluster.resize(5).await?;
    votes(&cluster, 5).await?;
    cluster.resize(3).await?;
    votes(&cluster, 3).await?;
    is_told(&cluster).await?;
    let unborn = scenario.create("unborn", with_certificates(1)).await?;
    is_told(&unborn).await?;
    for (one, expected) in [(&cluster, before.clone()), (&unborn, Vec::new())] {
        let now = secrets(scenario, one).await?;
        ensure!(now == expected, "{expected:?} became {now:?}");
    }
    ensure!(unborn.pods().await?.is_empty(), "a member was started");
    writer.goes_on(50, PATIENCE).await?;
    let journal = writer.finish().await?;
    eprintln!(
        "  an hour ahead: {} writes were acknowledged, {} failed, the longest pause was {:?}",
        journal.len(),
        journal.failed,
        journal.longest_pause
    );

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
