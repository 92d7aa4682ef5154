//! A backup of 2 GiB: its rate over that of etcd's own tool and a plain upload, what it does to the operator's memory, and how
//! long three members take that are made of it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::{EtcdBackupStatus, EtcdRestoreStatus, GROUP, ResourceKind, VERSION};
use etcd_client::Client;
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::tools::{ETCD_VERSION, Tool};
use tests::testbed::wait;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::Instant;

use crate::figure::{Aim, Figure};
use crate::memory;
use crate::minio::MinIo;
use crate::part::Bench;

/// Values of a MiB.
const VALUES: usize = 2048;
const MIB: usize = 1 << 20;
/// Bytes that the operator sends at a time, too.
const PIECE: usize = 8 << 20;
const PATIENCE: Duration = Duration::from_secs(900);

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let mut scenario = Scenario::begin(&bench.suite, "backups").await?;
    scenario.load_operator().await?;
    let store = MinIo::start(&scenario).await?;
    apply(&scenario, &store.secret("aws")).await?;
    let cluster = scenario.create_healthy("large", of_size(1)).await?;
    fill(&cluster).await?;
    let (mut rates, mut yard, mut grown) = (Vec::new(), Vec::new(), Vec::new());
    // What it keeps after the first one is of that one, too.
    let before = memory::settled(&scenario).await?;
    let samples = bench.samples.min(3);
    for number in 0..samples {
        yard.push(by_hand(&scenario, &store, &cluster).await?);
        let (rate, most) = by_operator(&scenario, &store, number).await?;
        rates.push(rate);
        grown.push(most - before);
    }
    cluster.delete().await?;
    let restored = restored(&scenario, &store, &key(samples - 1)).await?;
    scenario.stop_operator().await?;
    Ok(vec![
        Figure::ratio("backup_mib_per_s", rates, yard).aiming_at(Aim::AtLeast(0.9)),
        Figure::median("backup_rss_mib", "MiB", grown).aiming_at(Aim::AtMost(32.0)),
        Figure::median("restore_2_gib_s", "s", vec![restored]),
    ])
}

fn of_size(size: i64) -> Value {
    let mut spec = spec::on_volumes(size);
    spec["pod"]["etcdEnv"] =
        json!([{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": (8_u64 << 30).to_string()}]);
    spec
}

fn key(number: usize) -> String {
    format!("sample-{number}")
}

/// Seconds until three members with all of it are healthy.
async fn restored(scenario: &Scenario, store: &MinIo, key: &str) -> Result<f64> {
    let wish = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdRestore", "metadata": {"name": "back"},
        "spec": {
            "etcdCluster": {"name": "back"}, "backupStorageType": "S3", "s3": store.block(key, "aws"),
        },
    });
    let cluster = scenario.cluster("back");
    let began = Instant::now();
    apply(scenario, &wish).await?;
    cluster.create(of_size(3)).await?;
    let restore = scenario.resource(ResourceKind::EtcdRestore, "back");
    let ended = wait::until("the restore of 2 GiB", PATIENCE, async || {
        let status: EtcdRestoreStatus = restore.status().await?.unwrap_or_default();
        ensure!(status.is_over(), "it stands at {:?}", status.conditions);
        Ok(status)
    })
    .await?;
    let took = began.elapsed().as_secs_f64();
    ensure!(ended.succeeded, "it failed: {}", ended.reason);
    let mut etcd = Client::connect([cluster.client_address().await?], None).await?;
    let last = format!("key/{}", VALUES - 1);
    let found = etcd.get(last, None).await?;
    let value = found.kvs().first().context("the last key is not there")?;
    ensure!(value.value().len() == MIB, "it is cut short");
    cluster.delete().await?;
    Ok(took)
}

/// Values that nothing can be spared of.
async fn fill(cluster: &Cluster) -> Result<()> {
    let mut etcd = Client::connect([cluster.client_address().await?], None).await?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for number in 0..VALUES {
        let value: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .take(MIB / 8)
        .flatten()
        .collect();
        etcd.put(format!("key/{number}"), value, None).await?;
    }
    Ok(())
}

/// MiB a second of `etcdctl snapshot save` and an upload of its file.
async fn by_hand(scenario: &Scenario, store: &MinIo, cluster: &Cluster) -> Result<f64> {
    let file: PathBuf = scenario.folder().join("by-hand.db");
    let etcdctl = Tool::find("etcd", ETCD_VERSION)?.folder()?.join("etcdctl");
    let address = cluster.client_address().await?;
    let began = Instant::now();
    let saved = Command::new(etcdctl)
        .args([&format!("--endpoints={address}"), "--command-timeout=900s"])
        .args(["snapshot", "save"])
        .arg(&file)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&saved.stderr).into_owned();
    ensure!(saved.status.success(), "etcdctl: {said}");
    let mut source = tokio::fs::File::open(&file).await?;
    let mut sink = store.bucket()?.writer_with("by-hand").chunk(PIECE).await?;
    let mut bytes = 0;
    loop {
        let mut piece = vec![0; MIB];
        let read = source.read(&mut piece).await?;
        if read == 0 {
            break;
        }
        piece.truncate(read);
        sink.write(piece).await?;
        bytes += read;
    }
    sink.close().await?;
    let rate = rate(bytes, began.elapsed());
    store.bucket()?.delete("by-hand").await?;
    tokio::fs::remove_file(&file).await?;
    Ok(rate)
}

/// The operator's MiB a second, reading back included, and the most memory that it had meanwhile.
async fn by_operator(scenario: &Scenario, store: &MinIo, number: usize) -> Result<(f64, f64)> {
    let name = key(number);
    let wanted = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdBackup", "metadata": {"name": name},
        "spec": {
            "clusterRef": {"name": "large"}, "storageType": "S3", "s3": store.block(&name, "aws"),
        },
    });
    memory::forget_peak(scenario)?;
    apply(scenario, &wanted).await?;
    let backup = scenario.resource(ResourceKind::EtcdBackup, &name);
    let ended = wait::until(format!("backup {name}"), PATIENCE, async || {
        let status: EtcdBackupStatus = backup.status().await?.unwrap_or_default();
        ensure!(status.is_over(), "it stands at {:?}", status.run);
        Ok(status)
    })
    .await?;
    ensure!(ended.succeeded, "it failed: {}", ended.reason);
    let most = memory::peak(scenario)?;
    let millis = ended.duration_milliseconds.context("no duration")?;
    let bytes = usize::try_from(ended.size_bytes.context("no size")?)?;
    if let Some(before) = number.checked_sub(1) {
        store.bucket()?.delete(&key(before)).await?;
    }
    Ok((
        rate(bytes, Duration::from_millis(u64::try_from(millis)?)),
        most,
    ))
}

fn rate(bytes: usize, took: Duration) -> f64 {
    bytes as f64 / MIB as f64 / took.as_secs_f64()
}

pub(crate) async fn apply(scenario: &Scenario, object: &serde_json::Value) -> Result<()> {
    let (arguments, text) = (["apply", "--filename", "-"], object.to_string());
    let applied = scenario.kubectl_with_input(&arguments, &text);
    applied.await.map(drop)
}
