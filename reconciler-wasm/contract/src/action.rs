//! Actions: complete effects with their preconditions. Whoever executes one chooses nothing.
//!
//! The kinds of children are a closed set, so an action on another kind cannot be written down.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde::{Deserialize, Serialize};

use crate::{
    AlarmKind, BackupEffect, EtcdClusterStatus, MemberId, Order, PeerEffect, Preconditions,
    RestoreEffect, ScheduleEffect,
};

/// One effect on the world and what must hold immediately before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// What is to happen.
    pub effect: Effect,
    /// What a fresh read must show, else nothing happens.
    pub pre: Preconditions,
}

/// What can happen. Objects are those of the resource's own namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Effect {
    /// Replaces the resource's status; refused when the resource changed since the snapshot.
    UpdateStatus {
        /// The whole status. The host adds which module decided.
        status: Box<EtcdClusterStatus>,
    },
    /// Records an event on the resource.
    Event {
        /// Normal or Warning.
        kind: EventType,
        /// A machine-readable word.
        reason: String,
        /// A sentence for people.
        note: String,
    },
    /// Server-side apply of one child, whole.
    Apply {
        /// The object.
        object: Box<Child>,
    },
    /// Sets annotations of a pod and leaves all else as it is.
    AnnotatePod {
        /// The pod's name.
        name: String,
        /// Keys and their new values.
        annotations: BTreeMap<String, String>,
    },
    /// Makes a volume claim that an earlier cluster of the same name left one of this cluster: sets the annotation by which
    /// claims that stay are known, and [`crate::names::PREVIOUS_OWNER_ANNOTATION`]. One of the archived operator's, which belonged to nobody, also gets the label by which
    /// children are known, and [`crate::names::DATA_ANNOTATION`].
    TakeUpClaim {
        /// The claim's name.
        name: String,
        /// UID of the cluster that it belonged to; empty for one of the archived operator's.
        from: String,
    },
    /// Deletes the ReplicaSet by which the archived operator keeps the pod of one member, which ends that pod.
    RetireReplicaSet {
        /// Its name, which is the member's.
        name: String,
        /// UID of its controlling owner.
        owner: String,
    },
    /// Gives the container `etcd` of a living pod another image; the kubelet restarts it on the same disk.
    SetImage {
        /// The pod's name.
        name: String,
        /// The image.
        image: String,
        /// Annotations that tell of it, set in the same write.
        annotations: BTreeMap<String, String>,
    },
    /// Deletes one child.
    Delete {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// Seconds a pod has to end; the pod's own when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_seconds: Option<i64>,
    },
    /// Makes certificates and writes them, with their keys, into a Secret of the cluster's own.
    Issue {
        /// The Secret's name.
        secret: String,
        /// What is to be in it.
        order: Order,
    },
    /// `MemberAdd` as a learner.
    AddLearner {
        /// The name the member will have.
        name: String,
        /// Where its peers will reach it.
        peer_urls: Vec<String>,
    },
    /// `MemberPromote`: the learner gets a vote. etcd refuses while it lags, by what the leader once heard of it
    /// (`isLearnerReady` in `server.go`); the host appends an entry that changes nothing before it asks, and asks only when
    /// the learner has received it.
    Promote {
        /// The learner.
        member: MemberId,
    },
    /// `MemberRemove`.
    RemoveMember {
        /// Who leaves.
        member: MemberId,
    },
    /// `MemberUpdate` of a voter: where its peers reach it from then on. A learner would lose its mark by it.
    UpdateMember {
        /// Who.
        member: MemberId,
        /// Where.
        peer_urls: Vec<String>,
    },
    /// `MoveLeader`.
    MoveLeader {
        /// Who leads afterwards.
        to: MemberId,
    },
    /// Compaction of the key space: history up to this revision is given up, waiting until it is gone from the disk of
    /// the member that is asked.
    Compact {
        /// Reads at older revisions end with an error afterwards.
        revision: i64,
    },
    /// `Defragment` of one member, which answers nobody meanwhile.
    Defragment {
        /// Whose data file is rewritten.
        member: MemberId,
    },
    /// An entry of etcd's log that changes nothing, for the sake of a learner: etcd counts what a member got in a snapshot as
    /// applied only with the next entry, and that member serves nobody while more than 5,000 are not
    /// (`maxGapBetweenApplyAndCommitIndex` in `v3_server.go`). It is an `Alarm` request that ends no alarm.
    AppendNoop,
    /// Ends an alarm.
    Disarm {
        /// Which one.
        kind: AlarmKind,
        /// Whom it names; none where it names nobody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member: Option<MemberId>,
    },
    /// `Maintenance/Downgrade`: etcd's own procedure that takes the cluster back by one minor version.
    Downgrade {
        /// The minor version that members are to be moved to, for example `3.5`: their data files are brought into its
        /// format. None ends the procedure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// What is done about an EtcdPeer that the archived operator of the second dialect left on its way out.
    Peer(PeerEffect),
    /// What is done about a backup; for that kind of resource alone.
    Backup(BackupEffect),
    /// What is done about a restore; for that kind of resource alone.
    Restore(RestoreEffect),
    /// What is done about a schedule of backups; for that kind of resource alone.
    Schedule(ScheduleEffect),
}

