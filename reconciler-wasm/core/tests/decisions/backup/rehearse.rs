//! Whether the newest backup restores: when it is tried, and what counts as a proof.

use contract::{
    ConditionStatus, Contents, RehearsalPod, RehearsalRun, RehearsalState, RehearsalVerdict,
    Rehearse,
};

use super::*;

/// 18 November 2026, 11:06:40 UTC.
const KEY: &str = "etcd.backup_v100_2026-11-18-11:00:00";

fn contents() -> Contents {
    Contents {
        revision: 100,
        keys: 12_004,
        hash: 77,
        compact_revision: 3,
    }
}

/// A periodic backup at rest, whose newest is stored and was never tried.
fn at_rest(policy: Value) -> (Backup, EtcdBackupStatus) {
    let mut all = json!({"backupIntervalInSecond": 3600, "verify": "restore"});
    let all_fields = all.as_object_mut().unwrap();
    all_fields.extend(policy.as_object().cloned().unwrap_or_default());
    let mut backup = backup(all);
    backup.0.operator_image = Some("binnacle:dev".to_owned());
    let status = EtcdBackupStatus {
        succeeded: true,
        etcd_version: "3.6.16".to_owned(),
        etcd_revision: 100,
        next_backup: Some("2026-11-18T12:00:00Z".to_owned()),
        path: Some(format!("bucket/{KEY}")),
        sha256: Some("ab".repeat(32)),
        contents: Some(contents()),
        ..EtcdBackupStatus::default()
    };
    (backup.remembering(&status), status)
}

fn rehearse(decision: &Decision) -> Option<Rehearse> {
    effects(decision)
        .into_iter()
        .find_map(|effect| match effect {
            BackupEffect::Rehearse(rehearse) => Some((**rehearse).clone()),
            _ => None,
        })
}

fn ends(decision: &Decision) -> bool {
    effects(decision)
        .iter()
        .any(|effect| matches!(effect, BackupEffect::EndRehearsal { .. }))
}

impl Backup {
    fn with_pod(mut self, state: RehearsalState) -> Self {
        let pod = RehearsalPod {
            state,
            deleted: false,
        };
        self.view().rehearsal = Observed::Seen(pod);
        self
    }
}

/// What comes of a rehearsal that is under way and stands like this.
fn after(state: RehearsalState) -> (Decision, EtcdBackupStatus) {
    let (backup, _) = at_rest(json!({}));
    let begun = status(&backup.decide());
    let decision = backup.remembering(&begun).with_pod(state).decide();
    let after = status(&decision);
    (decision, after)
}

fn answered(contents: Contents) -> RehearsalState {
    RehearsalState::Answered {
        contents,
        took: Millis(3_149),
    }
}

fn restorable(status: &EtcdBackupStatus) -> Option<ConditionStatus> {
    let mut conditions = status.conditions.iter();
    let own = conditions.find(|condition| condition.kind == "Restorable");
    own.map(|condition| condition.status)
}

fn failed_in(container: &str, permanent: bool) -> RehearsalState {
    RehearsalState::Failed {
        container: Some(container.to_owned()),
        why: "no".to_owned(),
        permanent,
    }
}

#[test]
fn each_backup_is_tried_once_it_is_stored() {
    let (backup, rest) = at_rest(json!({}));
    let decision = backup.decide();
    let wanted = rehearse(&decision).unwrap();
    let written = status(&decision).rehearsal_run.unwrap();
    assert_eq!((&wanted.run, &wanted.key), (&written.id, &KEY.to_owned()));
    assert_eq!(wanted.image, "quay.io/coreos/etcd:v3.6.16");
    assert_eq!((wanted.revision, wanted.sha256), (100, "ab".repeat(32)));
    // The member is asked for what the backup will be compared with.
    assert!(
        take(&at_rest(json!({})).0.after(3600).decide())
            .unwrap()
            .witness
    );
    let (_, tried) = after(answered(contents()));
    let again = at_rest(json!({})).0.remembering(&EtcdBackupStatus {
        rehearsal_run: None,
        ..tried.clone()
    });
    assert_eq!(rehearse(&again.decide()), None);
    let newer = EtcdBackupStatus {
        sha256: Some("cd".repeat(32)),
        rehearsal_run: None,
        ..tried
    };
    let again = at_rest(json!({})).0.remembering(&newer).decide();
    assert!(rehearse(&again).is_some());
    let none = super::backup(json!({"backupIntervalInSecond": 3600})).remembering(&rest);
    assert_eq!(rehearse(&none.decide()), None);
}

#[test]
fn a_backup_that_is_taken_once_is_tried_once() {
    let mut once = super::backup(json!({"verify": "restore"}));
    once.0.operator_image = Some("binnacle:dev".to_owned());
    let over = EtcdBackupStatus {
        path: Some("bucket/etcd.backup".to_owned()),
        next_backup: None,
        ..at_rest(json!({})).1
    };
    let once = once.remembering(&over);
    let decision = once.decide();
    assert!(rehearse(&decision).is_some() && take(&decision).is_none());
    let begun = status(&decision);
    let decision = once
        .remembering(&begun)
        .with_pod(answered(contents()))
        .decide();
    let tried = status(&decision);
    assert_eq!(
        tried.rehearsal.as_ref().unwrap().verdict,
        RehearsalVerdict::Restores
    );
    assert!(tried.succeeded);
}

