//! Backups and restores: what is stored, the EtcdRestores that people create, and disks that are filled from a backup.
//!
//! Owns the store and what an EtcdRestore comes to by itself: its backup is proven at once, because what keeps one from
//! being proven touches no cluster.

use contract::{
    ClusterId, EtcdClusterStatus, EtcdRestoreStatus, Millis, Resource, Restoration,
    RestorationStage, SnapshotProof, names,
};
use serde_json::json;

use crate::fact::{Deed, Fact, Truth};
use crate::timers::Timer;
use crate::world::{NAME, World};

/// A backup in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stored {
    /// The writes that it holds.
    pub(crate) writes: Vec<u32>,
    /// The minor version of the cluster that it is of.
    pub(crate) minor: Option<u64>,
}

impl World {
    /// A backup is taken, if a quorum answers; says whether.
    pub(crate) fn back_up(&mut self) -> bool {
        let peers = self.peers();
        let data = self
            .recorded()
            .and_then(|cluster| self.etcd.confirmed(cluster, &peers));
        let Some(data) = data else {
            return false;
        };
        self.stored = Stored {
            writes: data.writes(),
            minor: data.minor(),
        };
        true
    }

    /// Somebody creates an EtcdRestore, with the consent that its condition would ask for or without.
    pub(crate) fn ask_for_restore(&mut self, consents: bool) {
        let number = self.kube.number();
        if consents && number.is_multiple_of(2) && self.consent_to_restore() {
            return;
        }
        let mut spec = json!({
            "etcdCluster": {"name": NAME}, "backupStorageType": "S3",
            "s3": {"path": "bucket/backup", "awsSecret": "aws"},
        });
        let before = self.restoration().and_then(|one| one.replaces);
        if let Some(id) = self.recorded().or(before).filter(|_| consents) {
            spec["replaces"] = json!(id.to_string());
        }
        let version = self.stored.minor.map(|minor| format!("3.{minor}.0"));
        let status = EtcdRestoreStatus {
            proof: Some(SnapshotProof {
                path: "bucket/backup".to_owned(),
                sha256: format!("{:064x}", self.stored.writes.len()),
                etcd_version: version.unwrap_or_default(),
                generation: 1,
                ..SnapshotProof::default()
            }),
            ..EtcdRestoreStatus::default()
        };
        self.restores.push(Resource {
            api_version: format!("{}/{}", contract::GROUP, contract::VERSION),
            kind: "EtcdRestore".to_owned(),
            namespace: "ns".to_owned(),
            name: format!("restore-{number}"),
            uid: format!("uid-restore-{number}"),
            resource_version: number.to_string(),
            generation: 1,
            created: Millis(self.clock().0),
            spec,
            status: json!(status),
            ..Resource::default()
        });
        self.changed = true;
    }

    /// Somebody adds the consent to an EtcdRestore that is there. Says whether there was one without.
    fn consent_to_restore(&mut self) -> bool {
        let Some(id) = self.recorded() else {
            return false;
        };
        let mut restores = self.restores.iter_mut();
        let Some(own) = restores.find(|one| !is_over(one) && one.spec.get("replaces").is_none())
        else {
            return false;
        };
        own.spec["replaces"] = json!(id.to_string());
        own.generation += 1;
        self.changed = true;
        self.after(100, 20_000, Timer::Prove);
        true
    }

    /// What edited EtcdRestores name was read again, unless their members are being filled already.
    pub(crate) fn prove_again(&mut self) {
        let begun = self.restoration();
        for own in &mut self.restores {
            let mut begun = begun.iter().filter(|one| one.uid == own.uid);
            let is_filled = begun.any(|one| {
                matches!(
                    one.stage,
                    RestorationStage::Filling | RestorationStage::Growing | RestorationStage::Done
                )
            });
            if !is_filled {
                own.status["proof"]["generation"] = json!(own.generation);
            }
        }
        self.changed = true;
    }

    /// Somebody deletes the EtcdRestores that are not over.
    pub(crate) fn take_back_restores(&mut self) {
        self.restores.retain(is_over);
        self.changed = true;
    }

    /// What a new status means for the EtcdRestore that it is with, and for what clients may expect.
    pub(crate) fn follow_restoration(&mut self, status: &EtcdClusterStatus) {
        let Some(next) = &status.restoration else {
            return;
        };
        let before = self.restoration();
        let began = next.stage == RestorationStage::Stopping
            && before.is_none_or(|before| before.stage != next.stage || before.uid != next.uid);
        if began {
            self.proven = self.stored.clone();
            let before = Box::new(self.truth_with(&next.uid));
            self.facts.push(Fact::Deed {
                at: self.now,
                deed: Deed::GaveUp,
                before,
                lost: Vec::new(),
                late: self.landing.clone(),
            });
        }
        if next.is_first() {
            // The backup is what counts, also for who writes to a living cluster while it is stopped.
            let proven = &self.proven;
            self.acknowledged
                .retain(|write| proven.writes.contains(write));
        }
        if next.stage == RestorationStage::Done {
            let own = self.restores.iter_mut().find(|one| one.uid == next.uid);
            if let Some(own) = own {
                own.status["succeeded"] = json!(true);
            }
        }
    }

    /// The world as it is, for an EtcdRestore that is begun.
    pub(crate) fn truth_with(&self, restore: &str) -> Truth {
        Truth {
            replaced: self.gives_up(restore),
            unsaved: self.unsaved(Some(restore)),
            ..self.truth()
        }
    }

    /// `status.restoration`.
    pub(crate) fn restoration(&self) -> Option<Restoration> {
        let restoration = self.kube.resource.status.get("restoration")?;
        serde_json::from_value(restoration.clone()).ok()
    }

    /// Whether an EtcdRestore names the recorded cluster as the one to be given up.
    pub(crate) fn gives_up(&self, uid: &str) -> bool {
        let own = self.restores.iter().find(|one| one.uid == uid);
        let named = own.and_then(|one| one.spec.get("replaces")?.as_str());
        let named = named.and_then(|id| id.parse::<ClusterId>().ok());
        named.is_some() && named == self.recorded()
    }

    /// What runs in a pod before etcd: the disk is filled from the backup, unless it holds something.
    pub(crate) fn fill_disk(&mut self, number: u32) {
        let Some(pod) = self.kube.pods.values().find(|pod| pod.number == number) else {
            return;
        };
        let (Some(filling), Some(disk)) = (pod.fills.clone(), pod.disk) else {
            return;
        };
        // What answered once is never filled again.
        let filled = pod.api.annotations.get(names::FILLED_ANNOTATION);
        if filled.is_some_and(|filled| filled == "true") {
            return;
        }
        let name = pod.api.name.clone();
        if self.etcd.data(disk).is_none() {
            let writes = self.proven.writes.clone();
            self.etcd.fill_disk(disk, &name, &filling, &writes);
            self.tell(|_| format!("      the disk of {name} is filled from the backup"));
        }
    }
}

fn is_over(restore: &Resource) -> bool {
    restore
        .status
        .get("succeeded")
        .and_then(serde_json::Value::as_bool)
        == Some(true)
}
