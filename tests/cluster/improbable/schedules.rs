//! Schedules of `etcd.improbable.io/v1alpha1`: EtcdBackups that come at their times into a real S3 server, those that go, and
//! what was missed.

use std::collections::BTreeSet;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, ensure};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::wait;

use super::backups::{apply, events, spec, url};
use super::theirs::Theirs;
use super::{OF_THE_FINAL_STATE, PATIENCE};
use crate::minio::MinIo;

const KIND: &str = "etcdbackupschedules.etcd.improbable.io";
const BACKUPS: &str = "etcdbackups.etcd.improbable.io";
const OLD_FINALIZER: &str = "finalizers.etcd.improbable.io/backup-schedule-cancel";
/// From one backup to the next.
const INTERVAL: i64 = 5;

fn schedule(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdBackupSchedule",
        "metadata": {"name": name}, "spec": spec,
    })
}

async fn list(scenario: &Scenario, what: &[&str]) -> Result<Value> {
    let arguments = [&["get"], what, &["--output=json"]].concat();
    Ok(serde_json::from_str(&scenario.kubectl(&arguments).await?)?)
}

async fn status(scenario: &Scenario, name: &str) -> Result<Value> {
    Ok(list(scenario, &[KIND, name]).await?["status"].clone())
}

/// Its EtcdBackups, by the label of that operator.
async fn made(scenario: &Scenario, name: &str) -> Result<Vec<Value>> {
    let label = format!("--selector=etcd.improbable.io/backup-schedule-name={name}");
    let found = list(scenario, &[BACKUPS, &label]).await?;
    Ok(found["items"].as_array().cloned().unwrap_or_default())
}

async fn edit(scenario: &Scenario, name: &str, spec: &Value) -> Result<()> {
    let patch = json!({ "spec": spec }).to_string();
    let arguments = ["patch", KIND, name, "--type=merge", "--patch", &patch];
    scenario.kubectl(&arguments).await.map(drop)
}

/// Waits until a condition has this reason and these words.
async fn tells(scenario: &Scenario, name: &str, reason: &str, words: &str) -> Result<()> {
    wait::until(format!("{reason} of {name}"), PATIENCE, async || {
        let status = status(scenario, name).await?;
        let mut told = status["conditions"].as_array().into_iter().flatten();
        let is_told = told.any(|one| {
            let message = one["message"].as_str().unwrap_or_default();
            one["reason"] == reason && message.contains(words)
        });
        ensure!(is_told, "{status}");
        Ok(())
    })
    .await
}

/// A short interval makes EtcdBackups that are stored, and the newest of them stay; what was due while nobody was there is
/// told. The finalizer that the archived operator left goes with its object, and what is stored stays.
pub(super) async fn kept(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    cluster.becomes_healthy(1).await?;

    let every = format!("@every {INTERVAL}s");
    let template = spec(&store, "{{ .Name }}.db", Some("aws"));
    let mut often = schedule(
        "often",
        &json!({
            "schedule": every, "successfulBackupsHistoryLimit": 2, "failedBackupsHistoryLimit": 1,
            "backupTemplate": template,
        }),
    );
    often["metadata"]["finalizers"] = json!([OLD_FINALIZER]);
    apply(scenario, &often).await?;
    wait::until("five stored backups and two kept", PATIENCE, async || {
        let keys = store.keys().await?;
        let made = made(scenario, "often").await?;
        let done = made
            .iter()
            .filter(|one| one["status"]["phase"] == "Completed")
            .count();
        ensure!(keys.len() >= 5 && done == 2, "{keys:?}, {done} completed");
        for one in &made {
            let metadata = &one["metadata"];
            let owner = &metadata["ownerReferences"][0];
            ensure!(
                owner["kind"] == "EtcdBackupSchedule" && owner["controller"] == true,
                "{metadata}"
            );
            ensure!(one["spec"] == template, "{}", one["spec"]);
        }
        Ok(())
    })
    .await?;
    let told = events(scenario, "often").await?;
    for reason in ["ScheduledBackupMade", "HistoryLimited"] {
        ensure!(told.contains(reason), "{told}");
    }
    let now = status(scenario, "often").await?;
    ensure!(now["lastSuccessfulTime"].is_string(), "{now}");
    let shown = scenario.kubectl(&["get", "ietcdbackupschedule"]).await?;
    ensure!(
        shown.contains("MISSED") && shown.contains(&every),
        "{shown}"
    );

    scenario.stop_operator().await?;
    let before = status(scenario, "often").await?;
    let next = before["nextScheduleTime"].as_str().context("no time")?;
    let late = next.parse::<Timestamp>()? + SignedDuration::from_secs(INTERVAL * 3);
    wait::until("three intervals", PATIENCE, async || {
        ensure!(Timestamp::now() > late, "it is earlier than {late}");
        Ok(())
    })
    .await?;
    scenario.start_operator().await?;
    wait::until("what was missed", PATIENCE, async || {
        let now = status(scenario, "often").await?;
        let missed = |status: &Value| status["missed"].as_i64().unwrap_or_default();
        ensure!(missed(&now) >= missed(&before) + 3, "{now}");
        ensure!(now["lastBackup"] != before["lastBackup"], "{now}");
        Ok(())
    })
    .await?;
    let told = events(scenario, "often").await?;
    ensure!(told.contains("BackupsMissed"), "{told}");

    edit(scenario, "often", &json!({"schedule": "0 0 31 2 *"})).await?;
    tells(scenario, "often", "InvalidSpec", "never comes").await?;
    let suspended = json!({"backupPolicy": {"suspend": true}});
    let suspended = json!({"schedule": every, "backupTemplate": suspended});
    edit(scenario, "often", &suspended).await?;
    tells(
        scenario,
        "often",
        "BackupsSuspended",
        "backupPolicy.suspend",
    )
    .await?;

    let keys = store.keys().await?;
    // It ends when the object is gone, which the finalizer holds.
    let gone = scenario.kubectl(&["delete", KIND, "often", "--timeout=60s"]);
    gone.await?;
    wait::until("the end of its EtcdBackups", PATIENCE, async || {
        let left = made(scenario, "often").await?;
        ensure!(left.is_empty(), "{} are left", left.len());
        Ok(())
    })
    .await?;
    let left: BTreeSet<String> = store.keys().await?.into_iter().collect();
    ensure!(
        keys.iter().all(|key| left.contains(key)),
        "stored are {left:?}"
    );
    Ok(())
}

