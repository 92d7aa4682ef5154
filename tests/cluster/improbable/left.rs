//! Living clusters that the archived operator left, made by hand as it made them: peers, ReplicaSets, and claims with the data
//! at the volume's root.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::wait;

use super::beside::{self, AT_WORK};
use super::theirs::{PEERS, Theirs};
use super::{OF_THE_RELEASE, PATIENCE, merge};
use crate::upgrade;
use crate::writer::Writer;

const NAME: &str = "my-cluster";
const VERSION: &str = "3.4.34";
const MEMBERS: [&str; 3] = ["my-cluster-0", "my-cluster-1", "my-cluster-2"];
/// How often a client asks again before it gives a write up.
const TRIES: u32 = 5;
/// The longest that no write may be acknowledged while members come over: one election, on a busy machine.
const ELECTION: Duration = Duration::from_secs(10);

/// How the archived operator addressed members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// v0.2.0: with the namespace.
    Release,
    /// The final state: without, and with an alias of its own in each pod.
    Final,
}

/// A cluster of the last release comes over while clients write: its disks, its id and its data stay, and it lives on.
pub(super) async fn of_the_release(scenario: &mut Scenario) -> Result<()> {
    stand(scenario, Form::Release).await?;
    let cluster = Theirs::of(scenario, NAME);
    let (before, id) = (cluster.uids("pvc").await?, cluster.id().await?);
    let writer = Writer::start_trying(vec![front(&cluster, scenario).await?], TRIES);
    writer.goes_on(20, PATIENCE).await?;

    scenario.start_operator().await?;
    let cluster = Theirs::of(scenario, NAME);
    cluster.runs(3, VERSION).await?;
    wait::until("the end of the take-over", PATIENCE, async || {
        came_over(&cluster).await
    })
    .await?;
    writer.goes_on(20, PATIENCE).await?;
    let journal = writer.finish().await?;
    eprintln!(
        "  under a take-over {} writes were acknowledged, {} failed, the longest pause was {:?}",
        journal.len(),
        journal.failed,
        journal.longest_pause
    );
    ensure!(journal.failed == 0, "{} writes failed", journal.failed);
    ensure!(
        journal.longest_pause < ELECTION,
        "for {:?} no write was acknowledged",
        journal.longest_pause
    );
    let after = cluster.uids("pvc").await?;
    ensure!(
        after == before,
        "the claims were {before:?} and are {after:?}"
    );
    let status = cluster.status().await?;
    ensure!(status["clusterId"] == id, "it was {id}, and is {status}");
    holds_its_data(&cluster).await?;

    cluster.edit(&json!({"replicas": 1}), &[]).await?;
    cluster.runs(1, VERSION).await?;
    holds_its_data(&cluster).await
}

/// One of the final state is left alone while its operator is at work, and comes over although this one ends in the middle.
pub(super) async fn of_the_final_state(scenario: &mut Scenario) -> Result<()> {
    stand(scenario, Form::Final).await?;
    let cluster = Theirs::of(scenario, NAME);
    let (before, id) = (standing(&cluster).await?, cluster.id().await?);
    beside::renew(scenario, beside::LOCKS[1]).await?;
    scenario.start_operator().await?;
    let cluster = Theirs::of(scenario, NAME);
    let began = tokio::time::Instant::now();
    while began.elapsed() < AT_WORK {
        beside::renew(scenario, beside::LOCKS[1]).await?;
        cluster.tells(&[beside::HOLDER]).await?;
    }
    let after = standing(&cluster).await?;
    ensure!(after == before, "{before:#?}\nbecame\n{after:#?}");

    wait::until("the first member that comes over", PATIENCE, async || {
        let sets = cluster.labelled("replicasets").await?;
        ensure!(sets.len() < MEMBERS.len(), "all of them stand");
        Ok(())
    })
    .await?;
    scenario.kill_operator().await?;
    scenario.start_operator().await?;
    let cluster = Theirs::of(scenario, NAME);
    cluster.runs(3, VERSION).await?;
    wait::until("the end of the take-over", PATIENCE, async || {
        came_over(&cluster).await
    })
    .await?;
    let status = cluster.status().await?;
    ensure!(status["clusterId"] == id, "it was {id}, and is {status}");
    holds_its_data(&cluster).await
}

