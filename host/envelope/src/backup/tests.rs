//! Effects on a backup that are its own, and each that is not.

use contract::{
    BackupView, EtcdBackupStatus, EtcdView, Observed, Preconditions, StoredObject, Transfer,
    TransferState,
};
use serde_json::json;

use super::*;
use crate::fixtures::{action, decision, fresh_of, resource, snapshot_of};
use crate::{ResourceHead, check, permit};

mod deletion;
mod rehearsal;

const ONCE: &str = "dir/etcd.backup";

fn backup(interval: i64) -> Snapshot {
    let mut snapshot = snapshot_of(resource());
    snapshot.resource.kind = "EtcdBackup".to_owned();
    snapshot.resource.spec = json!({
        "etcdEndpoints": ["http://a-client:2379"], "storageType": "S3",
        "s3": {"path": format!("bucket/{ONCE}"), "awsSecret": "aws"},
        "backupPolicy": {"backupIntervalInSecond": interval},
    });
    snapshot.resource.status = json!({"run": {"id": "r1"}});
    snapshot.now = Millis(1_795_280_400_000);
    let mut told = crate::fixtures::endpoint(1, false).status;
    if let Observed::Seen(status) = &mut told {
        status.revision = Some(1);
    }
    snapshot.backup = Some(Box::new(BackupView {
        endpoints: vec![contract::SourceEndpoint {
            url: "http://a-client:2379".to_owned(),
            status: told,
        }],
        stored: Observed::Seen(Vec::new()),
        transfer: None,
        rehearsal: Observed::Absent,
        being_restored: Observed::Seen(Vec::new()),
        wanted: None,
        repository: None,
    }));
    snapshot
}

fn take(key: &str, endpoint: &str) -> Action {
    let mut action = action(Effect::Backup(BackupEffect::Take(Take {
        run: "r1".to_owned(),
        endpoint: endpoint.to_owned(),
        key: key.to_owned(),
        within: Millis::seconds(60),
        witness: false,
    })));
    action.pre.run = Some("r1".to_owned());
    action
}

fn delete(key: &str) -> Action {
    let key = key.to_owned();
    action(Effect::Backup(BackupEffect::Delete { key }))
}

fn refusals(actions: Vec<Action>, snapshot: &Snapshot) -> String {
    let refusals = permit(&decision(actions), snapshot)
        .err()
        .unwrap_or_default();
    let words: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    words.join("; ")
}

fn fresh(run: Option<&str>, stored: &[&str]) -> Fresh {
    let object = |key: &&str| StoredObject {
        key: (*key).to_owned(),
        bytes: 1,
        run: None,
    };
    Fresh {
        object: Observed::Absent,
        etcd: EtcdView {
            membership: Observed::Absent,
            endpoints: Vec::new(),
            alarms: Observed::Absent,
        },
        backup: BackupHead {
            run: run.map(str::to_owned),
            transfer: None,
            rehearsal: None,
            taken_along: false,
            kept_by_age: false,
        },
        stored: Observed::Seen(stored.iter().map(object).collect()),
        being_restored: Observed::Seen(Vec::new()),
        ..fresh_of(&backup(0).resource)
    }
}

fn refusal(action: &Action, fresh: &Fresh) -> String {
    check(action, fresh)
        .err()
        .map_or_else(String::new, |refusal| refusal.to_string())
}

#[test]
fn a_backup_goes_to_exactly_its_key_from_its_own_endpoint() {
    let own = take(ONCE, "http://a-client:2379");
    assert_eq!(refusals(vec![own.clone()], &backup(0)), "");
    assert_eq!(refusal(&own, &fresh(Some("r1"), &[])), "");
    for key in [
        "dir/other",
        "dir/etcd.backup_v1_2026-11-21-17:00:00",
        "../x",
    ] {
        let words = refusals(vec![take(key, "http://a-client:2379")], &backup(0));
        assert!(
            words.contains("is not a name that this backup gives"),
            "{words}"
        );
    }
    let words = refusals(vec![take(ONCE, "http://evil:2379")], &backup(0));
    assert!(
        words.contains("is not an endpoint of this backup"),
        "{words}"
    );
}

