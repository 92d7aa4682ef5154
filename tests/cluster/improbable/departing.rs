//! EtcdPeers as the archived operator left them on their way out, with the finalizer that waits for a claim to go.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::wait;

use super::theirs::{PEERS, Theirs};
use super::{OF_THE_FINAL_STATE, PATIENCE};

const NAME: &str = "final-cluster";
const FINALIZER: &str = "etcdpeer.etcd.improbable.io/pvc-cleanup";

/// The claim goes where the member left, and stays where it is listed, where nobody asks for it, and where the cluster is gone.
pub(super) async fn claims_go_and_stay(scenario: &mut Scenario) -> Result<()> {
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, NAME).await?;
    cluster.becomes_healthy(1).await?;
    let owner = owner_of(&cluster.get(&cluster.object()).await?);
    for (number, finalizer) in [(7, Some(FINALIZER)), (8, None), (9, Some(FINALIZER))] {
        make(scenario, &cluster, number, finalizer, &owner).await?;
    }

    delete(scenario, "final-cluster-7").await?;
    delete(scenario, "final-cluster-8").await?;
    wait::until("the end of a peer and its claim", PATIENCE, async || {
        for object in [
            format!("{PEERS}/final-cluster-7"),
            "pvc/final-cluster-7".to_owned(),
        ] {
            ensure!(cluster.get(&object).await.is_err(), "{object} is there");
        }
        Ok(())
    })
    .await?;
    is_told(scenario, NAME, "its volume claim goes with it").await?;
    stays(&cluster, "pvc/final-cluster-8").await?;

    // A member's own, as a person or that operator might ask for it.
    let member = format!("{PEERS}/final-cluster-0");
    let finalizers = json!({"metadata": {"finalizers": [FINALIZER]}}).to_string();
    let patch = ["patch", &member, "--type=merge", "--patch", &finalizers];
    scenario.kubectl(&patch).await?;
    delete(scenario, "final-cluster-0").await?;
    let words = ["final-cluster-0", "the claim holds that member's data"];
    cluster.tells(&words).await?;
    for _ in 0..2 {
        scenario.is_looked_at_again().await?;
    }
    stays(&cluster, "pvc/final-cluster-0").await?;
    let finalizers = json!({"metadata": {"finalizers": null}}).to_string();
    let patch = ["patch", &member, "--type=merge", "--patch", &finalizers];
    scenario.kubectl(&patch).await?;
    scenario.kubectl(&["delete", &cluster.object()]).await?;
    wait::until("the end of its peers", PATIENCE, async || {
        let left = cluster.labelled(PEERS).await?;
        ensure!(left.is_empty(), "peers are {left:?}");
        Ok(())
    })
    .await?;
    is_told(
        scenario,
        "final-cluster-9",
        "the volume claim final-cluster-9 stays",
    )
    .await?;
    for number in [0, 8, 9] {
        stays(&cluster, &format!("pvc/final-cluster-{number}")).await?;
    }
    Ok(())
}

async fn delete(scenario: &Scenario, peer: &str) -> Result<()> {
    let peer = format!("{PEERS}/{peer}");
    let arguments = ["delete", &peer, "--wait=false"];
    scenario.kubectl(&arguments).await.map(drop)
}

async fn stays(cluster: &Theirs<'_>, claim: &str) -> Result<()> {
    let found = cluster.get(claim).await?;
    let deleted = &found["metadata"]["deletionTimestamp"];
    ensure!(deleted.is_null(), "{claim} is being deleted");
    Ok(())
}

/// An event about an object of this name says so.
async fn is_told(scenario: &Scenario, name: &str, words: &str) -> Result<()> {
    wait::until("an event", PATIENCE, async || {
        let field = format!("--field-selector=involvedObject.name={name},reason=PeerDeparting");
        let found = scenario
            .kubectl(&["get", "events", &field, "--output=json"])
            .await?;
        ensure!(found.contains(words), "events of {name} are {found}");
        Ok(())
    })
    .await
}

/// A peer and its claim, as that operator made them.
async fn make(
    scenario: &Scenario,
    cluster: &Theirs<'_>,
    number: u32,
    finalizer: Option<&str>,
    owner: &Value,
) -> Result<()> {
    let name = format!("{NAME}-{number}");
    let labels = json!({
        "app.kubernetes.io/name": "etcd", "etcd.improbable.io/cluster-name": NAME,
    });
    let spec = cluster.get(&format!("{PEERS}/final-cluster-0")).await?["spec"].clone();
    let mut of_claim = labels.clone();
    of_claim["etcd.improbable.io/peer-name"] = json!(name);
    let storage = spec.pointer("/storage/volumeClaimTemplate");
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": of_claim}, "spec": storage.context("a peer has no claim")?,
    });
    let peer = json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdPeer",
        "metadata": {
            "name": name, "labels": labels, "ownerReferences": [owner],
            "finalizers": finalizer.into_iter().collect::<Vec<_>>(),
        },
        "spec": spec,
    });
    for object in [claim, peer] {
        let arguments = ["create", "--filename", "-"];
        let words = object.to_string();
        let made = scenario.kubectl_with_input(&arguments, &words).await;
        made.map(drop).context(words)?;
    }
    Ok(())
}

fn owner_of(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    })
}
