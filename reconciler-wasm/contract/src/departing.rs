//! EtcdPeers that the archived operator of the second dialect left on their way out: each waits until the volume claim of
//! a member that left is gone.
//!
//! That operator put the finalizer on once it had taken the member out of etcd's list, and deleted the claim before it
//! took the finalizer off. Whether the member is out is for decisions and the envelope to see; here is what stands there.

use serde::{Deserialize, Serialize};

use crate::improbable::{APP_LABEL, CLAIM_FINALIZER, CLUSTER_LABEL, PEER_LABEL};
use crate::{Observed, Resource, Volume, names};

/// An EtcdPeer that is being deleted and has that finalizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DepartingPeer {
    /// Its name, which is the member's and the claim's.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// All its finalizers.
    pub finalizers: Vec<String>,
    /// The volume claim of that name.
    pub claim: Observed<Volume>,
}

impl DepartingPeer {
    /// What is left of its finalizers without that one.
    #[must_use]
    pub fn other_finalizers(&self) -> Vec<String> {
        let others = self.finalizers.iter();
        others
            .filter(|one| *one != CLAIM_FINALIZER)
            .cloned()
            .collect()
    }

    /// Whether the claim is of this peer and that cluster, as the archived operator labelled it, and of nobody else.
    #[must_use]
    pub fn has(&self, claim: &Volume, cluster: &Resource) -> bool {
        let labels = [
            (APP_LABEL, names::APP),
            (CLUSTER_LABEL, cluster.name.as_str()),
            (PEER_LABEL, self.name.as_str()),
        ];
        let is_labelled = labels
            .iter()
            .all(|(key, value)| claim.labels.get(*key).is_some_and(|found| found == value));
        let owner = claim.owner.as_ref();
        claim.name == self.name && is_labelled && owner.is_none_or(|owner| *owner == cluster.uid)
    }
}

/// What can be done about one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PeerEffect {
    /// Deletes the volume claim of its name.
    DeleteClaim {
        /// The name.
        name: String,
    },
    /// Takes the archived operator's finalizer off.
    Release {
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
        /// Its resourceVersion.
        resource_version: String,
        /// The finalizers that stay.
        finalizers: Vec<String>,
    },
}

impl PeerEffect {
    /// See [`crate::Effect::name`].
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DeleteClaim { .. } => "DeletePeersClaim",
            Self::Release { .. } => "ReleasePeer",
        }
    }

    /// The peer's name.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::DeleteClaim { name } | Self::Release { name, .. } => name,
        }
    }
}
