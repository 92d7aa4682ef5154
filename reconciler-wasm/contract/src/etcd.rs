//! etcd's own view: the member list, and what each member says of itself at its own endpoint.
//!
//! Members and endpoints are joined by member id. Nothing here judges health.

use serde::{Deserialize, Serialize};

use crate::{ClusterId, Fingerprint, MemberId, Millis, Observed};

/// What etcd said when the snapshot was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EtcdView {
    /// The member list. `Absent` when there is no pod to ask.
    pub membership: Observed<Membership>,
    /// One entry per pod that has an address, sorted by pod name.
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
    /// Alarms that stand. `Absent` when there is no pod to ask.
    pub alarms: Observed<Vec<Alarm>>,
}

/// A member list and how far it can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Membership {
    /// The cluster that answered.
    pub cluster_id: ClusterId,
    /// True: confirmed by a quorum. False: one member's own, possibly old, copy; good for diagnosis only.
    pub linearizable: bool,
    /// The pod that answered.
    pub from: String,
    /// Members, sorted by id.
    pub members: Vec<Member>,
}

impl Membership {
    /// What a membership change must find unchanged.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let entries: Vec<String> = self
            .members
            .iter()
            .map(|member| {
                format!(
                    "{}:{}",
                    member.id,
                    if member.learner { "learner" } else { "voter" }
                )
            })
            .collect();
        Fingerprint(entries.join(","))
    }

    /// The members with a vote.
    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.learner)
    }
}

/// One row of the member list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// etcd's id.
    pub id: MemberId,
    /// The name it published; empty until it has started for the first time.
    #[serde(default)]
    pub name: String,
    /// Where its peers reach it.
    #[serde(default)]
    pub peer_urls: Vec<String>,
    /// Where clients reach it; empty until it has started.
    #[serde(default)]
    pub client_urls: Vec<String>,
    /// It receives the log and has no vote.
    #[serde(default)]
    pub learner: bool,
}

/// One member asked at its own address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The pod asked.
    pub pod: String,
    /// UID of that pod.
    pub pod_uid: String,
    /// The pod is being terminated: whatever its member answers, it is about to be down.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminating: bool,
    /// What it answered; `Unknown` when it did not answer in time.
    pub status: Observed<EndpointStatus>,
}

/// The answer of `Maintenance/Status`, see <https://etcd.io/docs/v3.6/dev-guide/api_reference_v3/>.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointStatus {
    /// The cluster this member believes to be in.
    pub cluster_id: ClusterId,
    /// Its own id.
    pub member_id: MemberId,
    /// The leader it follows; none when it knows of no leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<MemberId>,
    /// It has no vote.
    #[serde(default)]
    pub learner: bool,
    /// The server's version, for example `3.6.16`.
    pub version: String,
    /// The version of its data files, from 3.6 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_version: Option<String>,
    /// The version that the cluster is being taken back to by etcd's own procedure, for example `3.5.0`; from 3.6 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downgrade: Option<String>,
    /// Raft term.
    #[serde(default)]
    pub raft_term: u64,
    /// Raft index committed.
    #[serde(default)]
    pub raft_index: u64,
    /// Raft index applied.
    #[serde(default)]
    pub raft_applied_index: u64,
    /// Bytes allocated by the data file.
    #[serde(default)]
    pub db_size: i64,
    /// Bytes in use in the data file.
    #[serde(default)]
    pub db_size_in_use: i64,
    /// Bytes the data file may reach, from 3.6 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<i64>,
    /// The revision of its keys; it grows with each write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// What the member complains of, in etcd's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The hash of its keys, when it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_kv: Option<HashKv>,
    /// How long the answer took.
    #[serde(default)]
    pub took: Millis,
}

/// A hash over all keys at one revision. Comparable only at equal revisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HashKv {
    /// Revision it was computed at.
    pub revision: i64,
    /// Revision the member had compacted to.
    pub compact_revision: i64,
    /// The hash.
    pub hash: u32,
}

/// An alarm that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alarm {
    /// Whom it names; none where etcd names nobody (from 3.5.7 on, for CORRUPT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberId>,
    /// Which alarm.
    pub kind: AlarmKind,
}

/// The alarms etcd has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AlarmKind {
    /// The quota is used up: only reads and deletes are served.
    Nospace,
    /// Members disagree on their data: neither reads nor writes are served.
    Corrupt,
}

impl AlarmKind {
    /// The kind as etcd spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nospace => "NOSPACE",
            Self::Corrupt => "CORRUPT",
        }
    }
}

impl EtcdView {
    /// Whether this alarm stands, by the list of alarms or, where that could not be read, by a member's own complaint.
    #[must_use]
    pub fn is_alarmed(&self, kind: AlarmKind) -> bool {
        match &self.alarms {
            Observed::Seen(alarms) => alarms.iter().any(|alarm| alarm.kind == kind),
            Observed::Absent | Observed::Unknown(_) => {
                let statuses = self
                    .endpoints
                    .iter()
                    .filter_map(|endpoint| endpoint.status.seen());
                let mut complaints = statuses.flat_map(|status| &status.errors);
                complaints.any(|complaint| complaint.contains(&format!("alarm:{}", kind.name())))
            }
        }
    }
}
