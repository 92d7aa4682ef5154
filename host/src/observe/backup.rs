//! The snapshot of a backup: the resource, its Secrets as digests, its endpoints and its store.
//!
//! Shows no child and no etcd of its own: a backup has none.

use contract::{Resource, Snapshot};
use kube::Client;

use super::{Memory, World, at_this_instant};
use crate::backup::{self, Transfers};
use crate::key::ClusterKey;

/// Takes the snapshot of one backup.
pub(super) async fn snapshot(
    client: &Client,
    world: &World,
    key: &ClusterKey,
    transfers: &Transfers,
    resource: Resource,
    memory: &mut Memory,
) -> Snapshot {
    let transfer = transfers.of(&resource.uid);
    let looked = backup::look(client, world, key, &resource, transfer).await;
    memory.sight = looked.sight;
    Snapshot {
        secrets: looked.secrets,
        backup: looked.view.map(Box::new),
        operator_image: world.operator_image.clone(),
        outcomes: memory.outcomes.clone(),
        ..at_this_instant(resource)
    }
}
