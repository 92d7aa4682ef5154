//! What can be done about a restore by itself. What is done to the cluster are effects on the cluster.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EtcdRestoreStatus, Millis};

/// One effect of a decision on an `EtcdRestore`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RestoreEffect {
    /// Replaces the status of the restore; refused when the resource changed since the snapshot.
    UpdateStatus {
        /// The whole status. The host adds which module decided.
        status: Box<EtcdRestoreStatus>,
    },
    /// Begins to read the backup from its first byte to its last; how it goes on is in later snapshots.
    Prove {
        /// The run; it stands in the status before.
        run: String,
        /// The object's name in the bucket.
        key: String,
        /// How long it may take.
        within: Millis,
    },
    /// Makes the cluster that the spec describes, which then is born from the backup.
    CreateCluster {
        /// Its name.
        name: String,
        /// Its spec, as the dialect stores it.
        spec: Box<Value>,
    },
}

impl RestoreEffect {
    /// The name under which recordings, metrics and logs know the effect.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UpdateStatus { .. } => "UpdateRestoreStatus",
            Self::Prove { .. } => "ProveSnapshot",
            Self::CreateCluster { .. } => "CreateCluster",
        }
    }

    /// What it touches; empty where that is the resource itself.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::UpdateStatus { .. } => "",
            Self::Prove { key, .. } => key,
            Self::CreateCluster { name, .. } => name,
        }
    }
}
