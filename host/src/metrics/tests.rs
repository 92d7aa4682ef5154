//! What a scrape shows, and that docs/metrics.md lists it.

use std::collections::BTreeSet;

use contract::{Endpoint, EndpointStatus, Millis, Observed, Resource, Snapshot};
use serde_json::json;

use super::*;
use crate::observe::shelf::Scope;
use crate::recorder::{Header, Limits, ShadowRecord};
use crate::roster::Opinion;

fn key() -> ClusterKey {
    ClusterKey {
        dialect: contract::Dialect::Coreos,
        kind: contract::ResourceKind::EtcdCluster,
        namespace: "infra".to_owned(),
        name: "kv".to_owned(),
    }
}

fn resource() -> Resource {
    let condition = json!({"type": "Blocked", "status": "True"});
    let certificate =
        json!({"secret": "kv-tls", "key": "tls.crt", "notAfter": "2027-01-01T00:00:00Z"});
    let record = json!({
        "name": "kv-a", "id": "a0", "role": "Voter", "health": "Healthy",
        "since": "2026-01-01T00:00:00Z", "roleSince": "2026-01-01T00:00:00Z",
    });
    Resource {
        api_version: "etcd.database.coreos.com/v1beta2".to_owned(),
        kind: "EtcdCluster".to_owned(),
        namespace: "infra".to_owned(),
        name: "kv".to_owned(),
        uid: "r1".to_owned(),
        resource_version: "5".to_owned(),
        generation: 1,
        created: Millis(0),
        deleted: None,
        finalizers: Vec::new(),
        owner: None,
        labels: [].into(),
        annotations: [].into(),
        spec: json!({"size": 3}),
        status: json!({"phase": "Running", "conditions": [condition], "memberRecords": [record], "certificates": [certificate]}),
    }
}

fn snapshot() -> Snapshot {
    let status: EndpointStatus = serde_json::from_value(json!({
        "clusterId": "c1", "memberId": "a0", "version": "3.6.16", "raftIndex": 90, "raftAppliedIndex": 80,
        "dbSize": 4096, "dbSizeInUse": 1024, "quota": 8192,
    }))
    .expect("a status");
    let mut snapshot = Snapshot::bare(resource(), Millis(0), "0".repeat(32));
    snapshot.etcd.endpoints.push(Endpoint {
        terminating: false,
        pod: "kv-a".to_owned(),
        pod_uid: "p1".to_owned(),
        status: Observed::Seen(status),
    });
    snapshot
}

/// Metrics of an instance that has looked once at one cluster, with its caches.
fn looked(leadership: Leadership) -> (Metrics, Arc<World>) {
    let directory = tempfile::tempdir().expect("a directory");
    let header = Header::new(String::new(), String::new(), Millis(0));
    let recorder =
        Arc::new(Recorder::open(directory.path(), Limits::default(), header).expect("a recorder"));
    let world = Arc::new(World::new(&[Scope::All]));
    world.resources.put(key(), resource());
    let scraped = Scraped {
        world: Arc::clone(&world),
        recorder,
        leadership,
    };
    let metrics = Metrics::new(scraped);
    metrics.see(&key(), &snapshot());
    metrics.count_pass(&key(), PassEnd::Refused, Duration::from_millis(150));
    metrics.count_refusal("Paused", "sha256:1");
    let event = Effect::Event {
        kind: contract::EventType::Normal,
        reason: "Formed".to_owned(),
        note: "x".to_owned(),
    };
    metrics.count_effect(&event, OutcomeKind::Failed);
    metrics.show_modules(&[shown("next")]);
    metrics.count_opinion(&Opinion {
        record: ShadowRecord {
            name: "next".to_owned(),
            module: "sha256:1".to_owned(),
            fuel: Some(7),
            difference: Some("Delete Pod added".to_owned()),
            answer: None,
            failure: None,
            refused: false,
        },
        differs: true,
        failed: false,
    });
    (metrics, world)
}

fn shown(name: &str) -> ModuleShown {
    ModuleShown {
        name: name.to_owned(),
        role: "Shadow",
        digest: "sha256:1".to_owned(),
        version: "1.0.0".to_owned(),
    }
}

fn shows(page: &str, line: &str) {
    assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
}

