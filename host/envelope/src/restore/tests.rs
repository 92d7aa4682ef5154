//! Effects on a restore, good and bad.

use contract::{
    Action, Effect, EtcdRestoreStatus, Millis, Observed, Resource, RestoreEffect, RestoreView,
    Snapshot, Transfer, TransferState,
};
use serde_json::{Value, json};

use crate::fixtures::{action, decision, fresh_of, resource, snapshot_of};
use crate::{BackupHead, Refusal, check, permit};

fn own() -> Resource {
    Resource {
        kind: "EtcdRestore".to_owned(),
        spec: json!({
            "etcdCluster": {"name": "a"}, "backupStorageType": "S3",
            "s3": {"path": "b/dir/k", "awsSecret": "aws"},
        }),
        status: Value::Null,
        ..resource()
    }
}

fn proves(key: &str) -> Action {
    let mut action = action(Effect::Restore(RestoreEffect::Prove {
        run: "run-1".to_owned(),
        key: key.to_owned(),
        within: Millis::seconds(60),
    }));
    action.pre.run = Some("run-1".to_owned());
    action
}

fn rules(action: Action, snapshot: &Snapshot) -> Vec<&'static str> {
    let refusals = permit(&decision(vec![action]), snapshot);
    let refusals = refusals.err().unwrap_or_default();
    refusals.iter().map(Refusal::rule).collect()
}

#[test]
fn the_backup_of_the_spec_is_read_and_no_other() {
    let snapshot = snapshot_of(own());
    assert_eq!(rules(proves("dir/k"), &snapshot), [""; 0]);
    assert_eq!(rules(proves("dir/other"), &snapshot), ["Backup"]);
    let mut unnamed = proves("dir/k");
    unnamed.pre.run = None;
    assert!(rules(unnamed, &snapshot).contains(&"MissingPrecondition"));
    let endless = action(Effect::Restore(RestoreEffect::Prove {
        run: "run-1".to_owned(),
        key: "dir/k".to_owned(),
        within: Millis(i64::MAX),
    }));
    assert!(rules(endless, &snapshot).contains(&"Backup"));
}

#[test]
fn one_reading_at_a_time() {
    let mut snapshot = snapshot_of(own());
    snapshot.restore = Some(Box::new(RestoreView {
        cluster: Observed::Absent,
        in_the_way: Observed::Absent,
        transfer: Some(Transfer {
            run: "run-0".to_owned(),
            state: TransferState::Running {
                bytes: 0,
                bytes_per_second: 0,
                trouble: None,
            },
        }),
    }));
    assert_eq!(rules(proves("dir/k"), &snapshot), ["Backup"]);
    let mut fresh = fresh_of(&own());
    assert!(check(&proves("dir/k"), &fresh).is_err(), "not written down");
    fresh.backup = BackupHead {
        run: Some("run-1".to_owned()),
        ..BackupHead::default()
    };
    assert!(check(&proves("dir/k"), &fresh).is_ok());
    fresh.backup.transfer = Some("run-0".to_owned());
    assert!(check(&proves("dir/k"), &fresh).is_err());
}

#[test]
fn only_the_cluster_of_the_spec_is_made_and_only_of_a_proven_backup() {
    let mut resource = own();
    resource.spec["clusterTemplate"] = json!({"replicas": 3});
    resource.status = json!({"proof": {"generation": resource.generation}});
    let seeing = |resource: &Resource, cluster| {
        let mut snapshot = snapshot_of(resource.clone());
        snapshot.restore = Some(Box::new(RestoreView {
            cluster,
            in_the_way: Observed::Seen(Vec::new()),
            transfer: None,
        }));
        snapshot
    };
    let creates = |name: &str, replicas: i64| {
        action(Effect::Restore(RestoreEffect::CreateCluster {
            name: name.to_owned(),
            spec: Box::new(json!({"replicas": replicas})),
        }))
    };
    let proven = seeing(&resource, Observed::Absent);
    assert_eq!(rules(creates("a", 3), &proven), [""; 0]);
    assert_eq!(rules(creates("b", 3), &proven), ["Backup"]);
    assert_eq!(rules(creates("a", 5), &proven), ["Backup"]);
    let there = Observed::Seen(Box::new(Resource::default()));
    assert_eq!(
        rules(creates("a", 3), &seeing(&resource, there)),
        ["Backup"]
    );
    resource.status = Value::Null;
    let unread = seeing(&resource, Observed::Absent);
    assert_eq!(rules(creates("a", 3), &unread), ["Backup"]);
}

