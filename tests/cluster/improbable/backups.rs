//! Backups of `etcd.improbable.io/v1alpha1` into a real S3 server: URL templates, credentials, phases, and what is refused.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::wait;

use super::theirs::Theirs;
use super::{OF_THE_FINAL_STATE, PATIENCE};
use crate::minio::{self, MinIo};

/// As kubectl is told what is meant: the other dialect has a kind of the same name.
pub(super) const KIND: &str = "etcdbackups.etcd.improbable.io";

pub(super) fn manifest(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdBackup",
        "metadata": {"name": name}, "spec": spec,
    })
}

/// A URL as their users wrote it for a server of their own.
pub(super) fn url(store: &MinIo, key: &str) -> String {
    let address = store.address();
    format!(
        "s3://backups/{key}?endpoint={address}&disableSSL=true&s3ForcePathStyle=true&region=us-east-1"
    )
}

pub(super) fn spec(store: &MinIo, key: &str, secret: Option<&str>) -> Value {
    let mut destination = json!({"objectURLTemplate": url(store, key)});
    if let Some(secret) = secret {
        destination["secretName"] = json!(secret);
    }
    json!({"source": {"clusterURL": "http://final-cluster:2379"}, "destination": destination})
}

pub(super) async fn apply(scenario: &Scenario, object: &Value) -> Result<()> {
    let (arguments, object) = (["apply", "--filename", "-"], object.to_string());
    let applied = scenario.kubectl_with_input(&arguments, &object);
    applied.await.map(drop)
}

async fn get(scenario: &Scenario, kind: &str, name: &str) -> Result<Value> {
    let arguments = ["get", kind, name, "--output=json"];
    Ok(serde_json::from_str(&scenario.kubectl(&arguments).await?)?)
}

/// Waits until it has reached this phase.
pub(super) async fn ends(scenario: &Scenario, name: &str, phase: &str) -> Result<Value> {
    reaches(scenario, KIND, name, phase).await
}

/// As [`ends`], for any kind.
pub(super) async fn reaches(
    scenario: &Scenario,
    kind: &str,
    name: &str,
    phase: &str,
) -> Result<Value> {
    let what = format!("the phase {phase} of {kind} {name}");
    wait::until(what, PATIENCE, async || {
        let found = get(scenario, kind, name).await?;
        ensure!(found["status"]["phase"] == phase, "{}", found["status"]);
        Ok(found)
    })
    .await
}

pub(super) async fn events(scenario: &Scenario, name: &str) -> Result<String> {
    let of = format!("--field-selector=involvedObject.name={name}");
    scenario.kubectl(&["get", "events", &of]).await
}

/// A backup goes where its template says, with nothing escaped, and is whole; the status has the old phases and times.
pub(super) async fn taken(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    cluster.becomes_healthy(1).await?;
    cluster.etcdctl(&["put", "kept", "yes"]).await?;
    let key = "{{ .Namespace }}/{{.Name}}/{{ .UID }} {{ .CreationTimestamp }}.db";
    apply(
        scenario,
        &manifest("nightly", &spec(&store, key, Some("aws"))),
    )
    .await?;
    let done = ends(scenario, "nightly", "Completed").await?;
    let metadata = &done["metadata"];
    let created = metadata["creationTimestamp"].as_str().context("no time")?;
    let created = created.replace('T', " ").replace('Z', " +0000 UTC");
    let uid = metadata["uid"].as_str().context("no UID")?;
    let wanted = format!("{}/nightly/{uid} {created}.db", scenario.namespace());
    let keys = store.keys().await?;
    ensure!(
        keys == [wanted.clone()],
        "stored are {keys:?}, wanted {wanted}"
    );
    let (revision, total) = minio::snapshot_status(&store.fetch(&wanted).await?).await?;
    let status = &done["status"];
    ensure!(
        total > 0 && status["etcdRevision"].as_i64() <= Some(revision),
        "{status}"
    );
    let times: BTreeMap<&str, &Value> = ["startTime", "completionTime"]
        .map(|key| (key, &status[key]))
        .into();
    ensure!(times.values().all(|time| time.is_string()), "{times:?}");
    ensure!(
        status["backupPath"] == format!("backups/{wanted}"),
        "{status}"
    );
    let shown = scenario.kubectl(&["get", "ietcdbackup", "nightly"]).await?;
    ensure!(
        shown.contains("PHASE") && shown.contains("Completed"),
        "{shown}"
    );
    let told = events(scenario, "nightly").await?;
    ensure!(told.contains("BackupSucceeded"), "{told}");
    // The other dialect's kind keeps its name.
    let other = scenario
        .kubectl(&["get", "etcdbackups", "--output=name"])
        .await?;
    ensure!(other.is_empty(), "etcdbackups means {other}");

    let patch = json!({"spec": {"source": {"clusterURL": "http://other:2379"}}}).to_string();
    let arguments = ["patch", KIND, "nightly", "--type=merge", "--patch", &patch];
    let refused = scenario.kubectl(&arguments).await;
    let words = format!(
        "{:#}",
        refused
            .err()
            .context("a backup that has begun is changed")?
    );
    ensure!(words.contains("Unsupported changes:"), "{words}");

    let of_old = json!({
        "clusterEndpoints": [{"scheme": "http", "host": "final-cluster", "port": 2379}],
        "destination": {"objectURLTemplate": url(&store, "old.db"), "secretName": "aws"},
    });
    apply(scenario, &manifest("old", &of_old)).await?;
    ends(scenario, "old", "Completed").await?;
    ensure!(
        store.keys().await?.contains(&"old.db".to_owned()),
        "it is not stored"
    );
    Ok(())
}

