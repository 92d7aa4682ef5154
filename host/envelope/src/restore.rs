//! What may at most be done about a restore by itself: read the one backup that its spec names, one run at a time, and
//! never forget a success.
//!
//! Of a cluster's status it judges what a restore is about; what is done to a cluster is judged with it: [`crate::pod`],
//! [`crate::check`].

use contract::{
    Action, EtcdClusterStatus, EtcdRestoreSpec, EtcdRestoreStatus, Millis, Observed, Place,
    Resource, RestorationStage, RestoreEffect, Snapshot, SnapshotProof, TransferState,
};
use serde::Deserialize;

use crate::{BackupRefusal, Fresh, Refusal, ResourceHead};

/// The longest a reading may be given.
const LONGEST: Millis = Millis::seconds(7 * 24 * 3600);

/// What counts of an EtcdRestore immediately before an effect on its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreHead {
    /// `metadata.uid`.
    pub uid: String,
    /// Its deletion was asked for.
    pub deleted: bool,
    /// `spec`, if it can be read.
    pub spec: Option<EtcdRestoreSpec>,
    /// `status.proof`, of the spec as it stands.
    pub proof: Option<SnapshotProof>,
    /// It has succeeded or failed.
    pub over: bool,
}

impl RestoreHead {
    /// Takes what counts out of a resource.
    #[must_use]
    pub fn of(resource: &Resource) -> Self {
        let status = EtcdRestoreStatus::deserialize(&resource.status).unwrap_or_default();
        let over = status.is_over();
        let proof = status
            .proof
            .filter(|proof| proof.generation == resource.generation);
        Self {
            uid: resource.uid.clone(),
            deleted: resource.deleted.is_some(),
            spec: EtcdRestoreSpec::deserialize(&resource.spec).ok(),
            proof,
            over,
        }
    }
}

/// Judges an action on a restore by itself.
pub(crate) fn judge_restore(
    effect: &RestoreEffect,
    action: &Action,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let resource = &snapshot.resource;
    match effect {
        RestoreEffect::UpdateStatus { status } => {
            let succeeded = resource.status.get("succeeded");
            if succeeded.and_then(serde_json::Value::as_bool) == Some(true) && !status.succeeded {
                refusals.push(BackupRefusal::Forgotten.into());
            }
            if status.succeeded && !is_over_with_it(snapshot) {
                let words = "a cluster that went on from the backup to its end, and the cluster does not say so";
                refusals.push(Refusal::FalseStatus(words.to_owned()));
            }
            if let Some(proof) = &status.proof
                && !is_proven(proof, snapshot)
            {
                refusals.push(BackupRefusal::Unproven(proof.path.clone()).into());
            }
        }
        RestoreEffect::Prove { run, key, within } => {
            if run.is_empty() || action.pre.run.as_deref() != Some(run) {
                refusals.push(Refusal::MissingPrecondition {
                    effect: action.effect.name(),
                    target: action.effect.target(),
                    field: "run",
                });
            }
            if *within <= Millis(0) || *within > LONGEST {
                refusals.push(BackupRefusal::Time(*within).into());
            }
            let spec = EtcdRestoreSpec::deserialize(&resource.spec).unwrap_or_default();
            if Place::of(&spec.source()).is_none_or(|place| place.key != *key) {
                refusals.push(BackupRefusal::ForeignKey(key.clone()).into());
            }
            let transfer = snapshot
                .restore
                .as_ref()
                .and_then(|view| view.transfer.as_ref());
            if let Some(transfer) = transfer
                && matches!(transfer.state, TransferState::Running { .. })
            {
                refusals.push(BackupRefusal::UnderWay(transfer.run.clone()).into());
            }
        }
        RestoreEffect::CreateCluster { name, spec } => {
            let head = RestoreHead::of(resource);
            let view = snapshot.restore.as_ref();
            let is_absent = view.is_some_and(|view| view.cluster == Observed::Absent);
            let is_described = head.spec.as_ref().is_some_and(|wanted| {
                wanted.etcd_cluster.name == *name
                    && wanted.cluster_template.as_ref() == Some(&**spec)
            });
            if head.proof.is_none() || head.over || !is_absent || !is_described {
                refusals.push(BackupRefusal::ForeignCluster(name.clone()).into());
            }
        }
    }
}

/// Whether the success stands already, or the cluster says that it is whole again after this very restore.
fn is_over_with_it(snapshot: &Snapshot) -> bool {
    let resource = &snapshot.resource;
    let before = EtcdRestoreStatus::deserialize(&resource.status).unwrap_or_default();
    let view = snapshot.restore.as_ref();
    let cluster = view.and_then(|view| view.cluster.seen());
    let status = cluster.and_then(|one| EtcdClusterStatus::deserialize(&one.status).ok());
    let restoration = status.and_then(|status| status.restoration);
    let is_done = restoration
        .is_some_and(|one| one.uid == resource.uid && one.stage == RestorationStage::Done);
    before.succeeded || is_done
}

/// Whether that proof stands already, or the host has just read these bytes to their end, for the run that the status holds.
fn is_proven(proof: &SnapshotProof, snapshot: &Snapshot) -> bool {
    let resource = &snapshot.resource;
    let stored = EtcdRestoreStatus::deserialize(&resource.status).unwrap_or_default();
    if stored.proof.as_ref() == Some(proof) {
        return true;
    }
    let view = snapshot.restore.as_ref();
    let transfer = view.and_then(|view| view.transfer.as_ref());
    let own = transfer.filter(|transfer| stored.run.is_some_and(|run| run.id == transfer.run));
    own.is_some_and(|transfer| match &transfer.state {
        TransferState::Done(read) => {
            read.content.is_some()
                && read.sha256 == proof.sha256
                && proof.generation == resource.generation
        }
        TransferState::Running { .. } | TransferState::Failed { .. } => false,
    })
}

/// The one way to forget a cluster id: its members were stopped for a restoration, and another cluster is founded.
pub(crate) fn gives_up(status: &EtcdClusterStatus, recorded: &ResourceHead) -> bool {
    let (Some(before), Some(after)) = (&recorded.restoration, &status.restoration) else {
        return false;
    };
    before.uid == after.uid
        && before.stage == RestorationStage::Stopping
        && after.stage == RestorationStage::Filling
        && after.replaces.as_ref() == recorded.cluster_id.seen()
        && status.cluster_id.is_none()
        && status.birth.is_none()
}

/// Judges an effect on a restore against the world right before it.
pub(crate) fn check_restore(effect: &RestoreEffect, fresh: &Fresh) -> Result<(), Refusal> {
    match effect {
        RestoreEffect::UpdateStatus { .. } | RestoreEffect::CreateCluster { .. } => Ok(()),
        RestoreEffect::Prove { run, .. } => {
            if fresh.backup.run.as_ref() != Some(run) {
                return Err(BackupRefusal::Unrecorded(run.clone()).into());
            }
            match &fresh.backup.transfer {
                Some(other) => Err(BackupRefusal::UnderWay(other.clone()).into()),
                None => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
