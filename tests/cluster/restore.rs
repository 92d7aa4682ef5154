//! Restores, mostly from a real S3 server: the whole disaster, a living cluster and the consent, backups that are none, TLS, and
//! a cluster that is born from a backup.

mod bad;
mod born;
mod claim;
mod rough;
mod sealed;
mod stores;
mod terminal;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::{EtcdRestoreStatus, GROUP, ResourceKind, RestorationStage, RestorePhase, VERSION};
use etcd_client::{Client, GetOptions};
use kube::ResourceExt;
use serde_json::{Value, json};
use tests::scenario::{Children, Cluster, Scenario, spec};
use tests::testbed::wait;

use crate::backup::{self, KEY, apply, client_url, manifest};
use crate::minio::MinIo;
use crate::writer::Writer;

pub(crate) use bad::bad_backups;
pub(crate) use born::born_from;
pub(crate) use claim::from_claim;
pub(crate) use rough::{bad_way, with_trouble};
pub(crate) use sealed::with_tls;
pub(crate) use stores::{from_alibaba, from_azure, from_google};
pub(crate) use terminal::at_a_terminal;

const PATIENCE: Duration = Duration::from_secs(240);

/// A manifest as people wrote it for the archived operator.
pub(crate) fn wish(name: &str, cluster: &str, s3: Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdRestore",
        "metadata": {"name": name},
        "spec": {"etcdCluster": {"name": cluster}, "backupStorageType": "S3", "s3": s3},
    })
}

async fn status(scenario: &Scenario, name: &str) -> Result<EtcdRestoreStatus> {
    let restore = scenario.resource(ResourceKind::EtcdRestore, name);
    Ok(restore.status().await?.unwrap_or_default())
}

fn told(status: &EtcdRestoreStatus) -> String {
    let words = status.conditions.iter().map(|one| one.message.as_str());
    format!(
        "{:?}: {}",
        status.phase,
        words.collect::<Vec<_>>().join(" | ")
    )
}

/// Waits until it has succeeded or failed.
async fn ended(scenario: &Scenario, name: &str) -> Result<EtcdRestoreStatus> {
    wait::until(format!("the end of restore {name}"), PATIENCE, async || {
        let status = status(scenario, name).await?;
        ensure!(status.is_over(), "{}", told(&status));
        Ok(status)
    })
    .await
}

pub(crate) async fn succeeded(scenario: &Scenario, name: &str) -> Result<EtcdRestoreStatus> {
    let status = ended(scenario, name).await?;
    ensure!(status.succeeded, "it failed: {}", status.reason);
    let proof = status.proof.as_ref().context("there is no proof")?;
    eprintln!(
        "{name}: revision {} of etcd {} restored in {:?} s",
        proof.etcd_revision, proof.etcd_version, status.duration_seconds
    );
    Ok(status)
}

/// Waits until it waits, with these words.
pub(crate) async fn holds(scenario: &Scenario, name: &str, words: &str) -> Result<String> {
    wait::until(
        format!("restore {name} to say {words:?}"),
        PATIENCE,
        async || {
            let status = status(scenario, name).await?;
            ensure!(
                status.phase == RestorePhase::Waiting && told(&status).contains(words),
                "{}",
                told(&status)
            );
            Ok(told(&status))
        },
    )
    .await
}

/// All keys and values, and the store's revision.
pub(crate) async fn contents(address: &str) -> Result<(BTreeMap<String, Vec<u8>>, i64)> {
    let mut client = Client::connect([address], None).await?;
    let answer = client
        .get("", Some(GetOptions::new().with_all_keys()))
        .await?;
    let revision = answer
        .header()
        .map_or(0, etcd_client::ResponseHeader::revision);
    let pairs = answer
        .kvs()
        .iter()
        .map(|pair| Ok((pair.key_str()?.to_owned(), pair.value().to_vec())))
        .collect::<Result<_>>()?;
    Ok((pairs, revision))
}

