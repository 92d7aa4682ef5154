//! Versions and repositories changed on living clusters that are used: what moves, what waits, what returns.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use contract::ConditionStatus;
use kube::ResourceExt;
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::{Progress, wait};

use crate::writer::Writer;

/// A walk through four minor versions restarts three members three times.
const WALK: Duration = Duration::from_secs(300);
/// Tries of one write; a client library retries much longer.
const TRIES: u32 = 10;

pub(crate) fn of_version(mut spec: Value, version: &str) -> Value {
    spec["version"] = json!(version);
    // Else a young cluster has written no snapshot of its log, and does not go to the next minor version.
    spec["pod"]["etcdEnv"] = json!([{"name": "ETCD_SNAPSHOT_COUNT", "value": "10"}]);
    spec
}

pub(crate) async fn load(scenario: &Scenario, versions: &[&str]) -> Result<()> {
    for version in versions {
        let progress = Progress::on_stderr();
        scenario.testbed().load_etcd(version, &progress).await?;
    }
    Ok(())
}

/// Waits until all members answer with this version and the status says so.
async fn becomes(cluster: &Cluster, version: &str, size: usize) -> Result<()> {
    let what = format!("{} at etcd {version}", cluster.name());
    wait::until(what, WALK, async || {
        let status = cluster.status().await?;
        let upgrading = status.conditions.iter().find(|one| one.kind == "Upgrading");
        ensure!(
            status.current_version == version && status.target_version.is_empty(),
            "version {} on the way to {:?}, {upgrading:?}",
            status.current_version,
            status.target_version
        );
        ensure!(
            upgrading.is_some_and(|one| one.status == ConditionStatus::False),
            "{upgrading:?}"
        );
        Ok(())
    })
    .await?;
    cluster.becomes_healthy(size).await?;
    for member in cluster.member_names().await? {
        let found = cluster.etcd_of(&member).version().await?;
        ensure!(found == version, "{member} runs {found}");
    }
    Ok(())
}

/// UIDs of the pods: a roll changes containers and never pods.
async fn pods(cluster: &Cluster) -> Result<BTreeSet<String>> {
    Ok(cluster
        .pods()
        .await?
        .iter()
        .filter_map(ResourceExt::uid)
        .collect())
}

pub(crate) async fn walked(scenario: &mut Scenario) -> Result<()> {
    load(scenario, &["3.4.34", "3.5.35", "3.6.16", "3.7.3"]).await?;
    let spec = of_version(spec::in_pods(3), "3.4.34");
    let cluster = scenario.create_healthy("old", spec).await?;
    let (id, before) = (
        cluster.etcd().await?.cluster_id().await?,
        pods(&cluster).await?,
    );
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, Duration::from_secs(30)).await?;
    cluster.edit(json!({"version": "3.7.3"})).await?;
    let way = [
        "3.4.34 -> 3.5.35 -> 3.6.16 -> 3.7.3",
        "spec.upgrade.throughMinors",
    ];
    cluster.becomes_blocked("UpgradePath", &way).await?;
    cluster
        .edit(json!({"upgrade": {"throughMinors": true}}))
        .await?;
    cluster
        .awaits_condition(
            "Upgrading",
            ConditionStatus::True,
            "Upgrading",
            &["upgrading to 3.7.3"],
            Duration::from_secs(30),
        )
        .await?;
    becomes(&cluster, "3.7.3", 3).await?;
    writer.goes_on(50, Duration::from_secs(30)).await?;
    writer.finish_unfailed("3.4.34 to 3.7.3").await?;
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    ensure!(pods(&cluster).await? == before, "pods were made again");
    for (from, to) in [
        ("3.4.34", "3.5.35"),
        ("3.5.35", "3.6.16"),
        ("3.6.16", "3.7.3"),
    ] {
        let words = format!("upgraded from {from} to {to}");
        cluster
            .awaits_event("Normal", "Member Upgraded", &words)
            .await?;
    }
    Ok(())
}

