//! The snapshot of a cluster: its children, its Secrets as digests, its members as they answer.

use contract::{ClusterId, Millis, Objects, Observed, Resource, Snapshot};
use kube::Client;
use serde::Deserialize;

use super::secret::Looked;
use super::{Memory, World, at_this_instant, etcd, guard, live, restore};
use crate::error::Chain;
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
    find_unlabelled(client, key, &resource, &mut objects).await;
    recheck_foreign(client, key, memory).await;
    objects.foreign.clone_from(&memory.foreign);
    let now = Millis(jiff::Timestamp::now().as_millisecond());
    let Looked { secrets, identity } = memory.secrets.look(client, key, &resource, now).await;
    memory.connections.identify(identity);
    let dialect = resource.dialect();
    let (etcd, old_lock) = tokio::join!(
        etcd::view(
            &mut memory.connections,
            &objects.pods,
            recorded_cluster(&resource),
        ),
        world.predecessors.lock(client, dialect, &key.namespace),
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

/// Adds the pods of members that no cache shows, because they lost the labels by which it knows them. One that cannot be
/// looked for may be there.
async fn find_unlabelled(
    client: &Client,
    key: &ClusterKey,
    resource: &Resource,
    objects: &mut Objects,
) {
    let Observed::Seen(pods) = &mut objects.pods else {
        return;
    };
    let records = resource.status.get("memberRecords");
    let records = records.and_then(serde_json::Value::as_array);
    for record in records.into_iter().flatten() {
        let name = record.get("name").and_then(serde_json::Value::as_str);
        let Some(name) = name.filter(|name| pods.iter().all(|pod| pod.name != **name)) else {
            continue;
        };
        match live::pod(client, key, name).await {
            Ok(found) => pods.extend(found),
            Err(error) => {
                objects.pods = Observed::Unknown(Chain(&error).to_string());
                return;
            }
        }
    }
    pods.sort_by(|one, other| one.name.cmp(&other.name));
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
