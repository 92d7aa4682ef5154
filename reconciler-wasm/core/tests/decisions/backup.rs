//! A backup: taken once or again and again, resumed, tried again, given up; what is kept of those that are stored.

use contract::{
    BackupEffect, BackupRun, BackupView, ClusterId, Decision, Effect, EndpointStatus,
    EtcdBackupStatus, MemberId, Millis, Observed, Reason, Secret, Snapshot, SourceEndpoint, Stored,
    StoredObject, Take, Transfer, TransferState,
};
use serde_json::{Value, json};

use crate::fixture;

const CREATED: i64 = 1_795_000_000_000;

struct Backup(Snapshot);

/// A backup of etcd by two endpoints, of which the second has more; nothing is stored, nothing moved.
fn backup(policy: Value) -> Backup {
    let mut snapshot = fixture::fresh(3).snapshot;
    snapshot.resource.kind = "EtcdBackup".to_owned();
    snapshot.resource.spec = json!({
        "etcdEndpoints": ["http://a:2379", "http://b:2379"], "storageType": "S3",
        "s3": {"path": "bucket/etcd.backup", "awsSecret": "aws"}, "backupPolicy": policy,
    });
    let digests = ["credentials", "config"].map(|key| (key.to_owned(), String::new()));
    let secret = Secret {
        digests: digests.into(),
        ..Secret::default()
    };
    snapshot
        .secrets
        .insert("aws".to_owned(), Observed::Seen(secret));
    snapshot.backup = Some(Box::new(BackupView {
        endpoints: vec![
            endpoint("http://a:2379", 90),
            endpoint("http://b:2379", 100),
        ],
        stored: Observed::Seen(Vec::new()),
        transfer: None,
    }));
    Backup(snapshot)
}

fn endpoint(url: &str, revision: i64) -> SourceEndpoint {
    let status = EndpointStatus {
        cluster_id: ClusterId(0xc1),
        member_id: MemberId(u64::try_from(revision).unwrap()),
        leader: Some(MemberId(90)),
        learner: false,
        version: "3.6.16".to_owned(),
        storage_version: None,
        raft_term: 2,
        raft_index: 0,
        raft_applied_index: 0,
        db_size: 0,
        db_size_in_use: 0,
        quota: None,
        revision: Some(revision),
        errors: Vec::new(),
        hash_kv: None,
        took: Millis(1),
    };
    SourceEndpoint {
        url: url.to_owned(),
        status: Observed::Seen(status),
    }
}

impl Backup {
    fn view(&mut self) -> &mut BackupView {
        self.0.backup.as_mut().unwrap()
    }

    fn after(mut self, seconds: i64) -> Self {
        self.0.now = Millis(self.0.now.0 + seconds * 1000);
        self
    }

    fn remembering(mut self, status: &EtcdBackupStatus) -> Self {
        self.0.resource.status = json!(status);
        self
    }

    fn storing(mut self, keys: &[&str]) -> Self {
        let object = |key: &&str| StoredObject {
            key: (*key).to_owned(),
            bytes: 4128,
            run: None,
        };
        self.view().stored = Observed::Seen(keys.iter().map(object).collect());
        self
    }

    fn moving(mut self, run: &str, state: TransferState) -> Self {
        self.view().transfer = Some(Transfer {
            run: run.to_owned(),
            state,
        });
        self
    }

    fn decide(&self) -> Decision {
        reconciler::reconcile(&self.0)
    }
}

fn effects(decision: &Decision) -> Vec<&BackupEffect> {
    let effects = decision.actions.iter().map(|action| &action.effect);
    effects
        .filter_map(|effect| match effect {
            Effect::Backup(effect) => Some(effect),
            _ => None,
        })
        .collect()
}

fn status(decision: &Decision) -> EtcdBackupStatus {
    let written = effects(decision)
        .into_iter()
        .find_map(|effect| match effect {
            BackupEffect::UpdateStatus { status } => Some((**status).clone()),
            _ => None,
        });
    written.expect("a status is written")
}

fn take(decision: &Decision) -> Option<Take> {
    effects(decision)
        .into_iter()
        .find_map(|effect| match effect {
            BackupEffect::Take(take) => Some(take.clone()),
            _ => None,
        })
}

