//! Backups that the cluster waits for.

use contract::{BackupBefore, RiskyAct};

use super::*;

const SINCE: &str = "2026-11-18T11:06:40Z";

/// A backup of the cluster `shop` by this policy; the cluster waits for one before an upgrade.
fn wanted(policy: Value) -> Backup {
    let mut backup = backup(policy);
    backup.0.resource.spec["etcdEndpoints"] = json!(null);
    backup.0.resource.spec["clusterRef"] = json!({"name": "shop"});
    backup.view().wanted = Some(BackupBefore {
        act: RiskyAct::Upgrade,
        target: "image".to_owned(),
        since: SINCE.to_owned(),
    });
    backup
}

fn before(acts: &[&str]) -> Value {
    json!({"before": acts})
}

#[test]
fn a_backup_that_the_cluster_waits_for_is_due_two_seconds_later() {
    let early = wanted(before(&["upgrade"])).after(1).decide();
    assert_eq!(take(&early), None);
    let decision = wanted(before(&["upgrade"])).after(2).decide();
    let key = take(&decision).unwrap().key;
    assert_eq!(key, "etcd.backup_v100_2026-11-18-11:06:42");
    assert_eq!(status(&decision).next_backup, None);
    let other = wanted(before(&["restore"])).after(2);
    assert_eq!(take(&other.decide()), None);
    let mut unasked = wanted(before(&["upgrade"])).after(2);
    unasked.view().wanted = None;
    assert_eq!(take(&unasked.decide()), None);
    // It shifts no rhythm, and suspension is about the rhythm alone.
    let rhythm = json!({"before": ["upgrade"], "backupIntervalInSecond": 3600, "suspend": true});
    let decision = wanted(rhythm).after(60).decide();
    assert!(take(&decision).is_some());
    assert_eq!(
        status(&decision).next_backup.as_deref(),
        Some("2026-11-18T12:06:40Z")
    );
    let taken = EtcdBackupStatus {
        succeeded: true,
        last_success_date: Some("2026-11-18T11:07:00Z".to_owned()),
        duration_milliseconds: Some(5_000),
        ..EtcdBackupStatus::default()
    };
    let again = wanted(before(&["upgrade"])).remembering(&taken).after(60);
    assert_eq!(take(&again.decide()), None);
}

/// Found by the simulator: one that had ended in the second in which the act was asked for counted as taken before it,
/// without what was written in between.
#[test]
fn a_backup_counts_that_surely_began_after_it_was_asked_for() {
    let is_due = |ended: &str, took: i64| {
        let taken = EtcdBackupStatus {
            succeeded: true,
            last_success_date: Some(ended.to_owned()),
            duration_milliseconds: Some(took),
            ..EtcdBackupStatus::default()
        };
        let backup = wanted(before(&["upgrade"])).remembering(&taken).after(60);
        take(&backup.decide()).is_some()
    };
    assert!(is_due(SINCE, 0));
    assert!(is_due("2026-11-18T11:06:42Z", 1001));
    assert!(!is_due("2026-11-18T11:06:42Z", 1000));
}

#[test]
fn a_failure_before_an_act_is_tried_again_each_minute() {
    let begun = status(&wanted(before(&["upgrade"])).after(2).decide());
    let run = begun.run.clone().unwrap();
    let decision = wanted(before(&["upgrade"]))
        .remembering(&begun)
        .moving(&run.id, failed("wrong credentials", true))
        .decide();
    let ended = status(&decision);
    assert_eq!(ended.last_failure_date.as_deref(), Some(SINCE));
    let later = |seconds| {
        wanted(before(&["upgrade"]))
            .remembering(&ended)
            .after(seconds)
            .decide()
    };
    assert_eq!(take(&later(59)), None);
    assert!(take(&later(60)).is_some());
}

/// By a clock that fell behind none counts until the cluster asks anew, and a store is not filled meanwhile.
#[test]
fn one_that_does_not_count_is_taken_again_each_minute() {
    let taken = |ended: &str| EtcdBackupStatus {
        succeeded: true,
        last_success_date: Some(ended.to_owned()),
        duration_milliseconds: Some(0),
        ..EtcdBackupStatus::default()
    };
    let is_due = |ended: &str, seconds| {
        let mut backup = wanted(before(&["upgrade"])).remembering(&taken(ended));
        if let Some(wanted) = &mut backup.view().wanted {
            wanted.since = "2035-11-18T11:06:40Z".to_owned();
        }
        take(&backup.after(seconds).decide()).is_some()
    };
    assert!(is_due("2035-11-18T11:06:00Z", 0));
    assert!(!is_due(SINCE, 59));
    assert!(is_due(SINCE, 60));
}

#[test]
fn acts_need_a_cluster() {
    let decision = backup(before(&["upgrade"])).decide();
    assert_eq!(reasons(&decision), [Reason::InvalidSpec]);
}

/// A run that is begun anew after a restart is the one that was due, and takes no other's place.
#[test]
fn a_run_that_begins_anew_does_not_skip_the_next_one() {
    let policy = json!({"backupIntervalInSecond": 3600});
    let begun = status(&super::backup(policy.clone()).after(3600).decide());
    let next = begun.next_backup.clone();
    assert_eq!(next.as_deref(), Some("2026-11-18T13:06:40Z"));
    let again = super::backup(policy)
        .remembering(&begun)
        .after(3660)
        .decide();
    assert!(take(&again).is_some());
    assert_eq!(status(&again).next_backup, next);
}
