//! Clusters of `etcd.improbable.io/v1alpha1`, written, scaled, edited and deleted as users of that operator do it.
//!
//! Names are spelled here once more, on purpose: this is what users built on, not what the code says.

mod asked;
mod backups;
mod beside;
mod departing;
pub(crate) mod faults;
mod left;
mod life;
mod restores;
mod schedules;
mod theirs;

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use tests::scenario::{Scenario, merge};
use tests::testbed::wait;

use crate::harness::Scenarios;
use theirs::{PEERS, Theirs};

/// How long forming or changing may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(150);

/// The sample of v0.2.0, but for the version: etcd 3.2 is not run here.
const OF_THE_RELEASE: &str = r#"
apiVersion: etcd.improbable.io/v1alpha1
kind: EtcdCluster
metadata:
  labels:
    controller-tools.k8s.io: "1.0"
  name: my-cluster
spec:
  replicas: 3
  version: 3.6.16
  storage:
    volumeClaimTemplate:
      storageClassName: local
      resources:
        requests:
          storage: 64Mi
  podTemplate:
    metadata:
      annotations:
        prometheus.io/path: /metrics
        prometheus.io/scrape: "true"
        prometheus.io/scheme: http
        prometheus.io/port: "2379"
    resources:
      requests:
        cpu: 20m
        memory: 50Mi
      limits:
        cpu: 2
        memory: 200Mi
"#;

/// The sample of the final state, with the affinity that it documents.
const OF_THE_FINAL_STATE: &str = r#"
apiVersion: etcd.improbable.io/v1alpha1
kind: EtcdCluster
metadata:
  name: final-cluster
spec:
  replicas: 1
  version: 3.6.16
  storage:
    volumeClaimTemplate:
      storageClassName: local
      accessModes:
      - ReadWriteOnce
      resources:
        requests:
          storage: 64Mi
  podTemplate:
    metadata:
      annotations:
        example.com/note: kept
    resources:
      requests:
        cpu: 20m
        memory: 50Mi
      limits:
        cpu: 500m
        memory: 200Mi
    affinity:
      podAntiAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            labelSelector:
              matchExpressions:
              - key: etcd.improbable.io/cluster-name
                operator: In
                values:
                - final-cluster
            topologyKey: kubernetes.io/hostname
"#;

/// They run beside the others.
pub(crate) fn trials(scenarios: &Scenarios) -> Vec<Trial> {
    let mut trials = faults::side_by_side(scenarios);
    trials.extend(fields_and_names(scenarios));
    trials
}

/// What is this group's alone.
fn fields_and_names(scenarios: &Scenarios) -> Vec<Trial> {
    vec![
        scenarios.trial(
            "improbable::its_manifests_are_applied_unchanged_scaled_and_seen_by_their_own_names",
            applied_and_scaled,
        ),
        scenarios.trial(
            "improbable::its_claims_stay_and_the_next_cluster_of_its_name_goes_on_with_their_data",
            claims_outlive_it,
        ),
        scenarios.trial(
            "improbable::what_its_webhooks_refused_is_refused_and_the_rest_passes",
            refused_as_before,
        ),
        scenarios.trial(
            "improbable::a_missing_version_is_taken_back_and_the_next_minor_one_reached_on_the_same_claims",
            life::versions,
        ),
        scenarios.trial(
            "improbable::a_plan_and_an_explanation_are_of_the_group_that_is_named",
            asked::planned_and_explained,
        ),
        scenarios.trial(
            "improbable::a_finalizer_of_its_peers_takes_a_claim_along_only_where_the_member_left",
            departing::claims_go_and_stay,
        ),
        scenarios.trial(
            "improbable::a_paused_cluster_and_its_peers_are_left_alone",
            life::paused,
        ),
        scenarios.trial(
            "improbable::nothing_is_done_while_its_operator_renews_a_lock",
            beside::held_off,
        ),
        scenarios.trial(
            "improbable::a_living_cluster_of_the_last_release_is_taken_over_under_writes_on_its_own_disks",
            left::of_the_release,
        ),
        scenarios.trial(
            "improbable::a_living_cluster_of_the_final_state_is_taken_over_although_the_operator_ends_in_the_middle",
            left::of_the_final_state,
        ),
        scenarios.trial(
            "improbable::claims_that_its_operator_left_are_taken_up_with_their_data",
            left::claims_alone,
        ),
        scenarios.trial(
            "improbable::certificates_budget_and_other_optional_fields_are_in_effect",
            life::optional_fields,
        ),
        scenarios.trial(
            "improbable::a_backup_goes_where_its_template_says_and_has_the_old_phases",
            backups::taken,
        ),
        scenarios.trial(
            "improbable::a_backup_that_nobody_can_follow_is_refused_or_fails_with_words",
            backups::refused,
        ),
        scenarios.trial(
            "improbable::a_backup_without_a_secret_uses_the_operators_and_what_is_over_stays_over",
            backups::with_the_operators_own,
        ),
        scenarios.trial(
            "improbable::a_restore_makes_a_new_cluster_of_three_with_the_data_and_fails_where_something_is_in_the_way",
            restores::made,
        ),
        scenarios.trial(
            "improbable::a_schedule_makes_backups_keeps_the_newest_and_tells_what_was_missed",
            schedules::kept,
        ),
        scenarios.trial(
            "improbable::what_a_schedules_backups_stored_goes_with_them_where_its_template_says_so",
            schedules::swept,
        ),
    ]
}

