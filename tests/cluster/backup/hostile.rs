//! Backups into stores that mean no good, and of members that are busy, full or locked: whole, or none at all.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use contract::EtcdBackupStatus;
use etcd_client::Client;
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;

use super::rehearsals::PATIENCE;
use super::{KEY, apply, client_url, ended, is_whole, manifest, status, succeeded};
use crate::minio::MinIo;
use crate::unruly::{Mood, Unruly};

/// Values of a MiB: more than one piece of an upload.
const VALUES: usize = 12;
/// So many that etcd's quota of 8 MiB refuses one of them: it counts what it wrote to disk, a tenth of a second late.
const TOO_MANY: usize = 1_000;
/// How long the store answers 503.
const AWAY: Duration = Duration::from_secs(60);

/// A store that cuts uploads, cuts downloads, or answers 503 for a minute: the backup is not there, or not taken for one,
/// until it was read back whole; then it counts without anybody's help. And a slow one, while the member is compacted.
pub(crate) async fn bad_store(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    let hands = Unruly::before(scenario, &store).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(1))
        .await?;
    fill(&cluster, VALUES).await?;
    for (name, mood) in [
        ("cut-up", Mood::CutsUploads),
        ("cut-down", Mood::CutsDownloads),
        ("away", Mood::Refuses),
    ] {
        hands.becomes(mood);
        let began = Instant::now();
        ask(scenario, &store, &hands, &cluster, name).await?;
        let seen = wait::until(
            format!("a failed attempt at {name}"),
            PATIENCE,
            async || {
                let status = status(scenario, name).await?;
                ensure!(
                    !status.succeeded,
                    "{name} is taken for a backup: {status:?}"
                );
                ensure!(hands.hurt() > 2, "{} messages were hurt", hands.hurt());
                ensure!(status.waiting_since.is_some(), "it stands at {status:?}");
                let lasted = began.elapsed();
                ensure!(
                    mood != Mood::Refuses || lasted > AWAY,
                    "{lasted:?} have passed"
                );
                Ok(status)
            },
        )
        .await?;
        eprintln!("{name}: {}", told(&seen));
        let is_stored = store.keys().await?.contains(&name.to_owned());
        ensure!(
            !is_stored || mood == Mood::CutsDownloads,
            "something is stored as {name}"
        );
        hands.becomes(Mood::Calm);
        let status = succeeded(scenario, name).await?;
        is_whole(&store, &status, name).await?;
    }

    hands.becomes(Mood::Slow(2 << 20));
    ask(scenario, &store, &hands, &cluster, "slow").await?;
    let etcd = Client::connect([cluster.client_address().await?], None).await?;
    let slow = wait::until("a backup over a slow way", PATIENCE, async || {
        let mut etcd = etcd.clone();
        let written = etcd.put("busy", "again", None).await?;
        let revision = written.header().context("no header")?.revision();
        etcd.compact(revision, None).await?;
        let status = status(scenario, "slow").await?;
        ensure!(status.is_over(), "it stands at {status:?}");
        Ok(status)
    })
    .await?;
    ensure!(slow.succeeded, "it failed: {}", slow.reason);
    is_whole(&store, &slow, "slow").await?;
    let keys = store.keys().await?;
    ensure!(
        keys == ["away", "cut-down", "cut-up", "slow"],
        "stored are {keys:?}"
    );
    Ok(())
}

/// A store whose disk is full keeps nothing, says so, and takes the backup once it has room.
pub(crate) async fn full_store(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start_on_disk_of(scenario, 12).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(1))
        .await?;
    fill(&cluster, VALUES).await?;
    let mut wanted = manifest(
        "full",
        &client_url("http", &cluster),
        store.block(KEY, "aws"),
    );
    wanted["spec"]["backupPolicy"] = json!({"timeoutInSecond": 900});
    apply(scenario, &wanted).await?;
    let seen = wait::until("words on the full disk", PATIENCE, async || {
        let status = status(scenario, "full").await?;
        ensure!(!status.succeeded, "it is taken for a backup: {status:?}");
        let is_told = told(&status).contains("StorageFull");
        ensure!(is_told, "it stands at {status:?}");
        Ok(status)
    })
    .await?;
    eprintln!("full: {}", told(&seen));
    let keys = store.keys().await?;
    ensure!(keys.is_empty(), "stored are {keys:?}");
    store.grow_disk_to(256).await?;
    let status = succeeded(scenario, "full").await?;
    is_whole(&store, &status, KEY).await
}

/// A member whose quota is used up gives a whole backup; one that asks who is there, and is not told, gives none.
pub(crate) async fn full_and_locked(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let mut spec = spec::on_volumes(1);
    spec["pod"]["etcdEnv"] = json!([{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": "8388608"}]);
    let cluster = scenario.create_healthy("plain", spec).await?;
    let refused = fill(&cluster, TOO_MANY)
        .await
        .err()
        .context("etcd took everything")?;
    ensure!(refused.to_string().contains("space"), "it says {refused:#}");
    let url = client_url("http", &cluster);
    apply(scenario, &manifest("full", &url, store.block(KEY, "aws"))).await?;
    let full = succeeded(scenario, "full").await?;
    is_whole(&store, &full, KEY).await?;

    cluster.etcd().await?.lock().await?;
    let mut locked = manifest("locked", &url, store.block("locked", "aws"));
    locked["spec"]["backupPolicy"] = json!({"timeoutInSecond": 5});
    apply(scenario, &locked).await?;
    let locked = ended(scenario, "locked").await?;
    ensure!(
        !locked.succeeded && locked.reason.contains("user name is empty"),
        "it says {locked:?}"
    );
    eprintln!("locked: {}", locked.reason);
    let keys = store.keys().await?;
    ensure!(keys == [KEY], "stored are {keys:?}");
    Ok(())
}

/// A backup by way of the hands, with much patience.
async fn ask(
    scenario: &Scenario,
    store: &MinIo,
    hands: &Unruly,
    cluster: &Cluster,
    name: &str,
) -> Result<()> {
    let mut block = store.block(name, "aws");
    block["endpoint"] = json!(hands.endpoint());
    let mut wanted = manifest(name, &client_url("http", cluster), block);
    wanted["spec"]["backupPolicy"] = json!({"timeoutInSecond": 900});
    apply(scenario, &wanted).await
}

fn told(status: &EtcdBackupStatus) -> String {
    let words = status.conditions.iter().map(|one| one.message.as_str());
    words.collect::<Vec<_>>().join(" | ")
}

pub(crate) async fn fill(cluster: &Cluster, values: usize) -> Result<()> {
    let address = cluster.client_address().await?;
    // A Service that was just made may lead nowhere yet.
    let mut etcd = wait::until("an answer of etcd", PATIENCE, async || {
        let mut etcd = Client::connect([&address], None).await?;
        etcd.status().await?;
        Ok(etcd)
    })
    .await?;
    for number in 0..values {
        etcd.put(format!("kept/{number}"), vec![b'x'; 1 << 20], None)
            .await?;
    }
    Ok(())
}