pub(crate) async fn patch_and_repository(scenario: &mut Scenario) -> Result<()> {
    let repository = "registry.example:5000/mirror/etcd";
    let testbed = scenario.testbed();
    for tag in ["v3.6.16", "v3.6.17"] {
        let image = format!("{repository}:{tag}");
        testbed
            .tag_image("quay.io/coreos/etcd:v3.6.16", &image)
            .await?;
    }
    let cluster = scenario
        .create_healthy("moved", spec::on_volumes(3))
        .await?;
    let before = pods(&cluster).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, Duration::from_secs(30)).await?;
    cluster.edit(json!({"repository": repository})).await?;
    let wanted = format!("{repository}:v3.6.16");
    wait::until("all members restarted from the mirror", WALK, async || {
        for pod in cluster.pods().await? {
            let image = pod
                .spec
                .as_ref()
                .and_then(|spec| spec.containers.first()?.image.clone());
            ensure!(
                image.as_ref() == Some(&wanted),
                "{} has {image:?}",
                pod.name_any()
            );
            let restarts = pod
                .status
                .as_ref()
                .and_then(|status| status.container_statuses.as_ref()?.first())
                .map(|container| container.restart_count);
            ensure!(restarts == Some(1), "{}: {restarts:?}", pod.name_any());
        }
        Ok(())
    })
    .await?;
    becomes(&cluster, "3.6.16", 3).await?;
    writer.finish_unfailed("another repository").await?;
    ensure!(pods(&cluster).await? == before, "pods were made again");
    // The tag says 3.6.17 and the program is 3.6.16: the first member shows it, and the others stay.
    cluster.edit(json!({"version": "3.6.17"})).await?;
    let words = ["answers as etcd 3.6.16", "No other member is touched"];
    cluster.becomes_blocked("UpgradeStuck", &words).await?;
    cluster.edit(json!({"version": "3.6.16"})).await?;
    becomes(&cluster, "3.6.16", 3).await
}

pub(crate) async fn stuck(scenario: &mut Scenario) -> Result<()> {
    load(scenario, &["3.5.35"]).await?;
    let spec = of_version(spec::on_volumes(3), "3.5.35");
    let cluster = scenario.create_healthy("typo", spec).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, Duration::from_secs(30)).await?;
    cluster.edit(json!({"version": "3.6.99"})).await?;
    let words = ["v3.6.99 cannot be had", "set spec.version back to 3.5.35"];
    cluster
        .awaits_condition(
            "Progressing",
            ConditionStatus::True,
            "ImagePull",
            &words,
            Duration::from_secs(60),
        )
        .await?;
    writer.goes_on(50, Duration::from_secs(30)).await?;
    let moved = cluster
        .pods()
        .await?
        .iter()
        .filter(|pod| {
            pod.spec
                .as_ref()
                .and_then(|spec| spec.containers.first()?.image.as_deref())
                .is_some_and(|image| image.ends_with("v3.6.99"))
        })
        .count();
    ensure!(moved == 1, "{moved} members were touched");
    cluster.edit(json!({"version": "3.5.35"})).await?;
    becomes(&cluster, "3.5.35", 3).await?;
    cluster.edit(json!({"version": "3.6.16"})).await?;
    becomes(&cluster, "3.6.16", 3).await?;
    writer.finish_unfailed("a typo").await?;
    cluster.edit(json!({"version": "3.4.34"})).await?;
    let words = ["3.6.16", "older minor version"];
    cluster.becomes_blocked("UpgradePath", &words).await?;
    Ok(())
}

/// A member's pod is made again where nobody has its image any more, and the asked version is out of reach.
pub(crate) async fn gone(scenario: &mut Scenario) -> Result<()> {
    let [old, new] = ["old", "new"].map(|host| format!("{host}.example:5000/etcd"));
    for repository in [&old, &new] {
        let image = format!("{repository}:v3.6.16");
        scenario
            .testbed()
            .tag_image("quay.io/coreos/etcd:v3.6.16", &image)
            .await?;
    }
    let mut spec = spec::on_volumes(3);
    spec["repository"] = json!(old);
    let cluster = scenario.create_healthy("gone", spec).await?;
    let gone = format!("{old}:v3.6.16");
    scenario.testbed().untag_image(&gone).await?;
    let member = cluster.pods().await?[0].name_any();
    cluster.delete_pod(&member).await?;
    let words = format!("{gone} cannot be had");
    cluster
        .awaits_condition(
            "Progressing",
            ConditionStatus::True,
            "ImagePull",
            &[&words],
            Duration::from_secs(120),
        )
        .await?;
    cluster
        .edit(json!({"repository": new, "version": "3.4.34"}))
        .await?;
    cluster.becomes_blocked("UpgradePath", &["3.4.34"]).await?;
    wait::until("all members ready again", WALK, async || {
        let ready = cluster.status().await?.ready_members;
        ensure!(ready == 3, "{ready} are ready");
        Ok(())
    })
    .await?;
    let wanted = format!("{new}:v3.6.16");
    let count = |images: &[String]| images.iter().filter(|image| **image == wanted).count();
    let moved = count(&images(&cluster).await?);
    ensure!(moved == 1, "{moved} members have {wanted}");
    cluster.edit(json!({"version": null})).await?;
    becomes(&cluster, "3.6.16", 3).await?;
    let moved = count(&images(&cluster).await?);
    ensure!(moved == 3, "{moved} members have {wanted}");
    Ok(())
}

