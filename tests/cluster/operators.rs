//! Operators that come in twos, stand still, are away for long, or are removed.

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use tests::scenario::{Children, Cluster, OPERATOR, Scenario, spec};
use tests::testbed::wait;
use tokio::time::Instant;

use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(120);
/// A lease may be taken 15 s after its last renewal, and is looked at every 2 s; the rest is for a busy machine.
const TAKE_OVER: Duration = Duration::from_secs(15 + 2 + 8);

pub(crate) async fn leader_killed(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("shared", spec::on_volumes(3))
        .await?;
    let members = cluster.members().await?;
    let standby = scenario.another_operator().await?;
    wait::until("the standby being ready", PATIENCE, async || {
        standby.metrics().await.map(drop)
    })
    .await?;
    ensure!(
        standby.metric("binnacle_leading", "").await? == 0.0,
        "two lead at once"
    );
    scenario.kill_operator().await?;
    let killed = Instant::now();
    cluster.delete_pod(&cluster.leader().await?).await?;
    standby.leads(TAKE_OVER).await?;
    eprintln!("the standby led after {:.1?}", killed.elapsed());
    cluster.becomes_healthy(3).await?;
    ensure!(cluster.members().await? == members, "members were changed");
    standby.stop().await
}

pub(crate) async fn leader_frozen(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("stolen", spec::on_volumes(3))
        .await?;
    let standby = scenario.another_operator().await?;
    cluster.resize(5).await?;
    members_reach(&cluster, 4).await?;
    // In mid-pass or between two: its lease runs out while it stands still.
    scenario.operator()?.freeze()?;
    standby.leads(TAKE_OVER).await?;
    cluster.becomes_healthy(5).await?;
    let (uids, members) = (
        Children::of(&cluster).await?.uids(),
        cluster.members().await?,
    );

    let first = scenario.operator()?;
    first.thaw()?;
    wait::until("the first one noticing its loss", PATIENCE, async || {
        let leads = first.metric("binnacle_leading", "").await?;
        ensure!(leads == 0.0, "it believes to lead");
        Ok(())
    })
    .await?;
    cluster.becomes_healthy(5).await?;
    ensure!(cluster.members().await? == members, "members were changed");
    ensure!(
        Children::of(&cluster).await?.uids() == uids,
        "objects were replaced"
    );
    standby.stop().await?;
    scenario.operator()?.leads(TAKE_OVER).await
}

pub(crate) async fn away_for_long(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("orphan", spec::on_volumes(3))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let id = cluster.etcd().await?.cluster_id().await?;
    scenario.kill_operator().await?;
    for arguments in [
        &["delete", "service", "orphan-client"][..],
        &["delete", "poddisruptionbudget", "orphan"],
        &["scale", "etcd", "orphan", "--replicas=1"],
        &["scale", "etcd", "orphan", "--replicas=5"],
        &["label", "service", "orphan", "app-"],
    ] {
        scenario.kubectl(arguments).await?;
    }
    cluster.delete_pod(&cluster.leader().await?).await?;
    let gone = scenario.create("passing", spec::on_volumes(1)).await?;
    gone.delete().await?;
    let late = scenario.create("newcomer", spec::in_pods(1)).await?;

    scenario.start_operator().await?;
    let words = ["Service orphan", "lost the labels app"];
    cluster.becomes_blocked("ForeignObject", &words).await?;
    scenario
        .kubectl(&["label", "service", "orphan", "app=etcd"])
        .await?;
    cluster.becomes_healthy(5).await?;
    late.becomes_healthy(1).await?;
    let etcd = cluster.etcd().await?;
    ensure!(etcd.cluster_id().await? == id, "it is another cluster");
    ensure!(etcd.get("kept").await? == "yes", "the data is gone");
    Ok(())
}

pub(crate) async fn removed(scenario: &mut Scenario) -> Result<()> {
    let deployed = scenario.deploy().await?;
    let (client, namespace) = (scenario.testbed().client(), scenario.namespace());
    let cluster = scenario
        .create_healthy("bereft", spec::on_volumes(3))
        .await?;
    cluster.resize(5).await?;
    members_reach(&cluster, 4).await?;

    // In mid-way, and with everything it had.
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(client, namespace);
    let labels = ListParams::default().labels("app.kubernetes.io/name=binnacle");
    scenario
        .kubectl(&["delete", "deployment", OPERATOR, "--cascade=orphan"])
        .await?;
    scenario.kubectl(&["delete", "replicaset", "--all"]).await?;
    for pod in pods.list(&labels).await? {
        let at_once = DeleteParams::default().grace_period(0);
        // The deletion of its ReplicaSet may have been faster.
        let _ = pods.delete(&pod.name_any(), &at_once).await;
    }
    for object in ["rolebinding", "role", "serviceaccount"] {
        scenario.kubectl(&["delete", object, OPERATOR]).await?;
    }
    wait::until("the end of the operator", PATIENCE, async || {
        let left = pods.list(&labels).await?.items.len();
        ensure!(left == 0, "{left} pods are left");
        Ok(())
    })
    .await?;
    let uids = Children::of(&cluster).await?.uids();
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(500, PATIENCE).await?;
    ensure!(
        Children::of(&cluster).await?.uids() == uids,
        "objects went with the operator"
    );

    deployed.install().await?;
    cluster.becomes_healthy(5).await?;
    writer.finish().await?;
    let after = Children::of(&cluster).await?.uids();
    ensure!(
        uids.iter().all(|(name, uid)| after.get(name) == Some(uid)),
        "objects were replaced: {uids:?} became {after:?}"
    );
    scenario.undeploy().await
}

async fn members_reach(cluster: &Cluster, count: usize) -> Result<()> {
    wait::until(
        format!("{count} members in the list"),
        PATIENCE,
        async || {
            let found = cluster.members().await?;
            ensure!(found.len() >= count, "members are {found:?}");
            Ok(())
        },
    )
    .await
}