/// What can be followed by nobody is refused, or fails with words; nothing that is over is taken again.
pub(super) async fn refused(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    let source = json!({"clusterURL": "http://final-cluster:2379"});
    let place = json!({"objectURLTemplate": "s3://backups/a"});
    let endpoint = json!({"scheme": "http", "host": "a", "port": 2379});
    for (spec, words) in [
        (json!({"destination": place}), "say whose data"),
        (
            json!({"source": source, "clusterEndpoints": [endpoint], "destination": place}),
            "say whose data",
        ),
        (
            json!({"source": source, "destination": {}}),
            "say where the backup goes",
        ),
        (
            json!({"source": source, "destination": {"objectURLTemplate": "ftp://a/b"}}),
            "objectURLTemplate",
        ),
        (json!({"source": source}), "destination"),
    ] {
        let answer = apply(scenario, &manifest("wrong", &spec)).await;
        let found = format!(
            "{:#}",
            answer.err().with_context(|| format!("{spec} passes"))?
        );
        ensure!(found.contains(words), "{found}");
    }
    for (name, destination, words) in [
        (
            "folder",
            json!({"local": {"path": "/tmp"}}),
            "holds no backups here",
        ),
        (
            "labels",
            json!({"objectURLTemplate": "s3://backups/{{ .Labels }}", "secretName": "aws"}),
            "{{ .Labels }} is not known",
        ),
        (
            "unnamed",
            json!({"objectURLTemplate": "s3://backups/a"}),
            "secretName names no Secret",
        ),
    ] {
        let spec = json!({"source": source, "destination": destination});
        apply(scenario, &manifest(name, &spec)).await?;
        let failed = ends(scenario, name, "Failed").await?;
        let why = failed["status"]["Reason"].as_str().unwrap_or_default();
        ensure!(why.contains(words), "{why}");
        let told = events(scenario, name).await?;
        ensure!(told.contains("BackupFailed"), "{told}");
    }
    ensure!(store.keys().await?.is_empty(), "something is stored");
    Ok(())
}

/// Without a Secret of its own a backup uses the operator's; what the archived operator ended stays as it was.
pub(super) async fn with_the_operators_own(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("of-the-operator")).await?;
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    cluster.becomes_healthy(1).await?;
    scenario.stop_operator().await?;
    for (name, phase) in [("done", "Completed"), ("lost", "Failed")] {
        apply(scenario, &manifest(name, &spec(&store, name, None))).await?;
        let status = json!({"status": {"phase": phase}}).to_string();
        let arguments = ["patch", KIND, name, "--subresource=status", "--type=merge"];
        let arguments = [&arguments[..], &["--patch", &status]].concat();
        scenario.kubectl(&arguments).await?;
    }
    apply(
        scenario,
        &manifest("fresh", &spec(&store, "fresh.db", None)),
    )
    .await?;
    let namespace = scenario.namespace().to_owned();
    let serving = [
        "--watch-namespace",
        &namespace,
        "--store-secret",
        "of-the-operator",
    ];
    let operator = scenario.operator_serving(&serving).await?;
    ends(scenario, "fresh", "Completed").await?;
    for (name, phase) in [("done", "Completed"), ("lost", "Failed")] {
        let what = format!("a look at {name}");
        wait::until(what, PATIENCE, async || {
            let status = get(scenario, KIND, name).await?["status"].clone();
            ensure!(status["decidedBy"].is_string(), "{status}");
            ensure!(status["phase"] == phase, "{status}");
            Ok(())
        })
        .await?;
    }
    let keys = store.keys().await?;
    ensure!(keys == ["fresh.db"], "stored are {keys:?}");
    operator.stop().await
}
