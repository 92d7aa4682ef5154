//! Clusters that come, are looked at, and go.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use serde_json::json;
use tests::scenario::{Children, Scenario, spec};
use tests::testbed::wait;

use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn one_and_three(scenario: &mut Scenario) -> Result<()> {
    let one = scenario.create("one", spec::in_pods(1)).await?;
    let three = scenario.create("three", spec::on_volumes(3)).await?;
    one.becomes_healthy(1).await?;
    three.becomes_healthy(3).await?;
    for cluster in [&one, &three] {
        let status = cluster.status().await?;
        let id = cluster.etcd().await?.cluster_id().await?;
        ensure!(
            status.cluster_id.is_some_and(|recorded| recorded.0 == id),
            "{:?} is recorded, {id:x} answers",
            status.cluster_id
        );
        ensure!(
            status.current_version == "3.6.16",
            "the version is {}",
            status.current_version
        );
        ensure!(
            status.service_name == format!("{}-client", cluster.name()),
            "the Service is {}",
            status.service_name
        );
        ensure!(
            status.members.ready == cluster.member_names().await?,
            "ready are {:?}",
            status.members.ready
        );
        ensure!(
            status
                .decided_by
                .as_ref()
                .is_some_and(|digest| digest.starts_with("sha256:")),
            "nobody decided"
        );
        let client = Writer::start(vec![cluster.client_address().await?]);
        client.goes_on(20, Duration::from_secs(30)).await?;
        client.finish().await?;
    }
    Ok(())
}

pub(crate) async fn in_words(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("example", spec::on_volumes(1))
        .await?;
    let table = scenario.kubectl(&["get", "etcd"]).await?;
    let cells: Vec<Vec<_>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    ensure!(
        cells
            .first()
            .is_some_and(|row| row[..] == ["NAME", "SIZE", "READY", "VERSION", "PHASE", "AGE"]),
        "{table}"
    );
    ensure!(
        cells
            .get(1)
            .is_some_and(|row| row[..5] == ["example", "1", "1", "3.6.16", "Running"]),
        "{table}"
    );

    scenario
        .kubectl(&["scale", "etcd", "example", "--replicas=3"])
        .await?;
    cluster.becomes_healthy(3).await?;
    let selector = cluster.status().await?.selector;
    let selected = scenario
        .kubectl(&["get", "pods", "--selector", &selector, "--output=name"])
        .await?;
    ensure!(
        selected.lines().count() == 3,
        "{selector} selects {selected}"
    );

    let told = scenario.kubectl(&["describe", "etcd", "example"]).await?;
    for words in [
        "3 of 3 voters are healthy",
        "Nothing waits for a person",
        "QuorumHealthy",
        "Starting 1 member with etcd 3.6.16",
        "members formed cluster",
        "got its vote",
        "Normal",
    ] {
        ensure!(
            told.contains(words),
            "`kubectl describe` does not say \"{words}\":\n{told}"
        );
    }
    cluster
        .awaits_event("Normal", "New Member Added", "got its vote")
        .await
}

pub(crate) async fn namesakes(scenario: &mut Scenario) -> Result<()> {
    let mut other = Scenario::begin(scenario.suite(), "namesake").await?;
    let here = scenario.create("twin", spec::on_volumes(1)).await?;
    let there = other.create("twin", spec::on_volumes(1)).await?;
    here.becomes_healthy(1).await?;
    there.becomes_healthy(1).await?;
    let (ours, theirs) = (here.etcd().await?, there.etcd().await?);
    ensure!(
        ours.cluster_id().await? != theirs.cluster_id().await?,
        "both are one cluster"
    );
    ours.put("of", "ours").await?;
    theirs.put("of", "theirs").await?;
    ensure!(
        ours.get("of").await? == "ours",
        "the other's write came here"
    );

    let before = Children::of(&there).await?.uids();
    here.delete().await?;
    ensure!(
        Children::of(&there).await?.uids() == before,
        "the other cluster was touched"
    );
    there.is_healthy(1).await?;
    ensure!(
        theirs.get("of").await? == "theirs",
        "the other's data is gone"
    );
    other.stop_operator().await
}

pub(crate) async fn deleted(scenario: &mut Scenario) -> Result<()> {
    // Objects of somebody else, one of them labelled as a member of this cluster would be.
    let bystanders = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "goner", "labels": {"etcd_cluster": "goner"}}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "goner-metrics", "labels": {"app": "etcd", "etcd_cluster": "goner"}},
         "spec": {"ports": [{"port": 2381}], "selector": {"etcd_cluster": "goner"}}},
    ]});
    scenario
        .kubectl_with_input(&["create", "--filename", "-"], &bystanders.to_string())
        .await?;
    let goner = scenario.create("goner", spec::on_volumes(3)).await?;
    let stays = scenario
        .create_healthy("stays", spec::on_volumes(1))
        .await?;
    goner.becomes_available().await?;
    let before = Children::of(&stays).await?.uids();
    goner.delete().await?;
    let left = scenario
        .kubectl(&[
            "get",
            "configmap/goner",
            "service/goner-metrics",
            "--output=name",
        ])
        .await?;
    ensure!(left.lines().count() == 2, "left is {left}");
    let after = Children::of(&stays).await?.uids();
    ensure!(
        after == before,
        "the other cluster was touched: {before:?} became {after:?}"
    );
    stays.is_healthy(1).await?;
    // Whatever the operator still knew of it must not bring it back.
    let pods: BTreeMap<_, _> = goner
        .pods()
        .await?
        .into_iter()
        .map(|pod| (pod.name_any(), pod.uid()))
        .collect();
    ensure!(pods.is_empty(), "pods came back: {pods:?}");
    goner.create(spec::in_pods(1)).await?;
    goner.becomes_available().await
}

/// As `kubectl replace --force` does it: the next cluster of that name is there while the first one's objects are collected.
pub(crate) async fn remade(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("again", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "no").await?;
    let (id, uid) = (etcd.cluster_id().await?, cluster.resource().await?.uid());
    let uid = uid.context("the resource has no UID")?;
    let same = json!({
        "apiVersion": format!("{}/{}", contract::GROUP, contract::VERSION),
        "kind": contract::KIND,
        "metadata": {"name": cluster.name()},
        "spec": spec::on_volumes(3),
    });
    scenario
        .kubectl_with_input(
            &["replace", "--force", "--filename", "-"],
            &same.to_string(),
        )
        .await?;
    cluster.becomes_healthy(3).await?;

    let client = cluster.testbed().client();
    wait::until(
        "the end of what the first one owned",
        PATIENCE,
        async || {
            let left = Children::owned_by(&client, cluster.namespace(), &uid).await?;
            ensure!(left.is_empty(), "left: {left}");
            Ok(())
        },
    )
    .await?;
    let etcd = cluster.etcd().await?;
    ensure!(etcd.cluster_id().await? != id, "it is the first one");
    let kept = etcd.get("kept").await?;
    ensure!(kept.is_empty(), "it has the data of the first one: {kept}");
    cluster.is_healthy(3).await
}
