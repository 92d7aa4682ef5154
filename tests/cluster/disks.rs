//! Members that lose their data.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use serde_json::{Value, json};
use tests::scenario::{Children, Cluster, Scenario, spec};
use tests::testbed::wait;

use crate::standing::Standing;

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn one_wiped(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("wiped", spec::on_volumes(3))
        .await?;
    let victim = cluster.leader().await?;
    is_replaced(&cluster, &victim, async || wipe(scenario, &[&victim]).await).await
}

pub(crate) async fn claim_deleted(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("unclaimed", spec::on_volumes(3))
        .await?;
    let victim = cluster.leader().await?;
    let lose = async || {
        // The claim waits for its pod to go.
        scenario
            .kubectl(&["delete", "pvc", &victim, "--wait=false"])
            .await?;
        cluster.delete_pod(&victim).await
    };
    is_replaced(&cluster, &victim, lose).await
}

/// What of a claim must not change when its cluster goes: its UID and who owns it.
type Claims = BTreeMap<String, (String, Value)>;

/// The claims of the cluster's label.
async fn claims(scenario: &Scenario, cluster: &Cluster) -> Result<Claims> {
    let label = format!("--selector={}={}", cluster.label(), cluster.name());
    let listed = scenario
        .kubectl(&["get", "pvc", &label, "--output=json"])
        .await?;
    let listed: Value = serde_json::from_str(&listed)?;
    let items = listed["items"].as_array().context("no list")?;
    let of = |field: &Value| field.as_str().map(str::to_owned);
    let claim = |item: &Value| {
        let metadata = &item["metadata"];
        let owners = metadata["ownerReferences"].clone();
        Some((of(&metadata["name"])?, (of(&metadata["uid"])?, owners)))
    };
    let claims = items.iter().map(claim).collect::<Option<_>>();
    claims.context("a claim has no name")
}

pub(crate) async fn kept(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("left", spec::on_volumes(3)).await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let before = Standing::of(&cluster).await?;
    let retain = json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}});
    cluster.edit(json!({"pod": retain})).await?;
    wait::until("claims without an owner", PATIENCE, async || {
        let claims = claims(scenario, &cluster).await?;
        let is_free = claims.values().all(|(_, owners)| owners.is_null());
        ensure!(is_free && claims.len() == 3, "{claims:?}");
        Ok(())
    })
    .await?;
    cluster.becomes_healthy(3).await?;
    before.is_kept(&cluster).await?;
    // Whoever leaves a living cluster takes its claim along, and what stays is the whole cluster's data.
    cluster.resize(1).await?;
    cluster.becomes_healthy(1).await?;
    let last = cluster.member_names().await?;
    cluster.delete().await?;
    let left = claims(scenario, &cluster).await?;
    ensure!(left.keys().eq(&last), "{left:?} are left of {last:?}");

    let again = scenario.create_healthy("left", spec::on_volumes(1)).await?;
    let names = again.member_names().await?;
    ensure!(names != last, "{names:?} runs on what was left");
    let empty = again.etcd().await?.get("kept").await?;
    ensure!(empty.is_empty(), "a new cluster has {empty:?}");
    again.delete().await?;
    let now = claims(scenario, &again).await?;
    ensure!(now == left, "{left:?} became {now:?}");
    let [claim] = last.as_slice() else {
        anyhow::bail!("members are {last:?}")
    };
    read_kept(scenario, claim).await
}

/// Reads a claim that stayed as docs/volumes.md says.
async fn read_kept(scenario: &Scenario, claim: &str) -> Result<()> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kept"},
        "spec": {
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "etcd",
                "image": "quay.io/coreos/etcd:v3.6.16",
                "command": [
                    "/usr/local/bin/etcd", "--name=kept", "--data-dir=/var/etcd/data", "--force-new-cluster",
                    "--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://localhost:2379",
                ],
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "data", "mountPath": "/var/etcd"}],
            }],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    });
    scenario
        .kubectl_with_input(&["apply", "--filename", "-"], &pod.to_string())
        .await?;
    let ask = [
        "exec",
        "kept",
        "--",
        "etcdctl",
        "get",
        "kept",
        "--print-value-only",
    ];
    wait::until("the data on the claim", PATIENCE, async || {
        let read = scenario.kubectl(&ask).await?;
        ensure!(read.trim() == "yes", "{read:?}");
        Ok(())
    })
    .await
}