#[test]
fn a_schedule_of_its_own_decides_when_it_is_tried() {
    let weekly = json!({"verifySchedule": "0 12 * * *", "timeZone": "Europe/Berlin"});
    let (backup, rest) = at_rest(weekly.clone());
    let decision = backup.decide();
    // 12:00 in Berlin was 11:00 UTC; the next one is tomorrow's.
    assert_eq!(rehearse(&decision), None);
    let planned = status(&decision).next_rehearsal;
    assert_eq!(planned.as_deref(), Some("2026-11-19T11:00:00Z"));
    let due = EtcdBackupStatus {
        next_rehearsal: Some("2026-11-18T11:00:00Z".to_owned()),
        ..rest
    };
    let decision = at_rest(weekly).0.remembering(&due).decide();
    assert!(rehearse(&decision).is_some());
    assert_eq!(
        status(&decision).next_rehearsal.as_deref(),
        Some("2026-11-19T11:00:00Z")
    );
}

#[test]
fn only_equal_contents_are_a_proof() {
    let (decision, proven) = after(answered(contents()));
    assert_eq!(
        proven.restores.as_deref(),
        Some("yes, 2026-11-18, 3.1 s, 12,004 keys")
    );
    assert_eq!(restorable(&proven), Some(ConditionStatus::True));
    assert!(ends(&decision) && proven.rehearsal_run.unwrap().over);
    for (other, word) in [
        (
            Contents {
                revision: 99,
                ..contents()
            },
            "revision",
        ),
        (
            Contents {
                keys: 12_003,
                ..contents()
            },
            "number of keys",
        ),
        (
            Contents {
                hash: 78,
                ..contents()
            },
            "hash",
        ),
    ] {
        let (_, refuted) = after(answered(other));
        assert_eq!(restorable(&refuted), Some(ConditionStatus::False));
        let words = refuted.restores.unwrap();
        assert!(
            words.starts_with("no, 2026-11-18: its") && words.contains(word),
            "{words}"
        );
        assert_eq!(refuted.rehearsal.unwrap().last_success_date, None);
    }
}

/// etcd's hash depends on how far the history was compacted.
#[test]
fn hashes_after_another_compaction_are_not_compared_and_that_is_said() {
    let (_, proven) = after(answered(Contents {
        hash: 78,
        compact_revision: 4,
        ..contents()
    }));
    assert_eq!(
        proven.restores.as_deref(),
        Some("yes, 2026-11-18, 3.1 s, 12,004 keys, hash not compared")
    );
}

#[test]
fn without_a_witness_the_revision_counts_alone() {
    let (backup, rest) = at_rest(json!({}));
    let unseen = EtcdBackupStatus {
        contents: None,
        ..rest
    };
    let begun = status(&backup.remembering(&unseen).decide());
    // What was stored meanwhile is another backup.
    let newer = EtcdBackupStatus {
        etcd_revision: 500,
        ..begun
    };
    let told = |revision| {
        let found = Contents {
            revision,
            ..contents()
        };
        let decision = at_rest(json!({}))
            .0
            .remembering(&newer)
            .with_pod(answered(found));
        status(&decision.decide()).restores.unwrap()
    };
    assert!(told(101).ends_with("hash not compared"));
    assert!(told(99).starts_with("no, "));
}

#[test]
fn what_could_not_be_tried_is_tried_again_and_is_no_verdict() {
    for state in [
        failed_in("fetch", false),
        RehearsalState::Failed {
            container: None,
            why: "Evicted: no room".to_owned(),
            permanent: false,
        },
    ] {
        let (_, untried) = after(state);
        assert_eq!(restorable(&untried), Some(ConditionStatus::Unknown));
        let last = untried.rehearsal.clone().unwrap();
        assert_eq!(last.verdict, RehearsalVerdict::NotTried);
        assert!(
            untried
                .restores
                .as_ref()
                .unwrap()
                .starts_with("not tried, ")
        );
        let rest = EtcdBackupStatus {
            rehearsal_run: None,
            next_backup: Some("2026-11-18T21:00:00Z".to_owned()),
            ..untried
        };
        let later = |seconds| {
            at_rest(json!({"backupIntervalInSecond": 36_000}))
                .0
                .remembering(&rest)
                .after(seconds)
        };
        assert_eq!(rehearse(&later(3_500).decide()), None);
        assert!(rehearse(&later(3_600).decide()).is_some());
    }
    for state in [
        failed_in("fetch", true),
        failed_in("restore", false),
        failed_in("witness", true),
    ] {
        let (_, refuted) = after(state);
        assert_eq!(
            refuted.rehearsal.unwrap().verdict,
            RehearsalVerdict::DoesNot
        );
    }
}