#[test]
fn a_success_is_not_forgotten_and_each_kind_has_its_effects() {
    let mut snapshot = snapshot_of(own());
    snapshot.resource.status = json!({"succeeded": true});
    let mut update = action(Effect::Restore(RestoreEffect::UpdateStatus {
        status: Box::new(EtcdRestoreStatus::default()),
    }));
    update.pre.resource_version = Some("7".to_owned());
    assert_eq!(rules(update, &snapshot), ["Backup"]);
    assert!(rules(proves("dir/k"), &snapshot_of(resource())).contains(&"Backup"));
    let delete = action(Effect::Delete {
        kind: contract::ObjectKind::Pod,
        name: "a-1".to_owned(),
        grace_seconds: None,
    });
    assert!(rules(delete, &snapshot).contains(&"Backup"));
}

/// A cluster is given up for what the status of its EtcdRestore calls proven.
#[test]
fn a_backup_is_called_proven_only_after_it_was_read() {
    use contract::{SnapshotContent, SnapshotProof, Stored};
    let mut resource = own();
    resource.status = json!({"run": {"id": "run-1"}});
    let tells = |sha256: &str| {
        let proof = SnapshotProof {
            sha256: sha256.to_owned(),
            generation: 1,
            ..SnapshotProof::default()
        };
        let status = EtcdRestoreStatus {
            proof: Some(proof),
            ..EtcdRestoreStatus::default()
        };
        let mut tells = action(Effect::Restore(RestoreEffect::UpdateStatus {
            status: Box::new(status),
        }));
        tells.pre.resource_version = Some("7".to_owned());
        tells
    };
    let read = |run: &str, content: bool| {
        let content = content.then(|| SnapshotContent {
            revision: 1,
            version: String::new(),
        });
        let stored = Stored {
            bytes: 1,
            sha256: "abc".to_owned(),
            took: Millis(1),
            content,
            contents: None,
        };
        let mut snapshot = snapshot_of(resource.clone());
        snapshot.restore = Some(Box::new(RestoreView {
            cluster: Observed::Absent,
            in_the_way: Observed::Absent,
            transfer: Some(Transfer {
                run: run.to_owned(),
                state: TransferState::Done(stored),
            }),
        }));
        snapshot
    };
    assert_eq!(rules(tells("abc"), &read("run-1", true)), [""; 0]);
    assert_eq!(rules(tells("abd"), &read("run-1", true)), ["Backup"]);
    assert_eq!(rules(tells("abc"), &read("run-0", true)), ["Backup"]);
    assert_eq!(rules(tells("abc"), &read("run-1", false)), ["Backup"]);
    assert_eq!(
        rules(tells("abc"), &snapshot_of(resource.clone())),
        ["Backup"]
    );
    let mut known = resource.clone();
    known.status = json!({"proof": {"sha256": "abc", "generation": 1}});
    assert_eq!(rules(tells("abc"), &snapshot_of(known)), [""; 0]);
}

#[test]
fn a_restore_is_over_when_its_cluster_says_so() {
    let mut tells = action(Effect::Restore(RestoreEffect::UpdateStatus {
        status: Box::new(EtcdRestoreStatus {
            succeeded: true,
            ..EtcdRestoreStatus::default()
        }),
    }));
    tells.pre.resource_version = Some("7".to_owned());
    let seeing = |cluster| {
        let mut snapshot = snapshot_of(own());
        snapshot.restore = Some(Box::new(RestoreView {
            cluster,
            in_the_way: Observed::Absent,
            transfer: None,
        }));
        snapshot
    };
    let at = |uid: &str, stage: &str| {
        let restoration = json!({"restore": "r", "uid": uid, "stage": stage});
        Observed::Seen(Box::new(Resource {
            status: json!({"restoration": restoration}),
            ..resource()
        }))
    };
    assert_eq!(rules(tells.clone(), &seeing(at("uid-a", "Done"))), [""; 0]);
    for cluster in [
        at("uid-a", "Growing"),
        at("uid-b", "Done"),
        Observed::Seen(Box::new(resource())),
        Observed::Absent,
        Observed::Unknown("no answer".to_owned()),
    ] {
        assert_eq!(rules(tells.clone(), &seeing(cluster)), ["FalseStatus"]);
    }
    assert_eq!(rules(tells.clone(), &snapshot_of(own())), ["FalseStatus"]);
    let mut known = own();
    known.status = json!({"succeeded": true});
    assert_eq!(rules(tells, &snapshot_of(known)), [""; 0]);
}
