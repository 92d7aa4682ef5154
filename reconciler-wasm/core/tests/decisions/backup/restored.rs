//! Stored backups that may be being restored: neither retention nor the end of their object takes them.

use contract::{BeingRestored, FindingKind, OutcomeKind, PastOutcome};

use super::*;

const STORED: [&str; 4] = [
    "etcd.backup_v1_2026-11-18-07:00:00",
    "etcd.backup_v2_2026-11-18-08:00:00",
    "etcd.backup_v3_2026-11-18-09:00:00",
    "etcd.backup_v4_2026-11-18-10:00:00",
];

/// Four are stored and two are kept; the next one is due in an hour.
fn surplus() -> Backup {
    let rest = EtcdBackupStatus {
        succeeded: true,
        next_backup: Some("2026-11-18T12:06:40Z".to_owned()),
        ..EtcdBackupStatus::default()
    };
    let policy = json!({"backupIntervalInSecond": 3600, "maxBackups": 2});
    backup(policy).remembering(&rest).storing(&STORED)
}

/// The same, whose object is being deleted and takes all along.
fn going() -> Backup {
    let mut going = surplus();
    going.0.resource.spec["backupPolicy"]["whenDeleted"] = json!("Delete");
    going.0.resource.deleted = Some(Millis(CREATED));
    let own = "etcd.database.coreos.com/stored-backups";
    going.0.resource.finalizers = vec![own.to_owned()];
    going
}

fn restoring(mut backup: Backup, by: &str, key: Option<&str>) -> Backup {
    backup.view().being_restored = Observed::Seen(vec![BeingRestored {
        by: by.to_owned(),
        key: key.map(str::to_owned),
    }]);
    backup
}

/// What the condition says, and the first finding with it.
fn told(decision: &Decision) -> String {
    let first = &decision.report.findings[0];
    assert_eq!(first.reason, Reason::BackupsHeld);
    let conditions = status(decision).conditions;
    let told = conditions.iter().find(|one| one.kind == "Progressing");
    assert_eq!(told.map(|one| &one.message), Some(&first.message));
    first.message.clone()
}

/// The cluster that goes on from it is down by then, and its members fetch it one after the other.
#[test]
fn a_backup_that_an_etcdrestore_may_still_read_is_not_deleted() {
    let none = surplus().decide();
    assert_eq!(deleted(&none), STORED[..2]);
    let decision = restoring(surplus(), "EtcdRestore back", Some(STORED[0])).decide();
    assert_eq!(deleted(&decision), STORED[1..2]);
    let words = told(&decision);
    assert!(
        words.contains(STORED[0]) && words.contains("EtcdRestore back may still read it"),
        "{words}"
    );
    let elsewhere = restoring(surplus(), "EtcdRestore back", Some("another_v1")).decide();
    assert_eq!(deleted(&elsewhere), STORED[..2]);
    let kept = restoring(surplus(), "EtcdRestore back", Some(STORED[3])).decide();
    assert_eq!(deleted(&kept), STORED[..2]);
    assert!(!reasons(&kept).contains(&Reason::BackupsHeld));
}

#[test]
fn none_is_deleted_while_nobody_knows_which_one_is_being_restored() {
    let any = restoring(surplus(), "EtcdCluster shop", None).decide();
    assert_eq!(deleted(&any), Vec::<&str>::new());
    let words = told(&any);
    assert!(
        words.contains("EtcdCluster shop") && words.contains("and 1 more"),
        "{words}"
    );
    assert_eq!(any.requeue.unwrap().after, Millis::seconds(30));
    let mut unread = surplus();
    unread.view().being_restored = Observed::Unknown("forbidden".to_owned());
    let unread = unread.decide();
    assert_eq!(deleted(&unread), Vec::<&str>::new());
    assert!(told(&unread).contains("could not be read: forbidden"));
    let mut older = surplus();
    older.view().being_restored = Observed::Absent;
    let older = older.decide();
    assert_eq!(deleted(&older), Vec::<&str>::new());
    assert!(told(&older).contains("older than this module"));
    assert_eq!(older.report.findings[0].kind, FindingKind::Blocked);
}

#[test]
fn what_goes_with_its_object_waits_for_whoever_restores_it() {
    assert_eq!(deleted(&going().decide()), STORED);
    let decision = restoring(going(), "EtcdRestore back", Some(STORED[3])).decide();
    assert_eq!(deleted(&decision), STORED[..3]);
    let last = restoring(
        going().storing(&STORED[3..]),
        "EtcdRestore back",
        Some(STORED[3]),
    );
    let last = last.decide();
    assert!(deleted(&last).is_empty());
    assert!(
        !effects(&last)
            .iter()
            .any(|effect| matches!(effect, BackupEffect::Release { .. }))
    );
    let words = told(&last);
    assert!(
        words.contains("EtcdRestore back") && words.contains("whenDeleted to Retain"),
        "{words}"
    );
}

/// Nobody is told of a deletion again and again that does not happen.
#[test]
fn what_the_envelope_does_not_let_go_is_told_and_tried_again() {
    let mut refused = surplus();
    refused.0.outcomes = vec![PastOutcome {
        effect: "DeleteBackup".to_owned(),
        kind: None,
        target: STORED[0].to_owned(),
        outcome: OutcomeKind::Refused,
        message: "the operator's clock is 3600 s ahead of the API server's".to_owned(),
    }];
    let decision = refused.decide();
    assert_eq!(deleted(&decision), STORED[..2]);
    assert!(told(&decision).contains("3600 s ahead"));
    let events = decision.actions.iter().filter(|action| {
        matches!(&action.effect, Effect::Event { reason, .. } if reason == "BackupsDeleted")
    });
    assert_eq!(events.count(), 0);
    assert_eq!(decision.requeue.unwrap().after, Millis::seconds(30));
}
