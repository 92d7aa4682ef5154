//! The EtcdRestore's own decisions: the backup is proven, and what the cluster does is repeated.

use std::collections::BTreeMap;

use contract::{
    Condition, ConditionStatus, Decision, Effect, EtcdClusterStatus, EtcdRestoreStatus, Observed,
    ProofRun, Reason, Resource, Restoration, RestorationStage, RestoreEffect, RestorePhase,
    RestoreView, Secret, Snapshot, SnapshotContent, Stored, Transfer, TransferState,
};
use serde_json::json;

use super::{RESTORE_UID, proof, restore};
use crate::fixture::{NAME, fresh};

fn snapshot(status: &EtcdRestoreStatus) -> Snapshot {
    let mut snapshot = fresh(3).snapshot;
    snapshot.resource = restore(status);
    let secret = Secret {
        digests: BTreeMap::from([
            ("credentials".to_owned(), "d".to_owned()),
            ("config".to_owned(), "d".to_owned()),
        ]),
        ..Secret::default()
    };
    snapshot.secrets = BTreeMap::from([("aws".to_owned(), Observed::Seen(secret))]);
    snapshot.restore = Some(Box::new(RestoreView {
        cluster: Observed::Absent,
        in_the_way: Observed::Absent,
        transfer: None,
    }));
    snapshot
}

fn decide(snapshot: &Snapshot) -> Decision {
    let decision = reconciler::reconcile(snapshot);
    envelope::permit(&decision, snapshot).unwrap();
    decision
}

fn status(decision: &Decision) -> EtcdRestoreStatus {
    let written = decision
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            Effect::Restore(RestoreEffect::UpdateStatus { status }) => Some((**status).clone()),
            _ => None,
        });
    written.unwrap()
}

fn proves(decision: &Decision) -> bool {
    decision
        .actions
        .iter()
        .any(|action| matches!(action.effect, Effect::Restore(RestoreEffect::Prove { .. })))
}

fn running() -> EtcdRestoreStatus {
    EtcdRestoreStatus {
        run: Some(ProofRun {
            id: "run-1".to_owned(),
            started_at: "2026-11-18T11:06:40Z".to_owned(),
            failed_at: None,
        }),
        ..EtcdRestoreStatus::default()
    }
}

fn seeing(state: TransferState) -> Snapshot {
    let mut snapshot = snapshot(&running());
    let view = snapshot.restore.as_mut().unwrap();
    view.transfer = Some(Transfer {
        run: "run-1".to_owned(),
        state,
    });
    snapshot
}

fn done(content: Option<SnapshotContent>) -> Snapshot {
    seeing(TransferState::Done(Stored {
        bytes: 20_512,
        sha256: "ab".repeat(32),
        took: contract::Millis(5),
        content,
        contents: None,
    }))
}

#[test]
fn the_backup_is_read_before_anything_else() {
    let decision = decide(&snapshot(&EtcdRestoreStatus::default()));
    assert!(proves(&decision));
    assert!(status(&decision).run.is_some(), "written before it begins");
    assert_eq!(status(&decision).phase, RestorePhase::Proving);
    let again = decide(&snapshot(&running()));
    assert!(proves(&again), "a host that was restarted begins anew");
}

#[test]
fn what_was_read_is_remembered() {
    let content = SnapshotContent {
        revision: 4_711,
        version: "3.6.0".to_owned(),
    };
    let status = status(&decide(&done(Some(content))));
    let proof = status.proof.unwrap();
    assert_eq!((proof.etcd_revision, proof.size_bytes), (4_711, 20_512));
    assert_eq!(proof.path, "bucket/dir/etcd.backup");
    assert!(!status.succeeded && status.reason.is_empty());
}

#[test]
fn a_backup_that_is_none_fails_for_good_and_says_why() {
    let damaged = seeing(TransferState::Failed {
        why: "the hash that etcd appends does not fit".to_owned(),
        permanent: true,
    });
    let mut nameless = snapshot(&EtcdRestoreStatus::default());
    nameless.resource.spec["etcdCluster"] = json!({});
    for (snapshot, words) in [
        (damaged, "does not fit"),
        (nameless, "etcdCluster.name"),
        (done(None), "no data of etcd"),
    ] {
        let decision = decide(&snapshot);
        let status = status(&decision);
        assert!(status.reason.contains(words), "{}", status.reason);
        assert_eq!(status.phase, RestorePhase::Failed);
        assert!(!proves(&decision));
        let mut over = snapshot.clone();
        over.resource.status = json!(status);
        assert!(decide(&over).actions.is_empty(), "never again");
    }
}

