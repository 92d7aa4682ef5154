//! The snapshot of a backup: the resource, its Secrets as digests, its endpoints and its store.
//!
//! Shows no child and no etcd of its own: a backup has none.

use contract::{EtcdView, Millis, Objects, Observed, SCHEMA, Snapshot};
use kube::Client;

use super::{Error, Found, Memory, World, look};
use crate::backup::{self, Transfers};
use crate::key::ClusterKey;

/// Takes the snapshot of one backup.
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
    let looked = backup::look(client, world, &resource, transfer).await;
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
        backup: looked.view.map(Box::new),
        restore: None,
        restores: Observed::Absent,
        operator_image: None,
        old_lock: Observed::Absent,
        outcomes: memory.outcomes.clone(),
    })))
}
