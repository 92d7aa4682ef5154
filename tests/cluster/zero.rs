//! Size 0 and back: nothing runs, nothing is lost.

use std::time::Duration;

use anyhow::{Result, ensure};
use contract::{ConditionStatus, Phase};
use tests::scenario::{Children, Cluster, Scenario, spec};
use tests::testbed::wait;

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn down_and_up(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("sleeper", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    let (id, members) = (etcd.cluster_id().await?, cluster.members().await?);
    let before = Children::of(&cluster).await?.uids();

    scale(scenario, &cluster, 0).await?;
    is_asleep(&cluster).await?;
    cluster
        .awaits_event("Normal", "ScaledToZero", "volume claims stay")
        .await?;
    let status = cluster.status().await?;
    ensure!(
        status.phase == Phase::Running
            && status.ready_members == 0
            && status.cluster_id.map(|id| id.0) == Some(id),
        "the status is {status:?}"
    );
    let mut kept = before.clone();
    kept.retain(|name, _| !name.starts_with("Pod "));
    let left = Children::of(&cluster).await?.uids();
    ensure!(left == kept, "{kept:?} became {left:?}");
    stays_at_rest(scenario, &cluster).await?;

    scale(scenario, &cluster, 3).await?;
    cluster.becomes_healthy(3).await?;
    is_the_same(&cluster, id).await?;
    ensure!(
        cluster.members().await? == members,
        "{members:?} became {:?}",
        cluster.members().await?
    );
    let mut claims = Children::of(&cluster).await?.uids();
    claims.retain(|name, _| !name.starts_with("Pod "));
    ensure!(claims == kept, "{kept:?} became {claims:?}");
    Ok(())
}

pub(crate) async fn edited_in_mid_flight(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("dozer", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    let id = etcd.cluster_id().await?;
    etcd.put("kept", "yes").await?;

    scale(scenario, &cluster, 0).await?;
    wait::until("the first pod to end", PATIENCE, async || {
        let pods = cluster.pods().await?;
        let ending = pods
            .iter()
            .any(|pod| pod.metadata.deletion_timestamp.is_some());
        ensure!(ending || pods.len() < 3, "all three pods run");
        Ok(())
    })
    .await?;
    scale(scenario, &cluster, 3).await?;
    cluster.becomes_healthy(3).await?;
    is_the_same(&cluster, id).await?;

    scale(scenario, &cluster, 5).await?;
    wait::until("a fourth member", PATIENCE, async || {
        let members = cluster.members().await?;
        ensure!(members.len() > 3, "members are {members:?}");
        Ok(())
    })
    .await?;
    scale(scenario, &cluster, 0).await?;
    is_asleep(&cluster).await?;
    scale(scenario, &cluster, 1).await?;
    cluster.becomes_healthy(1).await?;
    is_the_same(&cluster, id).await
}

async fn scale(scenario: &Scenario, cluster: &Cluster, size: usize) -> Result<()> {
    let replicas = format!("--replicas={size}");
    scenario
        .kubectl(&["scale", "etcd", cluster.name(), &replicas])
        .await
        .map(drop)
}

/// Waits until all pods are gone and the conditions call it what it is.
async fn is_asleep(cluster: &Cluster) -> Result<()> {
    let words = ["members are stopped", "Set spec.size to 1, 3, 5 or 7"];
    cluster
        .awaits_condition(
            "Available",
            ConditionStatus::False,
            "ScaledToZero",
            &words,
            PATIENCE,
        )
        .await?;
    for kind in ["Progressing", "Degraded", "Scaling", "Blocked"] {
        let status = cluster.status().await?;
        let found = status
            .conditions
            .iter()
            .find(|condition| condition.kind == kind);
        ensure!(
            found.is_some_and(|found| found.status == ConditionStatus::False),
            "{kind} is {found:?}"
        );
    }
    let pods = cluster.pods().await?;
    ensure!(pods.is_empty(), "{} pods are left", pods.len());
    Ok(())
}

/// Looks at a sleeping cluster again and again, and nothing is written.
async fn stays_at_rest(scenario: &Scenario, cluster: &Cluster) -> Result<()> {
    let passes = async || {
        let operator = scenario.operator()?;
        operator.metric("binnacle_passes_total", "Decided").await
    };
    let version = async || {
        let resource = cluster.resource().await?;
        anyhow::Ok(resource.metadata.resource_version)
    };
    let (looks, written) = (passes().await?, version().await?);
    wait::until("two more looks of the operator", PATIENCE, async || {
        let more = passes().await? - looks;
        ensure!(more >= 2.0, "it looked {more} times more");
        Ok(())
    })
    .await?;
    ensure!(
        version().await? == written,
        "the status of a cluster at rest was written"
    );
    Ok(())
}

async fn is_the_same(cluster: &Cluster, id: u64) -> Result<()> {
    let etcd = cluster.etcd().await?;
    ensure!(etcd.cluster_id().await? == id, "it is another cluster");
    ensure!(etcd.get("kept").await? == "yes", "the data is gone");
    Ok(())
}