#[test]
fn a_periodic_backup_has_names_of_its_own_shape_only() {
    let named = |key| refusals(vec![take(key, "http://a-client:2379")], &backup(60));
    assert_eq!(named("dir/etcd.backup_v1_2026-11-21-17:00:00"), "");
    assert!(!named(ONCE).is_empty());
    assert!(!named("dir/etcd.backup_v1_2026-11-21-17:00:00/x").is_empty());
}

#[test]
fn a_member_of_the_named_cluster_may_be_asked_and_nobody_else() {
    let mut snapshot = backup(0);
    snapshot.resource.spec["etcdEndpoints"] = json!(null);
    snapshot.resource.spec["clusterRef"] = json!({"name": "a"});
    let asked = |url: &str| refusals(vec![take(ONCE, url)], &snapshot);
    assert_eq!(asked("https://a-x1.a.ns.svc:2379"), "");
    assert!(!asked("https://a-x1.b.ns.svc:2379").is_empty());
    assert!(!asked("https://a-x1.a.other.svc:2379").is_empty());
    assert!(!asked("https://evil/a-x1.a.ns.svc:2379").is_empty());
}

#[test]
fn a_run_is_recorded_first_and_is_the_only_one() {
    let own = take(ONCE, "http://a-client:2379");
    let words = refusal(&own, &fresh(Some("r0"), &[]));
    assert_eq!(words, "the status does not hold the run r1");
    assert!(!refusal(&own, &fresh(None, &[])).is_empty());
    let mut busy = fresh(Some("r1"), &[]);
    busy.backup.transfer = Some("r0".to_owned());
    assert_eq!(
        refusal(&own, &busy),
        "the run r0 of this backup is under way"
    );
    let words = refusals(vec![own.clone(), own.clone()], &backup(0));
    assert!(words.contains("transfers"), "{words}");
    let mut snapshot = backup(0);
    if let Some(view) = &mut snapshot.backup {
        view.transfer = Some(Transfer {
            run: "r0".to_owned(),
            state: TransferState::Running {
                bytes: 1,
                bytes_per_second: 1,
                trouble: None,
            },
        });
    }
    assert!(!refusals(vec![own.clone()], &snapshot).is_empty());
    let mut unguarded = own;
    unguarded.pre = Preconditions {
        run: None,
        ..unguarded.pre
    };
    assert!(!refusals(vec![unguarded], &backup(0)).is_empty());
}

#[test]
fn an_old_backup_may_be_deleted_and_never_the_newest_nor_what_is_not_its_own() {
    let (old, new) = (
        "dir/etcd.backup_v9999_2026-11-21-17:00:00",
        "dir/etcd.backup_v10000_2026-11-21-16:00:00",
    );
    let mut limited = backup(60);
    limited.resource.spec["backupPolicy"]["maxBackups"] = json!(1);
    if let Some(view) = &mut limited.backup {
        view.stored = fresh(None, &[old, "dir/etcd.backup_v10001_2026-11-21-19:00:00"]).stored;
    }
    assert_eq!(refusals(vec![delete(old)], &limited), "");
    let newer = "dir/etcd.backup_v10001_2026-11-21-19:00:00";
    assert_eq!(refusal(&delete(old), &fresh(None, &[old, newer])), "");
    // By time it is the newest, by its number it is not: a clock went wrong, or the cluster began anew.
    assert!(!refusal(&delete(old), &fresh(None, &[old, new])).is_empty());
    let words = refusal(&delete(new), &fresh(None, &[old, new]));
    assert!(words.contains("is the newest backup there is"), "{words}");
    // The cluster began anew in between: neither the highest revision goes nor what was taken last.
    let (high, last) = (
        "dir/etcd.backup_v9999_2026-11-21-15:00:00",
        "dir/etcd.backup_v1_2026-11-21-18:00:00",
    );
    let lives = fresh(None, &[old, high, new, last]);
    assert_eq!(refusal(&delete(old), &lives), "");
    for kept in [new, last] {
        let words = refusal(&delete(kept), &lives);
        assert!(words.contains("is the newest backup there is"), "{words}");
    }
    assert!(!refusal(&delete(old), &fresh(None, &[old])).is_empty());
    assert!(!refusal(&delete(old), &fresh(None, &[new])).is_empty());
    assert!(!refusal(&delete(old), &fresh(Some("r1"), &[old, new])).is_empty());
    let mut unread = fresh(None, &[]);
    unread.stored = Observed::Unknown("silent".to_owned());
    assert!(!refusal(&delete(old), &unread).is_empty());
    for foreign in [ONCE, "dir/etcd.backup_vip", "other_v1_2026-11-21-17:00:00"] {
        assert!(!refusals(vec![delete(foreign)], &backup(60)).is_empty());
    }
}

