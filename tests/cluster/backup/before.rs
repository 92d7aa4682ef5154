//! Acts that are hard to take back wait for a backup, also where the store is away.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use contract::{GROUP, VERSION};
use serde_json::{Value, json};
use tests::scenario::{Children, Cluster, Scenario, spec};
use tests::testbed::wait;

use super::rehearsals::PATIENCE;
use super::{KEY, apply};
use crate::minio::{BUCKET, MinIo};
use crate::restore;
use crate::unruly::{Mood, Unruly};

/// What the members are moved to.
const MIRROR: &str = "registry.example:5000/mirror/etcd";

/// A stop, an upgrade and a restore, each while the store is away: nothing is begun, it is told why, and it goes on by itself
/// once the store is back, with one more backup each.
pub(crate) async fn before(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    scenario
        .testbed()
        .tag_image("quay.io/coreos/etcd:v3.6.16", &format!("{MIRROR}:v3.6.16"))
        .await?;
    let store = MinIo::start(scenario).await?;
    let hands = Unruly::before(scenario, &store).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario.create_healthy("shop", spec::on_volumes(1)).await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let mut block = store.block(KEY, "aws");
    block["endpoint"] = json!(hands.endpoint());
    let wanted = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdBackup",
        "metadata": {"name": "first"},
        "spec": {
            "clusterRef": {"name": "shop"}, "storageType": "S3", "s3": block,
            "backupPolicy": {"before": ["upgrade", "scaleToZero", "restore"], "timeoutInSecond": 5},
        },
    });
    apply(scenario, &wanted).await?;
    let act = Act {
        scenario,
        store: &store,
        hands: &hands,
        cluster: &cluster,
    };

    act.waits(json!({"size": 0})).await?;
    act.begins(1, async || {
        let pods = cluster.pods().await?.len();
        ensure!(pods == 0, "{pods} pods are left");
        Ok(())
    })
    .await?;
    cluster.edit(json!({"size": 1})).await?;
    cluster.becomes_healthy(1).await?;

    act.waits(json!({"repository": MIRROR})).await?;
    act.begins(2, async || runs(&cluster, MIRROR).await).await?;
    cluster.becomes_healthy(1).await?;

    let oldest = store.keys().await?;
    let oldest = oldest.first().context("nothing is stored")?;
    cluster.etcd().await?.put("later", "yes").await?;
    // The backup to go on from is read at once; only the one before that waits for the store.
    let mut from = store.block(KEY, "aws");
    from["path"] = json!(format!("{}/{oldest}", BUCKET));
    apply(scenario, &restore::wish("shop", "shop", from)).await?;
    restore::holds(scenario, "shop", "has a quorum").await?;
    let id = cluster.status().await?.cluster_id.context("no id")?;
    let consent = json!({"spec": {"replaces": id.to_string()}}).to_string();
    let patch = ["patch", "etcdrestore", "shop", "--type", "merge"];
    act.hands.becomes(Mood::Refuses);
    let patch = [&patch[..], &["--patch", &consent]].concat();
    scenario.kubectl(&patch).await?;
    act.is_told().await?;
    act.begins(3, async || {
        let stage = cluster.status().await?.restoration;
        ensure!(
            stage.is_some_and(|one| one.started_at.is_some()),
            "it has not begun"
        );
        Ok(())
    })
    .await?;
    restore::succeeded(scenario, "shop").await?;
    cluster.becomes_healthy(1).await?;
    let (pairs, _) = restore::contents(&cluster.client_address().await?).await?;
    ensure!(
        pairs.contains_key("kept") && !pairs.contains_key("later"),
        "there are {:?}",
        pairs.keys()
    );
    Ok(())
}

/// Whether all pods have an image of this repository.
async fn runs(cluster: &Cluster, repository: &str) -> Result<()> {
    let pods = cluster.pods().await?;
    ensure!(!pods.is_empty(), "there is no pod");
    for pod in pods {
        let spec = pod.spec.context("no spec")?;
        let image = spec.containers.first().and_then(|one| one.image.clone());
        ensure!(
            image
                .as_ref()
                .is_some_and(|image| image.starts_with(repository)),
            "its image is {image:?}"
        );
    }
    Ok(())
}

struct Act<'a> {
    scenario: &'a Scenario,
    store: &'a MinIo,
    hands: &'a Unruly,
    cluster: &'a Cluster,
}

impl Act<'_> {
    /// Asks for something while the store is away.
    async fn waits(&self, edit: Value) -> Result<()> {
        self.hands.becomes(Mood::Refuses);
        self.cluster.edit(edit).await?;
        self.is_told().await
    }

    /// Waits until a condition has the words, and sees that nothing was begun.
    async fn is_told(&self) -> Result<()> {
        let before = running(self.cluster).await?;
        let stored = self.store.keys().await?;
        let words = wait::until("what is waited for", PATIENCE, async || {
            let status = self.cluster.status().await?;
            let mut conditions = status.conditions.iter();
            let failed = conditions.find(|one| {
                one.kind == "Blocked"
                    && one.message.contains("EtcdBackup first")
                    && one.message.contains("its last one failed")
            });
            let failed = failed.with_context(|| format!("{:?}", status.conditions))?;
            Ok(format!("{}: {}", failed.kind, failed.message))
        })
        .await?;
        eprintln!("{words}");
        self.scenario.is_looked_at_again().await?;
        let after = running(self.cluster).await?;
        ensure!(after == before, "{before:?} became {after:?}");
        ensure!(self.store.keys().await? == stored, "something was stored");
        self.cluster.etcd().await?.get("kept").await.map(drop)
    }

    /// Lets the store come back, and waits for the act.
    async fn begins(&self, stored: usize, has_begun: impl AsyncFn() -> Result<()>) -> Result<()> {
        self.hands.becomes(Mood::Calm);
        wait::until("the act", PATIENCE, async || {
            has_begun()
                .await
                .with_context(|| format!("{stored} backups are wanted"))
        })
        .await?;
        let keys = self.store.keys().await?;
        ensure!(keys.len() == stored, "stored are {keys:?}");
        Ok(())
    }
}

/// The pods with their UIDs and images.
async fn running(cluster: &Cluster) -> Result<BTreeMap<String, String>> {
    let mut uids = Children::of(cluster).await?.uids();
    uids.retain(|name, _| name.starts_with("Pod "));
    for pod in cluster.pods().await? {
        let name = pod.metadata.name.unwrap_or_default();
        let image = pod
            .spec
            .and_then(|spec| spec.containers.into_iter().next()?.image);
        uids.insert(name, image.unwrap_or_default());
    }
    Ok(uids)
}
