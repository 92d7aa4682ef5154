//! The life of one periodic EtcdBackup in virtual time: its store, its transfers, and the pods in which it is tried whether
//! the newest backup restores.
//!
//! A world beside that of the clusters, because no backup and no rehearsal touches one. The operator may end between any two
//! effects, the store may be away, somebody may change stored bytes, pods may fail and go. Judges nothing.

mod effect;
mod sight;

use contract::{Decision, EtcdBackupStatus, PastOutcome, RehearsalVerdict, Resource, Snapshot};
use serde_json::json;

/// When the last fault has happened, in milliseconds.
const FAULTS_UNTIL: i64 = 1_200_000;
/// From then on no more backups are taken.
const SUSPENDED_AFTER: i64 = 1_500_000;
/// The end. What could not be tried is tried again within an hour.
const END: i64 = 10_000_000;

/// Something that a promise is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shelved {
    /// The envelope refused a decision.
    Refused(String),
    /// A verdict was told.
    Told {
        /// Which.
        verdict: RehearsalVerdict,
        /// Whether the pod gave back what was backed up; none where it came to no answer.
        held: Option<bool>,
    },
    /// A stored backup was deleted.
    Deleted {
        /// It was the newest.
        newest: bool,
        /// It was being tried.
        rehearsed: bool,
        /// An EtcdRestore that was not over named it.
        restored: bool,
    },
}

/// A life, and what it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shelf {
    /// What happened.
    pub facts: Vec<Shelved>,
    /// Pods that are left.
    pub pods: usize,
    /// The last status.
    pub status: EtcdBackupStatus,
}

/// What is stored under one name.
struct Object {
    key: String,
    revision: i64,
    is_damaged: bool,
}

/// Bytes on their way.
struct Moving {
    run: String,
    key: String,
    revision: i64,
    ends: i64,
    /// The store has the object already; it is read back only.
    is_stored: bool,
}

/// The pod of a rehearsal.
struct Pod {
    run: String,
    key: String,
    ends: i64,
    /// It is evicted, whatever the backup.
    is_evicted: bool,
    /// Whether it gave back what was backed up, once it ended.
    held: Option<bool>,
    /// When it goes.
    gone: Option<i64>,
}

pub(crate) struct Keeping {
    now: i64,
    rng: fastrand::Rng,
    resource: Resource,
    revision: i64,
    objects: Vec<Object>,
    moving: Option<Moving>,
    pods: Vec<Pod>,
    /// EtcdRestores that are not over.
    restores: Vec<Resource>,
    away_until: i64,
    outcomes: Vec<PastOutcome>,
    facts: Vec<Shelved>,
}

/// Lets a backup live. `decide` is the module.
pub fn keep(seed: u64, decide: &mut dyn FnMut(&Snapshot) -> Decision) -> Shelf {
    let mut keeping = Keeping::new(seed);
    while keeping.now < END {
        keeping.befall();
        let snapshot = keeping.snapshot();
        let decision = decide(&snapshot);
        keeping.outcomes.clear();
        match envelope::permit(&decision, &snapshot) {
            Err(refusals) => {
                let words = refusals.iter().map(ToString::to_string);
                keeping.facts.extend(words.map(Shelved::Refused));
            }
            Ok(()) => keeping.execute(&decision.actions),
        }
        let wished = decision.requeue.map_or(60_000, |requeue| requeue.after.0);
        keeping.now += wished.clamp(100, 60_000);
    }
    Shelf {
        pods: keeping.pods.len(),
        status: keeping.status(),
        facts: keeping.facts,
    }
}

impl Keeping {
    fn new(seed: u64) -> Self {
        let resource = Resource {
            api_version: format!("{}/{}", contract::GROUP, contract::VERSION),
            kind: "EtcdBackup".to_owned(),
            namespace: "ns".to_owned(),
            name: "kept".to_owned(),
            uid: "uid-kept".to_owned(),
            resource_version: "1".to_owned(),
            generation: 1,
            created: contract::Millis(sight::EPOCH),
            spec: json!({
                "etcdEndpoints": [sight::URL], "storageType": "S3",
                "s3": {"path": format!("{}/{}", sight::BUCKET, sight::KEY), "awsSecret": "aws"},
                "backupPolicy": {"backupIntervalInSecond": 60, "maxBackups": 3, "verify": "restore"},
            }),
            status: json!({}),
            ..Resource::default()
        };
        Self {
            now: 0,
            rng: fastrand::Rng::with_seed(seed),
            resource,
            revision: 1,
            objects: Vec::new(),
            moving: None,
            pods: Vec::new(),
            restores: Vec::new(),
            away_until: 0,
            outcomes: Vec::new(),
            facts: Vec::new(),
        }
    }

    fn status(&self) -> EtcdBackupStatus {
        serde_json::from_value(self.resource.status.clone()).unwrap_or_default()
    }

    /// Whether something with one chance in so many goes wrong now.
    fn fails(&mut self, chances: u32) -> bool {
        self.now < FAULTS_UNTIL && self.rng.u32(0..chances) == 0
    }

    /// Time passes, people write, and things go wrong.
    fn befall(&mut self) {
        self.revision += self.rng.i64(0..3);
        if self.fails(60) {
            // The cluster is made anew.
            self.revision = 1;
        }
        if self.fails(12) {
            self.restart();
        }
        if self.fails(40) {
            self.away_until = self.now + self.rng.i64(1_000..120_000);
        }
        if self.fails(10)
            && let Some(newest) = self.objects.iter_mut().max_by_key(|one| one.revision)
        {
            newest.is_damaged = true;
        }
        if self.fails(30) {
            self.pods.pop();
        }
        self.befall_restores();
        if self.now > SUSPENDED_AFTER {
            self.resource.spec["backupPolicy"]["suspend"] = json!(true);
        }
        let now = self.now;
        self.pods
            .retain(|pod| pod.gone.is_none_or(|gone| gone > now));
        for pod in &mut self.pods {
            if pod.ends <= now && pod.held.is_none() && !pod.is_evicted {
                let found = self.objects.iter().find(|one| one.key == pod.key);
                pod.held = found.map(|one| !one.is_damaged);
            }
        }
    }

    /// People ask for restores of anything that is stored, and these end some time.
    fn befall_restores(&mut self) {
        if self.rng.u32(0..8) == 0 {
            self.restores.pop();
        }
        if self.fails(20) && !self.objects.is_empty() {
            let chosen = self.rng.usize(0..self.objects.len());
            let key = &self.objects[chosen].key;
            self.restores.push(Resource {
                name: format!("back-{}", self.now),
                uid: format!("uid-back-{}", self.now),
                spec: json!({
                    "etcdCluster": {"name": "shop"}, "backupStorageType": "S3",
                    "s3": {"path": format!("{}/{key}", sight::BUCKET), "awsSecret": "aws"},
                }),
                ..Resource::default()
            });
        }
    }

    /// The operator ends and begins anew. What it moved may have come to be stored, or not.
    fn restart(&mut self) {
        self.outcomes.clear();
        if let Some(moving) = self.moving.take()
            && !moving.is_stored
            && self.rng.bool()
        {
            self.store(moving.key, moving.revision);
        }
    }

    fn store(&mut self, key: String, revision: i64) {
        self.objects.retain(|one| one.key != key);
        self.objects.push(Object {
            key,
            revision,
            is_damaged: false,
        });
        self.objects.sort_by(|a, b| a.key.cmp(&b.key));
    }
}
