//! What can be done about a backup. Bytes are moved by whoever executes it; it chooses neither names nor sources.

use serde::{Deserialize, Serialize};

use crate::{EtcdBackupStatus, Millis, Rehearse};

/// One effect of a decision on an `EtcdBackup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BackupEffect {
    /// Replaces the status of the backup; refused when the resource changed since the snapshot.
    UpdateStatus {
        /// The whole status. The host adds which module decided.
        status: Box<EtcdBackupStatus>,
    },
    /// Begins to stream a member's data into the store; how it goes on is in later snapshots.
    Take(Take),
    /// Begins to read back what a run before left in the store.
    Verify {
        /// The run that wrote it.
        run: String,
        /// The object's name in the bucket.
        key: String,
        /// How long it may take.
        within: Millis,
    },
    /// Deletes a stored backup.
    Delete {
        /// The object's name in the bucket.
        key: String,
    },
    /// Makes a pod in which a stored backup is restored into a member that nobody reaches.
    Rehearse(Box<Rehearse>),
    /// Deletes the pod of a rehearsal.
    EndRehearsal {
        /// The rehearsal.
        run: String,
    },
    /// Puts a finalizer on the resource.
    Hold {
        /// The finalizer.
        finalizer: String,
    },
    /// Takes a finalizer off the resource.
    Release {
        /// The finalizer.
        finalizer: String,
    },
}

/// What is streamed where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Take {
    /// The run; it stands in the status before.
    pub run: String,
    /// The URL that is asked for the data.
    pub endpoint: String,
    /// The object's name in the bucket.
    pub key: String,
    /// How long it may take, reading back included.
    pub within: Millis,
    /// Whether the member is asked for what it holds at the backup's revision.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub witness: bool,
}

impl BackupEffect {
    /// The name under which recordings, metrics and logs know the effect.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UpdateStatus { .. } => "UpdateBackupStatus",
            Self::Take(_) => "TakeBackup",
            Self::Verify { .. } => "VerifyBackup",
            Self::Delete { .. } => "DeleteBackup",
            Self::Rehearse(_) => "RehearseRestore",
            Self::EndRehearsal { .. } => "EndRehearsal",
            Self::Hold { .. } => "HoldByFinalizer",
            Self::Release { .. } => "ReleaseFinalizer",
        }
    }

    /// What it touches; empty where that is the resource itself.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::UpdateStatus { .. } => "",
            Self::Take(Take { key, .. }) | Self::Verify { key, .. } | Self::Delete { key } => key,
            Self::Rehearse(rehearse) => &rehearse.key,
            Self::EndRehearsal { run } => run,
            Self::Hold { finalizer } | Self::Release { finalizer } => finalizer,
        }
    }

    /// Whether it begins a transfer.
    #[must_use]
    pub const fn is_transfer(&self) -> bool {
        match self {
            Self::Take(_) | Self::Verify { .. } => true,
            Self::UpdateStatus { .. }
            | Self::Delete { .. }
            | Self::Rehearse(_)
            | Self::EndRehearsal { .. }
            | Self::Hold { .. }
            | Self::Release { .. } => false,
        }
    }
}