/// Claims that were left without pods are what the next cluster of that name goes on with.
pub(super) async fn claims_alone(scenario: &mut Scenario) -> Result<()> {
    stand(scenario, Form::Final).await?;
    let cluster = Theirs::of(scenario, NAME);
    let (before, id) = (cluster.uids("pvc").await?, cluster.id().await?);
    let object = cluster.object();
    scenario.kubectl(&["delete", &object]).await?;
    wait::until("the end of its pods", PATIENCE, async || {
        let pods = cluster.labelled("pods").await?;
        ensure!(pods.is_empty(), "{} pods stand", pods.len());
        Ok(())
    })
    .await?;
    scenario.start_operator().await?;
    let cluster = Theirs::apply(scenario, &manifest()?, NAME).await?;
    cluster.runs(3, VERSION).await?;
    let after = cluster.uids("pvc").await?;
    ensure!(
        after == before,
        "the claims were {before:?} and are {after:?}"
    );
    let status = cluster.status().await?;
    ensure!(status["clusterId"] == id, "it was {id}, and is {status}");
    holds_its_data(&cluster).await
}

/// Makes such a cluster, which holds a key, and stops the operator before.
async fn stand(scenario: &mut Scenario, form: Form) -> Result<()> {
    upgrade::load(scenario, &[VERSION]).await?;
    scenario.stop_operator().await?;
    // Its pods ran as etcd's image does.
    let allow = "pod-security.kubernetes.io/enforce=privileged";
    let namespace = scenario.namespace();
    scenario
        .kubectl(&["label", "namespace", namespace, allow, "--overwrite"])
        .await?;
    let cluster = Theirs::apply(scenario, &manifest()?, NAME).await?;
    make(scenario, &cluster, form).await?;
    wait::until("the pods of its ReplicaSets", PATIENCE, async || {
        let pods = cluster.labelled("pods").await?;
        let mut phases = pods.iter().map(|pod| &pod["status"]["phase"]);
        ensure!(
            pods.len() == MEMBERS.len() && phases.all(|phase| phase == "Running"),
            "pods are {pods:?}"
        );
        Ok(())
    })
    .await?;
    cluster.etcdctl(&["put", "kept", "yes"]).await.map(drop)
}

fn manifest() -> Result<String> {
    let mut manifest: Value = serde_yaml::from_str(OF_THE_RELEASE)?;
    merge(&mut manifest["spec"], &json!({"version": VERSION}));
    Ok(manifest.to_string())
}

/// The address of a Service as users put it in front of such a cluster.
async fn front(cluster: &Theirs<'_>, scenario: &Scenario) -> Result<String> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
        "spec": {"selector": labels(None), "ports": [{"port": 2379}]},
    });
    apply(scenario, &service).await?;
    let service = cluster.get("service/front").await?;
    let address = service["spec"]["clusterIP"]
        .as_str()
        .context("it has no address")?;
    Ok(format!("http://{address}:2379"))
}

async fn holds_its_data(cluster: &Theirs<'_>) -> Result<()> {
    let read = cluster
        .etcdctl(&["get", "kept", "--print-value-only"])
        .await?;
    ensure!(read.trim() == "yes", "the data is gone: {read:?}");
    Ok(())
}

/// Nothing is left of what the archived operator made but the claims, which are nobody's but by their annotation.
async fn came_over(cluster: &Theirs<'_>) -> Result<()> {
    let status = cluster.status().await?;
    ensure!(status["takingOver"].is_null(), "its status is {status}");
    let sets = cluster.labelled("replicasets").await?;
    ensure!(sets.is_empty(), "{sets:?} stand");
    for claim in cluster.labelled("pvc").await? {
        let metadata = &claim["metadata"];
        ensure!(metadata["ownerReferences"].is_null(), "it is {metadata}");
        let place = &metadata["annotations"]["etcd.database.coreos.com/data"];
        ensure!(*place == "volume-root", "it is {metadata}");
    }
    for peer in cluster.labelled(PEERS).await? {
        ensure!(
            peer["metadata"]["labels"]["app"] == "etcd",
            "{} is of the archived operator",
            peer["metadata"]["name"]
        );
    }
    let service = cluster.get(&format!("service/{NAME}")).await?;
    ensure!(service["spec"]["selector"]["app"] == "etcd", "{service}");
    cluster
        .get(&format!("service/{NAME}-client"))
        .await
        .map(drop)
}

/// What must stay as it is.
async fn standing(cluster: &Theirs<'_>) -> Result<Vec<(String, Value)>> {
    let mut standing = Vec::new();
    for kind in ["pods", "pvc", "services", "replicasets", "pdb", PEERS] {
        for object in cluster.labelled(kind).await? {
            let metadata = &object["metadata"];
            let name = metadata["name"].as_str().unwrap_or_default();
            let what = json!([metadata["uid"], metadata["labels"], object["spec"]]);
            standing.push((format!("{kind}/{name}"), what));
        }
    }
    Ok(standing)
}

