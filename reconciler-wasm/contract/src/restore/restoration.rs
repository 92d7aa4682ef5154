//! What a cluster remembers of going on from a backup. Each stage is written before anything of it is done.

use serde::{Deserialize, Serialize};

use crate::ClusterId;

/// A restoration of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Restoration {
    /// The EtcdRestore that asks for it.
    pub restore: String,
    /// Its UID.
    pub uid: String,
    /// How far it is.
    pub stage: RestorationStage,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The cluster whose data is given up; none where none had formed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<ClusterId>,
    /// The members whose disks are filled from the backup, and which found the cluster that comes of it together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub founders: Vec<String>,
    /// Token of the cluster that comes of it: its members can never meet those of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Names of whoever was there before. Their volume claims stay until the cluster is whole again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<String>,
}

impl Restoration {
    /// Whether it is what the cluster does, and all that it does.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        match self.stage {
            RestorationStage::Stopping | RestorationStage::Filling => true,
            RestorationStage::Waiting | RestorationStage::Growing | RestorationStage::Done => false,
        }
    }

    /// Whether it began and has not ended.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        match self.stage {
            RestorationStage::Stopping | RestorationStage::Filling | RestorationStage::Growing => {
                true
            }
            RestorationStage::Waiting | RestorationStage::Done => false,
        }
    }
}

/// How far a restoration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RestorationStage {
    /// It is asked for, and something must pass or be said first. Nothing was touched.
    Waiting,
    /// The members of before are being stopped. Their volume claims stay.
    Stopping,
    /// The founders' disks are filled from the backup, and they start.
    Filling,
    /// A quorum of the founders answers; whoever is missing follows.
    Growing,
    /// All members are healthy, and the volume claims of before are gone.
    Done,
}
