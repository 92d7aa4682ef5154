//! When something came true, to the millisecond: by a watch, not by looking again and again.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use contract::{
    Condition, ConditionStatus, EtcdClusterStatus, GROUP, KIND, PLURAL, Phase, VERSION,
};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use tests::scenario::{Cluster, Scenario};
use tokio::time::{Instant, sleep, timeout_at};

/// How long anything that is measured may take.
const PATIENCE: Duration = Duration::from_secs(180);
/// etcd changes its member list only while a quorum has been connected for five seconds (`HealthInterval`).
const REST: Duration = Duration::from_secs(6);

/// Waits until `look` finds nothing wrong with the object `name`, from its present state on; answers when that was.
pub(crate) async fn of<K>(
    api: Api<K>,
    name: &str,
    look: impl Fn(&K) -> Result<()>,
) -> Result<Instant>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let deadline = Instant::now() + PATIENCE;
    let one = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let changes = watcher(api, one).applied_objects();
    pin_mut!(changes);
    let mut seen = "it was not seen".to_owned();
    loop {
        match timeout_at(deadline, changes.next()).await {
            Ok(Some(Ok(object))) => match look(&object) {
                Ok(()) => return Ok(Instant::now()),
                Err(not_yet) => seen = format!("{not_yet:#}"),
            },
            // The watch begins again by itself.
            Ok(Some(Err(broken))) => seen = broken.to_string(),
            Ok(None) => bail!("the watch of {name} ended; last seen: {seen}"),
            Err(_) => bail!("{name} did not come so far within {PATIENCE:?}; last seen: {seen}"),
        }
    }
}

/// Waits until the operator says of the present spec that `size` members are healthy and the quorum is available, and
/// `look` finds nothing wrong either.
pub(crate) async fn of_healthy(
    cluster: &Cluster,
    size: i64,
    look: impl Fn(&EtcdClusterStatus) -> Result<()>,
) -> Result<Instant> {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, PLURAL);
    let client = cluster.testbed().client();
    let api: Api<DynamicObject> = Api::namespaced_with(client, cluster.namespace(), &resource);
    of(api, cluster.name(), |object| {
        let status = object.data.get("status").context("no status")?;
        let status: EtcdClusterStatus = serde_json::from_value(status.clone())?;
        ensure!(
            status.observed_generation == object.metadata.generation,
            "the spec was not looked at yet"
        );
        ensure!(
            status.phase == Phase::Running && is_true(&status, "Available"),
            "it is not available: {:?}",
            status.conditions
        );
        ensure!(
            status.size == size && status.ready_members == size,
            "{} of {} members are healthy",
            status.ready_members,
            status.size
        );
        look(&status)
    })
    .await
}

/// Whether a condition is there and True.
pub(crate) fn is_true(status: &EtcdClusterStatus, kind: &str) -> bool {
    let is_so = |one: &Condition| one.kind == kind && one.status == ConditionStatus::True;
    status.conditions.iter().any(is_so)
}

/// Deletes a pod and waits until its successor of the same name is ready.
pub(crate) async fn of_successor(scenario: &Scenario, name: &str) -> Result<Duration> {
    let pods: Api<Pod> = Api::namespaced(scenario.testbed().client(), scenario.namespace());
    let old = pods.get(name).await?.uid();
    let began = Instant::now();
    pods.delete(name, &kube::api::DeleteParams::default())
        .await?;
    let ready = of(pods, name, |pod| {
        ensure!(pod.uid() != old, "the old pod is still there");
        ensure!(is_ready(pod), "the successor is not ready");
        Ok(())
    })
    .await?;
    Ok(ready - began)
}

/// Gives the container of a pod another image, where it is, and waits until the pod is ready with it.
pub(crate) async fn of_restart(scenario: &Scenario, name: &str, image: &str) -> Result<Duration> {
    let pods: Api<Pod> = Api::namespaced(scenario.testbed().client(), scenario.namespace());
    let before = restarts(&pods.get(name).await?);
    let change = json!({"spec": {"containers": [{"name": "etcd", "image": image}]}});
    let began = Instant::now();
    pods.patch(name, &PatchParams::default(), &Patch::Strategic(change))
        .await?;
    let ready = of(pods, name, |pod| {
        ensure!(restarts(pod) > before, "the container was not restarted");
        ensure!(is_ready(pod), "the pod is not ready");
        Ok(())
    })
    .await?;
    Ok(ready - began)
}

fn restarts(pod: &Pod) -> i32 {
    let status = pod.status.as_ref();
    let containers = status.and_then(|status| status.container_statuses.as_ref());
    containers.map_or(0, |all| all.iter().map(|one| one.restart_count).sum())
}

fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let mut all = conditions.into_iter().flatten();
    all.any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Lets a cluster be for as long as etcd asks for between changes of its member list: this is time, not a condition.
pub(crate) async fn rest(cluster: &Cluster, size: usize) -> Result<()> {
    cluster.becomes_healthy(size).await?;
    sleep(REST).await;
    cluster.is_healthy(size).await
}