/// A restore of a dialect in which it makes its cluster, once its backup was read.
fn making(in_the_way: Observed<Vec<String>>) -> Snapshot {
    let mut snapshot = snapshot(&EtcdRestoreStatus {
        proof: Some(super::proof("3.6.0")),
        ..EtcdRestoreStatus::default()
    });
    snapshot.resource.spec["clusterTemplate"] = json!({"replicas": 3});
    snapshot.restore.as_mut().unwrap().in_the_way = in_the_way;
    snapshot
}

fn creates(decision: &Decision) -> bool {
    let mut actions = decision.actions.iter();
    actions.any(|action| {
        matches!(
            action.effect,
            Effect::Restore(RestoreEffect::CreateCluster { .. })
        )
    })
}

#[test]
fn a_restore_that_makes_its_cluster_makes_it_once_the_backup_is_proven_and_nothing_is_in_the_way() {
    let decision = decide(&making(Observed::Seen(Vec::new())));
    assert!(creates(&decision));
    assert_eq!(status(&decision).phase, RestorePhase::Restoring);
    for not_known in [Observed::Absent, Observed::Unknown("no".to_owned())] {
        let decision = decide(&making(not_known));
        assert!(!creates(&decision) && status(&decision).reason.is_empty());
    }
    let mut unread = making(Observed::Seen(Vec::new()));
    unread.resource.status = serde_json::Value::Null;
    assert!(!creates(&decide(&unread)), "it was not read yet");
    let mut begun = making(Observed::Seen(Vec::new()));
    begun.resource.status["startedAt"] = json!("2026-11-18T11:06:39Z");
    let decision = decide(&begun);
    assert!(!creates(&decision), "somebody deleted it");
    assert!(status(&decision).reason.contains("was deleted"));
}

#[test]
fn a_restore_that_makes_its_cluster_fails_where_a_foreign_claim_pod_or_cluster_is() {
    let claim = "PersistentVolumeClaim kv-0".to_owned();
    let taken = making(Observed::Seen(vec![claim.clone()]));
    let mut living = making(Observed::Absent);
    let cluster = |by: &str| {
        let annotations = BTreeMap::from([(
            contract::names::RESTORED_BY_ANNOTATION.to_owned(),
            by.to_owned(),
        )]);
        Observed::Seen(Box::new(Resource {
            annotations,
            ..Resource::default()
        }))
    };
    living.restore.as_mut().unwrap().cluster = cluster("somebody");
    for (snapshot, words) in [(taken, claim.as_str()), (living.clone(), "exists already")] {
        let decision = decide(&snapshot);
        let status = status(&decision);
        assert!(status.reason.contains(words), "{}", status.reason);
        assert_eq!(status.phase, RestorePhase::Failed);
        let mut actions = decision.actions.iter();
        assert!(actions.any(|action| matches!(action.effect, Effect::Event { .. })));
        assert!(!creates(&decision));
    }
    living.restore.as_mut().unwrap().cluster = cluster(RESTORE_UID);
    assert!(status(&decide(&living)).reason.is_empty(), "it is its own");
}

#[test]
fn what_may_pass_is_waited_for() {
    let silent = seeing(TransferState::Failed {
        why: "the store failed".to_owned(),
        permanent: false,
    });
    let mut secretless = snapshot(&EtcdRestoreStatus::default());
    secretless
        .secrets
        .insert("aws".to_owned(), Observed::Absent);
    for snapshot in [silent, secretless] {
        let decision = decide(&snapshot);
        let status = status(&decision);
        assert!(!status.is_over(), "{}", status.reason);
        assert!(decision.requeue.is_some());
        assert!(!proves(&decision));
    }
}

/// Else a store that refuses at once would be asked without a pause, and its words would never stand long enough to be read.
#[test]
fn what_came_to_nothing_is_read_again_after_a_while() {
    let mut silent = seeing(TransferState::Failed {
        why: "the store failed".to_owned(),
        permanent: false,
    });
    let told = status(&decide(&silent));
    let failed_at = told.run.as_ref().and_then(|run| run.failed_at.clone());
    assert!(failed_at.is_some(), "{told:?}");
    silent.resource.status = json!(told);
    silent.now = contract::Millis(silent.now.0 + 5_000);
    let decision = decide(&silent);
    assert!(!proves(&decision));
    assert_eq!(decision.actions, [], "it still stands there");
    silent.now = contract::Millis(silent.now.0 + 5_000);
    assert!(proves(&decide(&silent)));
}

