//! Backups into a real S3 server: taken once, of plain and TLS clusters, through a restart, and what is said of bad input.

mod before;
mod going;
mod google;
mod hostile;
mod periodic;
mod rehearsals;
mod stores;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::{EtcdBackupStatus, GROUP, ResourceKind, VERSION};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tests::scenario::{Authority, ClientFiles, Cluster, Scenario, names_of, old_secret, spec};
use tests::testbed::wait;

use crate::minio::{self, BUCKET, MinIo};

pub(crate) use before::before;
pub(crate) use going::going;
pub(crate) use google::google_account;
pub(crate) use hostile::{bad_store, fill, full_and_locked, full_store};
pub(crate) use periodic::periodic;
pub(crate) use rehearsals::{damaged, proven};
pub(crate) use stores::{LARGE, SMALL, Source, alibaba, azure, google};

const PATIENCE: Duration = Duration::from_secs(90);
pub(crate) const KEY: &str = "dir/etcd.backup";

pub(crate) async fn apply(scenario: &Scenario, object: &Value) -> Result<()> {
    let arguments = ["apply", "--filename", "-"];
    scenario
        .kubectl_with_input(&arguments, &object.to_string())
        .await
        .map(drop)
}

/// A manifest as people wrote it for the archived operator.
pub(crate) fn manifest(name: &str, endpoint: &str, s3: Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdBackup",
        "metadata": {"name": name},
        "spec": {"etcdEndpoints": [endpoint], "storageType": "S3", "s3": s3},
    })
}

pub(crate) async fn status(scenario: &Scenario, name: &str) -> Result<EtcdBackupStatus> {
    let backup = scenario.resource(ResourceKind::EtcdBackup, name);
    Ok(backup.status().await?.unwrap_or_default())
}

/// Waits until it has succeeded or failed.
pub(crate) async fn ended(scenario: &Scenario, name: &str) -> Result<EtcdBackupStatus> {
    wait::until(format!("the end of backup {name}"), PATIENCE, async || {
        let status = status(scenario, name).await?;
        ensure!(status.is_over(), "it stands at {status:?}");
        Ok(status)
    })
    .await
}

pub(crate) async fn succeeded(scenario: &Scenario, name: &str) -> Result<EtcdBackupStatus> {
    let status = ended(scenario, name).await?;
    ensure!(status.succeeded, "it failed: {}", status.reason);
    Ok(status)
}

/// What is stored is what the status says, and etcd's own tool takes it.
async fn is_whole(store: &MinIo, status: &EtcdBackupStatus, key: &str) -> Result<()> {
    ensure!(
        status.path.as_deref() == Some(&format!("{BUCKET}/{key}")),
        "the path is {:?}",
        status.path
    );
    is_that_file(&store.fetch(key).await?, status).await
}

pub(crate) async fn is_that_file(file: &Path, status: &EtcdBackupStatus) -> Result<()> {
    let bytes = std::fs::read(file)?;
    ensure!(
        status.size_bytes == i64::try_from(bytes.len()).ok(),
        "{} bytes are stored",
        bytes.len()
    );
    let sha256 = format!("{:x}", Sha256::digest(&bytes));
    ensure!(
        status.sha256.as_ref() == Some(&sha256),
        "the sha-256 is {sha256}"
    );
    let (revision, keys) = minio::snapshot_status(file).await?;
    ensure!(
        revision >= status.etcd_revision && status.etcd_revision > 1,
        "the snapshot has revision {revision}, the status {}",
        status.etcd_revision
    );
    ensure!(keys > 0, "the snapshot has no key");
    Ok(())
}

pub(crate) fn client_url(scheme: &str, cluster: &Cluster) -> String {
    let (name, namespace) = (cluster.name(), cluster.namespace());
    format!("{scheme}://{name}-client.{namespace}.svc:2379")
}

