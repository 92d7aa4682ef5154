//! A backup: taken once or again and again, resumed, tried again, given up; what is kept of those that are stored.

mod before;
mod going;
mod kept;
mod rehearse;
mod restored;
mod run;
mod schedule;

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
        rehearsal: Observed::Absent,
        being_restored: Observed::Seen(Vec::new()),
        wanted: None,
        repository: None,
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
        downgrade: None,
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
        contents: None,
    }
}

fn failed(why: &str, permanent: bool) -> TransferState {
    TransferState::Failed {
        why: why.to_owned(),
        permanent,
    }
}
