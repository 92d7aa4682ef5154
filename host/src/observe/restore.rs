//! The snapshot of a restore: the resource, its cluster, its store. And the restores in the snapshot of a cluster.

use std::time::Instant;

use contract::{
    EtcdRestoreSpec, EtcdRestoreStatus, EtcdView, Millis, Objects, Observed, Resource,
    ResourceKind, SCHEMA, Snapshot,
};
use kube::Client;
use serde::Deserialize;

use super::shelf::Shelf;
use super::{Error, Found, Memory, World, look};
use crate::backup::{self, Transfers};
use crate::key::ClusterKey;

/// Takes the snapshot of one restore.
pub(super) async fn snapshot(
    client: &Client,
    world: &World,
    transfers: &Transfers,
    key: &ClusterKey,
    memory: &mut Memory,
) -> Result<Found, Error> {
    let Some((resource, _)) = look(client, world, key, memory).await? else {
        transfers.forget(&memory.uid);
        return Ok(Found::Gone);
    };
    if memory.uid != resource.uid {
        transfers.forget(&memory.uid);
        *memory = Memory {
            uid: resource.uid.clone(),
            ..Memory::default()
        };
    }
    if let Some(why) = world.selection.why_not(&resource) {
        return Ok(Found::NotServed(Box::new(resource), why));
    }
    let transfer = transfers.of(&resource.uid);
    let cluster = cluster_of(world, &resource);
    let looked = backup::look_at_restore(client, &resource, cluster, transfer).await;
    memory.sight = looked.sight;
    Ok(Found::Snapshot(Box::new(Snapshot {
        schema: SCHEMA,
        now: Millis(jiff::Timestamp::now().as_millisecond()),
        entropy: format!("{:032x}", rand::random::<u128>()),
        resource,
        objects: Objects {
            pods: Observed::Absent,
            volumes: Observed::Absent,
            services: Observed::Absent,
            disruption_budgets: Observed::Absent,
            foreign: Vec::new(),
        },
        etcd: EtcdView {
            membership: Observed::Absent,
            endpoints: Vec::new(),
            alarms: Observed::Absent,
        },
        secrets: looked.secrets,
        backups: Vec::new(),
        backup: None,
        restore: looked.view.map(Box::new),
        restores: Observed::Absent,
        operator_image: None,
        old_lock: Observed::Absent,
        outcomes: memory.outcomes.clone(),
    })))
}

/// The cluster that a restore names, as the cache has it.
fn cluster_of(world: &World, restore: &Resource) -> Observed<Box<Resource>> {
    let Some(name) = named(restore) else {
        return Observed::Absent;
    };
    let key = ClusterKey::new(ResourceKind::EtcdCluster, &restore.namespace, &name);
    match world.resources.of(&key, Instant::now()) {
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

/// The restores that name a cluster.
pub(super) fn of_cluster(world: &World, key: &ClusterKey) -> Observed<Vec<Resource>> {
    match world.restores.of_namespace(&key.namespace, Instant::now()) {
        Observed::Seen(restores) => Observed::Seen(
            restores
                .into_iter()
                .filter(|restore| named(restore).as_ref() == Some(&key.name))
                .collect(),
        ),
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why),
    }
}

impl World {
    /// Whoever decides on what changed here, besides itself: the cluster that a restore names, the restores of a cluster
    /// that are not over.
    #[must_use]
    pub fn concerned_by(&self, key: &ClusterKey) -> Vec<ClusterKey> {
        match key.kind {
            ResourceKind::EtcdBackup => Vec::new(),
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
            ResourceKind::EtcdCluster => open_restores(&self.restores, key),
        }
    }
}

fn open_restores(restores: &Shelf<Resource>, cluster: &ClusterKey) -> Vec<ClusterKey> {
    let Observed::Seen(restores) = restores.of_namespace(&cluster.namespace, Instant::now()) else {
        return Vec::new();
    };
    restores
        .iter()
        .filter(|restore| named(restore).as_ref() == Some(&cluster.name))
        .filter(|restore| {
            let status = EtcdRestoreStatus::deserialize(&restore.status);
            !status.is_ok_and(|status| status.is_over())
        })
        .map(|restore| {
            ClusterKey::new(ResourceKind::EtcdRestore, &restore.namespace, &restore.name)
        })
        .collect()
}
