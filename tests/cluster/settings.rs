//! Settings of etcd and patience of probes as fields of the spec: in effect on living members, and refused in words where
//! etcd could not follow them.

use anyhow::{Result, ensure};
use contract::ConditionStatus;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tests::scenario::{Scenario, spec};

use crate::bad_input::is_refused;
use crate::reshape::{PATIENCE, TRIES, becomes, finish, memory_of};
use crate::writer::Writer;

/// Quota, compaction, snapshots and patience as fields, on members that were made without them; what they ask for of a node
/// where the spec says nothing.
pub(crate) async fn in_effect(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("typed", spec::on_volumes(3))
        .await?;
    let pods = cluster.pods().await?;
    let asked: Vec<_> = pods.iter().map(memory_of).collect();
    ensure!(asked == [Some("100Mi"); 3], "they ask for {asked:?}");
    let members = cluster.members().await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);
    writer.goes_on(50, PATIENCE).await?;
    cluster
        .edit(json!({
            "etcd": {
                "quotaBackendBytes": "64Mi", "autoCompactionMode": "revision",
                "autoCompactionRetention": 1000, "snapshotCount": 5000,
            },
            "pod": {"probes": {"startupSeconds": 90, "livenessSeconds": 115, "readinessSeconds": 5}},
        }))
        .await?;
    becomes(&cluster, "settings and patience", |pod| {
        variable_of(pod, "ETCD_AUTO_COMPACTION_RETENTION") == Some("1000")
            && variable_of(pod, "ETCD_SNAPSHOT_COUNT") == Some("5000")
            && patience_of(pod) == Some([90, 120, 5])
    })
    .await?;
    ensure!(
        cluster.members().await? == members,
        "{members:?} became {:?}",
        cluster.members().await?
    );
    for member in &members {
        let told = scenario
            .kubectl(&[
                "exec",
                &member.name,
                "--",
                "etcdctl",
                "endpoint",
                "status",
                "--write-out=json",
            ])
            .await?;
        let quota = serde_json::from_str::<Value>(&told)?;
        let quota = quota.pointer("/0/Status/dbSizeQuota");
        let is_asked = quota.and_then(Value::as_i64) == Some(64 << 20);
        ensure!(is_asked, "{} tells {told}", member.name);
    }
    cluster
        .awaits_condition(
            "SpecApplied",
            ConditionStatus::True,
            "AsSpecified",
            &[],
            PATIENCE,
        )
        .await?;
    finish(writer).await
}

/// The API server says what can be; numbers, nulls and the field beside its variable are understood.
pub(crate) async fn refused(scenario: &mut Scenario) -> Result<()> {
    let other = scenario.cluster("other");
    let etcd = |settings: Value| json!({"size": 1, "etcd": settings});
    let probes = |seconds: Value| json!({"size": 1, "pod": {"probes": seconds}});
    for (spec, words) in [
        (etcd(json!({"quotaBackendBytes": "4 GB"})), "such as 4Gi"),
        (etcd(json!({"quotaBackendBytes": 1})), "from 16Mi to 1Ti"),
        (
            etcd(json!({"quotaBackendBytes": "2Ti"})),
            "from 16Mi to 1Ti",
        ),
        (
            etcd(json!({"autoCompactionMode": "revision"})),
            "give both, or none",
        ),
        (
            etcd(json!({"autoCompactionMode": "revision", "autoCompactionRetention": "8h"})),
            "a number of revisions, without a unit",
        ),
        (
            etcd(json!({"autoCompactionRetention": "a while"})),
            "a time such as 30m or 8h",
        ),
        (etcd(json!({"autoCompactionMode": "daily"})), "periodic"),
        (etcd(json!({"snapshotCount": 0})), "from 1 to 1000000"),
        (probes(json!({"livenessSeconds": 3})), "30 to 3600 seconds"),
        (probes(json!({"readinessSeconds": 600})), "1 to 60 seconds"),
        (probes(json!({"startupSeconds": -1})), "0 to 3600 seconds"),
    ] {
        is_refused(&other, spec, &[words]).await?;
    }
    let both = json!({
        "size": 1,
        "etcd": {
            "quotaBackendBytes": 67_108_864, "autoCompactionRetention": 1,
            "snapshotCount": null, "autoCompactionMode": null,
        },
        "TLS": null, "upgrade": null, "quorumRecovery": null, "paused": null, "repository": null,
        "pod": {
            "resources": {}, "probes": null, "labels": null, "affinity": null, "tolerations": null, "antiAffinity": null,
            "persistentVolumeClaimSpec": null, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": null},
            "securityContext": null, "priorityClassName": null, "busyboxImage": null, "ClusterDomain": null,
            "etcdEnv": [{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": "1"}],
        },
    });
    let both = scenario.create_healthy("both", both).await?;
    both.awaits_condition(
        "SpecApplied",
        ConditionStatus::False,
        "AcceptedNotUsed",
        &["ETCD_QUOTA_BACKEND_BYTES", "spec.etcd.quotaBackendBytes"],
        PATIENCE,
    )
    .await
    .map(drop)
}

fn variable_of<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    let container = pod.spec.as_ref()?.containers.first()?;
    let mut set = container.env.iter().flatten();
    set.find(|variable| variable.name == name)?.value.as_deref()
}

/// Seconds until a silent member is asked for life, is started anew, and is not led to.
fn patience_of(pod: &Pod) -> Option<[i32; 3]> {
    let container = pod.spec.as_ref()?.containers.first()?;
    let (lives, ready) = (
        container.liveness_probe.as_ref()?,
        container.readiness_probe.as_ref()?,
    );
    Some([
        lives.initial_delay_seconds?,
        lives.period_seconds? * lives.failure_threshold?,
        ready.period_seconds? * ready.failure_threshold?,
    ])
}
