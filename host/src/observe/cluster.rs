//! The snapshot of a cluster: its children, its Secrets as digests, its members as they answer.

use contract::{ClusterId, Millis, Objects, Resource, Snapshot};
use kube::Client;
use serde::Deserialize;

use super::secret::Looked;
use super::{Memory, World, at_this_instant, etcd, guard, live, restore};
use crate::key::ClusterKey;

/// Takes the snapshot of one cluster.
pub(super) async fn snapshot(
    client: &Client,
    world: &World,
    key: &ClusterKey,
    resource: Resource,
    mut objects: Objects,
    memory: &mut Memory,
) -> Snapshot {
    recheck_foreign(client, key, memory).await;
    objects.foreign.clone_from(&memory.foreign);
    let now = Millis(jiff::Timestamp::now().as_millisecond());
    let Looked { secrets, identity } = memory.secrets.look(client, key, &resource, now).await;
    memory.connections.identify(identity);
    let (etcd, old_lock) = tokio::join!(
        etcd::view(
            &mut memory.connections,
            &objects.pods,
            recorded_cluster(&resource),
        ),
        world.predecessors.lock(client, &key.namespace),
    );
    if etcd
        .endpoints
        .iter()
        .any(|endpoint| endpoint.status.seen().is_none())
    {
        memory.secrets.doubt();
    }
    Snapshot {
        objects,
        etcd,
        secrets,
        restores: restore::of_cluster(world, key),
        guards: guard::of_cluster(world, key),
        operator_image: world.operator_image.clone(),
        old_lock,
        outcomes: memory.outcomes.clone(),
        ..at_this_instant(resource)
    }
}

/// The cluster id the resource remembers, if it can be read.
#[must_use]
pub fn recorded_cluster(resource: &Resource) -> Option<ClusterId> {
    ClusterId::deserialize(resource.status.get("clusterId")?).ok()
}

/// Objects of others are found by refused applies; each pass looks whether they are still in the way.
async fn recheck_foreign(client: &Client, key: &ClusterKey, memory: &mut Memory) {
    for mut foreign in std::mem::take(&mut memory.foreign) {
        match live::head(client, &key.namespace, foreign.kind, &foreign.name).await {
            Ok(None) => {}
            Ok(Some(head)) => {
                if let Some(owner) = head.stranger_to(&memory.uid) {
                    foreign.owner = owner;
                    memory.foreign.push(foreign);
                }
            }
            Err(_unreadable) => memory.foreign.push(foreign),
        }
    }
}
