//! Volumes that grow, volumes that must not, and claims that no volume is found for.
//!
//! What a storage driver does is done here by hand, because local volumes have none: the volume is made larger, and its
//! object says so. All the rest is Kubernetes' own: the admission, the controller that expands, the kubelet.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tests::scenario::{Cluster, Scenario, spec};
use tests::testbed::wait;

use crate::standing::Standing;
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(120);
/// Tries of one write; a client library retries much longer.
const TRIES: u32 = 10;
/// A class of the testbed that lets volumes grow.
const GROWING: &str = "local-growing";

fn of_class(size: i64, class: &str) -> Value {
    let mut spec = spec::on_volumes(size);
    spec["pod"]["persistentVolumeClaimSpec"]["storageClassName"] = json!(class);
    spec
}

fn asking(storage: &str) -> Value {
    json!({"pod": {"persistentVolumeClaimSpec": {"resources": {"requests": {"storage": storage}}}}})
}

async fn claims(scenario: &Scenario, cluster: &Cluster) -> Result<Vec<PersistentVolumeClaim>> {
    let all: Api<PersistentVolumeClaim> =
        Api::namespaced(scenario.testbed().client(), scenario.namespace());
    let mut claims = Vec::new();
    for member in cluster.member_names().await? {
        claims.push(all.get(&member).await?);
    }
    Ok(claims)
}

fn asked(claim: &PersistentVolumeClaim) -> Option<&str> {
    let resources = claim.spec.as_ref()?.resources.as_ref()?;
    storage(resources.requests.as_ref()?)
}

fn has(claim: &PersistentVolumeClaim) -> Option<&str> {
    storage(claim.status.as_ref()?.capacity.as_ref()?)
}

fn storage(list: &BTreeMap<String, Quantity>) -> Option<&str> {
    list.get("storage").map(|quantity| quantity.0.as_str())
}

/// As a storage driver does it: the volume is larger, and its object says so.
async fn enlarge(scenario: &Scenario, claim: &PersistentVolumeClaim, to: &str) -> Result<()> {
    let spec = claim.spec.as_ref();
    let volume = spec.and_then(|spec| spec.volume_name.as_deref());
    let volume = volume.with_context(|| format!("{} has no volume", claim.name_any()))?;
    let patch = json!({"spec": {"capacity": {"storage": to}}}).to_string();
    scenario
        .kubectl(&["patch", "pv", volume, "--patch", &patch])
        .await
        .map(drop)
}

/// The request reaches every claim, the condition says what is waited for, and the volumes are larger in the end, without
/// a pod being touched and without a write that fails.
pub(crate) async fn grown(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("roomy", of_class(3, GROWING))
        .await?;
    let standing = Standing::of(&cluster).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    cluster.edit(asking("2Gi")).await?;
    let waiting = all_ask(scenario, &cluster, "2Gi").await?;
    ensure!(
        waiting.iter().all(|claim| has(claim) == Some("1Gi")),
        "they grew without a driver"
    );
    let told = cluster
        .awaits_condition(
            "Progressing",
            ConditionStatus::True,
            "VolumeGrowing",
            &["grows from 1Gi to 2Gi"],
            PATIENCE,
        )
        .await?;
    eprintln!("  growing: {}", told.message);
    cluster.becomes_available().await?;
    grow(scenario, &cluster).await?;
    cluster.becomes_healthy(3).await?;
    standing.is_kept(&cluster).await?;
    writer.goes_on(50, PATIENCE).await?;
    writer.finish_unfailed("volumes that grow").await?;

    // What has grown does not shrink, and that is said and harms nothing.
    cluster.edit(asking("1Gi")).await?;
    cluster
        .awaits_condition(
            "SpecApplied",
            ConditionStatus::False,
            "AcceptedNotUsed",
            &["a volume does not shrink"],
            PATIENCE,
        )
        .await?;
    cluster.is_healthy(3).await
}

