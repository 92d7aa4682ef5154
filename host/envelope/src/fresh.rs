//! What is read again immediately before an effect, and which effect needs what. The host fills [`Fresh`].

use std::collections::{BTreeMap, BTreeSet};

use contract::{
    Action, BackupEffect, BeingRestored, Birth, Child, ClusterId, Effect, EtcdView, ObjectKind,
    Observed, Preconditions, QuorumRecovery, Recovery, Resource, Restoration, RestoreRef,
    ScheduleEffect, ScheduledBackup, StoredObject, TlsPolicy, TlsSecrets,
};
use serde::Deserialize;

use crate::arguments::InitialCluster;
use crate::backup::BackupHead;
use crate::image::asked_version;
use crate::preconditions::relies_on_claim;
use crate::quota::quota;
use crate::restore::RestoreHead;

/// The world immediately before an effect. What [`reads`] does not name may be left `Unknown`.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// This instance holds the lease at this moment.
    pub lease_held: bool,
    /// The custom resource. Always needed.
    pub resource: Observed<ResourceHead>,
    /// The child that the effect touches.
    pub object: Observed<ObjectHead>,
    /// The claim that a pod is built on.
    pub claim: Observed<ObjectHead>,
    /// Members and endpoints, asked at this moment.
    pub etcd: EtcdView,
    /// Milliseconds by which the host's clock is ahead of the API server's.
    pub clock_ahead: Observed<i64>,
    /// What counts of a backup.
    pub backup: BackupHead,
    /// What is stored under the backup's own name.
    pub stored: Observed<Vec<StoredObject>>,
    /// What EtcdRestores and clusters of the namespace may still read, of any store.
    pub being_restored: Observed<Vec<BeingRestored>>,
    /// The EtcdRestore that a cluster goes on from.
    pub restore: Observed<RestoreHead>,
    /// The EtcdBackup that a schedule makes or deletes.
    pub scheduled: Observed<ScheduledBackup>,
}

/// What counts of the custom resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceHead {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// Its deletion was asked for.
    pub deleted: bool,
    /// `spec.paused` is true.
    pub paused: bool,
    /// `status.birth`, if it can be read.
    pub birth: Option<Birth>,
    /// `status.takingOver` is true.
    pub taking_over: bool,
    /// `status.clusterId`; `Unknown` when there is one that cannot be read.
    pub cluster_id: Observed<ClusterId>,
    /// Bytes a member's data file may reach, as the spec sets it or as etcd does; below zero there is no bound.
    pub quota: i64,
    /// `spec.size` is there and is 0.
    pub zero: bool,
    /// `spec.size`, if it can be read.
    pub size: Option<i64>,
    /// `status.asleepSince` is set.
    pub asleep: bool,
    /// `spec.quorumRecovery`, if it can be read.
    pub consent: Option<QuorumRecovery>,
    /// `status.recovery`, if it can be read.
    pub recovery: Option<Recovery>,
    /// `status.restoration`, if it can be read.
    pub restoration: Option<Restoration>,
    /// Names of the members that `status.memberRecords` says vote.
    pub voters: BTreeSet<String>,
    /// The disks of members by their names, as `status.memberRecords` has them.
    pub disks: BTreeMap<String, String>,
    /// `spec.TLS` asks for certificates between members.
    pub secure_peers: bool,
    /// The minor version that `spec.version` asks for, if it can be read.
    pub minor: Option<u64>,
}

impl ResourceHead {
    /// Takes what counts out of a resource. An unreadable status has no birth plan.
    #[must_use]
    pub fn of(resource: &Resource) -> Self {
        let cluster_id = match resource.status.get("clusterId") {
            None | Some(serde_json::Value::Null) => Observed::Absent,
            Some(value) => ClusterId::deserialize(value)
                .map_or_else(|error| Observed::Unknown(error.to_string()), Observed::Seen),
        };
        let size = resource
            .spec
            .get("size")
            .and_then(serde_json::Value::as_i64);
        Self {
            name: resource.name.clone(),
            uid: resource.uid.clone(),
            resource_version: resource.resource_version.clone(),
            deleted: resource.deleted.is_some(),
            paused: is_paused(resource),
            birth: resource
                .status
                .get("birth")
                .and_then(|value| Birth::deserialize(value).ok()),
            taking_over: resource.is_being_taken_over(),
            cluster_id,
            quota: quota(resource),
            zero: size == Some(0),
            size,
            asleep: resource
                .status
                .get("asleepSince")
                .is_some_and(serde_json::Value::is_string),
            consent: resource
                .spec
                .get("quorumRecovery")
                .and_then(|value| QuorumRecovery::deserialize(value).ok()),
            recovery: resource
                .status
                .get("recovery")
                .and_then(|value| Recovery::deserialize(value).ok()),
            restoration: resource
                .status
                .get("restoration")
                .and_then(|value| Restoration::deserialize(value).ok()),
            voters: voters(resource),
            disks: disks(resource),
            secure_peers: asks_for_secure_peers(resource),
            minor: asked_minor(resource),
        }
    }
}

