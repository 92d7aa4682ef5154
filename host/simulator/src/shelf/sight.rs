//! What the operator sees of a backup: snapshots, and fresh reads before each effect.

use contract::{
    BackupView, BeingRestored, ClusterId, Contents, EndpointStatus, EtcdView, MemberId, Millis,
    Observed, RehearsalPod, RehearsalState, Secret, Snapshot, SourceEndpoint, Stored, StoredObject,
    Transfer, TransferState, names,
};
use envelope::{BackupHead, Fresh, ResourceHead};

use super::{Keeping, Pod};

/// 2026-01-01T00:00:00Z.
pub(super) const EPOCH: i64 = 1_767_225_600_000;
pub(super) const URL: &str = "http://a:2379";
pub(super) const BUCKET: &str = "bucket";
pub(super) const KEY: &str = "etcd.backup";
const SIZE: i64 = 4128;

impl Keeping {
    pub(super) fn snapshot(&mut self) -> Snapshot {
        self.land();
        let entropy = format!("{:032x}", self.rng.u128(..));
        let now = Millis(EPOCH + self.now);
        let mut snapshot = Snapshot::bare(self.resource.clone(), now, entropy);
        snapshot.operator_image = Some("binnacle:sim".to_owned());
        snapshot.outcomes.clone_from(&self.outcomes);
        let digests = ["credentials", "config"].map(|key| (key.to_owned(), String::new()));
        let secret = Secret {
            digests: digests.into(),
            ..Secret::default()
        };
        let secrets = &mut snapshot.secrets;
        secrets.insert("aws".to_owned(), Observed::Seen(secret));
        let run = self.status().rehearsal_run;
        let pod = run.and_then(|run| self.pods.iter().find(|pod| pod.run == run.id));
        snapshot.backup = Some(Box::new(BackupView {
            endpoints: vec![self.endpoint()],
            stored: self.stored(),
            transfer: self.transfer(),
            being_restored: self.being_restored(),
            rehearsal: pod.map_or(Observed::Absent, |pod| Observed::Seen(self.seen(pod))),
            wanted: None,
            repository: None,
        }));
        snapshot
    }

    /// What ended is stored, if the store answers.
    fn land(&mut self) {
        let is_away = self.is_away();
        let Some(moving) = &mut self.moving else {
            return;
        };
        if moving.ends <= self.now && !moving.is_stored && !is_away {
            moving.is_stored = true;
            let (key, revision) = (moving.key.clone(), moving.revision);
            self.store(key, revision);
        }
    }

    pub(super) const fn is_away(&self) -> bool {
        self.away_until > self.now
    }

    pub(super) fn fresh(&self) -> Fresh {
        let unread = || "not asked for".to_owned();
        let running = self.moving.as_ref().filter(|one| one.ends > self.now);
        Fresh {
            lease_held: true,
            resource: Observed::Seen(ResourceHead::of(&self.resource)),
            object: Observed::Unknown(unread()),
            claim: Observed::Unknown(unread()),
            etcd: EtcdView {
                membership: Observed::Unknown(unread()),
                endpoints: Vec::new(),
                alarms: Observed::Unknown(unread()),
            },
            clock_ahead: Observed::Unknown(unread()),
            backup: BackupHead::of(&self.resource, running.map(|one| one.run.clone())),
            stored: self.stored(),
            being_restored: self.being_restored(),
            restore: Observed::Unknown(unread()),
            scheduled: Observed::Unknown(unread()),
        }
    }

    fn being_restored(&self) -> Observed<Vec<BeingRestored>> {
        Observed::Seen(BeingRestored::of(&self.restores, &[]))
    }

    fn stored(&self) -> Observed<Vec<StoredObject>> {
        if self.is_away() {
            return Observed::Unknown("the store is away".to_owned());
        }
        let seen = |key: &String| StoredObject {
            key: key.clone(),
            bytes: SIZE,
            run: None,
        };
        Observed::Seen(self.objects.iter().map(|one| seen(&one.key)).collect())
    }

    fn transfer(&self) -> Option<Transfer> {
        let moving = self.moving.as_ref()?;
        let state = if moving.ends > self.now {
            TransferState::Running {
                bytes: 0,
                bytes_per_second: 0,
                trouble: None,
            }
        } else if moving.is_stored {
            TransferState::Done(Stored {
                bytes: SIZE,
                sha256: sha256(moving.revision),
                took: Millis(1_000),
                content: None,
                contents: Some(contents(moving.revision)),
            })
        } else {
            TransferState::Failed {
                why: "the store is away".to_owned(),
                permanent: false,
            }
        };
        Some(Transfer {
            run: moving.run.clone(),
            state,
        })
    }

    fn seen(&self, pod: &Pod) -> RehearsalPod {
        let failed = |container: Option<&str>, permanent: bool| RehearsalState::Failed {
            container: container.map(str::to_owned),
            why: "as the model has it".to_owned(),
            permanent,
        };
        let state = match pod.held {
            _ if pod.ends > self.now => RehearsalState::Running {
                doing: "etcd runs".to_owned(),
            },
            _ if pod.is_evicted => failed(None, false),
            Some(true) => RehearsalState::Answered {
                contents: contents(revision_of(&pod.key)),
                took: Millis(3_100),
            },
            Some(false) => failed(Some(names::FETCH_CONTAINER), true),
            None => failed(Some(names::FETCH_CONTAINER), false),
        };
        RehearsalPod {
            state,
            deleted: pod.gone.is_some(),
        }
    }

    fn endpoint(&self) -> SourceEndpoint {
        let status = EndpointStatus {
            cluster_id: ClusterId(0xc1),
            member_id: MemberId(1),
            leader: Some(MemberId(1)),
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
            revision: Some(self.revision),
            errors: Vec::new(),
            hash_kv: None,
            took: Millis(1),
        };
        SourceEndpoint {
            url: URL.to_owned(),
            status: Observed::Seen(status),
        }
    }
}

/// The revision that a name says.
pub(super) fn revision_of(key: &str) -> i64 {
    let revision = contract::BackupKey::of(key, KEY);
    revision.map_or(0, |key| key.revision)
}

fn sha256(revision: i64) -> String {
    format!("{revision:064x}")
}

const fn contents(revision: i64) -> Contents {
    Contents {
        revision,
        keys: revision,
        hash: revision * 7,
        compact_revision: 0,
    }
}
