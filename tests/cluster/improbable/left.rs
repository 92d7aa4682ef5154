//! A living cluster that the archived operator left, made by hand as v0.2.0 made it: peers, ReplicaSets, and claims with the
//! data at the volume's root.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::wait;

use super::theirs::{PEERS, Theirs};
use super::{OF_THE_RELEASE, PATIENCE, merge};
use crate::upgrade;

const NAME: &str = "my-cluster";
const VERSION: &str = "3.4.34";
const MEMBERS: [&str; 3] = ["my-cluster-0", "my-cluster-1", "my-cluster-2"];

/// It goes on as it is: the operator says what it found, and touches none of it.
pub(super) async fn is_left_alone(scenario: &mut Scenario) -> Result<()> {
    upgrade::load(scenario, &[VERSION]).await?;
    scenario.stop_operator().await?;
    // Its pods ran as etcd's image does.
    let allow = "pod-security.kubernetes.io/enforce=privileged";
    let namespace = scenario.namespace();
    scenario
        .kubectl(&["label", "namespace", namespace, allow, "--overwrite"])
        .await?;
    let mut manifest: Value = serde_yaml::from_str(OF_THE_RELEASE)?;
    merge(&mut manifest["spec"], &json!({"version": VERSION}));
    let manifest = manifest.to_string();
    let cluster = Theirs::apply(scenario, &manifest, NAME).await?;
    make(scenario, &cluster).await?;
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
    cluster.etcdctl(&["put", "kept", "yes"]).await?;
    let before = standing(&cluster).await?;

    scenario.start_operator().await?;
    let cluster = Theirs::apply(scenario, &manifest, NAME).await?;
    let words = ["my-cluster-0-", "my-cluster-2-", "not taken over"];
    cluster.tells(&words).await?;
    for _ in 0..2 {
        scenario.is_looked_at_again().await?;
    }
    cluster.tells(&words).await?;
    let after = standing(&cluster).await?;
    ensure!(after == before, "{before:#?}\nbecame\n{after:#?}");
    cluster.etcdctl(&["put", "written", "beside"]).await?;

    // Without its pods the claims are not taken for those of nobody.
    for member in MEMBERS {
        let object = format!("replicasets/{member}");
        scenario.kubectl(&["delete", &object]).await?;
    }
    let words = ["left the volume claims my-cluster-0, my-cluster-1, my-cluster-2"];
    cluster.tells(&words).await?;
    scenario.is_looked_at_again().await?;
    for (kind, count) in [("pods", 0), ("pvc", 3)] {
        let found = cluster.labelled(kind).await?;
        ensure!(found.len() == count, "{kind} are {found:?}");
    }
    Ok(())
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

async fn make(scenario: &Scenario, cluster: &Theirs<'_>) -> Result<()> {
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
        let hosts = MEMBERS.map(|name| json!({"name": name, "host": address(scenario, name)}));
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
        apply(scenario, &replica_set(scenario, member, &peer)).await?;
    }
    Ok(())
}

fn replica_set(scenario: &Scenario, member: &str, owner: &Value) -> Value {
    let host = address(scenario, member);
    let initial = MEMBERS.map(|name| format!("{name}=http://{}:2380", address(scenario, name)));
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
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": metadata(member, Some(member), Some(owner)),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels(Some(member))},
            "template": {
                "metadata": {"labels": labels(Some(member))},
                "spec": {
                    "hostname": member, "subdomain": NAME,
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

fn address(scenario: &Scenario, member: &str) -> String {
    format!("{member}.{NAME}.{}.svc", scenario.namespace())
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
