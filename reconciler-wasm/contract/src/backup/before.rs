//! Backups that are taken before something that is hard to take back.
//!
//! The cluster's status says that one is wanted, an EtcdBackup that names the cluster takes it, and the cluster goes on.

use serde::{Deserialize, Serialize};

/// What is hard to take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum RiskyAct {
    /// Members are moved to another version or repository.
    Upgrade,
    /// All members are stopped.
    ScaleToZero,
    /// A cluster that has a quorum is given up for a backup.
    Restore,
}

/// A backup that a cluster waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackupBefore {
    /// Before what.
    pub act: RiskyAct,
    /// Which one: the image that members are moved to, or the UID of the EtcdRestore.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Since when. A backup counts that began after it.
    pub since: String,
}
