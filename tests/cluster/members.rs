//! Members that lose their pod, their process, or their breath.

use std::time::Duration;

use anyhow::{Result, ensure};
use contract::ConditionStatus;
use k8s_openapi::api::core::v1::Pod;
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;

use crate::standing::Standing;
use crate::writer::Writer;

/// How long a fault may take to be noticed or to be overcome.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn pod_deleted_on_volume(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("steady", spec::on_volumes(3))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let standing = Standing::of(&cluster).await?;
    // The leader is the hardest one to lose.
    let victim = cluster.leader().await?;
    cluster.delete_pod(&victim).await?;
    cluster.becomes_healthy(3).await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await?;
    ensure!(
        cluster.etcd_of(&victim).get_serializable("kept").await? == "yes",
        "its data is gone"
    );
    Ok(())
}

pub(crate) async fn pod_deleted_in_memory(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("volatile", spec::in_pods(3))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let members = cluster.members().await?;
    let victim = cluster.leader().await?;
    cluster.delete_pod(&victim).await?;
    cluster.becomes_healthy(3).await?;
    let stayed = |member: &&tests::scenario::Member| member.name != victim;
    let after = cluster.members().await?;
    ensure!(
        members
            .iter()
            .filter(stayed)
            .all(|member| after.contains(member)),
        "{members:?} became {after:?}"
    );
    ensure!(
        after.iter().all(|member| member.name != victim),
        "{victim} is a member without its data"
    );
    for name in cluster.member_names().await? {
        ensure!(
            cluster.etcd_of(&name).get_serializable("kept").await? == "yes",
            "{name} has no data"
        );
    }
    cluster
        .awaits_event("Normal", "Replacing Dead Member", &victim)
        .await?;
    cluster
        .awaits_event("Normal", "New Member Added", "got its vote")
        .await
}

pub(crate) async fn killed(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("tough", spec::on_volumes(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let victim = cluster.leader().await?;
    scenario
        .testbed()
        .kill_member(scenario.namespace(), &victim)
        .await?;
    wait::until("the restart of its container", PATIENCE, async || {
        ensure!(
            restarts(&cluster.pod(&victim).await?) > 0,
            "it was not restarted"
        );
        Ok(())
    })
    .await?;
    cluster.becomes_healthy(3).await?;
    standing.is_kept(&cluster).await
}

pub(crate) async fn frozen_for_a_while(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("sleepy", spec::on_volumes(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let victim = cluster.leader().await?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;
    scenario
        .testbed()
        .freeze_member(scenario.namespace(), &victim)
        .await?;
    cluster
        .awaits_condition(
            "Degraded",
            ConditionStatus::True,
            "MemberUnhealthy",
            &[&victim],
            PATIENCE,
        )
        .await?;
    cluster
        .awaits_event("Warning", "MemberUnhealthy", &victim)
        .await?;
    // The others elect a leader and the Service lets go of the frozen one.
    writer.goes_on(200, PATIENCE).await?;
    scenario
        .testbed()
        .thaw_member(scenario.namespace(), &victim)
        .await?;
    cluster.becomes_healthy(3).await?;
    writer.finish().await?;
    standing.is_kept(&cluster).await?;
    ensure!(
        restarts(&cluster.pod(&victim).await?) == 0,
        "it was restarted"
    );
    cluster
        .awaits_event("Normal", "MemberHealthy", &victim)
        .await
}

pub(crate) async fn frozen_for_good(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("comatose", spec::on_volumes(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let victim = cluster.leader().await?;
    let process = scenario
        .testbed()
        .member_process(scenario.namespace(), &victim)
        .await?;
    scenario
        .testbed()
        .freeze_member(scenario.namespace(), &victim)
        .await?;
    wait::until(
        "another process in its place",
        Duration::from_secs(300),
        async || {
            let found = scenario
                .testbed()
                .member_process(scenario.namespace(), &victim)
                .await?;
            ensure!(found != process, "process {process} is still there");
            Ok(())
        },
    )
    .await?;
    cluster.becomes_healthy(3).await?;
    standing.is_kept_but_for(&cluster, &["Pod "]).await
}

pub(crate) async fn all_deleted(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("phoenix", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    let id = etcd.cluster_id().await?;
    let standing = Standing::of(&cluster).await?;
    for member in &standing.members {
        cluster.delete_pod(&member.name).await?;
    }
    cluster.becomes_healthy(3).await?;
    let etcd = cluster.etcd().await?;
    ensure!(etcd.cluster_id().await? == id, "it is another cluster");
    ensure!(etcd.get("kept").await? == "yes", "the data is gone");
    standing.is_kept_but_for(&cluster, &["Pod "]).await
}

/// How often the pod's containers were restarted.
pub(crate) fn restarts(pod: &Pod) -> i32 {
    let containers = pod
        .status
        .iter()
        .filter_map(|status| status.container_statuses.as_ref())
        .flatten();
    containers.map(|container| container.restart_count).sum()
}
