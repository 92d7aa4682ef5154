//! A schedule of backups: each is an `EtcdBackup` of its own, made at its time. Only the second dialect has the kind.
//!
//! The spec is the domain's reading of what is stored; the status is stored as it is. Validation is the reconciler's.

mod effect;
mod view;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BackupPolicy, Condition};
pub use effect::ScheduleEffect;
pub use view::{ScheduleView, ScheduledBackup, ScheduledState};

/// The wish for backups again and again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupScheduleSpec {
    /// When, and whether not for now.
    #[serde(default)]
    pub policy: BackupPolicy,
    /// The spec of each EtcdBackup, as the dialect stores it.
    #[serde(default)]
    pub template: Value,
    /// How many EtcdBackups that succeeded are kept; all of them where it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successful_backups_history_limit: Option<i64>,
    /// How many that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_backups_history_limit: Option<i64>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackupScheduleStatus {
    /// The EtcdBackup that is being made. Written before it is, so that none is lost and none is made twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ScheduledRun>,
    /// When the next one is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_schedule_time: Option<String>,
    /// The time for which the last one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<String>,
    /// The last EtcdBackup that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_backup: Option<String>,
    /// When the last one was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_successful_time: Option<String>,
    /// EtcdBackups that are under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<String>,
    /// How many were due and never made: because nobody was there, or the one before was still under way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: i64,
    /// What holds, and since when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// `metadata.generation` this status answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// sha-256 of the reconciler module that decided this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

/// An EtcdBackup that is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ScheduledRun {
    /// Its name.
    #[serde(default)]
    pub id: String,
    /// The time for which it is made.
    #[serde(default)]
    pub at: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}