/// UIDs of the resource and of its Services.
async fn identity(cluster: &Cluster) -> Result<Vec<(String, String)>> {
    let mut uids = vec![(
        "resource".to_owned(),
        cluster.resource().await?.uid().unwrap_or_default(),
    )];
    let children = Children::of(cluster).await?;
    let services = children.services.iter();
    uids.extend(services.map(|one| (one.name_any(), one.uid().unwrap_or_default())));
    uids.sort();
    Ok(uids)
}

async fn stage(cluster: &Cluster) -> Result<Option<RestorationStage>> {
    Ok(cluster.status().await?.restoration.map(|one| one.stage))
}

/// Takes one backup of a cluster.
async fn back_up(scenario: &Scenario, store: &MinIo, cluster: &Cluster) -> Result<()> {
    let url = client_url("http", cluster);
    let name = format!("of-{}", cluster.name());
    apply(scenario, &manifest(&name, &url, store.block(KEY, "aws"))).await?;
    backup::succeeded(scenario, &name).await.map(drop)
}

/// Deletes every pod and every volume claim of a cluster, while no operator looks.
async fn destroy(scenario: &mut Scenario, cluster: &Cluster) -> Result<()> {
    scenario.kill_operator().await?;
    let selector = format!("--selector=etcd_cluster={}", cluster.name());
    for kind in ["persistentvolumeclaims", "pods"] {
        let delete = ["delete", kind, &selector, "--wait=false"];
        scenario.kubectl(&delete).await?;
    }
    wait::until("the end of pods and disks", PATIENCE, async || {
        let children = Children::of(cluster).await?;
        ensure!(
            children.pods.is_empty() && children.claims.is_empty(),
            "some are left"
        );
        Ok(())
    })
    .await
}

/// All pods and disks gone; the newest periodic backup, the manifest of old, an operator that is killed at each stage.
pub(crate) async fn everything_gone(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario.create_healthy("shop", spec::on_volumes(3)).await?;
    let address = cluster.client_address().await?;
    let etcd = cluster.etcd().await?;
    for number in 0..20 {
        etcd.put(&format!("kept/{number}"), &format!("value {number}"))
            .await?;
    }
    let (before, revision) = contents(&address).await?;
    let uids = identity(&cluster).await?;
    let old_id = cluster.status().await?.cluster_id;

    let url = client_url("http", &cluster);
    let mut periodic = manifest("every", &url, store.block("periodic/shop", "aws"));
    periodic["spec"]["backupPolicy"] = json!({"backupIntervalInSecond": 5, "maxBackups": 2});
    apply(scenario, &periodic).await?;
    let newest = wait::until("a backup with all of it", PATIENCE, async || {
        let keys = store.keys().await?;
        let holds = format!("_v{revision}_");
        let newest = keys.into_iter().rfind(|key| key.contains(&holds));
        newest.context("none is there yet")
    })
    .await?;
    scenario.kubectl(&["delete", "etcdbackup", "every"]).await?;
    let writer = Writer::start(vec![address.clone()]);
    writer.goes_on(50, PATIENCE).await?;

    destroy(scenario, &cluster).await?;
    scenario.start_operator().await?;
    cluster.becomes_blocked("DataLost", &["backup"]).await?;
    apply(scenario, &wish("shop", "shop", store.block(&newest, "aws"))).await?;
    let mut killed = Vec::new();
    for wanted in [
        RestorationStage::Stopping,
        RestorationStage::Filling,
        RestorationStage::Growing,
    ] {
        let reached = wait::until(format!("{wanted:?}"), PATIENCE, async || {
            let found = stage(&cluster).await?;
            let found = found.context("it has not begun")?;
            let is_reached = [
                (RestorationStage::Stopping, 1),
                (RestorationStage::Filling, 2),
                (RestorationStage::Growing, 3),
                (RestorationStage::Done, 4),
            ];
            let rank = |stage| {
                is_reached
                    .iter()
                    .find(|(one, _)| *one == stage)
                    .map(|one| one.1)
            };
            ensure!(rank(found) >= rank(wanted), "it is at {found:?}");
            Ok(found)
        })
        .await?;
        scenario.kill_operator().await?;
        killed.push(reached);
        scenario.start_operator().await?;
    }
    eprintln!("the operator was killed at {killed:?}");
    let status = succeeded(scenario, "shop").await?;
    cluster.becomes_healthy(3).await?;

    let proof = status.proof.context("there is no proof")?;
    ensure!(
        proof.etcd_revision == revision && proof.etcd_version == "3.6.0",
        "proven was {proof:?}, the revision was {revision}"
    );
    let (after, bumped) = contents(&address).await?;
    let kept: BTreeMap<_, _> = after
        .into_iter()
        .filter(|(key, _)| !key.starts_with("acknowledged/"))
        .collect();
    ensure!(kept == before, "{before:?} became {kept:?}");
    ensure!(
        bumped > revision + 1_000_000_000,
        "the revision is {bumped}, clients that watch would not notice"
    );
    ensure!(
        identity(&cluster).await? == uids,
        "the resource or its Services are others"
    );
    let new_id = cluster.status().await?.cluster_id;
    ensure!(new_id.is_some() && new_id != old_id, "the id is {new_id:?}");
    writer.goes_on(50, PATIENCE).await?;
    let uids = Children::of(&cluster).await?.uids();
    scenario.stop_operator().await?;
    scenario.start_operator().await?;
    cluster.becomes_healthy(3).await?;
    ensure!(
        Children::of(&cluster).await?.uids() == uids,
        "it was restored again"
    );
    show(scenario, "shop").await
}

