//! What a decision on a backup may know of the world: who could be asked, what is stored, what is being moved.

use serde::{Deserialize, Serialize};

use crate::{
    BackupBefore, BeingRestored, Contents, EndpointStatus, Millis, Observed, RehearsalPod,
};

/// The part of a snapshot that is about a backup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupView {
    /// Who could be asked for the data, in the order of the spec or of names.
    #[serde(default)]
    pub endpoints: Vec<SourceEndpoint>,
    /// What is stored under this backup's own name, sorted by name.
    pub stored: Observed<Vec<StoredObject>>,
    /// What the host moves for this backup, or moved last; none after a restart of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// The pod of the rehearsal under way.
    #[serde(
        default = "Observed::absent",
        skip_serializing_if = "Observed::is_absent"
    )]
    pub rehearsal: Observed<RehearsalPod>,
    /// What EtcdRestores and clusters of the namespace may still read, of any store. `Absent` in recordings of hosts that did
    /// not look.
    #[serde(
        default = "Observed::absent",
        skip_serializing_if = "Observed::is_absent"
    )]
    pub being_restored: Observed<Vec<BeingRestored>>,
    /// `status.backupBefore` of the cluster that the spec names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<BackupBefore>,
    /// `spec.repository` of the cluster that the spec names, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// One URL that could be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceEndpoint {
    /// As the spec has it, or the member's own.
    pub url: String,
    /// What it says of itself.
    pub status: Observed<EndpointStatus>,
}

/// One object of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredObject {
    /// Its name in the bucket.
    pub key: String,
    /// Its size.
    pub bytes: i64,
    /// The run that wrote it, where it was asked for and the store keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A transfer of this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transfer {
    /// The run it belongs to.
    pub run: String,
    /// How it stands.
    pub state: TransferState,
}

/// How a transfer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TransferState {
    /// Under way.
    Running {
        /// Streamed so far.
        bytes: i64,
        /// On average.
        bytes_per_second: i64,
        /// What keeps it from going on at this moment, in words; none where nothing is known to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<String>,
    },
    /// Stored, read back, and whole.
    Done(Stored),
    /// It ended without a backup.
    Failed {
        /// Where and why, in words.
        why: String,
        /// Another attempt would end the same way.
        permanent: bool,
    },
}

/// A backup that was read back from the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    /// Its size.
    pub bytes: i64,
    /// Of all its bytes, as hex.
    pub sha256: String,
    /// From the first byte asked for to the last byte read back.
    pub took: Millis,
    /// What etcd would find in it, where that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<SnapshotContent>,
    /// What the member said of its keys at that revision, where it was asked and could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
}

/// What etcd would find in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotContent {
    /// The revision of its newest key.
    pub revision: i64,
    /// The etcd version it was taken from, MAJOR.MINOR.0; empty where the cluster was too young to have noted it.
    #[serde(default)]
    pub version: String,
}
