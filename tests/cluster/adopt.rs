//! Living clusters that the archived operator left: taken over without a restart, grown, healed, and made anew when asked.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::{ConditionStatus, Phase};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{Api, ResourceExt};
use tests::scenario::{Children, Cluster, Scenario};
use tests::testbed::wait;
use tokio::time::Instant;

use crate::coreos::{Left, VERSION, renew_lock};
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(180);
/// How long the archived operator is seen at work.
const AT_WORK: Duration = Duration::from_secs(20);
const HOLDER: &str = "etcd-operator-69ff7c5f8-xk2vq";

pub(crate) async fn on_volumes(scenario: &mut Scenario) -> Result<()> {
    scenario.stop_operator().await?;
    let left = Left {
        scenario,
        name: "relic",
        members: ["relic-7gq5xbt2mk", "relic-l4hw9zcd8f", "relic-pv6rj3nk2s"].map(str::to_owned),
        on_volumes: true,
    };
    let cluster = left.make().await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let uids = pods(&cluster).await?;
    let members = cluster.members().await?;
    let address = cluster.client_address().await?;

    // Beside the archived operator nothing is done.
    renew_lock(scenario, HOLDER).await?;
    scenario.start_operator().await?;
    let began = Instant::now();
    while began.elapsed() < AT_WORK {
        renew_lock(scenario, HOLDER).await?;
        cluster
            .becomes_blocked("OldOperatorActive", &[HOLDER, "--replicas=0"])
            .await?;
        let children = Children::of(&cluster).await?;
        ensure!(
            children.budgets.is_empty(),
            "something was made: {children}"
        );
        ensure!(
            cluster.status().await?.cluster_id.is_none(),
            "the cluster was taken over"
        );
    }

    // It ended: its lock is not renewed any more.
    is_taken_over(&cluster, 3).await?;
    ensure!(pods(&cluster).await? == uids, "pods were replaced");
    ensure!(cluster.members().await? == members, "members were changed");
    ensure!(
        cluster.client_address().await? == address,
        "clients must find it elsewhere"
    );
    cluster
        .awaits_event("Normal", "Adopted", "taken over as it is")
        .await?;
    is_repaired(scenario, &cluster).await?;

    // A container that ended is not started again; its member comes back on its claim, in a pod of today's shape.
    let victim = cluster.leader().await?;
    scenario
        .testbed()
        .kill_member(scenario.namespace(), &victim)
        .await?;
    wait::until("another pod of the dead member", PATIENCE, async || {
        let found = cluster.pod(&victim).await?;
        ensure!(
            found.uid() != uids.get(&victim).cloned(),
            "it is the old pod"
        );
        ensure!(!is_old(&found), "it has the old shape");
        Ok(())
    })
    .await?;
    is_taken_over(&cluster, 3).await?;
    ensure!(cluster.members().await? == members, "members were changed");

    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;
    scenario
        .kubectl(&[
            "annotate",
            "etcdcluster",
            "relic",
            "etcd.database.coreos.com/old-pods=renew",
        ])
        .await?;
    cluster.becomes_healthy(3).await?;
    writer.goes_on(20, PATIENCE).await?;
    writer.finish().await?;
    ensure!(cluster.members().await? == members, "members were changed");
    ensure!(
        cluster.etcd().await?.get("kept").await? == "yes",
        "the data is gone"
    );
    Ok(())
}