/// The manifest of old, its Secret of old: one object under exactly that key, and never a second run.
pub(crate) async fn once(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(3))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let block = store.block(KEY, "aws");
    let url = client_url("http", &cluster);
    apply(scenario, &manifest("once", &url, block)).await?;
    let first = succeeded(scenario, "once").await?;
    is_whole(&store, &first, KEY).await?;
    ensure!(first.etcd_version == "3.6.16", "of {}", first.etcd_version);
    let keys = store.keys().await?;
    ensure!(keys == [KEY], "stored are {keys:?}");
    let shown = scenario.kubectl(&["get", "etcdbackup", "once"]).await?;
    ensure!(shown.contains("true"), "kubectl shows {shown}");

    let written = store.bucket()?.stat(KEY).await?;
    cluster.etcd().await?.put("later", "yes").await?;
    scenario.stop_operator().await?;
    scenario.start_operator().await?;
    scenario
        .create_healthy("another", spec::on_volumes(1))
        .await?;
    let same = store.bucket()?.stat(KEY).await?;
    ensure!(
        same.last_modified() == written.last_modified(),
        "it was written again"
    );
    ensure!(
        status(scenario, "once").await? == first,
        "the status changed"
    );

    scenario.kubectl(&["delete", "etcdbackup", "once"]).await?;
    ensure!(
        store.keys().await? == [KEY],
        "deleting the object deleted the backup"
    );
    no_credentials_recorded(scenario).await
}

/// Recordings are read by many; the keys of the store are not theirs.
async fn no_credentials_recorded(scenario: &mut Scenario) -> Result<()> {
    scenario.stop_operator().await?;
    let recordings = scenario.folder().join("recordings");
    let mut looked_at = 0;
    for entry in std::fs::read_dir(&recordings)? {
        let path = entry?.path();
        if !path.is_file() {
            continue;
        }
        let raw = std::fs::read(&path)?;
        let text = zstd::decode_all(raw.as_slice()).unwrap_or(raw);
        let text = String::from_utf8_lossy(&text);
        looked_at += text.matches("EtcdBackup").count();
        ensure!(
            !text.contains("minio-password"),
            "{} holds the password",
            path.display()
        );
    }
    ensure!(looked_at > 0, "no decision on a backup is recorded");
    scenario.start_operator().await
}

/// Members that speak TLS, with certificates and Secrets as the archived operator had them.
pub(crate) async fn once_with_tls(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = sealed(scenario).await?;
    back_up_sealed(scenario, &cluster, &store, 60).await?;
    let status = succeeded(scenario, "sealed").await?;
    is_whole(&store, &status, KEY).await?;

    // Once members ask who is there, the certificate says it: it is root's.
    cluster.etcd().await?.lock().await?;
    let url = client_url("https", &cluster);
    let mut locked = manifest("locked", &url, store.block("locked", "aws"));
    locked["spec"]["clientTLSSecret"] = json!("etcd-client-tls");
    apply(scenario, &locked).await?;
    let status = succeeded(scenario, "locked").await?;
    is_whole(&store, &status, "locked").await
}

/// A cluster of three that speaks TLS by Secrets with the old names.
pub(crate) async fn sealed(scenario: &Scenario) -> Result<Cluster> {
    let authority = Authority::make()?;
    let names = names_of("sealed", scenario.namespace());
    let client = authority.issue_to("root")?;
    for secret in [
        old_secret(
            "etcd-peer-tls",
            "peer",
            &authority.issue(&names)?,
            &authority,
        ),
        old_secret(
            "etcd-server-tls",
            "server",
            &authority.issue(&names)?,
            &authority,
        ),
        old_secret("etcd-client-tls", "etcd-client", &client, &authority),
    ] {
        apply(scenario, &secret).await?;
    }
    let mut spec = spec::on_volumes(3);
    spec["TLS"] = json!({"static": {
        "member": {"peerSecret": "etcd-peer-tls", "serverSecret": "etcd-server-tls"},
        "operatorSecret": "etcd-client-tls",
    }});
    let cluster = scenario.create("sealed", spec).await?;
    let cluster = cluster.with_client(ClientFiles::write(scenario.folder(), &client)?);
    cluster.becomes_healthy(3).await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    Ok(cluster)
}

