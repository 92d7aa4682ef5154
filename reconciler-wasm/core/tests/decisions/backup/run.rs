//! One run: written down, taken, read back, resumed, tried again, given up.

use super::*;

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
fn patience_that_began_in_time_to_come_begins_anew() {
    let lacking = |waiting: &EtcdBackupStatus, seconds| {
        let mut lacking = backup(json!(null)).remembering(waiting).after(seconds);
        lacking.0.secrets.insert("aws".to_owned(), Observed::Absent);
        status(&lacking.decide())
    };
    let ahead = lacking(&EtcdBackupStatus::default(), 86_400);
    let waiting = lacking(&ahead, 0);
    assert!(waiting.waiting_since < ahead.waiting_since);
    assert!(waiting.reason.is_empty());
    assert!(!lacking(&waiting, 60).reason.is_empty());
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

/// A learner may lag, and of members that disagree nobody knows which one is right.
#[test]
fn neither_a_learner_nor_a_member_that_disagrees_is_a_source() {
    let taken_from = |change: fn(&mut EndpointStatus)| {
        let mut backup = backup(json!(null));
        if let Observed::Seen(most) = &mut backup.view().endpoints[1].status {
            change(most);
        }
        take(&backup.decide()).unwrap().endpoint
    };
    assert_eq!(taken_from(|_| {}), "http://b:2379");
    assert_eq!(taken_from(|most| most.learner = true), "http://a:2379");
    let disagrees = |most: &mut EndpointStatus| most.errors = vec!["alarm:CORRUPT".to_owned()];
    assert_eq!(taken_from(disagrees), "http://a:2379");
}

/// Its follower was preferred to the leader, however far behind it was.
#[test]
fn who_has_no_leader_or_is_far_behind_it_is_no_source() {
    let named = |change: fn(&mut EndpointStatus)| {
        let mut named = backup(json!(null));
        let spec = &mut named.0.resource.spec;
        spec["etcdEndpoints"] = json!(null);
        spec["clusterRef"] = json!({"name": "shop"});
        for endpoint in &mut named.view().endpoints {
            if let Observed::Seen(status) = &mut endpoint.status {
                status.raft_index = 20_000;
                if status.member_id != MemberId(90) {
                    change(status);
                }
            }
        }
        named
    };
    let taken_from = |named: &Backup| take(&named.decide()).unwrap().endpoint;
    assert_eq!(
        taken_from(&named(|follower| follower.raft_index -= 900)),
        "http://b:2379"
    );
    let behind = named(|follower| follower.raft_index -= 5_000);
    assert_eq!(taken_from(&behind), "http://a:2379");
    let mut without_leader = named(|follower| follower.leader = None);
    assert_eq!(taken_from(&without_leader), "http://a:2379");
    without_leader.view().endpoints.remove(0);
    let decision = without_leader.decide();
    assert_eq!(take(&decision), None);
    assert_eq!(reasons(&decision), [Reason::BackupWaiting]);
    let words = &status(&decision).conditions[0].message;
    assert!(words.contains("b:2379: knows of no leader"), "{words}");
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
fn a_claim_needs_no_secret() {
    let mut claimed = backup(json!(null));
    claimed.0.resource.spec["storageType"] = json!("PVC");
    claimed.0.resource.spec["pvc"] = json!({"path": "backups/etcd.backup"});
    claimed.0.secrets.clear();
    let decision = claimed.decide();
    assert_eq!(take(&decision).unwrap().key, "etcd.backup");
}

#[test]
fn a_spec_that_cannot_be_followed_is_refused_with_the_field() {
    for (field, value, says) in [
        ("etcdEndpoints", json!([]), "etcdEndpoints"),
        ("etcdEndpoints", json!(["a:2379"]), "is not a URL"),
        ("storageType", json!("Tape"), "S3, ABS, GCS, OSS, PVC"),
        ("s3", json!(null), "there is no spec.s3"),
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
        (
            "backupPolicy",
            json!({"timeoutInSecond": -10}),
            "timeoutInSecond -10 is negative",
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
