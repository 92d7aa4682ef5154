//! The snapshot of a restore: the resource, its cluster, its store. And the restores in the snapshot of a cluster.

use std::time::Instant;

use contract::{EtcdRestoreSpec, EtcdRestoreStatus, Observed, Resource, ResourceKind, Snapshot};
use kube::Client;
use serde::Deserialize;

use super::shelf::Shelf;
use super::{Memory, World, at_this_instant};
use crate::backup::{self, Transfers};
use crate::key::ClusterKey;

/// Takes the snapshot of one restore.
pub(super) async fn snapshot(
    client: &Client,
    world: &World,
    transfers: &Transfers,
    resource: Resource,
    memory: &mut Memory,
) -> Snapshot {
    let transfer = transfers.of(&resource.uid);
    let cluster = cluster_of(world, &resource);
    let looked = backup::look_at_restore(client, &resource, cluster, transfer).await;
    memory.sight = looked.sight;
    Snapshot {
        secrets: looked.secrets,
        restore: looked.view.map(Box::new),
        outcomes: memory.outcomes.clone(),
        ..at_this_instant(resource)
    }
}

/// The cluster that a restore names, as the cache has it.
fn cluster_of(world: &World, restore: &Resource) -> Observed<Box<Resource>> {
    let Some(name) = named(restore) else {
        return Observed::Absent;
    };
    let key = cluster_key(restore, &name);
    match world
        .resources_of(key.dialect, key.kind)
        .of(&key, Instant::now())
    {
        Observed::Seen(mut resources) => resources.pop().map_or(Observed::Absent, |resource| {
            Observed::Seen(Box::new(resource))
        }),
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why),
    }
}

fn named(restore: &Resource) -> Option<String> {
    let spec = EtcdRestoreSpec::deserialize(&restore.spec).ok()?;
    Some(spec.etcd_cluster.name).filter(|name| !name.is_empty())
}

/// Who is called so in the dialect of the restore.
fn cluster_key(restore: &Resource, name: &str) -> ClusterKey {
    ClusterKey {
        dialect: restore.dialect(),
        ..ClusterKey::new(ResourceKind::EtcdCluster, &restore.namespace, name)
    }
}

fn is_of(restore: &Resource, cluster: &ClusterKey) -> bool {
    named(restore).is_some_and(|name| cluster_key(restore, &name) == *cluster)
}

/// The restores that name a cluster.
pub(super) fn of_cluster(world: &World, key: &ClusterKey) -> Observed<Vec<Resource>> {
    match world.restores.of_namespace(&key.namespace, Instant::now()) {
        Observed::Seen(restores) => Observed::Seen(
            restores
                .into_iter()
                .filter(|restore| is_of(restore, key))
                .collect(),
        ),
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why),
    }
}

impl World {
    /// Whoever decides on what changed here, besides itself: the cluster that a restore or a backup is about, the restores
    /// of a cluster that are not over, and the backups that it may wait for.
    #[must_use]
    pub fn concerned_by(&self, key: &ClusterKey) -> Vec<ClusterKey> {
        match key.kind {
            ResourceKind::EtcdBackup => self.guarded_by(key),
            ResourceKind::EtcdRestore => {
                let name = self
                    .restores
                    .one(key, &key.name)
                    .and_then(|restore| named(&restore));
                // One that is gone is told to the cluster of its name, as which it mostly was for.
                let name = name.unwrap_or_else(|| key.name.clone());
                let cluster = ClusterKey::new(ResourceKind::EtcdCluster, &key.namespace, &name);
                self.resources
                    .one(&cluster, &name)
                    .map(|_| cluster)
                    .into_iter()
                    .collect()
            }
            ResourceKind::EtcdCluster => {
                [open_restores(&self.restores, key), self.guards_of(key)].concat()
            }
        }
    }
}

fn open_restores(restores: &Shelf<Resource>, cluster: &ClusterKey) -> Vec<ClusterKey> {
    let Observed::Seen(restores) = restores.of_namespace(&cluster.namespace, Instant::now()) else {
        return Vec::new();
    };
    restores
        .iter()
        .filter(|restore| is_of(restore, cluster))
        .filter(|restore| {
            let status = EtcdRestoreStatus::deserialize(&restore.status);
            !status.is_ok_and(|status| status.is_over())
        })
        .map(|restore| {
            ClusterKey::new(ResourceKind::EtcdRestore, &restore.namespace, &restore.name)
        })
        .collect()
}
