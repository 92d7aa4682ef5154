//! `spec.pod` changed on living clusters that are used.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use contract::ConditionStatus;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;
use tests::scenario::{Children, Cluster, Scenario, spec};
use tests::testbed::wait;

use crate::writer::Writer;

/// Three members are made again, or replaced, one after the other.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);
/// Tries of one write.
pub(crate) const TRIES: u32 = 10;

/// Waits until every pod is as `is_new` says and the cluster is healthy.
pub(crate) async fn becomes(
    cluster: &Cluster,
    what: &str,
    is_new: impl Fn(&Pod) -> bool,
) -> Result<()> {
    wait::until(format!("{what} on every pod"), PATIENCE, async || {
        let pods = cluster.pods().await?;
        let old: Vec<_> = pods
            .iter()
            .filter(|pod| !is_new(pod))
            .map(ResourceExt::name_any)
            .collect();
        ensure!(pods.len() == 3 && old.is_empty(), "not yet: {old:?}");
        Ok(())
    })
    .await?;
    cluster.becomes_healthy(3).await
}

pub(crate) fn memory_of(pod: &Pod) -> Option<&str> {
    let spec = pod.spec.as_ref()?;
    let resources = spec.containers.first()?.resources.as_ref()?;
    Some(resources.requests.as_ref()?.get("memory")?.0.as_str())
}

fn team_of(pod: &Pod) -> Option<&str> {
    pod.labels().get("team").map(String::as_str)
}

pub(crate) async fn on_volumes(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("roomy", spec::on_volumes(3))
        .await?;
    let members = cluster.members().await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    let policy =
        json!({"labels": {"team": "infra"}, "resources": {"requests": {"memory": "64Mi"}}});
    cluster.edit(json!({"pod": policy})).await?;
    becomes(&cluster, "label and memory", |pod| {
        team_of(pod) == Some("infra") && memory_of(pod) == Some("64Mi")
    })
    .await?;
    ensure!(
        cluster.members().await? == members,
        "{members:?} became {:?}",
        cluster.members().await?
    );
    cluster
        .awaits_event("Normal", "Reshaping", "made again on its own disk")
        .await?;
    finish(writer).await
}

/// A policy that no node can follow stops at the first pod, and the old one brings it back.
pub(crate) async fn impossible(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("nowhere", spec::on_volumes(3))
        .await?;
    let members = cluster.members().await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    cluster
        .edit(json!({"pod": {"nodeSelector": {"disk": "none-such"}}}))
        .await?;
    cluster
        .awaits_condition(
            "Progressing",
            ConditionStatus::True,
            "Unschedulable",
            &["no node takes its pod"],
            PATIENCE,
        )
        .await?;
    writer.goes_on(50, PATIENCE).await?;
    let pods = cluster.pods().await?;
    let touched = pods.iter().filter(|pod| {
        pod.spec
            .as_ref()
            .is_some_and(|spec| spec.node_selector.is_some())
    });
    ensure!(touched.count() == 1, "more than one pod was touched");
    cluster.edit(json!({"pod": {"nodeSelector": null}})).await?;
    becomes(&cluster, "no selector", |pod| {
        pod.spec
            .as_ref()
            .is_some_and(|spec| spec.node_selector.is_none())
    })
    .await?;
    ensure!(
        cluster.members().await? == members,
        "{members:?} became {:?}",
        cluster.members().await?
    );
    finish(writer).await
}

/// A policy of which only the API server knows that it cannot be costs no member, and one of which only the kubelet does
/// costs the time of one, whose disk stays. A quota without room for one pod more holds up nobody.
pub(crate) async fn refused(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("strict", spec::on_volumes(3))
        .await?;
    let members = cluster.members().await?;
    let before = Children::of(&cluster).await?.uids();
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    let toleration = json!([{"key": "a", "operator": "Exists", "value": "b"}]);
    cluster
        .edit(json!({"pod": {"tolerations": toleration}}))
        .await?;
    let words = [
        "would not create the pod",
        "spec.tolerations",
        "left as it is",
    ];
    cluster.becomes_blocked("ReshapeStuck", &words).await?;
    writer.goes_on(50, PATIENCE).await?;
    ensure!(
        Children::of(&cluster).await?.uids() == before,
        "a pod was touched"
    );
    cluster.edit(json!({"pod": {"tolerations": null}})).await?;
    cluster.becomes_unblocked().await?;
    ensure!(
        Children::of(&cluster).await?.uids() == before,
        "a pod was touched"
    );

    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "three"},
        "spec": {"hard": {"pods": "3"}},
    });
    scenario
        .kubectl_with_input(&["create", "--filename", "-"], &quota.to_string())
        .await?;
    let secret =
        json!({"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "later", "key": "token"}}});
    cluster
        .edit(json!({"pod": {"labels": {"team": "infra"}, "etcdEnv": [secret]}}))
        .await?;
    cluster
        .awaits_condition(
            "Progressing",
            ConditionStatus::True,
            "ReshapeStuck",
            &["CreateContainerConfigError", "later", "keeps its disk"],
            PATIENCE,
        )
        .await?;
    writer.goes_on(50, PATIENCE).await?;
    let touched = cluster.pods().await?;
    let touched = touched.iter().filter(|pod| team_of(pod).is_some()).count();
    ensure!(touched == 1, "{touched} pods were touched");
    scenario
        .kubectl(&[
            "create",
            "secret",
            "generic",
            "later",
            "--from-literal=token=x",
        ])
        .await?;
    becomes(&cluster, "the label", |pod| team_of(pod) == Some("infra")).await?;
    ensure!(
        cluster.members().await? == members,
        "{members:?} became {:?}",
        cluster.members().await?
    );
    finish(writer).await
}

pub(crate) async fn out_of_pods(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("mover", spec::in_pods(3)).await?;
    let (id, before) = (
        cluster.etcd().await?.cluster_id().await?,
        names(&cluster).await?,
    );
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    cluster
        .edit(json!({"pod": spec::on_volumes(3)["pod"]}))
        .await?;
    becomes(&cluster, "a claim", |pod| {
        let volumes = pod
            .spec
            .iter()
            .flat_map(|spec| spec.volumes.iter().flatten());
        volumes
            .clone()
            .any(|volume| volume.persistent_volume_claim.is_some())
    })
    .await?;
    ensure!(
        names(&cluster).await?.is_disjoint(&before),
        "a member kept its name"
    );
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    finish(writer).await
}

async fn names(cluster: &Cluster) -> Result<BTreeSet<String>> {
    Ok(cluster.member_names().await?.into_iter().collect())
}

pub(crate) async fn finish(writer: Writer) -> Result<()> {
    writer.goes_on(50, PATIENCE).await?;
    let journal = writer.finish().await?;
    ensure!(journal.failed == 0, "{} writes failed", journal.failed);
    Ok(())
}