/// Where the template says so, what an EtcdBackup stored goes with it: the history limit is the store's as well. v0.2.0's
/// keys do. What nobody can follow is refused.
pub(super) async fn swept(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    cluster.becomes_healthy(1).await?;
    let template = spec(&store, "{{ .Name }}.db", Some("aws"));
    for (spec, words) in [
        (json!({"backupTemplate": template}), "schedule"),
        (
            json!({"schedule": "often", "backupTemplate": template}),
            "schedule",
        ),
        (
            json!({"schedule": "@daily"}),
            "say what each backup looks like",
        ),
        (
            json!({"schedule": "@daily", "backupTemplate": template, "backupSpec": template}),
            "say what each backup looks like",
        ),
        (
            json!({"schedule": "@daily", "backupTemplate": {"destination": template["destination"]}}),
            "say whose data",
        ),
        (
            json!({"schedule": "@daily", "backupTemplate": template, "failedBackupsHistoryLimit": -1}),
            "failedBackupsHistoryLimit",
        ),
    ] {
        let answer = apply(scenario, &schedule("wrong", &spec)).await;
        let answer = answer.err().with_context(|| format!("{spec} passes"))?;
        let found = format!("{answer:#}");
        ensure!(found.contains(words), "{found}");
    }

    let endpoint = json!({"scheme": "http", "host": "final-cluster", "port": 2379});
    let of_old = json!({
        "clusterEndpoints": [endpoint],
        "destination": {"objectURLTemplate": url(&store, "{{ .Name }}.db"), "secretName": "aws"},
        "backupPolicy": {"whenDeleted": "Delete"},
    });
    let spec = json!({
        "schedule": format!("@every {INTERVAL}s"), "successfulBackupsHistoryLimit": 1, "backupSpec": of_old,
    });
    apply(scenario, &schedule("swept", &spec)).await?;
    let seen = Mutex::new(BTreeSet::new());
    wait::until("four backups and one that stays", PATIENCE, async || {
        let keys = store.keys().await?;
        let mut seen = seen.lock().map_err(|_| anyhow!("poisoned"))?;
        seen.extend(keys.iter().cloned());
        ensure!(seen.len() >= 4 && keys.len() == 1, "{seen:?}, now {keys:?}");
        Ok(())
    })
    .await?;
    scenario
        .kubectl(&["delete", KIND, "swept", "--timeout=60s"])
        .await?;
    wait::until("an empty store", PATIENCE, async || {
        let keys = store.keys().await?;
        ensure!(keys.is_empty(), "stored are {keys:?}");
        Ok(())
    })
    .await
}
