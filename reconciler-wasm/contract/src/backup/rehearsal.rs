//! The rehearsal of a restore: what is tried, what became of it, and the pod in which it is tried.
//!
//! A rehearsal touches no cluster. Judges nothing: whether what was restored is what was backed up is the reconciler's.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// What a member of etcd says of its keys at a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// The revision.
    #[serde(default)]
    pub revision: i64,
    /// How many keys there are at it.
    #[serde(default)]
    pub keys: i64,
    /// etcd's hash of all keys, values and revisions up to it, as HashKV gives it.
    #[serde(default)]
    pub hash: i64,
    /// Up to which revision the history was compacted; hashes with another one cannot be compared.
    #[serde(default)]
    pub compact_revision: i64,
}

/// How a rehearsal ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RehearsalVerdict {
    /// What was restored is what was backed up.
    Restores,
    /// It could not be restored, or is something else.
    DoesNot,
    /// It could not be tried.
    #[default]
    NotTried,
}

/// A rehearsal that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rehearsal {
    /// The object's name in the bucket.
    #[serde(default)]
    pub key: String,
    /// The sha-256 of its bytes.
    #[serde(default)]
    pub sha256: String,
    /// How it ended.
    #[serde(default)]
    pub verdict: RehearsalVerdict,
    /// Why it does not restore, or could not be tried.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When it ended.
    #[serde(default)]
    pub at: String,
    /// When a backup of this object was last seen to restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_success_date: Option<String>,
    /// From the first byte that was fetched to etcd's answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_milliseconds: Option<i64>,
    /// What the restored member said of its keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
}

/// A rehearsal under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RehearsalRun {
    /// Tells it from all others.
    #[serde(default)]
    pub id: String,
    /// The object's name in the bucket.
    #[serde(default)]
    pub key: String,
    /// The sha-256 that it must have.
    #[serde(default)]
    pub sha256: String,
    /// Revision that it holds at least.
    #[serde(default)]
    pub etcd_revision: i64,
    /// What the member that it was taken from said of its keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// When it began.
    #[serde(default)]
    pub started_at: String,
    /// It has ended, and its pod is being deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}

/// What is tried: the effect that makes the pod of a rehearsal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rehearse {
    /// The rehearsal; it stands in the status before.
    pub run: String,
    /// The object's name in the bucket.
    pub key: String,
    /// The sha-256 that it must have.
    pub sha256: String,
    /// The revision that etcd is asked about; 0 is its newest.
    pub revision: i64,
    /// The image of etcd.
    pub image: String,
    /// The operator's own image.
    pub operator_image: String,
    /// How long it may take.
    pub within: Millis,
}

/// The pod of a rehearsal, as far as a decision needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RehearsalPod {
    /// How it stands.
    pub state: RehearsalState,
    /// Its deletion was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// How the pod of a rehearsal stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RehearsalState {
    /// Under way.
    Running {
        /// What it does or waits for, in words.
        doing: String,
    },
    /// etcd served what was restored.
    Answered {
        /// What it said of its keys.
        contents: Contents,
        /// From the first byte that was fetched to its answers.
        took: Millis,
    },
    /// It ended without an answer.
    Failed {
        /// The container that failed; none where the pod as a whole did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        container: Option<String>,
        /// The container's words, or what became of the pod.
        why: String,
        /// Another attempt would end the same way, as far as that container knows.
        permanent: bool,
    },
}