impl Effect {
    /// The name under which recordings, metrics and logs know the effect.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UpdateStatus { .. } => "UpdateStatus",
            Self::Event { .. } => "Event",
            Self::Apply { .. } => "Apply",
            Self::AnnotatePod { .. } => "AnnotatePod",
            Self::TakeUpClaim { .. } => "TakeUpClaim",
            Self::RetireReplicaSet { .. } => "RetireReplicaSet",
            Self::SetImage { .. } => "SetImage",
            Self::Delete { .. } => "Delete",
            Self::Issue { .. } => "Issue",
            Self::AddLearner { .. } => "AddLearner",
            Self::Promote { .. } => "Promote",
            Self::RemoveMember { .. } => "RemoveMember",
            Self::UpdateMember { .. } => "UpdateMember",
            Self::MoveLeader { .. } => "MoveLeader",
            Self::Compact { .. } => "Compact",
            Self::Defragment { .. } => "Defragment",
            Self::AppendNoop => "AppendNoop",
            Self::Disarm { .. } => "Disarm",
            Self::Downgrade { .. } => "Downgrade",
            Self::Peer(effect) => effect.name(),
            Self::Backup(effect) => effect.name(),
            Self::Restore(effect) => effect.name(),
            Self::Schedule(effect) => effect.name(),
        }
    }

    /// The kind of the child it touches, if it touches one.
    #[must_use]
    pub fn kind(&self) -> Option<ObjectKind> {
        match self {
            Self::Apply { object } => Some(object.kind()),
            Self::AnnotatePod { .. } | Self::SetImage { .. } => Some(ObjectKind::Pod),
            Self::TakeUpClaim { .. } | Self::Peer(PeerEffect::DeleteClaim { .. }) => {
                Some(ObjectKind::PersistentVolumeClaim)
            }
            Self::RetireReplicaSet { .. } => Some(ObjectKind::ReplicaSet),
            Self::Delete { kind, .. } => Some(*kind),
            Self::Issue { .. } => Some(ObjectKind::Secret),
            Self::UpdateStatus { .. }
            | Self::Event { .. }
            | Self::AddLearner { .. }
            | Self::Promote { .. }
            | Self::RemoveMember { .. }
            | Self::UpdateMember { .. }
            | Self::MoveLeader { .. }
            | Self::Compact { .. }
            | Self::Defragment { .. }
            | Self::AppendNoop
            | Self::Disarm { .. }
            | Self::Downgrade { .. }
            | Self::Peer(PeerEffect::Release { .. })
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::Schedule(_) => None,
        }
    }

    /// The name of the object or member it touches; empty where that is the resource itself.
    #[must_use]
    pub fn target(&self) -> String {
        match self {
            Self::UpdateStatus { .. }
            | Self::Event { .. }
            | Self::Compact { .. }
            | Self::AppendNoop => String::new(),
            Self::Apply { object } => object.name().to_owned(),
            Self::AnnotatePod { name, .. }
            | Self::TakeUpClaim { name, .. }
            | Self::RetireReplicaSet { name, .. }
            | Self::SetImage { name, .. }
            | Self::Delete { name, .. }
            | Self::AddLearner { name, .. } => name.clone(),
            Self::Issue { secret, .. } => secret.clone(),
            Self::Promote { member }
            | Self::RemoveMember { member }
            | Self::UpdateMember { member, .. }
            | Self::Defragment { member } => member.to_string(),
            Self::MoveLeader { to } => to.to_string(),
            Self::Disarm { kind, .. } => kind.name().to_owned(),
            Self::Downgrade { to } => to.clone().unwrap_or_default(),
            Self::Peer(effect) => effect.target().to_owned(),
            Self::Backup(effect) => effect.target().to_owned(),
            Self::Restore(effect) => effect.target().to_owned(),
            Self::Schedule(effect) => effect.target().to_owned(),
        }
    }

    /// Whether it says how things are and changes nothing else.
    #[must_use]
    pub const fn is_telling(&self) -> bool {
        matches!(
            self,
            Self::UpdateStatus { .. }
                | Self::Event { .. }
                | Self::Backup(BackupEffect::UpdateStatus { .. })
                | Self::Restore(RestoreEffect::UpdateStatus { .. })
                | Self::Schedule(ScheduleEffect::UpdateStatus { .. })
        )
    }

    /// Whether it changes etcd's list of members or who leads.
    #[must_use]
    pub const fn is_membership_change(&self) -> bool {
        match self {
            Self::AddLearner { .. }
            | Self::Promote { .. }
            | Self::RemoveMember { .. }
            | Self::UpdateMember { .. }
            | Self::MoveLeader { .. } => true,
            Self::UpdateStatus { .. }
            | Self::Event { .. }
            | Self::Apply { .. }
            | Self::AnnotatePod { .. }
            | Self::TakeUpClaim { .. }
            | Self::RetireReplicaSet { .. }
            | Self::SetImage { .. }
            | Self::Delete { .. }
            | Self::Issue { .. }
            | Self::Compact { .. }
            | Self::Defragment { .. }
            | Self::AppendNoop
            | Self::Disarm { .. }
            | Self::Downgrade { .. }
            | Self::Peer(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::Schedule(_) => false,
        }
    }
}