/// What a person sees, for the documentation.
async fn show(scenario: &Scenario, name: &str) -> Result<()> {
    let shown = [
        scenario.kubectl(&["get", "etcdrestore", name]).await?,
        scenario
            .kubectl(&["get", "etcdrestore", name, "--output=jsonpath={.status}"])
            .await?,
        scenario
            .kubectl(&["get", "events", "--sort-by=.metadata.creationTimestamp"])
            .await?,
    ];
    let file = scenario.folder().join("shown.txt");
    std::fs::write(&file, shown.join("\n"))?;
    Ok(())
}

/// A living cluster keeps what it has until the EtcdRestore names its id.
pub(crate) async fn living(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario
        .create_healthy("alive", spec::on_volumes(3))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    back_up(scenario, &store, &cluster).await?;
    cluster.etcd().await?.put("later", "yes").await?;
    let uids = Children::of(&cluster).await?.uids();
    apply(scenario, &wish("alive", "alive", store.block(KEY, "aws"))).await?;
    let said = holds(scenario, "alive", "has a quorum").await?;
    eprintln!("{said}");
    scenario.is_looked_at_again().await?;
    ensure!(
        Children::of(&cluster).await?.uids() == uids,
        "something was touched"
    );
    cluster.is_healthy(3).await?;

    let command = said.split("--patch '").nth(1);
    let patch = command
        .and_then(|rest| rest.split('\'').next())
        .context("it names no command")?;
    let consent = [
        "patch",
        "etcdrestore",
        "alive",
        "--type",
        "merge",
        "--patch",
    ];
    scenario.kubectl(&[&consent[..], &[patch]].concat()).await?;
    succeeded(scenario, "alive").await?;
    cluster.becomes_healthy(3).await?;
    let (pairs, _) = contents(&cluster.client_address().await?).await?;
    ensure!(
        pairs.len() == 1 && pairs.contains_key("kept"),
        "there are {:?}",
        pairs.keys()
    );
    let claims = Children::of(&cluster).await?.claims;
    ensure!(claims.len() == 3, "{} claims are left", claims.len());
    ensure!(
        claims
            .iter()
            .all(|claim| !uids.values().any(|uid| Some(uid) == claim.uid().as_ref())),
        "a disk of before is still there"
    );
    show(scenario, "alive").await
}
