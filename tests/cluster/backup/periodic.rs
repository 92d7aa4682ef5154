//! Backups taken again and again: what is kept, what is missed, what a restart changes.

use std::collections::BTreeSet;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use contract::{GROUP, VERSION};
use serde_json::json;
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;

use super::{KEY, PATIENCE, apply, is_whole, status};
use crate::minio::MinIo;

/// Every few seconds of a cluster named by itself: revisions count as numbers, foreign names stay, and a restart tells
/// what was missed.
pub(crate) async fn periodic(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    // As text it is the last, as a number the first: it must go before those with more digits.
    let old = format!("{KEY}_v2_2020-01-01-00:00:00");
    let foreign = format!("{KEY}_vip");
    let bucket = store.bucket()?;
    bucket.write(&old, "an old one").await?;
    bucket.write(&foreign, "somebody else's").await?;
    let wanted = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdBackup",
        "metadata": {"name": "often"},
        "spec": {
            "clusterRef": {"name": "plain"}, "storageType": "S3", "s3": store.block(KEY, "aws"),
            "backupPolicy": {"backupIntervalInSecond": 4, "maxBackups": 2},
        },
    });
    apply(scenario, &wanted).await?;
    let seen = Mutex::new(BTreeSet::new());
    let count = || seen.lock().map_or(0, |seen| seen.len());
    wait::until("four backups of which two are kept", PATIENCE, async || {
        let status = status(scenario, "often").await?;
        let is_another = status.succeeded
            && seen
                .lock()
                .is_ok_and(|mut seen| seen.insert(status.path.clone()));
        if is_another {
            etcd.put("kept", &format!("again {}", count())).await?;
        }
        let own = own_keys(&store).await?;
        ensure!(count() >= 4, "{} were seen", count());
        ensure!(own.len() == 2 && !own.contains(&old), "stored are {own:?}");
        Ok(())
    })
    .await?;
    ensure!(
        store.keys().await?.contains(&foreign),
        "a foreign object is gone"
    );

    scenario.kill_operator().await?;
    let before = status(scenario, "often").await?;
    let next = before.next_backup.context("no next time is planned")?;
    let next: k8s_openapi::jiff::Timestamp = next.parse()?;
    wait::until("three missed backups", PATIENCE, async || {
        let late = k8s_openapi::jiff::Timestamp::now().as_second() - next.as_second();
        ensure!(late > 12, "{late} s have passed");
        Ok(())
    })
    .await?;
    scenario.start_operator().await?;
    wait::until("the tale of what was missed", PATIENCE, async || {
        let events = scenario.kubectl(&["get", "events"]).await?;
        ensure!(events.contains("BackupsMissed"), "no event tells of it");
        Ok(())
    })
    .await?;
    let taken = wait::until("one more backup", PATIENCE, async || {
        let status = status(scenario, "often").await?;
        ensure!(status.succeeded && status.path != before.path, "none yet");
        Ok(status)
    })
    .await?;
    let key = taken.path.as_deref().and_then(|path| path.split_once('/'));
    let (_, key) = key.context("no path")?;
    is_whole(&store, &taken, key).await?;

    // Whoever deletes the object keeps what it stored.
    scenario.kubectl(&["delete", "etcdbackup", "often"]).await?;
    ensure!(own_keys(&store).await?.len() >= 2, "the backups are gone");
    Ok(())
}

/// Objects with names of this suite's periodic backup.
async fn own_keys(store: &MinIo) -> Result<Vec<String>> {
    let mut keys = store.keys().await?;
    keys.retain(|key| contract::BackupKey::of(key, KEY).is_some());
    Ok(keys)
}
