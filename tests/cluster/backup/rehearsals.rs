//! Backups that are proven by restoring them: in a pod that nobody reaches, and what is told of stored bytes that are others
//! than they were.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::{ConditionStatus, EtcdBackupStatus, GROUP, RehearsalVerdict, VERSION, names};
use etcd_client::Client;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::{Api, ListParams};
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;

use super::{KEY, apply, client_url, manifest, status, succeeded};
use crate::minio::MinIo;

/// Two looks at a schedule of each minute, on a machine that does much else.
pub(super) const PATIENCE: Duration = Duration::from_secs(240);
/// Enough for a number with a comma.
const KEYS: usize = 1200;

/// The newest backup of a periodic object becomes a member again: revision, keys and hash are those of the living cluster,
/// and nothing of the rehearsal stays.
pub(crate) async fn proven(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(3))
        .await?;
    let mut etcd = Client::connect([cluster.client_address().await?], None).await?;
    let mut revision = 0;
    for number in 0..KEYS {
        let written = etcd.put(format!("key/{number}"), "value", None).await?;
        revision = written.header().context("no header")?.revision();
    }
    // A member that was not told of all of it yet refuses.
    let hash = wait::until("the hash of all keys", PATIENCE, async || {
        Ok(etcd.clone().hash_kv(revision).await?.hash())
    })
    .await?;

    let wanted = |suspend: bool| {
        json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "EtcdBackup",
            "metadata": {"name": "proven"},
            "spec": {
                "clusterRef": {"name": "plain"}, "storageType": "S3", "s3": store.block(KEY, "aws"),
                "backupPolicy": {
                    "backupIntervalInSecond": 5, "maxBackups": 2, "verify": "restore", "suspend": suspend,
                },
            },
        })
    };
    apply(scenario, &wanted(false)).await?;
    let pod = wait::until("the pod of a rehearsal", PATIENCE, async || {
        let found = pods(scenario).await?.pop();
        found.with_context(|| "there is none yet")
    })
    .await?;
    nobody_reaches(&pod)?;
    let proof = says(scenario, "proven", "yes, ").await?;
    apply(scenario, &wanted(true)).await?;

    let restores = proof.restores.unwrap_or_default();
    ensure!(restores.ends_with(" s, 1,200 keys"), "it says {restores}");
    let rehearsal = proof.rehearsal.context("there are no numbers")?;
    let contents = rehearsal.contents.context("the witness said nothing")?;
    ensure!(
        contents.keys == i64::try_from(KEYS)?
            && contents.revision == revision
            && contents.hash == i64::from(hash),
        "restored were {contents:?}, living are revision {revision} and hash {hash}"
    );
    ensure!(
        rehearsal.verdict == RehearsalVerdict::Restores && rehearsal.last_success_date.is_some(),
        "it ended as {:?}",
        rehearsal.verdict
    );
    let events = scenario.kubectl(&["get", "events"]).await?;
    ensure!(
        events.contains("RehearsalSucceeded"),
        "no event tells of it"
    );
    is_cleaned_up(scenario, "proven").await?;
    cluster.is_healthy(3).await?;
    show(scenario, "proven").await
}

/// Bytes that were changed in the store, and another backup under the same name: each is told, nothing is harmed, and the
/// right bytes are proven again.
pub(crate) async fn damaged(scenario: &mut Scenario) -> Result<()> {
    scenario.load_operator().await?;
    let store = MinIo::start(scenario).await?;
    apply(scenario, &store.secret("aws")).await?;
    let cluster = scenario
        .create_healthy("plain", spec::on_volumes(1))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let url = client_url("http", &cluster);
    let mut wanted = manifest("once", &url, store.block(KEY, "aws"));
    wanted["spec"]["backupPolicy"] = json!({"verify": "restore", "verifySchedule": "* * * * *"});
    apply(scenario, &wanted).await?;
    let taken = succeeded(scenario, "once").await?;
    let bucket = store.bucket()?;
    let whole = bucket.read(KEY).await?.to_vec();

    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    bucket.write(KEY, flipped).await?;
    let told = says(scenario, "once", "no, ").await?;
    does_not(&told, "cut short or damaged")?;
    let events = scenario.kubectl(&["get", "events"]).await?;
    ensure!(events.contains("RehearsalFailed"), "no event tells of it");
    ensure!(
        told.succeeded && told.sha256 == taken.sha256,
        "the backup itself became {told:?}"
    );
    show(scenario, "once").await?;

    // A whole snapshot, but not the one that was read back.
    cluster.etcd().await?.put("later", "yes").await?;
    apply(
        scenario,
        &manifest("other", &url, store.block("other", "aws")),
    )
    .await?;
    succeeded(scenario, "other").await?;
    let other = bucket.read("other").await?.to_vec();
    bucket.write(KEY, other).await?;
    let words = "somebody wrote another one under its name";
    let told = wait::until("the other backup to be told", PATIENCE, async || {
        let status = status(scenario, "once").await?;
        does_not(&status, words)?;
        Ok(status)
    })
    .await?;
    ensure!(told.succeeded, "the backup itself became {told:?}");

    bucket.write(KEY, whole).await?;
    let proof = says(scenario, "once", "yes, ").await?;
    restorable(&proof, ConditionStatus::True)?;
    scenario.kubectl(&["delete", "etcdbackup", "once"]).await?;
    wait::until("the end of the last pod", PATIENCE, async || {
        let left = pods(scenario).await?.len();
        ensure!(left == 0, "{left} are left");
        Ok(())
    })
    .await?;
    ensure!(
        store.keys().await? == [KEY, "other"],
        "the stored backups are {:?}",
        store.keys().await?
    );
    ensure!(
        cluster.etcd().await?.get("kept").await? == "yes",
        "the data is gone"
    );
    cluster.is_healthy(1).await
}

