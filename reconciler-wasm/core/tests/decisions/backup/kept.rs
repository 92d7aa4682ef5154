//! What is kept of those that are stored, and what older operators left.

use super::*;

fn at_rest(max: i64) -> Backup {
    let rest = EtcdBackupStatus {
        succeeded: true,
        next_backup: Some("2026-11-18T12:06:40Z".to_owned()),
        ..EtcdBackupStatus::default()
    };
    backup(json!({"backupIntervalInSecond": 3600, "maxBackups": max})).remembering(&rest)
}

/// The archived operator sorted names as text and deleted the newest when the revision gained a digit.
#[test]
fn the_oldest_revisions_go_counted_as_numbers_and_foreign_names_stay() {
    let decision = at_rest(2)
        .storing(&[
            "etcd.backup_v10000_2026-11-18-10:00:00",
            "etcd.backup_v998_2026-11-18-08:00:00",
            "etcd.backup_v9999_2026-11-18-09:00:00",
            "etcd.backup_vip",
            "etcd.backup_v1_2026-11-18-08:00:00.bak",
        ])
        .decide();
    assert_eq!(deleted(&decision), ["etcd.backup_v998_2026-11-18-08:00:00"]);
    assert_eq!(status(&decision).stored_backups, Some(3));
}

#[test]
fn nothing_is_deleted_while_a_run_is_under_way_or_the_store_is_not_known() {
    let many = [
        "etcd.backup_v1_2026-11-18-08:00:00",
        "etcd.backup_v2_2026-11-18-09:00:00",
        "etcd.backup_v3_2026-11-18-10:00:00",
    ];
    let due = at_rest(1).storing(&many).after(3600).decide();
    assert!(take(&due).is_some() && deleted(&due).is_empty());
    let mut unknown = at_rest(1);
    unknown.view().stored = Observed::Unknown("silent".to_owned());
    assert!(deleted(&unknown.decide()).is_empty());
    assert_eq!(deleted(&at_rest(1).storing(&many).decide()).len(), 2);
}

/// Old objects carry it, and nobody else would ever take it off.
#[test]
fn the_finalizer_of_the_archived_operator_is_taken_off_and_nothing_is_deleted() {
    let mut going = at_rest(1).storing(&["etcd.backup_v1_2026-11-18-08:00:00"]);
    going.0.resource.deleted = Some(Millis(CREATED));
    going.0.resource.finalizers = vec!["other".to_owned(), "backup-operator-periodic".to_owned()];
    let decision = going.decide();
    assert!(matches!(
        effects(&decision).as_slice(),
        [BackupEffect::Release { finalizer }] if finalizer == "backup-operator-periodic"
    ));
}

#[test]
fn a_status_that_cannot_be_read_stops_everything() {
    let mut odd = backup(json!(null));
    odd.0.resource.status = json!({"succeeded": "perhaps"});
    let decision = odd.decide();
    assert_eq!(effects(&decision), Vec::<&BackupEffect>::new());
    assert_eq!(reasons(&decision), [Reason::UnreadableStatus]);
}

/// The archived operator stored null until the first success.
#[test]
fn a_status_as_the_archived_operator_left_it_is_read() {
    let mut old = backup(json!(null));
    old.0.resource.status = json!({
        "succeeded": true, "etcdVersion": "3.2.13", "etcdRevision": 7, "lastSuccessDate": null,
    });
    assert_eq!(reasons(&old.decide()), [Reason::AsSpecified]);
}
