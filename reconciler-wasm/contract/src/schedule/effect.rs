//! What can be done about a schedule: its EtcdBackups come and go. What one of them does is its own decision.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BackupScheduleStatus;

/// One effect of a decision on an `EtcdBackupSchedule`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ScheduleEffect {
    /// Replaces the status of the schedule; refused when the resource changed since the snapshot.
    UpdateStatus {
        /// The whole status. The host adds which module decided.
        status: Box<BackupScheduleStatus>,
    },
    /// Makes an EtcdBackup, which belongs to the schedule and carries its label.
    CreateBackup {
        /// Its name.
        name: String,
        /// Its spec, as the dialect stores it.
        spec: Box<Value>,
    },
    /// Deletes an EtcdBackup of the schedule that is over. What it stored stays, unless its own spec says otherwise.
    DeleteBackup {
        /// Its name.
        name: String,
    },
    /// Takes a finalizer off the schedule.
    Release {
        /// The finalizer.
        finalizer: String,
    },
}

impl ScheduleEffect {
    /// The name under which recordings, metrics and logs know the effect.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UpdateStatus { .. } => "UpdateScheduleStatus",
            Self::CreateBackup { .. } => "CreateScheduledBackup",
            Self::DeleteBackup { .. } => "DeleteScheduledBackup",
            Self::Release { .. } => "ReleaseScheduleFinalizer",
        }
    }

    /// What it touches; empty where that is the resource itself.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::UpdateStatus { .. } => "",
            Self::CreateBackup { name, .. } | Self::DeleteBackup { name } => name,
            Self::Release { finalizer } => finalizer,
        }
    }
}
