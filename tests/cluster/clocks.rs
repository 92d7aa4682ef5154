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
use tests::scenario::{Cluster, Operator, Scenario, spec};
use tests::testbed::wait;
use tokio::process::Command;

use crate::standing::Standing;
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(300);
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

/// What keeps being written, and by whom nothing is done meanwhile: an operator whose clock is right waits for the lease.
struct Watched<'s> {
    scenario: &'s mut Scenario,
    off: Off,
    right: Operator,
    writer: Writer,
}

impl<'s> Watched<'s> {
    /// Exchanges the operator for one whose clock is wrong.
    async fn begin(scenario: &'s mut Scenario, cluster: &Cluster, off: Off) -> Result<Self> {
        let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
        writer.goes_on(50, PATIENCE).await?;
        scenario.stop_operator().await?;
        let program = operator_off(scenario, off).await?;
        scenario.start_operator_as(&program).await?;
        // It would take a lease that was not renewed for an hour.
        let right = scenario.another_operator().await?;
        Ok(Self {
            scenario,
            off,
            right,
            writer,
        })
    }

    /// The cluster loses its leader's pod, grows and shrinks as if the clock were right.
    async fn heals_and_scales(&self, cluster: &Cluster, standing: &Standing) -> Result<()> {
        cluster.becomes_healthy(3).await?;
        standing.is_kept(cluster).await?;
        cluster.delete_pod(&cluster.leader().await?).await?;
        cluster.becomes_healthy(3).await?;
        standing.is_kept_but_for(cluster, &["Pod "]).await
    }

    async fn grows_and_shrinks(&self, cluster: &Cluster) -> Result<()> {
        cluster.resize(5).await?;
        votes(cluster, 5).await?;
        cluster.resize(3).await?;
        votes(cluster, 3).await
    }

    /// A cluster that needs certificates is not begun, and told why.
    async fn dates_nothing(&self) -> Result<Cluster> {
        let unborn = self.scenario.create("unborn", with_certificates(1)).await?;
        is_told(&unborn, self.off).await?;
        let made = secrets(self.scenario, &unborn).await?;
        ensure!(made.is_empty(), "made were {made:?}");
        ensure!(unborn.pods().await?.is_empty(), "a member was started");
        Ok(unborn)
    }

    /// Sets the clock right.
    async fn end(self) -> Result<()> {
        self.writer.goes_on(50, PATIENCE).await?;
        let journal = self.writer.finish().await?;
        eprintln!(
            "  an hour off: {} writes were acknowledged, {} failed, the longest pause was {:?}",
            journal.len(),
            journal.failed,
            journal.longest_pause
        );
        let leads = self.right.metric("binnacle_leading", "").await?;
        ensure!(leads == 0.0, "two lead at once");
        self.scenario.operator()?.leads(PATIENCE).await?;
        self.right.stop().await?;
        self.scenario.stop_operator().await?;
        self.scenario.start_operator().await
    }
}

pub(crate) async fn an_hour_ahead(scenario: &mut Scenario) -> Result<()> {
    let off = Off::Ahead;
    let cluster = scenario
        .create_healthy("early", with_certificates(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let watched = Watched::begin(scenario, &cluster, off).await?;
    watched.heals_and_scales(&cluster, &standing).await?;
    let before = secrets(watched.scenario, &cluster).await?;
    ensure!(before.len() == 4, "Secrets are {before:?}");
    let another = json!({"TLS": {"auto": {"generation": 2}}});
    cluster.edit(another).await?;
    is_told(&cluster, off).await?;
    watched.grows_and_shrinks(&cluster).await?;
    is_told(&cluster, off).await?;
    let unborn = watched.dates_nothing().await?;
    let now = secrets(watched.scenario, &cluster).await?;
    ensure!(now == before, "{before:?} became {now:?}");
    watched.end().await?;

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

/// Times that were remembered are still to come for this one, and so is the beginning of certificates that were just made:
/// it believes no member that shows one, and leaves that cluster alone.
pub(crate) async fn an_hour_behind(scenario: &mut Scenario) -> Result<()> {
    let plain = scenario
        .create_healthy("plain", spec::on_volumes(3))
        .await?;
    let secure = scenario
        .create_healthy("secure", with_certificates(1))
        .await?;
    let (standing, untouched) = (Standing::of(&plain).await?, Standing::of(&secure).await?);
    let watched = Watched::begin(scenario, &plain, Off::Behind).await?;
    watched.heals_and_scales(&plain, &standing).await?;
    watched.grows_and_shrinks(&plain).await?;
    let words = ["1 could not be asked"];
    let (available, unknown) = ("Available", ConditionStatus::Unknown);
    secure
        .awaits_condition(available, unknown, "MembersUnknown", &words, PATIENCE)
        .await?;
    let why = ["certificate not valid yet"];
    let (degraded, is_so) = ("Degraded", ConditionStatus::True);
    secure
        .awaits_condition(degraded, is_so, "MemberUnhealthy", &why, PATIENCE)
        .await?;
    untouched.is_kept(&secure).await?;
    let unborn = watched.dates_nothing().await?;
    watched.end().await?;
    unborn.becomes_healthy(1).await?;
    secure.becomes_healthy(1).await?;
    untouched.is_kept(&secure).await
}