async fn make(scenario: &Scenario, cluster: &Theirs<'_>, form: Form) -> Result<()> {
    let owner = owner_of(&cluster.get(&cluster.object()).await?);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata(NAME, None, Some(&owner)),
        "spec": {
            "clusterIP": "None", "publishNotReadyAddresses": true, "selector": labels(None),
            "ports": [{"name": "etcd-client", "port": 2379}, {"name": "etcd-peer", "port": 2380}],
        },
    });
    apply(scenario, &service).await?;
    for member in MEMBERS {
        let hosts =
            MEMBERS.map(|name| json!({"name": name, "host": address(scenario, name, form)}));
        let storage = json!({
            "accessModes": ["ReadWriteOnce"], "storageClassName": "local", "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": "64Mi"}},
        });
        let peer = json!({
            "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdPeer",
            "metadata": metadata(member, None, Some(&owner)),
            "spec": {
                "clusterName": NAME, "version": VERSION, "storage": {"volumeClaimTemplate": storage},
                "bootstrap": {"initialClusterState": "New", "static": {"initialCluster": hosts}},
            },
        });
        apply(scenario, &peer).await?;
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": metadata(member, Some(member), None), "spec": storage,
        });
        apply(scenario, &claim).await?;
        let peer = owner_of(&cluster.get(&format!("{PEERS}/{member}")).await?);
        apply(scenario, &replica_set(scenario, member, &peer, form)).await?;
    }
    Ok(())
}

fn replica_set(scenario: &Scenario, member: &str, owner: &Value, form: Form) -> Value {
    let host = address(scenario, member, form);
    let initial =
        MEMBERS.map(|name| format!("{name}=http://{}:2380", address(scenario, name, form)));
    let env = [
        ("NAME", member.to_owned()),
        ("INITIAL_CLUSTER", initial.join(",")),
        ("INITIAL_CLUSTER_STATE", "new".to_owned()),
        ("INITIAL_CLUSTER_TOKEN", NAME.to_owned()),
        ("INITIAL_ADVERTISE_PEER_URLS", format!("http://{host}:2380")),
        ("ADVERTISE_CLIENT_URLS", format!("http://{host}:2379")),
        ("LISTEN_PEER_URLS", "http://0.0.0.0:2380".to_owned()),
        ("LISTEN_CLIENT_URLS", "http://0.0.0.0:2379".to_owned()),
        ("DATA_DIR", "/var/lib/etcd".to_owned()),
    ];
    let env = env.map(|(name, value)| json!({"name": format!("ETCD_{name}"), "value": value}));
    let aliases = match form {
        Form::Release => json!([]),
        Form::Final => json!([{"ip": "127.0.0.1", "hostnames": [host]}]),
    };
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": metadata(member, Some(member), Some(owner)),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels(Some(member))},
            "template": {
                "metadata": {"labels": labels(Some(member))},
                "spec": {
                    "hostname": member, "subdomain": NAME, "hostAliases": aliases,
                    "containers": [{
                        "name": "etcd", "image": format!("quay.io/coreos/etcd:v{VERSION}"), "env": env,
                        "resources": {"requests": {"cpu": "20m", "memory": "50Mi"}},
                        "volumeMounts": [{"name": "etcd-data", "mountPath": "/var/lib/etcd"}],
                    }],
                    "volumes": [{"name": "etcd-data", "persistentVolumeClaim": {"claimName": member}}],
                },
            },
        },
    })
}

fn address(scenario: &Scenario, member: &str, form: Form) -> String {
    match form {
        Form::Release => format!("{member}.{NAME}.{}.svc", scenario.namespace()),
        Form::Final => format!("{member}.{NAME}"),
    }
}

fn labels(member: Option<&str>) -> Value {
    let mut labels = json!({
        "app.kubernetes.io/name": "etcd", "etcd.improbable.io/cluster-name": NAME,
    });
    if let Some(member) = member {
        labels["etcd.improbable.io/peer-name"] = json!(member);
    }
    labels
}

fn metadata(name: &str, member: Option<&str>, owner: Option<&Value>) -> Value {
    let mut metadata = json!({"name": name, "labels": labels(member)});
    if let Some(owner) = owner {
        metadata["ownerReferences"] = json!([owner]);
    }
    metadata
}

fn owner_of(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    })
}

async fn apply(scenario: &Scenario, object: &Value) -> Result<()> {
    let arguments = ["apply", "--filename", "-"];
    let words = object.to_string();
    let applied = scenario.kubectl_with_input(&arguments, &words).await;
    applied.map(drop).context(words)
}
