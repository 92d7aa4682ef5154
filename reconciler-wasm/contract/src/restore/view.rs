//! What a decision on a restore may know of the world: its cluster, and what is being read.

use serde::{Deserialize, Serialize};

use crate::{Observed, Resource, Transfer};

/// The part of a snapshot that is about a restore.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreView {
    /// The EtcdCluster that the spec names.
    pub cluster: Observed<Box<Resource>>,
    /// Whatever stands where the members of a cluster would be that the restore makes. `Absent` where it was not looked for.
    #[serde(
        default = "Observed::absent",
        skip_serializing_if = "Observed::is_absent"
    )]
    pub in_the_way: Observed<Vec<String>>,
    /// What the host reads for this restore, or read last; none after a restart of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
}