fn records(resource: &Resource) -> impl Iterator<Item = &serde_json::Value> {
    let records = resource.status.get("memberRecords");
    records
        .and_then(serde_json::Value::as_array)
        .into_iter()
        .flatten()
}

fn asked_minor(resource: &Resource) -> Option<u64> {
    let asked = resource.spec.get("version");
    let asked = asked.and_then(serde_json::Value::as_str);
    asked_version(asked.unwrap_or_default()).map(|version| version.minor)
}

/// The disks that the status remembers members on.
fn disks(resource: &Resource) -> BTreeMap<String, String> {
    let text = |record: &serde_json::Value, key| Some(record.get(key)?.as_str()?.to_owned());
    records(resource)
        .filter_map(|record| Some((text(record, "name")?, text(record, "disk")?)))
        .collect()
}

/// Members that the status remembers as voters; none where it cannot be read.
fn voters(resource: &Resource) -> BTreeSet<String> {
    records(resource)
        .filter(|record| record.get("role").is_some_and(|role| role == "Voter"))
        .filter_map(|record| Some(record.get("name")?.as_str()?.to_owned()))
        .collect()
}

fn asks_for_secure_peers(resource: &Resource) -> bool {
    let policy = resource.spec.get("TLS");
    let policy = policy.and_then(|policy| TlsPolicy::deserialize(policy).ok());
    TlsSecrets::of(policy.as_ref(), &resource.name)
        .peer
        .is_some()
}

/// `spec.paused`, even when the rest of the spec cannot be read.
pub fn is_paused(resource: &Resource) -> bool {
    resource
        .spec
        .get("paused")
        .and_then(serde_json::Value::as_bool)
        == Some(true)
}

/// What counts of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectHead {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// UID of the controlling owner reference.
    pub owner: Option<String>,
    /// Its deletion was asked for.
    pub deleted: bool,
    /// A pod whose phase is Succeeded or Failed: none of its containers will run again.
    pub ended: bool,
    /// A pod whose container `etcd` runs.
    pub running: bool,
    /// A pod whose container `etcd` runs with the image before its own, and is restarted any moment.
    pub restarts: bool,
    /// A pod whose container `etcd` was started at least once.
    pub ran: bool,
    /// `claimName` of a pod's volume `etcd-data`.
    pub claim: Option<String>,
    /// A pod whose etcd founds a cluster if its disk is empty.
    pub founds: bool,
}

/// What must be read before an action. The resource and the lease always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// The child it touches.
    pub object: Option<(ObjectKind, String)>,
    /// The claim its pod is built on.
    pub claim: Option<String>,
    /// etcd's members and endpoints.
    pub etcd: bool,
    /// The API server's clock.
    pub clock: bool,
    /// What is stored under the backup's own name, and what may be being restored.
    pub stored: bool,
    /// The EtcdRestore that the cluster goes on from.
    pub restore: Option<RestoreRef>,
    /// The EtcdBackup that a schedule makes or deletes.
    pub scheduled: Option<String>,
}