#[test]
fn each_cluster_and_member_is_shown() {
    let (metrics, _) = looked(Leadership::alone());
    let page = metrics.render().expect("a page");
    let cluster = r#"{namespace="infra",name="kv"}"#;
    let member = r#"{namespace="infra",name="kv",member="kv-a"}"#;
    for line in [
        format!("binnacle_cluster_members_wanted{cluster} 3"),
        format!("binnacle_cluster_voters{cluster} 1"),
        format!("binnacle_cluster_voters_healthy{cluster} 1"),
        format!("binnacle_cluster_quorum{cluster} 1"),
        format!("binnacle_cluster_blocked{cluster} 1"),
        format!("binnacle_member_healthy{member} 1"),
        format!("binnacle_member_db_size_bytes{member} 4096"),
        format!("binnacle_member_db_in_use_bytes{member} 1024"),
        format!("binnacle_member_db_quota_bytes{member} 8192"),
        format!("binnacle_member_raft_lag_entries{member} 10"),
    ] {
        shows(&page, &line);
    }
}

/// Dashboards of the archived operator know these names, without the suffix of OpenMetrics.
#[test]
fn old_names_are_spelled_as_they_were() {
    let (metrics, _) = looked(Leadership::alone());
    let page = metrics.render().expect("a page");
    for line in [
        "etcd_operator_controller_clusters 1",
        "etcd_operator_controller_clusters_created 1",
        "etcd_operator_controller_clusters_deleted 0",
        "etcd_operator_cluster_reconcile_failed{Reason=\"DecisionRefused\"} 1",
        "etcd_operator_cluster_reconcile_failed{Reason=\"ActionFailed\"} 1",
        "etcd_operator_cluster_reconcile_duration_count{ClusterName=\"kv\"} 1",
    ] {
        shows(&page, line);
    }
}

#[test]
fn a_deleted_cluster_leaves_no_series() {
    let (metrics, world) = looked(Leadership::alone());
    world.resources.remove("infra", "kv");
    metrics.forget(&key());
    let page = metrics.render().expect("a page");
    assert!(!page.contains("\"kv\""), "{page}");
    shows(&page, "etcd_operator_controller_clusters 0");
    shows(&page, "etcd_operator_controller_clusters_deleted 1");
}

#[test]
fn who_does_not_lead_shows_no_cluster() {
    let (metrics, _) = looked(Leadership::elected());
    let page = metrics.render().expect("a page");
    assert!(!page.contains("binnacle_member_healthy{"), "{page}");
}

#[test]
fn a_changed_spec_counts_as_modified_and_a_look_does_not() {
    let (metrics, _) = looked(Leadership::alone());
    metrics.see(&key(), &snapshot());
    let mut edited = snapshot();
    edited.resource.generation = 2;
    metrics.see(&key(), &edited);
    let page = metrics.render().expect("a page");
    shows(&page, "etcd_operator_controller_clusters_modified 1");
    shows(&page, "etcd_operator_controller_clusters_created 1");
}

#[test]
fn a_shadow_is_counted_until_its_object_is_gone() {
    let (metrics, _) = looked(Leadership::alone());
    let page = metrics.render().expect("a page");
    for line in [
        r#"binnacle_module{name="next",role="Shadow",digest="sha256:1",version="1.0.0"} 1"#,
        r#"binnacle_shadow_decisions_total{name="next"} 1"#,
        r#"binnacle_shadow_differences_total{name="next"} 1"#,
        r#"binnacle_shadow_failures_total{name="next"} 0"#,
    ] {
        shows(&page, line);
    }
    metrics.show_modules(&[shown("other")]);
    let page = metrics.render().expect("a page");
    assert!(!page.contains("\"next\""), "{page}");
}