/// Asks for a backup of that cluster by a manifest of old.
pub(crate) async fn back_up_sealed(
    scenario: &Scenario,
    cluster: &Cluster,
    store: &MinIo,
    seconds: u32,
) -> Result<()> {
    let url = client_url("https", cluster);
    let mut wanted = manifest("sealed", &url, store.block(KEY, "aws"));
    wanted["spec"]["backupPolicy"] = json!({"timeoutInSecond": seconds});
    wanted["spec"]["clientTLSSecret"] = json!("etcd-client-tls");
    apply(scenario, &wanted).await
}

/// The operator is killed while the store hangs: the next one ends the work, and there is one backup.
pub(crate) async fn restarted(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(1))
        .await?;
    let etcd = cluster.etcd().await?;
    let value = "x".repeat(100_000);
    for number in 0..100 {
        etcd.put(&format!("key/{number}"), &value).await?;
    }
    let mut wanted = manifest(
        "twice",
        &client_url("http", &cluster),
        store.block(KEY, "aws"),
    );
    wanted["spec"]["backupPolicy"] = json!({"timeoutInSecond": 600});
    store.freeze()?;
    apply(scenario, &wanted).await?;
    let begun = wait::until("the first run", PATIENCE, async || {
        let status = status(scenario, "twice").await?;
        status.run.context("it has not begun")
    })
    .await;
    scenario.kill_operator().await?;
    store.thaw()?;
    let begun = begun?;
    scenario.start_operator().await?;
    let status = succeeded(scenario, "twice").await?;
    is_whole(&store, &status, KEY).await?;
    ensure!(
        store.keys().await? == [KEY],
        "there is more than one object"
    );
    eprintln!("the run {} was ended by another operator", begun.id);
    Ok(())
}

/// What cannot work is said in words, and nothing is taken for a backup.
pub(crate) async fn bad_input(scenario: &mut Scenario) -> Result<()> {
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    apply(
        scenario,
        &minio::secret("wrong", "minio-user", "not-the-password"),
    )
    .await?;
    let incomplete = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "incomplete"},
        "stringData": {"config": "[default]\n"},
    });
    apply(scenario, &incomplete).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(1))
        .await?;
    let url = client_url("http", &cluster);
    let own = |secret: &str| store.block(KEY, secret);
    let mut elsewhere = own("aws");
    elsewhere["path"] = json!("no-such-bucket/etcd.backup");
    let mut pathless = own("aws");
    pathless["path"] = json!("bucket");
    let nobody = "http://127.0.0.1:1";
    let secure = client_url("https", &cluster);
    let cases = [
        (
            "missing",
            url.as_str(),
            own("absent"),
            "the Secret absent does not exist",
        ),
        (
            "incomplete",
            &url,
            own("incomplete"),
            "has no key credentials",
        ),
        (
            "wrong",
            &url,
            own("wrong"),
            "the store refuses these credentials",
        ),
        ("elsewhere", &url, elsewhere, "NoSuchBucket"),
        ("nobody", nobody, own("aws"), "no endpoint serves a backup"),
        (
            "unsealed",
            &secure,
            own("aws"),
            "clientTLSSecret is not set",
        ),
        ("pathless", &url, pathless, "is not BUCKET/KEY"),
    ];
    for (name, url, block, _) in &cases {
        let mut wanted = manifest(name, url, block.clone());
        wanted["spec"]["backupPolicy"] = json!({"timeoutInSecond": 5});
        apply(scenario, &wanted).await?;
    }
    for (name, _, _, words) in &cases {
        let status = ended(scenario, name).await?;
        ensure!(!status.succeeded, "{name} succeeded");
        ensure!(
            status.reason.contains(words),
            "{name} says: {}",
            status.reason
        );
        eprintln!("{name}: {}", status.reason);
    }
    let keys = store.keys().await?;
    ensure!(keys.is_empty(), "stored are {keys:?}");
    let events = scenario.kubectl(&["get", "events"]).await?;
    ensure!(
        events.contains("BackupFailed"),
        "no event tells of a failure"
    );
    let wrong = scenario.resource(ResourceKind::EtcdBackup, "wrong");
    ensure!(wrong.find().await?.is_some(), "the object is gone");
    Ok(())
}
