//! The snapshot: everything a decision may know, at one instant.
//!
//! What could not be read is `Unknown` and says why; it is neither absent nor healthy. Lists are sorted by
//! name or id, so that equal bytes mean equal states.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BackupView, DepartingPeer, EtcdView, ForeignObject, Millis, ObjectKind, Objects, OldLock,
    OldSet, RestoreView, SCHEMA, ScheduleView, Secret,
};

/// A fact that was looked for: seen, known to be absent, or not to be had and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Observed<T> {
    /// It was read.
    Seen(T),
    /// The reader answered that there is none.
    Absent,
    /// No answer; the text says why. Never counts as healthy, nor as gone.
    Unknown(String),
}

impl<T> Observed<T> {
    /// The value, if it was seen.
    pub const fn seen(&self) -> Option<&T> {
        match self {
            Self::Seen(value) => Some(value),
            Self::Absent | Self::Unknown(_) => None,
        }
    }

    pub(crate) const fn absent() -> Self {
        Self::Absent
    }

    pub(crate) const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// One instant of one cluster, as JSON across the boundary and in recordings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The schema this was written in; see [`crate::SCHEMA`].
    pub schema: u32,
    /// The only clock a decision has.
    pub now: Millis,
    /// The only randomness a decision has: 32 hex digits, fresh in each snapshot. Names and tokens come from it.
    pub entropy: String,
    /// The custom resource as the API server holds it.
    pub resource: Resource,
    /// Kubernetes objects that belong to it.
    pub objects: Objects,
    /// etcd's own view.
    pub etcd: EtcdView,
    /// Secrets the resource names, by name: digests and expiry, never data.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Observed<Secret>>,
    /// Backups known of this cluster, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backups: Vec<Backup>,
    /// What is known about the backup, where the resource is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Box<BackupView>>,
    /// What is known about the restore, where the resource is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<Box<RestoreView>>,
    /// What is known about the schedule of backups, where the resource is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Box<ScheduleView>>,
    /// The EtcdRestores that name this cluster, the oldest first. `Absent` in recordings of hosts that knew none.
    #[serde(
        default = "Observed::absent",
        skip_serializing_if = "Observed::is_absent"
    )]
    pub restores: Observed<Vec<Resource>>,
    /// The EtcdBackups that name this cluster and are taken before something that is hard to take back. `Absent` in
    /// recordings of hosts that knew none.
    #[serde(
        default = "Observed::absent",
        skip_serializing_if = "Observed::is_absent"
    )]
    pub guards: Observed<Vec<Resource>>,
    /// The operator's own image, as it was told: the only one beside etcd's that a member's pod may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_image: Option<String>,
    /// The lock of an archived coreos etcd-operator that may still be at work here.
    #[serde(
        default = "Observed::absent",
        skip_serializing_if = "Observed::is_absent"
    )]
    pub old_lock: Observed<OldLock>,
    /// The ReplicaSets by which the archived operator keeps the members' pods, sorted by name. `Absent` where nobody looks
    /// for any.
    #[serde(
        default = "Observed::absent",
        skip_serializing_if = "Observed::is_absent"
    )]
    pub old_sets: Observed<Vec<OldSet>>,
    /// EtcdPeers of the archived operator that are being deleted and wait for a volume claim to go. `Absent` where the
    /// dialect has none, and in recordings of hosts that knew none.
    #[serde(
        default = "Observed::absent",
        skip_serializing_if = "Observed::is_absent"
    )]
    pub departing_peers: Observed<Vec<DepartingPeer>>,
    /// What became of the actions of the decision before this one; empty after a restart of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<PastOutcome>,
}

impl Snapshot {
    /// A resource at an instant, with nothing around it: no children, no etcd, no Secrets, no past.
    #[must_use]
    pub const fn bare(resource: Resource, now: Millis, entropy: String) -> Self {
        Self {
            schema: SCHEMA,
            now,
            entropy,
            resource,
            objects: Objects {
                pods: Observed::Absent,
                volumes: Observed::Absent,
                services: Observed::Absent,
                disruption_budgets: Observed::Absent,
                foreign: Vec::new(),
            },
            etcd: EtcdView {
                membership: Observed::Absent,
                endpoints: Vec::new(),
                alarms: Observed::Absent,
            },
            secrets: BTreeMap::new(),
            backups: Vec::new(),
            backup: None,
            restore: None,
            schedule: None,
            restores: Observed::Absent,
            guards: Observed::Absent,
            operator_image: None,
            old_lock: Observed::Absent,
            old_sets: Observed::Absent,
            departing_peers: Observed::Absent,
            outcomes: Vec::new(),
        }
    }
}

/// The custom resource. `spec` and `status` are raw, because an object that was stored with wrong types must
/// still reach a decision, which then says what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// `group/version`.
    pub api_version: String,
    /// Kind, for example `EtcdCluster`.
    pub kind: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.generation`; it grows with each change of `spec`.
    #[serde(default)]
    pub generation: i64,
    /// When the resource was created.
    pub created: Millis,
    /// When deletion was asked for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Millis>,
    /// `metadata.finalizers`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// UID of the controlling owner reference, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `metadata.labels`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`, without kubectl's copy of the object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// `spec` as stored.
    #[serde(default)]
    pub spec: Value,
    /// `status` as stored; null when there is none yet.
    #[serde(default)]
    pub status: Value,
}

/// A stored backup, as far as a decision needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// The name of the EtcdBackup that made it.
    pub name: String,
    /// When it was complete.
    pub at: Millis,
    /// etcd's revision in it.
    pub revision: i64,
}

/// What became of one action of the decision before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastOutcome {
    /// [`crate::Effect::name`] of the action.
    pub effect: String,
    /// The kind of object it was to change, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ObjectKind>,
    /// The name of the object or the hex id of the member it was to change.
    pub target: String,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// The words of whoever refused or failed; empty when done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// How an action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OutcomeKind {
    /// The effect is in place.
    Done,
    /// A precondition did not hold on the fresh read; nothing happened.
    Refused,
    /// The call was made and failed, or its answer was lost: the effect may or may not be in place.
    Failed,
    /// An action before it was refused or failed, so it was not tried.
    Skipped,
}

impl ForeignObject {
    /// Whether this is the object `kind`/`name`.
    #[must_use]
    pub fn is(&self, kind: ObjectKind, name: &str) -> bool {
        self.kind == kind && self.name == name
    }
}
