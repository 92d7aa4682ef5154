//! Stored backups at a terminal: listed, fetched, proven, and a living cluster that goes on from one.

use anyhow::{Context, Result, ensure};
use contract::{GROUP, VERSION};
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;

use super::{PATIENCE, contents};
use crate::asked::{ask, text};
use crate::backup::{KEY, apply};
use crate::minio::{self, MinIo};

/// One wish of a person with the administrator's rights.
async fn backup(scenario: &Scenario, words: &[&str], code: i32) -> Result<String> {
    let namespace = ["--namespace", scenario.namespace()];
    let words = [&["backup"], words, &namespace].concat();
    ask(scenario, &scenario.testbed().kubeconfig(), &words, code).await
}

pub(crate) async fn at_a_terminal(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario.create_healthy("shop", spec::on_volumes(1)).await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    let wanted = |suspend: bool| {
        json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdBackup",
            "metadata": {"name": "often"},
            "spec": {
                "clusterRef": {"name": "shop"}, "storageType": "S3", "s3": store.block(KEY, "aws"),
                "backupPolicy": {"backupIntervalInSecond": 2, "suspend": suspend},
            },
        })
    };
    apply(scenario, &wanted(false)).await?;
    let first = wait::until("a backup", PATIENCE, async || {
        store.keys().await?.pop().context("nothing is stored")
    })
    .await?;
    etcd.put("later", "yes").await?;
    wait::until("another backup", PATIENCE, async || {
        let stored = store.keys().await?;
        ensure!(stored.len() > 1, "stored is {stored:?}");
        Ok(())
    })
    .await?;
    apply(scenario, &wanted(true)).await?;
    let none_under_way = async || {
        let listed = backup(scenario, &["ls", "often", "-o", "json"], 0).await?;
        let status = scenario
            .kubectl(&[
                "get",
                "etcdbackup",
                "often",
                "--output=jsonpath={.status.run}",
            ])
            .await?;
        ensure!(status.is_empty(), "one is under way: {status}");
        Ok(serde_json::from_str::<Vec<Value>>(&listed)?)
    };
    let listed = wait::until("the end of the last one", PATIENCE, none_under_way).await?;
    let keys: Vec<_> = listed
        .iter()
        .filter_map(|row| row["key"].as_str())
        .collect();
    ensure!(store.keys().await? == keys, "listed are {keys:?}");
    eprintln!("{}", backup(scenario, &["ls", "often"], 0).await?);

    is_fetched_whole_or_not_at_all(scenario, &store, &first).await?;
    goes_on_from(scenario, &first).await?;
    let (pairs, _) = contents(&cluster.client_address().await?).await?;
    ensure!(
        pairs.keys().collect::<Vec<_>>() == ["kept"],
        "there are {:?}",
        pairs.keys()
    );
    Ok(())
}

async fn is_fetched_whole_or_not_at_all(
    scenario: &Scenario,
    store: &MinIo,
    first: &str,
) -> Result<()> {
    let file = scenario.folder().join("first.db");
    let to = text(&file)?.to_owned();
    let words = ["get", "often", "--key", first, "--to", &to];
    eprintln!("{}", backup(scenario, &words, 0).await?);
    let (_, keys) = minio::snapshot_status(&file).await?;
    ensure!(keys > 0, "etcd's own tool finds no key in it");
    let refused = backup(scenario, &words, 2).await?;
    ensure!(refused.contains("is there already"), "{refused}");
    let verify = ["verify", "often", "--key", first];
    let proven = backup(scenario, &verify, 0).await?;
    ensure!(proven.contains("is a whole backup"), "{proven}");
    eprintln!("{proven}");

    // Of the highest revision, and none; first of an earlier life of the cluster, then the newest there is.
    let bytes = std::fs::read(&file)?;
    let half = bytes[..bytes.len() / 2].to_vec();
    let earlier = format!("{KEY}_v99999_2026-01-01-00:00:00");
    store.bucket()?.write(&earlier, half.clone()).await?;
    let unclear = backup(scenario, &["verify", "often"], 2).await?;
    ensure!(
        unclear.contains(&earlier) && unclear.contains("--key"),
        "{unclear}"
    );
    store.bucket()?.delete(&earlier).await?;
    let damaged = format!("{KEY}_v99999_2099-01-01-00:00:00");
    store.bucket()?.write(&damaged, half).await?;
    let refused = backup(scenario, &["verify", "often"], 2).await?;
    ensure!(
        refused.contains(&damaged) && refused.contains("cut short or damaged"),
        "{refused}"
    );
    let nowhere = ["get", "often", "--to", "/nowhere/half.db"];
    let refused = backup(scenario, &nowhere, 2).await?;
    ensure!(refused.contains("cannot be written"), "{refused}");
    let half = scenario.folder().join("half.db");
    let refused = backup(scenario, &["get", "often", "--to", text(&half)?], 2).await?;
    ensure!(refused.contains("cut short or damaged"), "{refused}");
    let left: Vec<_> = std::fs::read_dir(scenario.folder())?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name.starts_with("half"))
        .collect();
    ensure!(left.is_empty(), "{left:?} is left of what was no backup");
    store.bucket()?.delete(&damaged).await?;
    let unknown = backup(scenario, &["verify", "often", "--key", &damaged], 2).await?;
    ensure!(unknown.contains("binnacle backup ls"), "{unknown}");
    let nobody = backup(scenario, &["ls", "seldom"], 2).await?;
    ensure!(nobody.contains("there is no EtcdBackup"), "{nobody}");
    Ok(())
}

async fn goes_on_from(scenario: &Scenario, key: &str) -> Result<()> {
    let restore = ["restore", "often", "--cluster", "shop", "--key", key];
    let printed = backup(scenario, &[&restore[..], &["--dry-run"]].concat(), 0).await?;
    ensure!(
        printed.contains("kind: EtcdRestore") && printed.contains(key),
        "{printed}"
    );
    let id = scenario
        .kubectl(&[
            "get",
            "etcd",
            "shop",
            "--output=jsonpath={.status.clusterId}",
        ])
        .await?;
    let consented = [&restore[..], &["--replaces", &id]].concat();
    let told = backup(scenario, &consented, 0).await?;
    eprintln!("{told}");
    ensure!(told.contains("with the data of"), "{told}");
    Ok(())
}
