//! What must hold immediately before an effect, as a fresh read shows it.
//!
//! Which of it an effect must carry is the envelope's rule.

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use crate::{ClusterId, Fingerprint, MemberId};

/// How the outcome of an effect begins whose [`Preconditions::successor`] the API server would not create.
pub const SUCCESSOR_REFUSED: &str = "the API server would not create the pod that is to follow";

/// How the outcome of a [`crate::Effect::Promote`] begins whose learner the leader does not reach.
pub const LEARNER_UNHEARD: &str = "the learner did not receive what its leader appended for it";

/// What a fresh read must show immediately before the effect. An absent field asks for nothing; which fields an
/// effect must carry is the envelope's rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// UID of the resource. Always there.
    pub resource_uid: String,
    /// resourceVersion of the resource, for its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The child as it was in the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectPrecondition>,
    /// resourceVersion of the child, for an effect that relies on what the snapshot says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_version: Option<String>,
    /// The volume claim a pod is built on: its UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_uid: Option<String>,
    /// `status.birth.token` of the resource, for a pod that starts with the state `new`; no cluster id may be recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth_token: Option<String>,
    /// The etcd cluster that must answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    /// The member list, confirmed by a quorum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Fingerprint>,
    /// Who leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<MemberId>,
    /// The member whose pod or disk is touched, if it is in the member list: the count of healthy voters is without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touches: Option<MemberId>,
    /// Healthy voters that must remain after the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy_voters: Option<u32>,
    /// The member of this name must not be in the list: for the pod and the disk of one that left. With `scaledToZero` it
    /// must not be among the voters that the status remembers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departed: Option<String>,
    /// `spec.size` must be 0 and `status.asleepSince` be set: for a pod that is stopped, and whose claim stays or whose member
    /// left before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scaled_to_zero: bool,
    /// `status.run.id` of the backup or restore must be this one, for what the run does; for a rehearsal
    /// `status.rehearsalRun.id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// `status.recovery` must be under way, `spec.quorumRecovery` agree with it and no quorum answer: for the pods that a
    /// recovery stops, and for the survivor's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovery: bool,
    /// `status.restoration` must be under way for this EtcdRestore, which must be proven: for the pods that a restoration
    /// stops, and for the one that it fills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<RestoreRef>,
    /// The pod that is to be made in the place of one that is deleted: the API server must be willing to create it, as a
    /// dry run tells. A quota that is used up does not count, because the deletion makes room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<Box<Pod>>,
}

/// An EtcdRestore of the resource's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreRef {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// A child's state a decision relied on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ObjectPrecondition {
    /// No object of that kind and name.
    Absent,
    /// This very object.
    Present {
        /// Its UID.
        uid: String,
    },
}
