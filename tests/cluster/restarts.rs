//! Operators that end, come back, are shipped, or think badly.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use contract::ConditionStatus;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use tests::scenario::{Children, Cluster, OPERATOR, Scenario, spec};
use tests::testbed::wait;
use tokio::process::Command;
use tokio::time::Instant;

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn at_rest(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario.create_healthy("calm", spec::on_volumes(3)).await?;
    stays_as_it_is(&cluster, async || {
        scenario.kill_operator().await?;
        scenario.start_operator().await?;
        let operator = scenario.operator()?;
        wait::until("some looks of the operator", PATIENCE, async || {
            let looks = operator.metric("binnacle_passes_total", "Decided").await?;
            ensure!(looks >= 3.0, "it looked {looks} times");
            Ok(())
        })
        .await
    })
    .await?;
    let effects = scenario
        .operator()?
        .metric("binnacle_effects_total", "")
        .await?;
    ensure!(effects == 0.0, "it acted {effects} times");
    Ok(())
}

pub(crate) async fn while_scaling(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("halfway", spec::on_volumes(3))
        .await?;
    let etcd = cluster.etcd().await?;
    etcd.put("kept", "yes").await?;
    cluster.resize(5).await?;
    // Once with the first learner on its way, once with the second.
    for members in [4, 5] {
        wait::until(
            format!("{members} members in the list"),
            PATIENCE,
            async || {
                let found = cluster.members().await?;
                ensure!(found.len() >= members, "members are {found:?}");
                Ok(())
            },
        )
        .await?;
        scenario.kill_operator().await?;
        scenario.start_operator().await?;
    }
    cluster.becomes_healthy(5).await?;
    ensure!(etcd.get("kept").await? == "yes", "the data is gone");
    Ok(())
}

pub(crate) async fn as_deployment(scenario: &mut Scenario) -> Result<()> {
    let deployed = scenario.deploy().await?;
    let (client, namespace) = (scenario.testbed().client(), scenario.namespace());
    let cluster = scenario
        .create_healthy("shipped", spec::on_volumes(3))
        .await?;
    let pods: Api<Pod> = Api::namespaced(client, namespace);
    stays_as_it_is(&cluster, async || {
        let leader = leader(scenario).await?;
        let labels = ListParams::default().labels("app.kubernetes.io/name=binnacle");
        for pod in pods.list(&labels).await? {
            pods.delete(&pod.name_any(), &DeleteParams::default())
                .await?;
        }
        wait::until("a successor that leads", PATIENCE, async || {
            let found = self::leader(scenario).await?;
            ensure!(
                found != leader && !found.is_empty(),
                "{found:?} holds the lease"
            );
            Ok(())
        })
        .await?;
        deployed.ready().await?;
        rests(&cluster).await.map(drop)
    })
    .await?;
    scenario.undeploy().await
}

pub(crate) async fn trapping_module(scenario: &mut Scenario) -> Result<()> {
    scenario.stop_operator().await?;
    let module = trap(scenario).await?;
    scenario.start_operator_with(&module).await?;
    let cluster = scenario.create("thoughtless", spec::on_volumes(1)).await?;
    cluster
        .awaits_condition(
            "DecisionRefused",
            ConditionStatus::True,
            "Trap",
            &["the module trapped"],
            PATIENCE,
        )
        .await?;
    cluster
        .awaits_event("Warning", "Trap", "the module trapped")
        .await?;
    let operator = scenario.operator()?;
    wait::until("a failed pass being counted", PATIENCE, async || {
        let failed = operator
            .metric("binnacle_passes_total", "outcome=\"Failed\"")
            .await?;
        ensure!(failed >= 1.0, "{failed} are counted");
        Ok(())
    })
    .await?;
    let made = Children::of(&cluster).await?;
    ensure!(made.is_empty(), "it made {made}");

    scenario.stop_operator().await?;
    scenario.start_operator().await?;
    cluster.becomes_healthy(1).await?;
    let status = cluster.status().await?;
    ensure!(
        status
            .conditions
            .iter()
            .all(|condition| condition.kind != "DecisionRefused"),
        "the refusal still stands"
    );
    Ok(())
}

/// Expects that after `restart` the resource, its objects and its events are untouched. When a kubelet saw something in its
/// pods meanwhile, that shows nothing, and it is done once more.
async fn stays_as_it_is(
    cluster: &Cluster,
    mut restart: impl AsyncFnMut() -> Result<()>,
) -> Result<()> {
    const ATTEMPTS: usize = 3;
    for _ in 0..ATTEMPTS {
        let before = rests(cluster).await?;
        restart().await?;
        let after = versions(cluster).await?;
        let is_changed = |name: &String| before.get(name) != after.get(name);
        let changed: Vec<_> = before
            .keys()
            .chain(after.keys())
            .filter(|name| is_changed(name))
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        let is_by_kubelet = changed
            .iter()
            .any(|name| name.starts_with("Pod ") && after.contains_key(*name));
        ensure!(
            is_by_kubelet,
            "these were changed: {changed:?}; events: {:?}",
            cluster.events().await?
        );
    }
    bail!("the pods of {} never rest", cluster.name())
}

/// What [`versions`] answers once nothing has changed for a while: kubelets and controllers write, too.
async fn rests(cluster: &Cluster) -> Result<BTreeMap<String, String>> {
    const CALM: Duration = Duration::from_secs(6);
    let seen = RefCell::new((Instant::now(), BTreeMap::new()));
    wait::until(
        format!("{} being at rest", cluster.name()),
        PATIENCE,
        async || {
            let found = versions(cluster).await?;
            let mut seen = seen.borrow_mut();
            if found != seen.1 {
                *seen = (Instant::now(), found);
            }
            ensure!(
                seen.0.elapsed() >= CALM,
                "something changed {:?} ago",
                seen.0.elapsed()
            );
            Ok(seen.1.clone())
        },
    )
    .await
}

/// The resourceVersion of the resource and of each of its objects, and its events.
async fn versions(cluster: &Cluster) -> Result<BTreeMap<String, String>> {
    let mut versions = Children::of(cluster).await?.versions();
    let resource = cluster.resource().await?.resource_version();
    versions.insert("EtcdCluster".to_owned(), resource.unwrap_or_default());
    versions.insert(
        "Events".to_owned(),
        format!("{:?}", cluster.events().await?),
    );
    Ok(versions)
}

/// Who holds the lease.
async fn leader(scenario: &Scenario) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(scenario.testbed().client(), scenario.namespace());
    let lease = leases.get(OPERATOR).await?;
    Ok(lease
        .spec
        .and_then(|spec| spec.holder_identity)
        .unwrap_or_default())
}

/// A module that is in order in every way but for its decisions.
async fn trap(scenario: &Scenario) -> Result<PathBuf> {
    let (core_file, sealed) = (
        scenario.folder().join("trap.core.wasm"),
        scenario.folder().join("trap.wasm"),
    );
    fs::write(&core_file, small::Text::default().core())?;
    let seal = Command::new(&scenario.suite().programs.program)
        .args(["module", "seal"])
        .arg(&core_file)
        .arg("--to")
        .arg(&sealed)
        .output()
        .await
        .context("binnacle module seal cannot be started")?;
    ensure!(
        seal.status.success(),
        "{}",
        String::from_utf8_lossy(&seal.stderr)
    );
    Ok(sealed)
}
