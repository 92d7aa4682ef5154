//! The EtcdBackups that a cluster asks for a backup before something that is hard to take back.
//!
//! Says which they are. Whether one is to be waited for is the module's.

use std::time::Instant;

use contract::{EtcdBackupSpec, Observed, Resource, ResourceKind};
use serde::Deserialize as _;

use super::World;
use crate::key::ClusterKey;

/// The cluster before whose acts this one is taken.
fn cluster_of(backup: &Resource) -> Option<String> {
    let spec = EtcdBackupSpec::deserialize(&backup.spec).ok()?;
    let is_asked = !spec.before().is_empty();
    spec.cluster_ref
        .map(|cluster| cluster.name)
        .filter(|_| is_asked)
}

/// Those of a cluster.
pub(super) fn of_cluster(world: &World, key: &ClusterKey) -> Observed<Vec<Resource>> {
    let backups = world.resources_of(key.dialect, ResourceKind::EtcdBackup);
    match backups.of_namespace(&key.namespace, Instant::now()) {
        Observed::Seen(backups) => {
            let own = |backup: &Resource| cluster_of(backup).as_ref() == Some(&key.name);
            Observed::Seen(backups.into_iter().filter(own).collect())
        }
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why),
    }
}

impl World {
    /// The cluster that waits for what became of this backup.
    pub(super) fn guarded_by(&self, key: &ClusterKey) -> Vec<ClusterKey> {
        let backup = self.resources_of(key.dialect, key.kind).one(key, &key.name);
        let name = backup.and_then(|backup| cluster_of(&backup));
        let cluster = name.map(|name| ClusterKey::beside(key, ResourceKind::EtcdCluster, &name));
        cluster.into_iter().collect()
    }

    /// The backups that a cluster may want.
    pub(super) fn guards_of(&self, key: &ClusterKey) -> Vec<ClusterKey> {
        let guards = of_cluster(self, key);
        let guards = guards.seen().into_iter().flatten();
        guards
            .map(|guard| ClusterKey::beside(key, ResourceKind::EtcdBackup, &guard.name))
            .collect()
    }
}
