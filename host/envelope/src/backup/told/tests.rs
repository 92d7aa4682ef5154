//! What the snapshot shows may be said, and each thing that it does not show.

use contract::{BackupEffect, BackupView, Contents, Effect, RehearsalPod, Transfer};
use serde_json::{Value, json};

use super::*;
use crate::fixtures::{action, decision, resource, snapshot_of};
use crate::permit;

fn held() -> Value {
    json!({"run": {"id": "r1", "key": "k", "etcdVersion": "3.6.16", "etcdRevision": 5}})
}

fn contents() -> Contents {
    Contents {
        revision: 5,
        keys: 2,
        ..Contents::default()
    }
}

fn done() -> TransferState {
    TransferState::Done(Stored {
        bytes: 9,
        sha256: "abc".to_owned(),
        took: Millis(70),
        content: None,
        contents: Some(contents()),
    })
}

/// A backup taken once to `b/k`, with that status, whose host has moved that.
fn world(status: Value, transfer: Option<(&str, TransferState)>) -> Snapshot {
    let mut snapshot = snapshot_of(resource());
    snapshot.now = Millis(1_795_280_400_900);
    snapshot.resource.kind = "EtcdBackup".to_owned();
    snapshot.resource.spec = json!({
        "etcdEndpoints": ["http://a-client:2379"], "storageType": "S3",
        "s3": {"path": "b/k", "awsSecret": "aws"}, "backupPolicy": {"verify": "restore"},
    });
    snapshot.resource.status = status;
    snapshot.backup = Some(Box::new(BackupView {
        endpoints: Vec::new(),
        stored: Observed::Seen(Vec::new()),
        transfer: transfer.map(|(run, state)| Transfer {
            run: run.to_owned(),
            state,
        }),
        rehearsal: Observed::Absent,
        being_restored: Observed::Absent,
        wanted: None,
        repository: None,
    }));
    snapshot
}

/// What the reconciler says of the run `r1`.
fn said() -> EtcdBackupStatus {
    EtcdBackupStatus {
        succeeded: true,
        path: Some("b/k".to_owned()),
        sha256: Some("abc".to_owned()),
        size_bytes: Some(9),
        last_success_date: Some("2026-11-21T17:00:00Z".to_owned()),
        duration_milliseconds: Some(70),
        etcd_version: "3.6.16".to_owned(),
        etcd_revision: 5,
        contents: Some(contents()),
        ..EtcdBackupStatus::default()
    }
}

fn refused(status: &EtcdBackupStatus, snapshot: &Snapshot) -> String {
    let status = Box::new(status.clone());
    let mut update = action(Effect::Backup(BackupEffect::UpdateStatus { status }));
    update.pre.resource_version = Some("7".to_owned());
    let refusals = permit(&decision(vec![update]), snapshot);
    let refusals = refusals.err().unwrap_or_default();
    let words: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    words.join("; ")
}

#[test]
fn a_backup_is_called_stored_only_after_its_run_was_read_back() {
    assert_eq!(refused(&said(), &world(held(), Some(("r1", done())))), "");
    let running = TransferState::Running {
        bytes: 9,
        bytes_per_second: 1,
        trouble: None,
    };
    let failed = TransferState::Failed {
        why: "no".to_owned(),
        permanent: false,
    };
    for snapshot in [
        world(held(), None),
        world(held(), Some(("r0", done()))),
        world(held(), Some(("r1", running))),
        world(held(), Some(("r1", failed))),
        world(Value::Null, Some(("r1", done()))),
        world(
            json!({"run": {"id": "r0", "key": "k"}}),
            Some(("r1", done())),
        ),
    ] {
        let words = refused(&said(), &snapshot);
        assert!(words.contains("the recorded run has read back"), "{words}");
    }
}

#[test]
fn what_is_said_of_a_backup_is_what_was_read_of_it() {
    let seen = world(held(), Some(("r1", done())));
    let wrong: [fn(&mut EtcdBackupStatus); 10] = [
        |it| it.path = Some("evil/k".to_owned()),
        |it| it.path = None,
        |it| it.sha256 = Some("abd".to_owned()),
        |it| it.size_bytes = Some(8),
        |it| it.last_success_date = Some("2026-11-21T17:00:01Z".to_owned()),
        |it| it.duration_milliseconds = Some(0),
        |it| it.etcd_revision = 6,
        |it| it.etcd_version = "3.5.0".to_owned(),
        |it| it.contents = None,
        // Else the next pass could say so once more, of another time.
        |it| {
            it.run = Some(contract::BackupRun {
                id: "r1".to_owned(),
                ..contract::BackupRun::default()
            });
        },
    ];
    for change in wrong {
        let mut status = said();
        change(&mut status);
        assert!(!refused(&status, &seen).is_empty(), "{status:?}");
    }
}