#[test]
fn a_success_is_never_forgotten_by_a_backup_that_is_taken_once() {
    let mut snapshot = backup(0);
    snapshot.resource.status = json!({"succeeded": true});
    let update = |succeeded| {
        let status = EtcdBackupStatus {
            succeeded,
            ..EtcdBackupStatus::default()
        };
        let status = Box::new(status);
        let mut update = action(Effect::Backup(BackupEffect::UpdateStatus { status }));
        update.pre.resource_version = Some("7".to_owned());
        refusals(vec![update], &snapshot)
    };
    assert_eq!(update(true), "");
    assert!(!update(false).is_empty());
}

#[test]
fn effects_stay_with_their_kind() {
    let of_cluster = action(Effect::Compact { revision: 1 });
    let words = refusals(vec![of_cluster], &backup(0));
    assert!(
        words.contains("Compact is no effect of the kind EtcdBackup"),
        "{words}"
    );
    let words = refusals(
        vec![take(ONCE, "http://a-client:2379")],
        &snapshot_of(resource()),
    );
    assert!(
        words.contains("TakeBackup is no effect of the kind EtcdCluster"),
        "{words}"
    );
}

#[test]
fn only_the_archived_operators_finalizer_goes_and_only_at_the_end() {
    let release = |finalizer: &str| {
        let finalizer = finalizer.to_owned();
        action(Effect::Backup(BackupEffect::Release { finalizer }))
    };
    let mut going = backup(0);
    going.resource.deleted = Some(Millis(1));
    assert_eq!(refusals(vec![release(OLD_FINALIZER)], &going), "");
    assert!(!refusals(vec![release("other")], &going).is_empty());
    assert!(!refusals(vec![release(OLD_FINALIZER)], &backup(0)).is_empty());
    assert!(
        !refusals(
            vec![delete("dir/etcd.backup_v1_2026-11-21-17:00:00")],
            &going
        )
        .is_empty()
    );
}

#[test]
fn what_is_stored_goes_with_its_object_by_consent_alone() {
    let newest = "dir/etcd.backup_v2_2026-11-21-17:00:00";
    let all = [newest, "dir/etcd.backup_v1_2026-11-21-17:00:00"];
    let policy = |when: &str, is_going: bool| {
        let mut snapshot = backup(60);
        snapshot.resource.spec["backupPolicy"]["whenDeleted"] = json!(when);
        snapshot.resource.deleted = is_going.then_some(Millis(1));
        snapshot
    };
    let world = |snapshot: &Snapshot| {
        let mut fresh = fresh(None, &all);
        fresh.resource = Observed::Seen(ResourceHead::of(&snapshot.resource));
        fresh.backup.taken_along = is_taken_along(&snapshot.resource);
        fresh
    };
    let going = policy("Delete", true);
    assert_eq!(refusals(vec![delete(newest)], &going), "");
    assert_eq!(refusal(&delete(newest), &world(&going)), "");
    let foreign = refusals(vec![delete("dir/other_v2_2026-11-21-17:00:00")], &going);
    assert!(
        foreign.contains("is not a name that this backup gives"),
        "{foreign}"
    );
    let under_way = BackupHead {
        run: Some("r1".to_owned()),
        ..world(&going).backup
    };
    let under_way = Fresh {
        backup: under_way,
        ..world(&going)
    };
    assert!(!refusal(&delete(newest), &under_way).is_empty());
    let retained = policy("Retain", true);
    assert!(!refusals(vec![delete(newest)], &retained).is_empty());
    assert!(!refusal(&delete(newest), &world(&retained)).is_empty());
    let living = policy("Delete", false);
    assert!(!refusal(&delete(newest), &world(&living)).is_empty());
}

