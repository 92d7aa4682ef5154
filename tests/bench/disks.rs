//! A member that loses its data, until another voter has taken its place.

use anyhow::{Context, Result, ensure};
use tests::scenario::{Cluster, Scenario, spec};
use tokio::time::Instant;

use crate::figure::{Aim, Figure};
use crate::part::Bench;
use crate::sight;

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let mut scenario = Scenario::begin(&bench.suite, "disks").await?;
    let cluster = scenario
        .create_healthy("careless", spec::on_volumes(3))
        .await?;
    let (mut wiped, mut with_pod) = (Vec::new(), Vec::new());
    for _ in 0..bench.samples {
        let wipe = async |victim: &str| wipe(&scenario, victim).await;
        wiped.push(lose(&cluster, wipe).await?);
        let delete = async |victim: &str| delete(&scenario, &cluster, victim).await;
        with_pod.push(lose(&cluster, delete).await?);
    }
    cluster.delete().await?;
    scenario.stop_operator().await?;
    Ok(vec![
        Figure::median("disk_lost_s", "s", wiped).aiming_at(Aim::AtMost(6.0)),
        Figure::median("disk_and_pod_lost_s", "s", with_pod).aiming_at(Aim::AtMost(6.0)),
    ])
}

/// Seconds from the loss until three voters without the victim are healthy.
async fn lose(cluster: &Cluster, how: impl AsyncFnOnce(&str) -> Result<Instant>) -> Result<f64> {
    sight::rest(cluster, 3).await?;
    let victim = cluster
        .member_names()
        .await?
        .into_iter()
        .next()
        .context("no member")?;
    let began = how(&victim).await?;
    let healed = sight::of_healthy(cluster, 3, |status| {
        ensure!(
            !status.members.ready.contains(&victim),
            "{victim} is not noticed yet"
        );
        ensure!(!sight::is_true(status, "Degraded"), "it is degraded");
        Ok(())
    })
    .await?;
    Ok((healed - began).as_secs_f64())
}

/// Empties the disk under the member and ends its process. Frozen first, or it would write into the emptied folder.
async fn wipe(scenario: &Scenario, victim: &str) -> Result<Instant> {
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());
    testbed.freeze_member(namespace, victim).await?;
    testbed.wipe_volume(namespace, victim).await?;
    let began = Instant::now();
    testbed.kill_member(namespace, victim).await?;
    Ok(began)
}

/// Deletes the claim and the pod, as a person would who gives a disk up.
async fn delete(scenario: &Scenario, cluster: &Cluster, victim: &str) -> Result<Instant> {
    let began = Instant::now();
    // The claim waits for its pod to go.
    scenario
        .kubectl(&["delete", "pvc", victim, "--wait=false"])
        .await?;
    cluster.delete_pod(victim).await?;
    Ok(began)
}