/// The class says no: the condition says so in the API server's words, and nothing else changes. They grow once it says yes.
pub(crate) async fn not_grown(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("cramped", spec::on_volumes(3))
        .await?;
    let standing = Standing::of(&cluster).await?;
    cluster.edit(asking("2Gi")).await?;
    let words = ["cannot grow", "StorageClass local", "allowVolumeExpansion"];
    let told = cluster.becomes_blocked("VolumeNotGrown", &words).await?;
    eprintln!("  refused: {}", told.message);
    cluster.becomes_available().await?;
    standing.is_kept(&cluster).await?;
    let claims = claims(scenario, &cluster).await?;
    ensure!(
        claims.iter().all(|claim| asked(claim) == Some("1Gi")),
        "a claim was changed"
    );
    cluster.edit(asking("1Gi")).await?;
    cluster.becomes_unblocked().await?;

    // Once the class lets them, they grow without another edit.
    cluster.edit(asking("2Gi")).await?;
    cluster.becomes_blocked("VolumeNotGrown", &words).await?;
    allow(scenario, true).await?;
    let grew = grow(scenario, &cluster).await;
    allow(scenario, false).await?;
    grew?;
    cluster.becomes_unblocked().await?;
    cluster.is_healthy(3).await
}

/// Waits until all ask for 2Gi, and until they have it.
async fn grow(scenario: &Scenario, cluster: &Cluster) -> Result<()> {
    for claim in all_ask(scenario, cluster, "2Gi").await? {
        enlarge(scenario, &claim, "2Gi").await?;
    }
    wait::until("volumes that have grown", PATIENCE, async || {
        let claims = claims(scenario, cluster).await?;
        let all_have = claims.iter().all(|claim| has(claim) == Some("2Gi"));
        ensure!(all_have, "{:?}", claims.iter().map(has).collect::<Vec<_>>());
        Ok(())
    })
    .await
}

/// Whether the class of all volumes that are not said to be of another one lets them grow.
async fn allow(scenario: &Scenario, growth: bool) -> Result<()> {
    let patch = json!({"allowVolumeExpansion": growth}).to_string();
    scenario
        .kubectl(&["patch", "storageclass", "local", "--patch", &patch])
        .await
        .map(drop)
}

async fn all_ask(
    scenario: &Scenario,
    cluster: &Cluster,
    size: &str,
) -> Result<Vec<PersistentVolumeClaim>> {
    wait::until("claims that ask for more", PATIENCE, async || {
        let claims = claims(scenario, cluster).await?;
        let ask = claims.iter().map(asked);
        let all_ask = ask.clone().all(|asked| asked == Some(size));
        ensure!(all_ask, "{:?}", ask.collect::<Vec<_>>());
        Ok(claims)
    })
    .await
}

/// A class that is none: told with the scheduler's words, and a correction forms the cluster; the same for a member that
/// joins.
pub(crate) async fn unbound(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create("homeless", of_class(3, "none-such"))
        .await?;
    let words = [
        "no node takes its pod",
        "unbound immediate PersistentVolumeClaims",
    ];
    let (progressing, stands) = ("Progressing", ConditionStatus::True);
    let told = cluster
        .awaits_condition(progressing, stands, "Unschedulable", &words, PATIENCE)
        .await?;
    eprintln!("  unborn: {}", told.message);
    let corrected = json!({"pod": {"persistentVolumeClaimSpec": {"storageClassName": "local"}}});
    cluster.edit(corrected).await?;
    cluster.becomes_healthy(3).await?;

    let members = cluster.members().await?;
    let wrong = json!({"pod": {"persistentVolumeClaimSpec": {"storageClassName": "none-such"}}});
    cluster.edit(wrong).await?;
    cluster.resize(5).await?;
    let told = cluster
        .awaits_condition(progressing, stands, "LearnerCatchingUp", &words, PATIENCE)
        .await?;
    eprintln!("  joining: {}", told.message);
    cluster.becomes_available().await?;
    let corrected = json!({"pod": {"persistentVolumeClaimSpec": {"storageClassName": "local"}}});
    cluster.edit(corrected).await?;
    cluster.becomes_healthy(5).await?;
    let after = cluster.members().await?;
    ensure!(
        members.iter().all(|member| after.contains(member)),
        "{members:?} became {after:?}"
    );
    Ok(())
}
