//! When the next one is due.

use super::*;

#[test]
fn a_periodic_backup_is_first_due_a_full_interval_after_its_creation() {
    let policy = json!({"backupIntervalInSecond": 3600});
    let early = backup(policy.clone()).after(3599).decide();
    assert_eq!(take(&early), None);
    assert_eq!(early.requeue.unwrap().after, Millis(1000));
    let due = backup(policy).after(3600).decide();
    let key = take(&due).unwrap().key;
    assert_eq!(key, "etcd.backup_v100_2026-11-18-12:06:40");
    let next = status(&due).next_backup;
    assert_eq!(next.as_deref(), Some("2026-11-18T13:06:40Z"));
}

fn planned(next: &str) -> EtcdBackupStatus {
    EtcdBackupStatus {
        next_backup: Some(next.to_owned()),
        ..EtcdBackupStatus::default()
    }
}

#[test]
fn a_schedule_is_kept_over_restarts_and_what_was_missed_is_told() {
    // It is 11:06:40 on 18 November; in Berlin an hour later.
    let policy = json!({"schedule": "30 12 * * *", "timeZone": "Europe/Berlin"});
    let early = backup(policy.clone()).decide();
    assert_eq!(take(&early), None);
    assert_eq!(early.requeue.unwrap().after, Millis::seconds(23 * 60 + 20));
    let due = backup(policy.clone())
        .remembering(&status(&early))
        .after(23 * 60 + 20)
        .decide();
    assert_eq!(
        take(&due).unwrap().key,
        "etcd.backup_v100_2026-11-18-11:30:00"
    );
    let next = status(&due).next_backup;
    assert_eq!(next.as_deref(), Some("2026-11-19T11:30:00Z"));
    let late = backup(policy)
        .remembering(&planned("2026-11-15T11:30:00Z"))
        .decide();
    assert!(take(&late).is_some());
    assert_eq!(
        (status(&late).missed, status(&late).next_backup),
        (2, Some("2026-11-18T11:30:00Z".to_owned()))
    );
}

/// What was planned by a schedule that is no more would be a backup that nobody asked for.
#[test]
fn an_edited_schedule_counts_from_now_on() {
    let decision = backup(json!({"schedule": "0 3 1 * *"}))
        .remembering(&planned("2026-11-18T11:00:00Z"))
        .decide();
    assert_eq!(take(&decision), None);
    assert_eq!(
        status(&decision).next_backup.as_deref(),
        Some("2026-12-01T03:00:00Z")
    );
}

#[test]
fn while_it_is_suspended_none_is_taken_and_none_is_missed() {
    let suspended = json!({"schedule": "0 * * * *", "suspend": true});
    let held = backup(suspended)
        .remembering(&planned("2026-11-18T05:00:00Z"))
        .decide();
    assert_eq!(take(&held), None);
    assert_eq!(
        (status(&held).missed, reasons(&held)),
        (0, vec![Reason::BackupsSuspended])
    );
    let again = backup(json!({"schedule": "0 * * * *"}))
        .remembering(&status(&held))
        .after(53 * 60 + 20)
        .decide();
    assert!(take(&again).is_some());
    assert_eq!(status(&again).missed, 0);
}

/// The rhythm stands in the status: a restart neither shifts nor repeats it.
#[test]
fn what_was_missed_is_told_and_made_good_by_one_backup_in_the_same_rhythm() {
    let policy = json!({"backupIntervalInSecond": 3600});
    let planned = EtcdBackupStatus {
        next_backup: Some("2026-11-18T12:06:40Z".to_owned()),
        ..EtcdBackupStatus::default()
    };
    let late = backup(policy)
        .remembering(&planned)
        .after(3600 * 3 + 1800)
        .decide();
    assert!(take(&late).is_some());
    let after = status(&late);
    assert_eq!(after.missed, 2);
    assert_eq!(after.next_backup.as_deref(), Some("2026-11-18T15:06:40Z"));
}

#[test]
fn a_periodic_backup_that_failed_waits_for_its_next_time_and_keeps_its_last_success() {
    let policy = json!({"backupIntervalInSecond": 3600});
    let running = EtcdBackupStatus {
        succeeded: true,
        last_success_date: Some("2026-11-18T11:06:40Z".to_owned()),
        next_backup: Some("2026-11-18T13:06:40Z".to_owned()),
        run: Some(BackupRun {
            id: "r".to_owned(),
            ..BackupRun::default()
        }),
        ..EtcdBackupStatus::default()
    };
    let ended = backup(policy.clone())
        .remembering(&running)
        .moving("r", failed("NoSuchBucket", true))
        .after(3600)
        .decide();
    let status = status(&ended);
    assert!(!status.succeeded && status.reason == "NoSuchBucket");
    assert_eq!(status.last_success_date, running.last_success_date);
    let next = backup(policy).remembering(&status).after(3660).decide();
    assert_eq!(take(&next), None);
}
