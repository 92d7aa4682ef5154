//! What a fresh read forbids to delete: what may be being restored, and what a wrong clock calls old.

use contract::BeingRestored;

use super::*;
use crate::reads;

const OLD: &str = "dir/etcd.backup_v1_2026-11-21-17:00:00";
const NEW: &str = "dir/etcd.backup_v2_2026-11-21-18:00:00";

fn read_by(by: &str, key: Option<&str>) -> Fresh {
    let one = BeingRestored {
        by: by.to_owned(),
        key: key.map(str::to_owned),
    };
    Fresh {
        being_restored: Observed::Seen(vec![one]),
        ..fresh(None, &[OLD, NEW])
    }
}

#[test]
fn what_may_be_being_restored_is_not_deleted() {
    assert!(reads(&delete(OLD)).stored);
    assert_eq!(refusal(&delete(OLD), &fresh(None, &[OLD, NEW])), "");
    assert_eq!(
        refusal(&delete(OLD), &read_by("EtcdRestore back", Some(OLD))),
        format!("EtcdRestore back may still read {OLD}, which stays until that is over")
    );
    let other = read_by("EtcdRestore back", Some(NEW));
    assert_eq!(refusal(&delete(OLD), &other), "");
    assert!(!refusal(&delete(OLD), &read_by("EtcdCluster shop", None)).is_empty());
    for unread in [Observed::Absent, Observed::Unknown("silent".to_owned())] {
        let fresh = Fresh {
            being_restored: unread,
            ..fresh(None, &[OLD, NEW])
        };
        let words = refusal(&delete(OLD), &fresh);
        assert!(
            words.contains("what is being restored could not be read"),
            "{words}"
        );
    }
}

/// A person asked for all of it to go, and for one of it to be restored.
#[test]
fn what_is_being_restored_stays_when_its_object_goes() {
    let mut all = backup(60);
    all.resource.spec["backupPolicy"]["whenDeleted"] = json!("Delete");
    all.resource.deleted = Some(Millis(1));
    let mut going = read_by("EtcdRestore back", Some(NEW));
    going.backup.taken_along = true;
    going.resource = Observed::Seen(ResourceHead::of(&all.resource));
    assert!(refusal(&delete(NEW), &going).contains("may still read"));
    assert_eq!(refusal(&delete(OLD), &going), "");
}

/// By a clock that is ahead all but the newest are too old to be kept.
#[test]
fn no_backup_goes_for_its_age_by_a_clock_that_differs_from_the_api_servers() {
    assert!(reads(&delete(OLD)).clock);
    let mut aged = backup(60);
    aged.resource.spec["backupPolicy"]["maxAgeInSecond"] = json!(604_800);
    let by = |ahead: Observed<i64>, resource: &Resource| {
        let fresh = Fresh {
            clock_ahead: ahead,
            backup: BackupHead {
                run: None,
                ..BackupHead::of(resource, None)
            },
            ..fresh(None, &[OLD, NEW])
        };
        refusal(&delete(OLD), &fresh)
    };
    let month = Observed::Seen(30 * 24 * 3_600_000);
    assert_eq!(by(Observed::Seen(1_000), &aged.resource), "");
    let words = by(month.clone(), &aged.resource);
    assert!(words.contains("calls no backup old"), "{words}");
    assert!(!by(Observed::Absent, &aged.resource).is_empty());
    assert!(!by(Observed::Unknown("silent".to_owned()), &aged.resource).is_empty());
    // Numbers go by no clock, and what nobody can read may go by one.
    assert_eq!(by(month.clone(), &backup(60).resource), "");
    let mut unreadable = backup(60);
    unreadable.resource.spec = json!("words");
    assert!(!by(month, &unreadable.resource).is_empty());
}

/// All of it goes, whatever its age.
#[test]
fn what_goes_with_its_object_goes_by_no_clock() {
    let mut aged = backup(60);
    aged.resource.spec["backupPolicy"]["maxAgeInSecond"] = json!(604_800);
    aged.resource.spec["backupPolicy"]["whenDeleted"] = json!("Delete");
    aged.resource.deleted = Some(Millis(1));
    let fresh = Fresh {
        resource: Observed::Seen(ResourceHead::of(&aged.resource)),
        clock_ahead: Observed::Seen(30 * 24 * 3_600_000),
        backup: BackupHead {
            run: None,
            ..BackupHead::of(&aged.resource, None)
        },
        ..fresh(None, &[OLD, NEW])
    };
    assert_eq!(refusal(&delete(NEW), &fresh), "");
}