fn deleted(decision: &Decision) -> Vec<&str> {
    effects(decision)
        .into_iter()
        .filter_map(|effect| match effect {
            BackupEffect::Delete { key } => Some(key.as_str()),
            _ => None,
        })
        .collect()
}

fn reasons(decision: &Decision) -> Vec<Reason> {
    let findings = decision.report.findings.iter();
    findings.map(|finding| finding.reason).collect()
}

fn stored() -> Stored {
    Stored {
        bytes: 4128,
        sha256: "ab".repeat(32),
        took: Millis(1200),
        content: None,
    }
}

fn failed(why: &str, permanent: bool) -> TransferState {
    TransferState::Failed {
        why: why.to_owned(),
        permanent,
    }
}

/// The run must be known before it begins, else a restart in the middle would run it twice.
#[test]
fn a_run_is_written_down_before_it_begins_and_is_taken_from_whom_has_most() {
    let decision = backup(json!(null)).decide();
    let run = status(&decision).run.unwrap();
    let take = take(&decision).unwrap();
    assert_eq!((&take.run, &take.key), (&run.id, &"etcd.backup".to_owned()));
    assert_eq!(take.endpoint, "http://b:2379");
    assert_eq!(
        (run.etcd_version.as_str(), run.etcd_revision),
        ("3.6.16", 100)
    );
    assert!(matches!(
        decision.actions[0].effect,
        Effect::Backup(BackupEffect::UpdateStatus { .. })
    ));
    let begins = decision.actions.last().unwrap();
    assert_eq!(begins.pre.run.as_ref(), Some(&run.id));
}

#[test]
fn a_backup_that_was_read_back_succeeds_with_all_that_is_known_of_it() {
    let begun = status(&backup(json!(null)).decide());
    let run = begun.run.clone().unwrap();
    let done = backup(json!(null))
        .remembering(&begun)
        .moving(&run.id, TransferState::Done(stored()))
        .decide();
    let status = status(&done);
    assert!(status.succeeded && status.reason.is_empty() && status.run.is_none());
    assert_eq!(status.etcd_revision, 100);
    assert_eq!(status.path.as_deref(), Some("bucket/etcd.backup"));
    assert_eq!(status.size_bytes, Some(4128));
    assert_eq!(status.sha256, Some("ab".repeat(32)));
    assert_eq!(take(&done), None);
}

#[test]
fn one_that_has_succeeded_or_failed_is_never_run_again() {
    let over = |succeeded, reason: &str| EtcdBackupStatus {
        succeeded,
        reason: reason.to_owned(),
        ..EtcdBackupStatus::default()
    };
    for status in [over(true, ""), over(false, "wrong credentials")] {
        let decision = backup(json!(null)).remembering(&status).decide();
        assert_eq!(take(&decision), None);
        assert_eq!(reasons(&decision), [Reason::AsSpecified]);
    }
}

/// After a crash between the last byte and the status, the object is there and must not be written again.
#[test]
fn a_restart_after_the_last_byte_reads_back_what_the_run_stored() {
    let begun = status(&backup(json!(null)).decide());
    let run = begun.run.clone().unwrap();
    let mut again = backup(json!(null)).remembering(&begun);
    again.view().stored = Observed::Seen(vec![StoredObject {
        key: run.key.clone(),
        bytes: 4128,
        run: Some(run.id.clone()),
    }]);
    let decision = again.decide();
    assert_eq!(take(&decision), None);
    assert!(
        effects(&decision)
            .iter()
            .any(|effect| matches!(effect, BackupEffect::Verify { run: id, .. } if *id == run.id))
    );
}

#[test]
fn a_restart_in_the_middle_begins_anew_whatever_older_object_has_the_name() {
    let begun = status(&backup(json!(null)).decide());
    let mut again = backup(json!(null))
        .remembering(&begun)
        .storing(&["etcd.backup"]);
    again.0.entropy = "other".to_owned();
    let decision = again.decide();
    let taken = take(&decision).unwrap();
    assert_ne!(taken.run, begun.run.unwrap().id);
}

#[test]
fn a_restart_with_a_store_that_does_not_answer_waits() {
    let begun = status(&backup(json!(null)).decide());
    let mut again = backup(json!(null)).remembering(&begun);
    again.view().stored = Observed::Unknown("silent".to_owned());
    let decision = again.decide();
    assert_eq!(take(&decision), None);
    assert_eq!(reasons(&decision), [Reason::BackupWaiting]);
    assert!(status(&decision).run.is_some(), "the run stays known");
}