/// Proven, and the cluster stands like this.
fn following(stage: Option<RestorationStage>) -> Snapshot {
    let mut snapshot = snapshot(&EtcdRestoreStatus {
        proof: Some(proof("3.6.0")),
        ..EtcdRestoreStatus::default()
    });
    let status = EtcdClusterStatus {
        restoration: stage.map(|stage| Restoration {
            restore: NAME.to_owned(),
            uid: RESTORE_UID.to_owned(),
            stage,
            started_at: Some("2026-11-18T11:06:40Z".to_owned()),
            ended_at: Some("2026-11-18T11:06:52Z".to_owned()),
            replaces: None,
            founders: Vec::new(),
            token: None,
            given_up: Vec::new(),
        }),
        conditions: vec![Condition {
            kind: "Recovering".to_owned(),
            status: ConditionStatus::False,
            last_update_time: None,
            last_transition_time: None,
            reason: "RestoreWaiting".to_owned(),
            message: "EtcdRestore shop waits: say so.".to_owned(),
        }],
        ..EtcdClusterStatus::default()
    };
    let cluster = Resource {
        status: json!(status),
        ..fresh(3).snapshot.resource
    };
    snapshot.restore.as_mut().unwrap().cluster = Observed::Seen(Box::new(cluster));
    snapshot
}

fn told(snapshot: &Snapshot) -> (RestorePhase, String) {
    let status = status(&decide(snapshot));
    (status.phase, status.conditions[0].message.clone())
}

#[test]
fn what_the_cluster_says_is_repeated() {
    let mut absent = following(None);
    absent.restore.as_mut().unwrap().cluster = Observed::Absent;
    assert!(told(&absent).1.contains("does not exist"));
    let (phase, words) = told(&following(Some(RestorationStage::Waiting)));
    assert_eq!(phase, RestorePhase::Waiting);
    assert!(words.contains("say so"), "{words}");
    let (phase, _) = told(&following(Some(RestorationStage::Filling)));
    assert_eq!(phase, RestorePhase::Restoring);
}

#[test]
fn it_has_succeeded_when_the_cluster_is_whole_and_never_before() {
    for stage in [
        RestorationStage::Waiting,
        RestorationStage::Stopping,
        RestorationStage::Filling,
        RestorationStage::Growing,
    ] {
        assert!(
            !status(&decide(&following(Some(stage)))).succeeded,
            "{stage:?}"
        );
    }
    let decision = decide(&following(Some(RestorationStage::Done)));
    assert!(status(&decision).succeeded);
    assert_eq!(status(&decision).duration_seconds, Some(12));
    let reasons = decision.report.findings.iter().map(|one| one.reason);
    assert!(reasons.into_iter().any(|reason| reason == Reason::Restored));
}

/// What the proof was of may be another backup than the spec names now.
#[test]
fn a_spec_that_was_edited_is_read_anew_until_members_are_filled() {
    for stage in [RestorationStage::Waiting, RestorationStage::Stopping] {
        let mut edited = following(Some(stage));
        edited.resource.generation = 2;
        assert!(proves(&decide(&edited)), "{stage:?}");
    }
    let mut filled = following(Some(RestorationStage::Filling));
    filled.resource.generation = 2;
    assert!(!proves(&decide(&filled)));
}

/// It said that nothing was touched, while its cluster went on.
#[test]
fn a_spec_that_becomes_invalid_under_way_is_told_and_the_restore_has_not_failed() {
    let mut edited = following(Some(RestorationStage::Stopping));
    edited.resource.spec["bumpRevision"] = json!(-1);
    let decision = decide(&edited);
    let (phase, words) = told(&edited);
    assert_ne!(phase, RestorePhase::Failed);
    assert!(words.contains("bumpRevision -1"), "{words}");
    assert!(words.contains("correct the spec, or delete"), "{words}");
    let mut findings = decision.report.findings.iter();
    assert!(findings.any(|one| one.reason == Reason::InvalidSpec));
    edited.restore.as_mut().unwrap().cluster = Observed::Absent;
    assert_eq!(told(&edited).0, RestorePhase::Failed, "not begun");
}

/// Its cluster's members were stopped already, and are started again.
#[test]
fn a_backup_that_turns_out_to_be_none_while_members_are_stopped_lost_nothing() {
    let mut edited = following(Some(RestorationStage::Stopping));
    edited.resource.generation = 2;
    let begun = status(&decide(&edited));
    edited.resource.status = json!(begun);
    edited.restore.as_mut().unwrap().transfer = Some(Transfer {
        run: begun.run.unwrap().id,
        state: TransferState::Failed {
            why: "it is no snapshot".to_owned(),
            permanent: true,
        },
    });
    let decision = decide(&edited);
    assert_eq!(status(&decision).phase, RestorePhase::Failed);
    let mut findings = decision.report.findings.iter();
    let found = findings.find(|one| one.reason == Reason::RestoreFailed);
    let words = &found.unwrap().message;
    assert!(words.contains("nothing is lost"), "{words}");
}
