//! What a person asks of a running operator about clusters of this group: plans and explanations, with the rights that the
//! documentation names.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};

use super::theirs::Theirs;
use super::{OF_THE_FINAL_STATE, merge};
use crate::asked::{ask, bind, grant, person, text};

const NAME: &str = "final-cluster";

/// A plan is of the file's group; a name that both groups have is told and not guessed; fields have the group's own names.
pub(super) async fn planned_and_explained(scenario: &mut Scenario) -> Result<()> {
    scenario.deploy().await?;
    let kubeconfig = person(
        scenario,
        &["etcd.database.coreos.com", "etcd.improbable.io"],
    )
    .await?;
    grant(scenario).await?;
    let namespace = scenario.namespace().to_owned();
    let file = scenario.folder().join("planned.yaml");
    let edited = |change: Value| -> Result<()> {
        let mut manifest: Value = serde_yaml::from_str(OF_THE_FINAL_STATE)?;
        merge(&mut manifest["spec"], &change);
        Ok(std::fs::write(&file, manifest.to_string())?)
    };
    let of = ["--namespace", namespace.as_str()];
    let plan = [&["plan", "--filename", text(&file)?], &of[..]].concat();
    edited(json!({}))?;
    let born = ask(scenario, &kubeconfig, &plan, 2).await?;
    has(
        &born,
        &[
            "final-cluster of etcd.improbable.io, which is not there yet",
            "+ spec: ",
            "Create the Pod final-cluster-0",
            "1 member, 1 healthy; nothing is left",
        ],
    )?;
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, NAME).await?;
    cluster.becomes_healthy(1).await?;

    let same = ask(scenario, &kubeconfig, &plan, 0).await?;
    has(&same, &["nothing in the spec", "Nothing would be done"])?;
    edited(json!({"replicas": 3}))?;
    let grown = ask(scenario, &kubeconfig, &plan, 2).await?;
    eprintln!("{grown}");
    has(
        &grown,
        &[
            "~ spec.replicas: 1 -> 3",
            "Create the Pod final-cluster-1",
            "Create the PersistentVolumeClaim final-cluster-2",
            "3 members, 3 healthy; nothing is left",
        ],
    )?;
    edited(json!({"storage": {"volumeClaimTemplate": {"storageClassName": "other"}}}))?;
    let refused = ask(scenario, &kubeconfig, &plan, 1).await?;
    has(
        &refused,
        &["the API server refuses the edit", "Unsupported changes:"],
    )?;
    let pods = cluster.labelled("pods").await?;
    ensure!(pods.len() == 1, "a plan did something: {pods:?}");

    let explain = |word| [&["explain", word], &of[..]].concat();
    let told = [
        "EtcdCluster ",
        "/final-cluster of etcd.improbable.io\n",
        "Looked at",
        "What is waited for\n  nothing",
        "QuorumHealthy",
    ];
    has(&ask(scenario, &kubeconfig, &explain(NAME), 0).await?, &told)?;
    // Nothing is made of it: the Service of this name is the other's.
    scenario.create(NAME, spec::on_volumes(1)).await?;
    let both = ask(scenario, &kubeconfig, &explain(NAME), 2).await?;
    let named = "etcdcluster.etcd.improbable.io/final-cluster";
    has(&both, &["of each group", named])?;
    has(
        &ask(scenario, &kubeconfig, &explain(named), 0).await?,
        &told,
    )?;
    let other = "etcdcluster.etcd.database.coreos.com/final-cluster";
    let other = ask(scenario, &kubeconfig, &explain(other), 0).await?;
    ensure!(!other.contains("of etcd.improbable.io\n"), "{other}");

    scenario.kubectl(&["delete", "etcdclusters", NAME]).await?;
    scenario.kubectl(&["delete", &cluster.object()]).await?;
    edited(json!({}))?;
    let list = ["create", "role", "claims", "--verb=list", "--resource=pvc"];
    scenario.kubectl(&list).await?;
    bind(scenario, "claims").await?;
    let left = ask(scenario, &kubeconfig, &plan, 1).await?;
    has(&left, &["volume claims of an earlier one: final-cluster-0"])?;
    scenario.undeploy().await
}

fn has(told: &str, words: &[&str]) -> Result<()> {
    for word in words {
        ensure!(told.contains(word), "{word:?} is not in: {told}");
    }
    Ok(())
}