pub(crate) async fn two_wiped(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("halved", spec::on_volumes(3))
        .await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    let names = cluster.member_names().await?;
    let [survivor, first, second] = names.as_slice() else {
        anyhow::bail!("members are {names:?}")
    };
    let uids = Children::of(&cluster).await?.uids();
    wipe(scenario, &[first, second]).await?;

    let words = [
        "0 of 3 voters are healthy",
        "it runs and has its data",
        "its disk is gone or empty",
        "Nothing is removed or deleted",
        "restore from a backup",
    ];
    cluster
        .awaits_condition(
            "Available",
            ConditionStatus::False,
            "QuorumLost",
            &words,
            PATIENCE,
        )
        .await?;
    cluster
        .becomes_blocked("QuorumLost", &[first, second])
        .await?;
    cluster
        .awaits_event("Warning", "QuorumLost", "2 are needed")
        .await?;

    let looks = scenario
        .operator()?
        .metric("binnacle_passes_total", "Decided")
        .await?;
    wait::until("more looks of the operator", PATIENCE, async || {
        let more = scenario
            .operator()?
            .metric("binnacle_passes_total", "Decided")
            .await?;
        ensure!(
            more >= looks + 15.0,
            "it looked {} times more",
            more - looks
        );
        Ok(())
    })
    .await?;
    let left = Children::of(&cluster).await?;
    ensure!(
        left.uids() == uids,
        "objects were destroyed: {uids:?} became {:?}",
        left.uids()
    );
    let deletions = scenario
        .operator()?
        .metric("binnacle_effects_total", "effect=\"Delete\"")
        .await?;
    ensure!(deletions == 0.0, "it deleted {deletions} times");
    ensure!(
        cluster.etcd_of(survivor).get_serializable("kept").await? == "yes",
        "the survivor cannot be read"
    );
    Ok(())
}

/// Loses a member's data in this way and expects another member in its place, with the data.
async fn is_replaced(
    cluster: &Cluster,
    victim: &str,
    lose: impl AsyncFnOnce() -> Result<()>,
) -> Result<()> {
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    let (id, members) = (etcd.cluster_id().await?, cluster.members().await?);
    // Where members are numbered, the one that comes after it may have its name.
    let lost = cluster.etcd_of(victim).id().await?;
    lose().await?;
    wait::until(
        format!("the end of member {victim}"),
        PATIENCE,
        async || {
            let members = cluster.members().await?;
            ensure!(
                members.iter().all(|member| member.id != lost),
                "members are {members:?}"
            );
            Ok(())
        },
    )
    .await?;
    cluster.becomes_healthy(3).await?;
    let after = cluster.members().await?;
    let stayed = members.iter().filter(|member| member.id != lost);
    ensure!(
        stayed.clone().all(|member| after.contains(member)),
        "{members:?} became {after:?}"
    );
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    for member in &after {
        ensure!(
            cluster
                .etcd_of(&member.name)
                .get_serializable("kept")
                .await?
                == "yes",
            "{} has no data",
            member.name
        );
    }
    cluster
        .awaits_event("Normal", "Replacing Dead Member", victim)
        .await
}

/// Empties the disks of members and ends their processes, all at the same instant as far as the operator can see.
pub(crate) async fn wipe(scenario: &Scenario, members: &[&str]) -> Result<()> {
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());
    for member in members {
        // A process that goes on would write into the emptied folder.
        testbed
            .freeze_member(namespace, member)
            .await
            .with_context(|| format!("{member} cannot be frozen"))?;
    }
    for member in members {
        testbed.wipe_volume(namespace, member).await?;
    }
    for member in members {
        testbed.kill_member(namespace, member).await?;
    }
    Ok(())
}