/// What that project documents is applied as it is, becomes healthy, is scaled, and is seen by its own names.
async fn applied_and_scaled(scenario: &mut Scenario) -> Result<()> {
    let cluster = Theirs::apply(scenario, OF_THE_RELEASE, "my-cluster").await?;
    cluster.becomes_healthy(3).await?;
    cluster.etcdctl(&["put", "kept", "yes"]).await?;
    let id = cluster.status().await?["clusterId"].clone();
    let processors = cluster
        .get("pod/my-cluster-0")
        .await?
        .pointer("/spec/containers/0/env")
        .and_then(Value::as_array)
        .is_some_and(|env| env.contains(&json!({"name": "GOMAXPROCS", "value": "2"})));
    ensure!(processors, "a limit of two processors sets no GOMAXPROCS");
    for size in [5, 1, 3] {
        let replicas = format!("--replicas={size}");
        let object = format!("etcdcluster.etcd.improbable.io/{}", cluster.name);
        scenario.kubectl(&["scale", &object, &replicas]).await?;
        cluster.becomes_healthy(size).await?;
    }
    ensure!(
        cluster.status().await?["clusterId"] == id,
        "it is another cluster"
    );
    let read = cluster
        .etcdctl(&["get", "kept", "--print-value-only"])
        .await?;
    ensure!(read.trim() == "yes", "the data is gone: {read:?}");
    cluster.is_shown().await?;
    let other = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    other.becomes_healthy(1).await?;
    let pod = other.get("pod/final-cluster-0").await?;
    let note = pod.pointer("/metadata/annotations/example.com~1note");
    ensure!(note == Some(&json!("kept")), "its annotations are {note:?}");
    ensure!(
        pod.pointer("/spec/affinity/podAntiAffinity").is_some(),
        "the affinity did not reach the pod"
    );
    Ok(())
}

/// The claims stay when the cluster goes, and the next one of its name goes on with them: the same cluster, and all data.
async fn claims_outlive_it(scenario: &mut Scenario) -> Result<()> {
    let cluster = Theirs::apply(scenario, OF_THE_RELEASE, "my-cluster").await?;
    cluster.becomes_healthy(3).await?;
    cluster.etcdctl(&["put", "kept", "yes"]).await?;
    let id = cluster.status().await?["clusterId"].clone();
    let claims = cluster.uids("pvc").await?;
    scenario.kubectl(&["delete", &cluster.object()]).await?;
    wait::until("the end of its pods and peers", PATIENCE, async || {
        for kind in ["pods", PEERS] {
            let left = cluster.labelled(kind).await?.len();
            ensure!(left == 0, "{left} {kind} are left");
        }
        Ok(())
    })
    .await?;
    let left = cluster.labelled("pvc").await?;
    let is_ownerless = |claim: &Value| claim["metadata"]["ownerReferences"].is_null();
    ensure!(
        left.len() == 3 && left.iter().all(is_ownerless),
        "claims are {left:?}"
    );

    let again = Theirs::apply(scenario, OF_THE_RELEASE, "my-cluster").await?;
    again.becomes_healthy(3).await?;
    ensure!(
        again.status().await?["clusterId"] == id,
        "it is another cluster"
    );
    ensure!(again.uids("pvc").await? == claims, "other claims");
    let read = again
        .etcdctl(&["get", "kept", "--print-value-only"])
        .await?;
    ensure!(read.trim() == "yes", "the data is gone: {read:?}");
    let replicas = format!("--replicas={}", 1);
    scenario
        .kubectl(&["scale", &again.object(), &replicas])
        .await?;
    again.becomes_healthy(1).await
}