/// A proof of before is not forgotten for a try that failed.
#[test]
fn the_last_proof_stays_known() {
    let (_, proven) = after(answered(contents()));
    let before = proven.rehearsal.clone().unwrap().last_success_date;
    let newer = EtcdBackupStatus {
        sha256: Some("cd".repeat(32)),
        rehearsal_run: None,
        ..proven
    };
    let begun = status(&at_rest(json!({})).0.remembering(&newer).after(60).decide());
    let failed = at_rest(json!({}))
        .0
        .remembering(&begun)
        .after(70)
        .with_pod(failed_in("restore", true))
        .decide();
    let last = status(&failed).rehearsal.unwrap();
    assert_eq!(last.verdict, RehearsalVerdict::DoesNot);
    assert!(before.is_some() && last.last_success_date == before);
}

#[test]
fn a_rehearsal_is_followed_over_restarts_and_ends_in_time() {
    let (backup, _) = at_rest(json!({"timeoutInSecond": 600}));
    let begun = status(&backup.decide());
    let run = begun.rehearsal_run.clone().unwrap();
    let at = |seconds| {
        at_rest(json!({"timeoutInSecond": 600}))
            .0
            .remembering(&begun)
            .after(seconds)
    };
    // Its pod was not made: the operator was ended in between.
    assert_eq!(rehearse(&at(5).decide()).unwrap().run, run.id);
    let runs = || RehearsalState::Running {
        doing: "restore runs".to_owned(),
    };
    let going = at(5).with_pod(runs()).decide();
    assert!(reasons(&going).contains(&Reason::RehearsalUnderWay) && !ends(&going));
    let late = status(&at(600).with_pod(runs()).decide());
    assert!(
        late.restores
            .unwrap()
            .ends_with("it took longer than 600 s; at last restore runs")
    );
    let mut unread = at(600);
    unread.view().rehearsal = Observed::Unknown("silent".to_owned());
    assert!(!ends(&unread.decide()));
    // Over, it is forgotten once its pod is gone, and not before.
    let over = EtcdBackupStatus {
        rehearsal_run: Some(RehearsalRun { over: true, ..run }),
        ..begun.clone()
    };
    assert!(ends(
        &at_rest(json!({}))
            .0
            .remembering(&over)
            .with_pod(runs())
            .decide()
    ));
    let gone = at_rest(json!({})).0.remembering(&over).decide();
    assert_eq!(status(&gone).rehearsal_run, None);
}

#[test]
fn what_is_being_restored_is_not_deleted() {
    let surplus = ["etcd.backup_v1_2026-11-18-08:00:00", KEY];
    let policy = json!({"maxBackups": 1});
    let (rest, status_of_rest) = at_rest(policy.clone());
    let begun = status(&rest.decide());
    let busy = at_rest(policy.clone())
        .0
        .remembering(&begun)
        .storing(&surplus);
    assert!(deleted(&busy.decide()).is_empty());
    let idle = at_rest(policy)
        .0
        .remembering(&status_of_rest)
        .storing(&surplus);
    assert_eq!(
        deleted(&idle.decide()),
        ["etcd.backup_v1_2026-11-18-08:00:00"]
    );
}

#[test]
fn what_keeps_it_from_being_tried_is_said() {
    let (mut backup, _) = at_rest(json!({}));
    backup.0.operator_image = None;
    let decision = backup.decide();
    assert!(
        reasons(&decision).contains(&Reason::RehearsalWaiting) && rehearse(&decision).is_none()
    );
    let (mut backup, _) = at_rest(json!({}));
    backup.0.secrets.insert("aws".to_owned(), Observed::Absent);
    assert!(rehearse(&backup.decide()).is_none());
    for policy in [
        json!({"verify": "often"}),
        json!({"verify": null, "verifySchedule": "@daily"}),
    ] {
        assert_eq!(reasons(&at_rest(policy).0.decide()), [Reason::InvalidSpec]);
    }
}

/// The envelope makes no pod for a backup of another place, and refuses the whole decision for it.
#[test]
fn a_rehearsal_whose_pod_is_not_there_ends_when_it_cannot_be_made_any_more() {
    let (backup, _) = at_rest(json!({}));
    let begun = status(&backup.decide());
    let ended = |backup: Backup| {
        let decision = backup.decide();
        assert!(rehearse(&decision).is_none());
        let after = status(&decision);
        assert_eq!(restorable(&after), Some(ConditionStatus::Unknown));
        after.restores.unwrap_or_default()
    };
    let mut moved = at_rest(json!({})).0.remembering(&begun).after(5);
    moved.0.resource.spec["s3"]["path"] = json!("bucket/elsewhere");
    let words = ended(moved);
    assert!(words.contains("another place"), "{words}");
    let mut unknown = at_rest(json!({})).0.remembering(&begun).after(5);
    unknown.0.operator_image = None;
    let words = ended(unknown);
    assert!(words.contains("its own image"), "{words}");
}