/// `type` of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventType {
    /// As expected.
    Normal,
    /// Someone should look.
    Warning,
}

/// The kinds a cluster is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// `v1/Pod`: one per member.
    Pod,
    /// `v1/PersistentVolumeClaim`: at most one per member.
    PersistentVolumeClaim,
    /// `v1/Service`: one for peers, one for clients.
    Service,
    /// `policy/v1/PodDisruptionBudget`: one per cluster.
    PodDisruptionBudget,
    /// `v1/Secret`: certificates that the operator makes.
    Secret,
    /// `apps/v1/ReplicaSet`: by which an archived operator kept a member's pod.
    ReplicaSet,
}

impl ObjectKind {
    /// The kind as Kubernetes spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::Service => "Service",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
            Self::Secret => "Secret",
            Self::ReplicaSet => "ReplicaSet",
        }
    }
}

/// A child as it shall be, complete.
#[expect(
    clippy::large_enum_variant,
    reason = "effects hold it in a box, and each kind has its own size"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Child {
    /// A member's pod.
    Pod(core::Pod),
    /// A member's volume claim.
    PersistentVolumeClaim(core::PersistentVolumeClaim),
    /// A Service.
    Service(core::Service),
    /// The disruption budget.
    PodDisruptionBudget(PodDisruptionBudget),
}

impl Child {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> ObjectKind {
        match self {
            Self::Pod(_) => ObjectKind::Pod,
            Self::PersistentVolumeClaim(_) => ObjectKind::PersistentVolumeClaim,
            Self::Service(_) => ObjectKind::Service,
            Self::PodDisruptionBudget(_) => ObjectKind::PodDisruptionBudget,
        }
    }

    /// Its metadata.
    #[must_use]
    pub const fn metadata(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
        match self {
            Self::Pod(object) => &object.metadata,
            Self::PersistentVolumeClaim(object) => &object.metadata,
            Self::Service(object) => &object.metadata,
            Self::PodDisruptionBudget(object) => &object.metadata,
        }
    }

    /// Its name; empty when the metadata has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }
}