#[test]
fn a_backup_taken_once_goes_only_if_it_was_stored_and_only_at_the_end() {
    let mut going = backup(0);
    going.resource.spec["backupPolicy"] = json!({"whenDeleted": "Delete"});
    assert!(!refusals(vec![delete(ONCE)], &going).is_empty());
    going.resource.deleted = Some(Millis(1));
    assert!(!refusals(vec![delete(ONCE)], &going).is_empty());
    going.resource.status = json!({"succeeded": true});
    assert_eq!(refusals(vec![delete(ONCE)], &going), "");
}

#[test]
fn a_finalizer_is_put_on_only_where_the_spec_asks_for_it() {
    let hold = |finalizer: &str| {
        let finalizer = finalizer.to_owned();
        action(Effect::Backup(BackupEffect::Hold { finalizer }))
    };
    let mut asking = backup(60);
    assert!(!refusals(vec![hold(STORED_FINALIZER)], &asking).is_empty());
    asking.resource.spec["backupPolicy"]["whenDeleted"] = json!("Delete");
    assert_eq!(refusals(vec![hold(STORED_FINALIZER)], &asking), "");
    assert!(!refusals(vec![hold(OLD_FINALIZER)], &asking).is_empty());
    asking.resource.deleted = Some(Millis(1));
    assert!(!refusals(vec![hold(STORED_FINALIZER)], &asking).is_empty());
}

/// The object under that name is the backup: another run would write over it.
#[test]
fn a_backup_that_is_taken_once_and_stored_is_not_taken_again() {
    let mut stored = backup(0);
    stored.resource.status = json!({"succeeded": true, "run": {"id": "r1"}});
    assert_ne!(
        refusals(vec![take(ONCE, "http://a-client:2379")], &stored),
        ""
    );
}

/// Whatever is newer than a name of the year 9999 may be deleted for ever.
#[test]
fn a_backup_is_named_by_what_its_member_says_and_by_the_time() {
    let forged = "dir/etcd.backup_v9223372036854775807_9999-12-31-23:59:59";
    let real = "dir/etcd.backup_v5000_2026-11-21-17:00:00";
    let words = refusals(vec![take(forged, "http://a-client:2379")], &backup(60));
    // With it in the store every true backup is an old one.
    assert_eq!(refusal(&delete(real), &fresh(None, &[forged, real])), "");
    assert_ne!(words, "");
}

#[test]
fn a_periodic_backup_is_not_written_over_another_one() {
    let there = "dir/etcd.backup_v5000_2026-11-21-17:00:00";
    let mut snapshot = backup(60);
    if let Some(view) = &mut snapshot.backup {
        view.stored = Observed::Seen(vec![StoredObject {
            key: there.to_owned(),
            bytes: 1,
            run: None,
        }]);
    }
    let words = refusals(vec![take(there, "http://a-client:2379")], &snapshot);
    assert!(words.contains("is stored already"), "{words}");
}

/// Nobody who kept ten asked for nine to go.
#[test]
fn no_more_backups_are_deleted_than_the_spec_lets_go() {
    let keys: Vec<String> = (1..=3)
        .map(|number| format!("dir/etcd.backup_v{number}_2026-11-21-17:00:0{number}"))
        .collect();
    let stored: Vec<StoredObject> = keys
        .iter()
        .map(|key| StoredObject {
            key: key.clone(),
            bytes: 1,
            run: None,
        })
        .collect();
    for policy in [json!({}), json!({"maxBackups": 10})] {
        let mut snapshot = backup(60);
        for (name, value) in policy.as_object().into_iter().flatten() {
            snapshot.resource.spec["backupPolicy"][name] = value.clone();
        }
        if let Some(view) = &mut snapshot.backup {
            view.stored = Observed::Seen(stored.clone());
        }
        assert_ne!(refusals(vec![delete(&keys[0])], &snapshot), "", "{policy}");
    }
}

#[test]
fn a_member_under_a_strangers_domain_is_not_asked() {
    let mut snapshot = backup(0);
    snapshot.resource.spec["etcdEndpoints"] = json!(null);
    snapshot.resource.spec["clusterRef"] = json!({"name": "a"});
    for url in [
        "https://a-x1.a.ns.svc.evil.example:2379",
        "http://[::1]:80?.a.ns.svc:2379",
    ] {
        assert_ne!(refusals(vec![take(ONCE, url)], &snapshot), "", "{url}");
    }
}
