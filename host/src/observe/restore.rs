//! The snapshot of a restore: the resource, its cluster, its store. And the restores in the snapshot of a cluster.

use std::collections::BTreeSet;
use std::time::Instant;

use contract::{
    EtcdRestoreSpec, EtcdRestoreStatus, ObjectKind, Observed, Resource, ResourceKind, Snapshot,
};
use kube::Client;
use serde::Deserialize;
use serde_json::Value;

use super::shelf::Shelf;
use super::{Memory, World, at_this_instant, live};
use crate::backup::{self, Transfers};
use crate::error::Chain;
use crate::key::ClusterKey;

/// Members whose places are looked at; no cluster of etcd has more.
const MOST: u64 = 50;

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
    let is_made = cluster == Observed::Absent;
    let mut looked = backup::look_at_restore(client, &resource, cluster, transfer).await;
    if let Some(view) = looked.view.as_mut().filter(|_| is_made) {
        view.in_the_way = in_the_way(client, world, &resource).await;
    }
    memory.sight = looked.sight;
    Snapshot {
        secrets: looked.secrets,
        restore: looked.view.map(Box::new),
        outcomes: memory.outcomes.clone(),
        ..at_this_instant(resource)
    }
}

/// Whatever stands where the members would be of the cluster that the restore makes, or carries its labels. Absent where it
/// makes none, or has not read its backup yet.
async fn in_the_way(client: &Client, world: &World, restore: &Resource) -> Observed<Vec<String>> {
    let spec = EtcdRestoreSpec::deserialize(&restore.spec).unwrap_or_default();
    let status = EtcdRestoreStatus::deserialize(&restore.status).unwrap_or_default();
    let (Some(template), Some(_)) = (spec.cluster_template, status.proof) else {
        return Observed::Absent;
    };
    let key = cluster_key(restore, &spec.etcd_cluster.name);
    let objects = world.objects(&key, Instant::now());
    let mut found = BTreeSet::new();
    match (&objects.pods, &objects.volumes) {
        (Observed::Seen(pods), Observed::Seen(volumes)) => {
            let pods = pods.iter().map(|pod| format!("Pod {}", pod.name));
            let volumes = volumes.iter();
            found.extend(pods);
            found.extend(volumes.map(|claim| format!("PersistentVolumeClaim {}", claim.name)));
        }
        (Observed::Unknown(why), _) | (_, Observed::Unknown(why)) => {
            return Observed::Unknown(why.clone());
        }
        (Observed::Absent, _) | (_, Observed::Absent) => {
            return Observed::Unknown("the caches do not show it".to_owned());
        }
    }
    let replicas = template.get("replicas").and_then(Value::as_u64);
    for number in 0..replicas.unwrap_or_default().min(MOST) {
        let name = format!("{}-{number}", key.name);
        for kind in [ObjectKind::Pod, ObjectKind::PersistentVolumeClaim] {
            match live::head(client, &key.namespace, kind, &name).await {
                Ok(None) => {}
                Ok(Some(_)) => {
                    found.insert(format!("{} {name}", kind.name()));
                }
                Err(error) => return Observed::Unknown(Chain(&error).to_string()),
            }
        }
    }
    Observed::Seen(found.into_iter().collect())
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
    let restores = world.resources_of(key.dialect, ResourceKind::EtcdRestore);
    match restores.of_namespace(&key.namespace, Instant::now()) {
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
    /// of a cluster that are not over, the backups that it may wait for, and the schedule that made a backup.
    #[must_use]
    pub fn concerned_by(&self, key: &ClusterKey) -> Vec<ClusterKey> {
        match key.kind {
            ResourceKind::EtcdBackup => [self.guarded_by(key), self.schedule_of(key)].concat(),
            ResourceKind::EtcdBackupSchedule => Vec::new(),
            ResourceKind::EtcdRestore => {
                let name = self
                    .resources_of(key.dialect, key.kind)
                    .one(key, &key.name)
                    .and_then(|restore| named(&restore));
                // One that is gone is told to the cluster of its name, as which it mostly was for.
                let name = name.unwrap_or_else(|| key.name.clone());
                let cluster = ClusterKey::beside(key, ResourceKind::EtcdCluster, &name);
                self.resources_of(cluster.dialect, cluster.kind)
                    .one(&cluster, &name)
                    .map(|_| cluster)
                    .into_iter()
                    .collect()
            }
            ResourceKind::EtcdCluster => {
                let restores = self.resources_of(key.dialect, ResourceKind::EtcdRestore);
                [open_restores(restores, key), self.guards_of(key)].concat()
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
        .map(|restore| ClusterKey::beside(cluster, ResourceKind::EtcdRestore, &restore.name))
        .collect()
}