#[test]
fn a_failure_that_may_pass_is_tried_again_while_there_is_patience_and_others_end_it() {
    let begun = status(&backup(json!(null)).decide());
    let run = begun.run.clone().unwrap();
    let failing = |permanent| {
        backup(json!(null))
            .remembering(&begun)
            .moving(&run.id, failed("503", permanent))
    };
    let waits = failing(false).decide();
    let waiting = status(&waits);
    assert!(waiting.run.is_none() && waiting.reason.is_empty());
    let again = backup(json!(null)).remembering(&waiting).after(5).decide();
    assert!(take(&again).is_some());
    let ends = status(&failing(true).decide());
    assert_eq!((ends.succeeded, ends.reason.as_str()), (false, "503"));
    let late = backup(json!(null))
        .remembering(&EtcdBackupStatus {
            run: begun.run.clone(),
            ..waiting
        })
        .moving(&run.id, failed("503", false))
        .after(61)
        .decide();
    assert_eq!(status(&late).reason, "503");
}

#[test]
fn what_is_missing_is_named_and_waited_for_a_minute() {
    let mut lacking = backup(json!(null));
    lacking.0.secrets.insert("aws".to_owned(), Observed::Absent);
    let decision = lacking.decide();
    assert_eq!(reasons(&decision), [Reason::SecretMissing]);
    let waiting = status(&decision);
    let mut still = backup(json!(null)).remembering(&waiting).after(60);
    still.0.secrets.insert("aws".to_owned(), Observed::Absent);
    let given_up = status(&still.decide());
    assert_eq!(
        given_up.reason,
        "the Secret aws does not exist in this namespace"
    );
    let mut silent = backup(json!(null));
    for endpoint in &mut silent.view().endpoints {
        endpoint.status = Observed::Unknown("Connection refused".to_owned());
    }
    let words = status(&silent.decide()).conditions[0].message.clone();
    assert!(
        words.contains("http://a:2379: Connection refused"),
        "{words}"
    );
}

#[test]
fn endpoints_of_two_clusters_are_no_source() {
    let mut mixed = backup(json!(null));
    let mut other = endpoint("http://b:2379", 100);
    if let Observed::Seen(status) = &mut other.status {
        status.cluster_id = ClusterId(0xc2);
    }
    mixed.view().endpoints[1] = other;
    assert_eq!(take(&mixed.decide()), None);
}

#[test]
fn a_member_of_a_named_cluster_is_a_follower_where_one_answers() {
    let mut named = backup(json!(null));
    let spec = &mut named.0.resource.spec;
    spec["etcdEndpoints"] = json!(null);
    spec["clusterRef"] = json!({"name": "shop"});
    // The first one leads and has more.
    named.view().endpoints[0] = endpoint("http://a:2379", 90);
    named.view().endpoints[1] = endpoint("http://b:2379", 80);
    assert_eq!(take(&named.decide()).unwrap().endpoint, "http://b:2379");
}

#[test]
fn a_spec_that_cannot_be_followed_is_refused_with_the_field() {
    for (field, value, says) in [
        ("etcdEndpoints", json!([]), "etcdEndpoints"),
        ("etcdEndpoints", json!(["a:2379"]), "is not a URL"),
        ("storageType", json!("Tape"), "S3, ABS, GCS, OSS"),
        ("s3", json!(null), "spec.s3.path"),
        (
            "s3",
            json!({"path": "bucket", "awsSecret": "aws"}),
            "BUCKET/KEY",
        ),
        (
            "s3",
            json!({"path": "b/../k", "awsSecret": "aws"}),
            "BUCKET/KEY",
        ),
        ("s3", json!({"path": "b/k"}), "names no Secret"),
        (
            "backupPolicy",
            json!({"backupIntervalInSecond": -1}),
            "negative",
        ),
        ("etcdEndpoints", json!(7), "cannot be read"),
    ] {
        let mut wrong = backup(json!(null));
        wrong.0.resource.spec[field] = value;
        let decision = wrong.decide();
        let reason = status(&decision).reason;
        assert!(reason.contains(says), "{field}: {reason}");
        assert_eq!(take(&decision), None);
    }
}

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