/// Waits until what was tried last is told with this beginning.
async fn says(scenario: &Scenario, name: &str, beginning: &str) -> Result<EtcdBackupStatus> {
    wait::until(
        format!("rehearsals of {name} to say {beginning:?}"),
        PATIENCE,
        async || {
            let status = status(scenario, name).await?;
            let restores = status.restores.clone().unwrap_or_default();
            ensure!(
                restores.starts_with(beginning),
                "it says {restores:?}, {:?}, {:?}",
                status.rehearsal_run,
                status.conditions
            );
            eprintln!("{name}: {restores}");
            Ok(status)
        },
    )
    .await
}

fn does_not(status: &EtcdBackupStatus, words: &str) -> Result<()> {
    let rehearsal = status.rehearsal.as_ref().context("nothing was tried")?;
    let restores = status.restores.as_deref().unwrap_or_default();
    ensure!(
        rehearsal.verdict == RehearsalVerdict::DoesNot
            && rehearsal.reason.contains(words)
            && restores.contains(words),
        "it says {restores}"
    );
    restorable(status, ConditionStatus::False)
}

fn restorable(status: &EtcdBackupStatus, wanted: ConditionStatus) -> Result<()> {
    let mut conditions = status.conditions.iter();
    let found = conditions.find(|one| one.kind == "Restorable");
    ensure!(
        found.is_some_and(|one| one.status == wanted),
        "the condition is {found:?}"
    );
    Ok(())
}

/// Nothing of a rehearsal stays.
async fn is_cleaned_up(scenario: &Scenario, name: &str) -> Result<()> {
    wait::until("the end of all rehearsals", PATIENCE, async || {
        let status = status(scenario, name).await?;
        ensure!(
            status.rehearsal_run.is_none() && status.run.is_none(),
            "under way are {:?} and {:?}",
            status.rehearsal_run,
            status.run
        );
        let left = pods(scenario).await?.len();
        ensure!(left == 0, "{left} pods are left");
        Ok(())
    })
    .await
}

async fn pods(scenario: &Scenario) -> Result<Vec<Pod>> {
    let api: Api<Pod> = Api::namespaced(scenario.testbed().client(), scenario.namespace());
    let label = format!("{}={}", names::APP_LABEL, names::REHEARSAL_APP);
    Ok(api.list(&ListParams::default().labels(&label)).await?.items)
}

/// etcd listens on the loopback address alone, the store's Secret is where it fetches and nowhere else, and there is neither
/// a token of Kubernetes nor a volume claim.
fn nobody_reaches(pod: &Pod) -> Result<()> {
    let spec = pod.spec.as_ref().context("the pod has no spec")?;
    ensure!(
        spec.automount_service_account_token == Some(false) && spec.host_network != Some(true),
        "the pod has a token or the node's network"
    );
    let volumes = spec.volumes.iter().flatten();
    ensure!(
        volumes
            .clone()
            .all(|one| one.persistent_volume_claim.is_none() && one.host_path.is_none()),
        "the pod has somebody's disk"
    );
    let before = spec.init_containers.iter().flatten();
    let containers: Vec<&Container> = before.chain(&spec.containers).collect();
    for container in &containers {
        let mounts = container.volume_mounts.iter().flatten();
        let has_secret = mounts
            .map(|one| one.name.as_str())
            .any(|name| name == names::STORE_VOLUME);
        ensure!(
            has_secret == (container.name == names::FETCH_CONTAINER),
            "{} has the wrong credentials",
            container.name
        );
        ensure!(container.ports.is_none(), "{} opens a port", container.name);
    }
    let etcd = containers
        .iter()
        .find(|one| one.name == names::ETCD_CONTAINER);
    let arguments = etcd.and_then(|one| one.args.clone()).unwrap_or_default();
    let mut listening = arguments.iter().filter(|one| one.starts_with("--listen-"));
    ensure!(
        listening.clone().count() == 2 && listening.all(|one| one.contains("=http://127.0.0.1:")),
        "etcd has {arguments:?}"
    );
    Ok(())
}

/// What a person sees, for the documentation.
async fn show(scenario: &Scenario, name: &str) -> Result<()> {
    let shown: [String; 3] = [
        scenario.kubectl(&["get", "etcdbackup", name]).await?,
        scenario
            .kubectl(&["get", "etcdbackup", name, "--output=jsonpath={.status}"])
            .await?,
        scenario
            .kubectl(&["get", "events", "--sort-by=.metadata.creationTimestamp"])
            .await?,
    ];
    let status: Value = serde_json::from_str(&shown[1])?;
    ensure!(
        status["rehearsal"].is_object(),
        "the status has no rehearsal"
    );
    std::fs::write(scenario.folder().join("shown.txt"), shown.join("\n"))?;
    Ok(())
}
