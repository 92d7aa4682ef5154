//! The status of an `EtcdCluster`: what people read, and the reconciler's only memory.
//!
//! The keys of the archived operator keep their names and meaning; the others are additions. Times are RFC 3339.

use serde::{Deserialize, Serialize};

use crate::{BackupBefore, ClusterId, MemberId, Restoration, TlsSecrets};

/// The observed state of an etcd cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterStatus {
    /// Empty, Creating, Running or Failed.
    #[serde(default)]
    pub phase: Phase,
    /// Why the phase is Failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The operator saw `spec.paused`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control_paused: bool,
    /// What holds, and since when.
    #[serde(default, deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
    /// Members in etcd's list.
    #[serde(default)]
    pub size: i64,
    /// Healthy members.
    #[serde(default)]
    pub ready_members: i64,
    /// Selector of the members' pods, for the scale subresource.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selector: String,
    /// Name of the Service for clients.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub service_name: String,
    /// Port of the Service for clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_port: Option<i64>,
    /// Pod names of the members.
    #[serde(default, deserialize_with = "null_as_default")]
    pub members: MemberNames,
    /// etcd's version, asked of the members: the lowest one.
    #[serde(default)]
    pub current_version: String,
    /// The version that members are being moved to; empty when none.
    #[serde(default)]
    pub target_version: String,
    /// `metadata.generation` this status answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// etcd's id of the cluster, from the moment that a quorum first answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    /// Members are being moved from the archived operator's ReplicaSets onto pods of this operator's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taking_over: bool,
    /// The plan of the first members, until the cluster id is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<Birth>,
    /// Since when the members have been stopped because `spec.size` is 0. Cleared when a quorum of them answers again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep_since: Option<String>,
    /// The consent in `spec.quorumRecovery` and what became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// The EtcdRestore that the cluster goes on from, and how far that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restoration: Option<Restoration>,
    /// The backup that is waited for before something that is hard to take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_before: Option<BackupBefore>,
    /// What is remembered of each member, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub member_records: Vec<MemberRecord>,
    /// The Secrets that the members are started with; none means plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSecrets>,
    /// The generation of the authorities that the operator made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_generation: Option<i64>,
    /// Until when each certificate is valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<CertificateRecord>,
    /// What was done about an alarm for lack of space; none when there is no such alarm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_cure: Option<SpaceCure>,
    /// sha-256 of the reconciler module that decided this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

/// `status.phase`, as the archived operator spells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Phase {
    /// Not looked at yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// The first members are being started.
    Creating,
    /// A quorum has answered at least once.
    Running,
    /// Nothing more is done until a person acts.
    Failed,
}

/// Pod names of the members, by readiness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemberNames {
    /// Healthy members.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub ready: Vec<String>,
    /// The others.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub unready: Vec<String>,
}

/// One condition, see
/// <https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md>.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its name.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// When the status was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// When it last changed between True, False and Unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// A word from one list of reasons.
    #[serde(default)]
    pub reason: String,
    /// A sentence: what is so, what is waited for, what a person can do.
    #[serde(default)]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It could not be found out.
    Unknown,
}

/// The plan of the first members. Written before any of them starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Birth {
    /// `--initial-cluster-token`: members of different attempts can never meet.
    pub token: String,
    /// Names of the members, sorted.
    pub members: Vec<String>,
    /// The image all of them start with.
    pub image: String,
    /// When this attempt began.
    pub started_at: String,
    /// 1 for the first attempt.
    pub attempt: i64,
}

/// The end of one certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CertificateRecord {
    /// The Secret it is in.
    pub secret: String,
    /// The key of the Secret.
    pub key: String,
    /// When it ends. Of a chain the first to end counts, of a list of authorities the last.
    pub not_after: String,
}

/// A recovery of the quorum that a person consented to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    /// The consent: the cluster, as the spec spells it.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// The consent: the member whose data the cluster goes on from.
    pub survivor: String,
    /// How far it is.
    pub stage: RecoveryStage,
    /// When it began, or when the consent was found not to be needed.
    pub started_at: String,
    /// The other members of that time. Their volume claims stay until the cluster has its size again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<String>,
}

impl Recovery {
    /// Whether it is under way.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        match self.stage {
            RecoveryStage::Stopping | RecoveryStage::Forcing | RecoveryStage::Renewing => true,
            RecoveryStage::Done | RecoveryStage::Void => false,
        }
    }
}

/// How far a recovery of the quorum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RecoveryStage {
    /// All members are being stopped.
    Stopping,
    /// The survivor is started as the only member.
    Forcing,
    /// The survivor answered as the only member. Its pod is made once more, so that nothing of the flag is left.
    Renewing,
    /// The survivor was the only member and answered. The consent is used up.
    Done,
    /// The quorum was not lost when the consent was found. It counts for no later loss.
    Void,
}

/// What is remembered of one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemberRecord {
    /// Its name, which is also that of its pod and its volume claim.
    pub name: String,
    /// etcd's id, once it is in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MemberId>,
    /// Whether it votes.
    pub role: MemberRole,
    /// How it was last seen.
    pub health: MemberHealth,
    /// Since when `health` is so.
    pub since: String,
    /// Since when it has had this role.
    pub role_since: String,
    /// Its server version, when it last answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The image its pod was last given: a pod that is made again on its disk gets the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The identity of its disk: the volume claim's UID, or the pod's where data lives in the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// How often its pod was made again since it was last healthy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recreations: i64,
    /// Its peers reach it in plain text although members have certificates for one another: TLS is being turned on or off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_peer: bool,
    /// Size of its data file in bytes, when it last answered. Written anew once it has changed by a tenth and by 1 MiB; the
    /// metric `binnacle_member_db_size_bytes` has it at each moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_size: Option<i64>,
    /// Entries of the log that it had yet to apply, when it last answered: 0 below 1,000, and written anew once it has
    /// doubled or halved. The metric `binnacle_member_raft_lag_entries` has it at each moment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub raft_lag: i64,
}

/// Whether a member votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MemberRole {
    /// Planned; etcd does not know it yet.
    Planned,
    /// Receives the log without a vote.
    Learner,
    /// Votes.
    Voter,
}

/// How a member was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MemberHealth {
    /// It answers, is in the recorded cluster and follows a leader.
    Healthy,
    /// It does not.
    Unhealthy,
    /// It could not be asked.
    Unknown,
}

/// What was done about an alarm for lack of space. Written before it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SpaceCure {
    /// Since when the alarm is known.
    pub since: String,
    /// When the present attempt began.
    pub tried_at: String,
    /// The attempt follows soon on another one, because keys were changed meanwhile: only what surely helps is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
    /// Up to which revision history was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted_revision: Option<i64>,
    /// Members defragmented in the present attempt, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defragmented: Vec<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// The archived operator stored `null` for lists that were never set.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