/// What the old webhooks refused is refused with the same words in front, and the rest passes.
async fn refused_as_before(scenario: &mut Scenario) -> Result<()> {
    let whole: Value = serde_yaml::from_str(OF_THE_FINAL_STATE)?;
    for (change, words) in [
        (json!({"replicas": 0}), "spec.replicas"),
        (json!({"version": "v3.6.16"}), "spec.version"),
        (json!({"version": "4.0.0"}), "spec.version"),
        (json!({"version": null}), "spec.version: Required value"),
        (json!({"replicas": null}), "spec.replicas: Required value"),
        (json!({"storage": null}), "spec.storage: Required value"),
        (
            json!({"storage": {"volumeClaimTemplate": null}}),
            "spec.storage.volumeClaimTemplate: Required value",
        ),
        (
            json!({"storage": {"volumeClaimTemplate": {"storageClassName": null}}}),
            "spec.storage.volumeClaimTemplate.storageClassName: Required value",
        ),
        (
            json!({"storage": {"volumeClaimTemplate": {"resources": {"requests": {"storage": null}}}}}),
            "spec.storage.volumeClaimTemplate.resources.requests: Required value",
        ),
        (
            json!({"podTemplate": {"metadata": {"annotations": {"etcd.improbable.io/mine": "x"}}}}),
            "spec.podTemplate.metadata.annotations",
        ),
    ] {
        let mut object = whole.clone();
        merge(&mut object["spec"], &change);
        let arguments = ["create", "--dry-run=server", "--filename", "-"];
        let object = object.to_string();
        let refused = scenario.kubectl_with_input(&arguments, &object).await;
        is_refused(refused, words).with_context(|| change.to_string())?;
    }
    let cluster = Theirs::apply(scenario, OF_THE_FINAL_STATE, "final-cluster").await?;
    let stored = cluster.get(&cluster.object()).await?;
    let claim = stored.pointer("/spec/storage/volumeClaimTemplate");
    let mode = claim.and_then(|claim| claim.get("volumeMode"));
    ensure!(mode == Some(&json!("Filesystem")), "no default: {claim:?}");
    for change in [
        json!({"storage": {"volumeClaimTemplate": {"resources": {"requests": {"storage": "2Gi"}}}}}),
        json!({"storage": {"volumeClaimTemplate": {"storageClassName": "other"}}}),
        json!({"podTemplate": {"metadata": {"annotations": {"example.com/note": "other"}}}}),
        json!({"podTemplate": null}),
    ] {
        let refused = cluster.edit(&change, &["--dry-run=server"]).await;
        is_refused(refused, "Unsupported changes:").with_context(|| change.to_string())?;
    }
    for change in [
        json!({"replicas": 2}),
        json!({"version": "3.6.17"}),
        json!({"version": "3.6.15"}),
        json!({"version": "3.7.0"}),
        json!({"paused": true}),
    ] {
        let passed = cluster.edit(&change, &["--dry-run=server"]).await;
        passed.with_context(|| change.to_string())?;
    }
    cluster.becomes_healthy(1).await?;
    let (peer, spec) = (
        format!("{PEERS}/final-cluster-0"),
        json!({"spec": {"version": "3.6.15"}}),
    );
    let arguments = ["patch", &peer, "--type=merge", "--patch", &spec.to_string()];
    is_refused(scenario.kubectl(&arguments).await, "Unsupported changes:")
}

fn is_refused(answer: Result<String>, words: &str) -> Result<()> {
    match answer {
        Ok(_) => bail!("it was taken"),
        Err(refusal) => {
            let refusal = format!("{refusal:#}");
            ensure!(refusal.contains(words), "the refusal is: {refusal}");
            Ok(())
        }
    }
}
