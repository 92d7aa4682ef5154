//! A restore into three members: over etcd's own tool by hand and the birth of the yardstick's three.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use contract::{GROUP, VERSION};
use serde_json::json;
use tests::scenario::{Scenario, spec};
use tests::testbed::tools::{ETCD_VERSION, Tool};
use tests::testbed::wait;
use tokio::process::Command;
use tokio::time::Instant;

use crate::backups::apply;
use crate::figure::{Aim, Figure};
use crate::minio::MinIo;
use crate::part::Bench;
use crate::{sight, yardstick};

/// The stored backup.
const KEY: &str = "backup";
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let mut scenario = Scenario::begin(&bench.suite, "restores").await?;
    scenario.load_operator().await?;
    let store = MinIo::start(&scenario).await?;
    apply(&scenario, &store.secret("aws")).await?;
    let source = scenario
        .create_healthy("source", spec::on_volumes(1))
        .await?;
    for number in 0..100 {
        source
            .etcd()
            .await?
            .put(&format!("key/{number}"), "value")
            .await?;
    }
    let file = scenario.folder().join("backup.db");
    save(&source.client_address().await?, &file).await?;
    store.bucket()?.write(KEY, std::fs::read(&file)?).await?;
    source.delete().await?;

    let (mut restores, mut yard) = (Vec::new(), Vec::new());
    for number in 0..bench.samples {
        let name = format!("yard-{number}");
        let hand = by_hand(&scenario, &store).await?;
        yard.push((hand + yardstick::ready(&scenario, &name).await?).as_secs_f64());
        yardstick::remove(&scenario, &name).await?;

        let name = format!("restored-{number}");
        let wish = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdRestore", "metadata": {"name": name},
            "spec": {
                "etcdCluster": {"name": name}, "backupStorageType": "S3", "s3": store.block(KEY, "aws"),
            },
        });
        let cluster = scenario.cluster(&name);
        let began = Instant::now();
        apply(&scenario, &wish).await?;
        cluster.create(spec::on_volumes(3)).await?;
        let whole = sight::of_healthy(&cluster, 3, |_| Ok(())).await?;
        restores.push((whole - began).as_secs_f64());
        // Whole is what etcd says; that a pod is ready the kubelet says a little later.
        wait::until("the restored key", PATIENCE, async || {
            let value = cluster.etcd().await?.get("key/99").await?;
            ensure!(value == "value", "{name} was not restored");
            Ok(())
        })
        .await?;
        cluster.delete().await?;
    }
    scenario.stop_operator().await?;
    Ok(vec![
        Figure::ratio("restore_3_s", restores, yard).aiming_at(Aim::AtMost(1.5)),
    ])
}

async fn save(address: &str, file: &Path) -> Result<()> {
    let etcdctl = Tool::find("etcd", ETCD_VERSION)?.folder()?.join("etcdctl");
    let mut save = Command::new(etcdctl);
    save.arg(format!("--endpoints={address}"))
        .args(["snapshot", "save"])
        .arg(file);
    run(save).await
}

/// How long it takes to fetch the backup once and to make three data folders of it, one after the other.
async fn by_hand(scenario: &Scenario, store: &MinIo) -> Result<Duration> {
    let etcdutl = Tool::find("etcd", ETCD_VERSION)?.folder()?.join("etcdutl");
    let names = yardstick::pods("hand");
    let peers: Vec<_> = names
        .iter()
        .map(|one| format!("{one}=http://{one}:2380"))
        .collect();
    let folder = scenario.folder().join("by-hand");
    let began = Instant::now();
    let file = store.fetch(KEY).await?;
    for name in &names {
        let mut restore = Command::new(&etcdutl);
        restore
            .args([
                "snapshot",
                "restore",
                "--bump-revision=1000000000",
                "--mark-compacted",
            ])
            .arg(format!("--name={name}"))
            .arg(format!("--initial-cluster={}", peers.join(",")))
            .arg(format!("--initial-advertise-peer-urls=http://{name}:2380"))
            .arg("--data-dir")
            .arg(folder.join(name))
            .arg(&file);
        run(restore).await?;
    }
    let took = began.elapsed();
    tokio::fs::remove_dir_all(&folder).await?;
    Ok(took)
}

async fn run(mut command: Command) -> Result<()> {
    let ended = command.output().await?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(ended.status.success(), "{command:?}: {said}");
    Ok(())
}