/// Says what [`crate::check`] needs to judge this action.
#[must_use]
pub fn reads(action: &Action) -> Reads {
    let Action { effect, pre } = action;
    let etcd = asks_etcd(pre)
        || pre.recovery
        || pre.restore.is_some()
        || match effect {
            Effect::UpdateStatus { status } => {
                let restoration = status.restoration.as_ref();
                status.recovery.as_ref().is_some_and(Recovery::is_under_way)
                    || restoration.is_some()
            }
            Effect::AddLearner { .. }
            | Effect::Promote { .. }
            | Effect::RemoveMember { .. }
            | Effect::UpdateMember { .. }
            | Effect::MoveLeader { .. }
            | Effect::Compact { .. }
            | Effect::Defragment { .. }
            | Effect::AppendNoop
            | Effect::Disarm { .. }
            | Effect::Downgrade { .. } => true,
            Effect::Apply { object } => match &**object {
                Child::Pod(pod) => InitialCluster::of_pod(pod).joins(),
                Child::PersistentVolumeClaim(_)
                | Child::Service(_)
                | Child::PodDisruptionBudget(_) => false,
            },
            Effect::AnnotatePod { name, annotations } => {
                InitialCluster::new(name, annotations).joins()
            }
            Effect::Event { .. }
            | Effect::TakeUpClaim { .. }
            | Effect::RetireReplicaSet { .. }
            | Effect::SetImage { .. }
            | Effect::Issue { .. }
            | Effect::Backup(_)
            | Effect::Restore(_)
            | Effect::Schedule(_) => false,
            // Whether those of the plan have formed a cluster that nobody recorded.
            Effect::Delete { .. } => pre.birth_token.is_some(),
            Effect::Peer(_) => true,
        };
    let claim = match effect {
        Effect::Apply { object } => match &**object {
            Child::Pod(pod) => claim_of(pod),
            Child::PersistentVolumeClaim(_) | Child::Service(_) | Child::PodDisruptionBudget(_) => {
                None
            }
        },
        Effect::Delete {
            kind: ObjectKind::Pod,
            name,
            grace_seconds: _,
        } if relies_on_claim(pre) => Some(name.clone()),
        Effect::RetireReplicaSet { name, .. } => Some(name.clone()),
        Effect::UpdateStatus { .. }
        | Effect::Event { .. }
        | Effect::AnnotatePod { .. }
        | Effect::TakeUpClaim { .. }
        | Effect::SetImage { .. }
        | Effect::Delete { .. }
        | Effect::Issue { .. }
        | Effect::AddLearner { .. }
        | Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::UpdateMember { .. }
        | Effect::MoveLeader { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. }
        | Effect::Peer(_)
        | Effect::Backup(_)
        | Effect::Restore(_)
        | Effect::Schedule(_) => None,
    };
    // What goes for its age is judged by the clock as well.
    let deletes_stored = matches!(effect, Effect::Backup(BackupEffect::Delete { .. }));
    Reads {
        object: effect.kind().map(|kind| (kind, effect.target())),
        claim,
        etcd,
        clock: deletes_stored || matches!(effect, Effect::Issue { .. }),
        stored: deletes_stored,
        restore: restore_of(action),
        scheduled: scheduled_of(effect),
    }
}

/// The EtcdBackup that an effect on its schedule makes or deletes.
fn scheduled_of(effect: &Effect) -> Option<String> {
    let Effect::Schedule(effect) = effect else {
        return None;
    };
    match effect {
        ScheduleEffect::CreateBackup { name, .. } | ScheduleEffect::DeleteBackup { name } => {
            Some(name.clone())
        }
        ScheduleEffect::UpdateStatus { .. } | ScheduleEffect::Release { .. } => None,
    }
}

/// The EtcdRestore that an action relies on.
fn restore_of(action: &Action) -> Option<RestoreRef> {
    if let Effect::UpdateStatus { status } = &action.effect {
        let restoration = status.restoration.as_ref()?;
        return Some(RestoreRef {
            name: restoration.restore.clone(),
            uid: restoration.uid.clone(),
        });
    }
    action.pre.restore.clone()
}

/// Whether a precondition is about etcd. At birth a departed member is one that is not in the plan, and in a cluster that
/// sleeps one that the status does not remember.
pub(crate) fn asks_etcd(pre: &Preconditions) -> bool {
    let Preconditions {
        resource_uid: _,
        resource_version: _,
        object: _,
        object_version: _,
        claim_uid: _,
        birth_token,
        cluster_id,
        members,
        leader,
        touches,
        healthy_voters,
        departed,
        scaled_to_zero,
        run: _,
        recovery: _,
        restore: _,
        successor: _,
    } = pre;
    cluster_id.is_some()
        || members.is_some()
        || leader.is_some()
        || touches.is_some()
        || healthy_voters.is_some()
        || (departed.is_some() && birth_token.is_none() && !scaled_to_zero)
}

/// The claim a pod would mount.
pub(crate) fn claim_of(pod: &k8s_openapi::api::core::v1::Pod) -> Option<String> {
    let volumes = pod.spec.as_ref()?.volumes.as_ref()?;
    volumes
        .iter()
        .find_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.clone()))
}