/// An alert on the age of a proof must see a backup that was never proven, too.
#[test]
fn a_backup_that_was_never_proven_counts_from_its_creation() {
    let (metrics, world) = looked(Leadership::alone());
    let backup = |name: &str, policy: serde_json::Value, status: serde_json::Value| {
        let key = ClusterKey {
            dialect: contract::Dialect::Coreos,
            kind: contract::ResourceKind::EtcdBackup,
            name: name.to_owned(),
            ..key()
        };
        let resource = Resource {
            kind: "EtcdBackup".to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
            created: Millis(1_000_000),
            spec: json!({"storageType": "S3", "backupPolicy": policy}),
            status,
            ..resource()
        };
        world.backups.put(key, resource);
    };
    let rehearsal = json!({"verdict": "Restores", "at": "2026-11-20T00:00:03Z", "lastSuccessDate": "2026-11-20T00:00:03Z"});
    let rhythm = json!({"verify": "restore", "backupIntervalInSecond": 60});
    backup("never", rhythm.clone(), json!({}));
    let mut suspended = rhythm;
    suspended["suspend"] = json!(true);
    backup("suspended", suspended, json!({}));
    backup(
        "proven",
        json!({"verify": "restore"}),
        json!({"succeeded": true, "rehearsal": rehearsal}),
    );
    backup("plain", json!({}), json!({"Reason": "no bucket"}));
    let page = metrics.render().expect("a page");
    let has = |line: &str| assert!(page.contains(line), "{line}\n{page}");
    has("binnacle_backup_proven_timestamp_seconds{namespace=\"infra\",name=\"never\"} 1000");
    has("binnacle_backup_proven_timestamp_seconds{namespace=\"infra\",name=\"proven\"} 1795132803");
    has("binnacle_backup_restores{namespace=\"infra\",name=\"proven\"} 1");
    has("binnacle_backup_last_success_timestamp_seconds{namespace=\"infra\",name=\"never\"} 1000");
    has("binnacle_backup_failed{namespace=\"infra\",name=\"plain\"} 1");
    assert!(!page.contains("proven_timestamp_seconds{namespace=\"infra\",name=\"plain\"}"));
    for ageless in ["plain", "proven", "suspended"] {
        let line =
            format!("last_success_timestamp_seconds{{namespace=\"infra\",name=\"{ageless}\"}}");
        assert!(!page.contains(&line), "{line}");
    }
}

/// An alert on age must see a schedule whose backups never come, whether it can be followed or not.
#[test]
fn a_schedule_ages_from_its_last_stored_backup_or_its_creation() {
    let (metrics, world) = looked(Leadership::alone());
    let schedule = |name: &str, spec: serde_json::Value, status: serde_json::Value| {
        let key = ClusterKey {
            dialect: contract::Dialect::Improbable,
            kind: contract::ResourceKind::EtcdBackupSchedule,
            name: name.to_owned(),
            ..key()
        };
        let resource = Resource {
            kind: "EtcdBackupSchedule".to_owned(),
            name: name.to_owned(),
            created: Millis(1_000_000),
            spec,
            status,
            ..resource()
        };
        world.schedules.put(key, resource);
    };
    let policy = json!({"policy": {"schedule": "@daily"}});
    schedule("never", policy.clone(), json!({}));
    schedule("wrong", json!("words"), json!({}));
    let last = json!({"lastSuccessfulTime": "2026-11-20T00:00:03Z"});
    schedule("stored", policy, last);
    schedule("suspended", json!({"policy": {"suspend": true}}), json!({}));
    let page = metrics.render().expect("a page");
    for (name, time) in [("never", 1000), ("wrong", 1000), ("stored", 1_795_132_803)] {
        let line = format!(
            "binnacle_backup_last_success_timestamp_seconds{{namespace=\"infra\",name=\"{name}\"}} {time}"
        );
        assert!(page.contains(&line), "{line}\n{page}");
    }
    assert!(!page.contains("name=\"suspended\""), "{page}");
}

/// What docs/examples/alerts.yaml asks for is there to be scraped.
#[test]
fn every_alert_asks_for_a_metric_that_there_is() {
    let documented = include_str!("../../../docs/metrics.md");
    let alerts = include_str!("../../../docs/examples/alerts.yaml");
    let words = alerts.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let asked: BTreeSet<&str> = words.filter(|word| word.starts_with("binnacle_")).collect();
    assert!(asked.len() > 3, "{asked:?}");
    for name in asked {
        assert!(documented.contains(&format!("| `{name}` |")), "{name}");
    }
}

/// Each metric of a scrape has a row in docs/metrics.md, and each row is of a metric.
#[test]
fn every_metric_is_documented() {
    let (metrics, _) = looked(Leadership::alone());
    let page = metrics.render().expect("a page");
    let rendered: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let text = include_str!("../../../docs/metrics.md");
    let documented: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert_eq!(rendered, documented);
}