#[test]
fn what_was_said_before_may_be_said_on_and_a_failure_needs_no_proof() {
    let before = json!(said());
    assert_eq!(refused(&said(), &world(before.clone(), None)), "");
    let mut later = said();
    later.sha256 = Some("abd".to_owned());
    assert!(!refused(&later, &world(before.clone(), None)).is_empty());
    let mut periodic = world(before, None);
    periodic.resource.spec["backupPolicy"] = json!({"backupIntervalInSecond": 60});
    let mut failed = said();
    failed.succeeded = false;
    failed.reason = "the store is full".to_owned();
    assert_eq!(refused(&failed, &periodic), "");
    // Nor is a failure taken back without another backup.
    periodic.resource.status = json!(failed);
    assert!(!refused(&said(), &periodic).is_empty());
}

fn run(id: &str, over: bool) -> RehearsalRun {
    RehearsalRun {
        id: id.to_owned(),
        key: "k".to_owned(),
        sha256: "abc".to_owned(),
        over,
        ..RehearsalRun::default()
    }
}

fn trying(run: Option<RehearsalRun>) -> EtcdBackupStatus {
    EtcdBackupStatus {
        rehearsal_run: run,
        ..said()
    }
}

#[test]
fn a_rehearsal_begins_where_the_spec_asks_for_it_and_after_the_one_before() {
    let between = |before: Option<RehearsalRun>, after, pod| {
        let mut snapshot = world(json!(trying(before)), None);
        if let Some(view) = &mut snapshot.backup {
            view.rehearsal = pod;
        }
        refused(&trying(after), &snapshot)
    };
    let begun = || Some(run("t1", false));
    let over = || Some(run("t1", true));
    let there = Observed::Seen(RehearsalPod {
        state: RehearsalState::Running {
            doing: "it fetches".to_owned(),
        },
        deleted: false,
    });
    let silent = Observed::Unknown("no answer".to_owned());
    assert_eq!(between(None, begun(), Observed::Absent), "");
    assert_eq!(between(begun(), begun(), there.clone()), "");
    assert_eq!(between(begun(), over(), there.clone()), "");
    assert_eq!(between(over(), None, Observed::Absent), "");
    for (before, after, pod) in [
        (begun(), None, Observed::Absent),
        (over(), None, there.clone()),
        (over(), None, silent),
        (over(), begun(), Observed::Absent),
        (over(), Some(run("t2", false)), Observed::Absent),
        (begun(), Some(run("t2", false)), there),
    ] {
        assert!(!between(before, after, pod).is_empty());
    }
    let mut unwanted = world(json!(said()), None);
    unwanted.resource.spec["backupPolicy"] = json!(null);
    let words = refused(&trying(begun()), &unwanted);
    assert!(words.contains("verify does not ask for"), "{words}");
}

#[test]
fn a_backup_is_called_proven_only_after_its_member_answered() {
    let answered = Observed::Seen(RehearsalPod {
        state: RehearsalState::Answered {
            contents: contents(),
            took: Millis(30),
        },
        deleted: false,
    });
    let silent = Observed::Seen(RehearsalPod {
        state: RehearsalState::Failed {
            container: None,
            why: "no room".to_owned(),
            permanent: false,
        },
        deleted: false,
    });
    let after = |before, change: fn(&mut Rehearsal), pod: &Observed<RehearsalPod>| {
        let mut snapshot = world(json!(trying(Some(before))), None);
        if let Some(view) = &mut snapshot.backup {
            view.rehearsal = pod.clone();
        }
        let mut rehearsal = Rehearsal {
            key: "k".to_owned(),
            sha256: "abc".to_owned(),
            verdict: RehearsalVerdict::Restores,
            last_success_date: Some("2026-11-21T17:00:00Z".to_owned()),
            duration_milliseconds: Some(30),
            contents: Some(contents()),
            ..Rehearsal::default()
        };
        change(&mut rehearsal);
        let mut status = trying(Some(run("t1", true)));
        status.rehearsal = Some(rehearsal);
        refused(&status, &snapshot)
    };
    let begun = || run("t1", false);
    assert_eq!(after(begun(), |_| {}, &answered), "");
    assert!(!after(begun(), |_| {}, &silent).is_empty());
    assert!(!after(begun(), |_| {}, &Observed::Absent).is_empty());
    assert!(!after(run("t1", true), |_| {}, &answered).is_empty());
    let wrong: [fn(&mut Rehearsal); 4] = [
        |it| it.key = "other".to_owned(),
        |it| it.sha256 = "abd".to_owned(),
        |it| it.contents = None,
        |it| it.duration_milliseconds = None,
    ];
    for change in wrong {
        assert!(!after(begun(), change, &answered).is_empty());
    }
    // What could not be tried needs no answer, and proves nothing.
    let untried: fn(&mut Rehearsal) = |it| {
        it.verdict = RehearsalVerdict::NotTried;
        it.last_success_date = None;
    };
    assert_eq!(after(begun(), untried, &silent), "");
    let dated: fn(&mut Rehearsal) = |it| it.verdict = RehearsalVerdict::NotTried;
    assert!(!after(begun(), dated, &silent).is_empty());
}
