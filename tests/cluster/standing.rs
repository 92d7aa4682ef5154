//! How a cluster stood before a fault, to be found again after it.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use tests::scenario::{Children, Cluster, Member};

/// Members and objects at one moment.
pub(crate) struct Standing {
    pub(crate) members: Vec<Member>,
    uids: BTreeMap<String, String>,
}

impl Standing {
    pub(crate) async fn of(cluster: &Cluster) -> Result<Self> {
        Ok(Self {
            members: cluster.members().await?,
            uids: Children::of(cluster).await?.uids(),
        })
    }

    /// The members are the same, on the same objects.
    pub(crate) async fn is_kept(&self, cluster: &Cluster) -> Result<()> {
        self.is_kept_but_for(cluster, &[]).await
    }

    /// The members are the same, on the same objects but for those of these kinds.
    pub(crate) async fn is_kept_but_for(&self, cluster: &Cluster, kinds: &[&str]) -> Result<()> {
        let members = cluster.members().await?;
        ensure!(
            members == self.members,
            "members {:?} became {members:?}",
            self.members,
        );
        self.has_its_objects_but_for(cluster, kinds).await
    }

    /// The objects are the same but for those of these kinds; of the members nobody needs to answer.
    pub(crate) async fn has_its_objects_but_for(
        &self,
        cluster: &Cluster,
        kinds: &[&str],
    ) -> Result<()> {
        let now = Children::of(cluster).await?.uids();
        let kept = |uids: &BTreeMap<String, String>| {
            let mut uids = uids.clone();
            uids.retain(|name, _| !kinds.iter().any(|kind| name.starts_with(kind)));
            uids
        };
        ensure!(
            kept(&now) == kept(&self.uids),
            "objects {:?} became {now:?}",
            self.uids,
        );
        Ok(())
    }
}