pub(crate) async fn in_pods(scenario: &mut Scenario) -> Result<()> {
    scenario.stop_operator().await?;
    let left = Left {
        scenario,
        name: "fossil",
        members: ["fossil-0000", "fossil-0001", "fossil-0002"].map(str::to_owned),
        on_volumes: false,
    };
    let cluster = left.make().await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let uids = pods(&cluster).await?;
    let members = cluster.members().await?;
    scenario.start_operator().await?;
    is_taken_over(&cluster, 3).await?;
    ensure!(pods(&cluster).await? == uids, "pods were replaced");

    cluster.resize(4).await?;
    is_taken_over(&cluster, 4).await?;
    cluster.resize(3).await?;
    is_taken_over(&cluster, 3).await?;
    ensure!(
        pods(&cluster).await? == uids,
        "the newest member was not the one that left"
    );

    // Its data was in the pod, so another member takes its place.
    let victim = "fossil-0001";
    scenario
        .testbed()
        .kill_member(scenario.namespace(), victim)
        .await?;
    wait::until("another member", PATIENCE, async || {
        let names = cluster.member_names().await?;
        ensure!(!names.iter().any(|name| name == victim), "{names:?}");
        Ok(())
    })
    .await?;
    is_taken_over(&cluster, 3).await?;
    cluster
        .awaits_event("Normal", "Replacing Dead Member", victim)
        .await?;

    scenario
        .kubectl(&[
            "annotate",
            "etcdcluster",
            "fossil",
            "etcd.database.coreos.com/old-pods=renew",
        ])
        .await?;
    wait::until("pods of today's shape alone", PATIENCE * 2, async || {
        let left: Vec<_> = cluster
            .pods()
            .await?
            .iter()
            .filter(|pod| is_old(pod))
            .map(ResourceExt::name_any)
            .collect();
        ensure!(left.is_empty(), "old are {left:?}");
        Ok(())
    })
    .await?;
    cluster.becomes_healthy(3).await?;
    let after = cluster.members().await?;
    ensure!(
        members.iter().all(|member| !after.contains(member)),
        "{after:?} has old members"
    );
    for name in cluster.member_names().await? {
        ensure!(
            cluster.etcd_of(&name).get_serializable("kept").await? == "yes",
            "{name} has no data"
        );
    }
    Ok(())
}

/// Waits until the operator has the cluster for its own, with so many healthy voters and nothing under way.
async fn is_taken_over(cluster: &Cluster, size: usize) -> Result<()> {
    wait::until(
        format!("{} with {size} healthy members", cluster.name()),
        PATIENCE,
        async || {
            let status = cluster.status().await?;
            let id = cluster.etcd().await?.cluster_id().await?;
            ensure!(
                status.cluster_id.is_some_and(|recorded| recorded.0 == id),
                "{:?} is recorded",
                status.cluster_id
            );
            ensure!(status.phase == Phase::Running, "{:?}", status.phase);
            ensure!(
                status.current_version == VERSION,
                "the version is {:?}",
                status.current_version
            );
            ensure!(
                usize::try_from(status.ready_members)? == size
                    && usize::try_from(status.size)? == size,
                "{} of {} are ready",
                status.ready_members,
                status.size
            );
            let progressing = status
                .conditions
                .iter()
                .find(|one| one.kind == "Progressing")
                .context("there is no condition Progressing")?;
            ensure!(
                progressing.status == ConditionStatus::False,
                "{}: {}",
                progressing.reason,
                progressing.message
            );
            let members = cluster.members().await?;
            ensure!(
                members.len() == size && members.iter().all(|member| !member.learner),
                "{members:?}"
            );
            ensure!(cluster.pods().await?.len() == size, "pods are left over");
            Ok(())
        },
    )
    .await
}

/// The Services have what Kubernetes reads today, and what users built on is as it was.
async fn is_repaired(scenario: &Scenario, cluster: &Cluster) -> Result<()> {
    let services: Api<Service> = Api::namespaced(scenario.testbed().client(), scenario.namespace());
    let peers = services.get(cluster.name()).await?;
    let spec = peers.spec.context("the Service has no spec")?;
    ensure!(
        spec.publish_not_ready_addresses == Some(true),
        "members cannot find one another before they are ready"
    );
    let children = Children::of(cluster).await?;
    ensure!(children.budgets.len() == 1, "{children}");
    Ok(())
}

/// UID of each pod by its name.
async fn pods(cluster: &Cluster) -> Result<BTreeMap<String, String>> {
    let pods = cluster.pods().await?;
    Ok(pods
        .into_iter()
        .map(|pod| (pod.name_any(), pod.uid().unwrap_or_default()))
        .collect())
}

fn is_old(pod: &Pod) -> bool {
    pod.spec
        .as_ref()
        .is_some_and(|spec| spec.restart_policy.as_deref() == Some("Never"))
}