/// Down by two minor versions, one after the other, with a change of mind half-way.
pub(crate) async fn back(scenario: &mut Scenario) -> Result<()> {
    load(scenario, &["3.5.35", "3.6.16", "3.7.3"]).await?;
    let spec = of_version(spec::on_volumes(3), "3.7.3");
    let cluster = scenario.create_healthy("back", spec).await?;
    let (id, before) = (
        cluster.etcd().await?.cluster_id().await?,
        pods(&cluster).await?,
    );
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, Duration::from_secs(30)).await?;
    cluster.edit(json!({"version": "3.5.35"})).await?;
    let words = ["Set spec.version to 3.6.16 first"];
    cluster.becomes_blocked("UpgradePath", &words).await?;
    cluster.edit(json!({"version": "3.6.16"})).await?;
    becomes(&cluster, "3.6.16", 3).await?;
    cluster.edit(json!({"version": "3.5.35"})).await?;
    wait::until("one member on its way to 3.5.35", WALK, async || {
        let images = images(&cluster).await?;
        let moved = images.iter().any(|image| image.ends_with(":v3.5.35"));
        ensure!(moved, "{images:?}");
        Ok(())
    })
    .await?;
    cluster.edit(json!({"version": "3.6.16"})).await?;
    becomes(&cluster, "3.6.16", 3).await?;
    cluster.edit(json!({"version": "3.5.35"})).await?;
    becomes(&cluster, "3.5.35", 3).await?;
    writer.goes_on(50, Duration::from_secs(30)).await?;
    writer.finish_unfailed("3.7.3 to 3.5.35").await?;
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    ensure!(pods(&cluster).await? == before, "pods were made again");
    for (from, to) in [("3.7.3", "3.6.16"), ("3.6.16", "3.5.35")] {
        let words = format!("upgraded from {from} to {to}");
        cluster
            .awaits_event("Normal", "Member Upgraded", &words)
            .await?;
    }
    // What the older version left is read by the newer one.
    cluster.edit(json!({"version": "3.6.16"})).await?;
    becomes(&cluster, "3.6.16", 3).await
}

async fn images(cluster: &Cluster) -> Result<Vec<String>> {
    let pods = cluster.pods().await?;
    let images = pods
        .iter()
        .filter_map(|pod| pod.spec.as_ref()?.containers.first()?.image.clone());
    Ok(images.collect())
}

pub(crate) async fn alone(scenario: &mut Scenario) -> Result<()> {
    load(scenario, &["3.5.35"]).await?;
    let spec = of_version(spec::in_pods(1), "3.5.35");
    let cluster = scenario.create_healthy("lone", spec).await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    // Long enough for a snapshot of the log.
    for number in 0..30 {
        etcd.put("number", &number.to_string()).await?;
    }
    cluster.edit(json!({"version": "3.6.99"})).await?;
    wait::until(
        "a member without an image",
        Duration::from_secs(60),
        async || {
            ensure!(cluster.etcd().await.is_err(), "it is still ready");
            Ok(())
        },
    )
    .await?;
    cluster.edit(json!({"version": "3.6.16"})).await?;
    becomes(&cluster, "3.6.16", 1).await?;
    let kept = cluster.etcd().await?.get("kept").await?;
    ensure!(kept == "yes", "the data is gone");
    Ok(())
}
