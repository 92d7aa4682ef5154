//! The snapshot of a cluster: its children, its Secrets as digests, its members as they answer.

use contract::{ClusterId, Millis, Objects, Observed, OldSet, Resource, Snapshot};
use kube::Client;
use serde::Deserialize;

use super::secret::Looked;
use super::{Memory, World, at_this_instant, etcd, guard, live, restore};
use crate::departing;
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
    let mut old_sets = Observed::Absent;
    if recorded_cluster(&resource).is_none() || resource.is_being_taken_over() {
        old_sets = find_old(client, key, &mut objects).await;
        find_relabelled(client, key, &resource, &mut objects).await;
    }
    recheck_foreign(client, key, memory).await;
    objects.foreign.clone_from(&memory.foreign);
    let now = Millis(jiff::Timestamp::now().as_millisecond());
    let Looked { secrets, identity } = memory.secrets.look(client, key, &resource, now).await;
    memory.connections.identify(identity);
    let dialect = resource.dialect();
    let (etcd, old_lock, departing_peers) = tokio::join!(
        etcd::view(
            &mut memory.connections,
            &objects.pods,
            recorded_cluster(&resource),
        ),
        world.predecessors.lock(client, dialect, &key.namespace),
        departing::look(client, key, &mut memory.departing),
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
        old_sets,
        departing_peers,
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
    let unseen = remembered(resource).filter(|name| pods.iter().all(|pod| pod.name != **name));
    for name in unseen.collect::<Vec<_>>() {
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

/// Adds the claims of members that were given other labels between the two lists. One that cannot be looked for may be there.
async fn find_relabelled(
    client: &Client,
    key: &ClusterKey,
    resource: &Resource,
    objects: &mut Objects,
) {
    let Observed::Seen(claims) = &mut objects.volumes else {
        return;
    };
    let unseen = remembered(resource).filter(|name| claims.iter().all(|one| one.name != **name));
    for name in unseen.collect::<Vec<_>>() {
        match live::volume(client, key, name).await {
            Ok(found) => claims.extend(found),
            Err(error) => {
                objects.volumes = Observed::Unknown(Chain(&error).to_string());
                return;
            }
        }
    }
    claims.sort_by(|one, other| one.name.cmp(&other.name));
}

/// The names of the members that the status remembers.
fn remembered(resource: &Resource) -> impl Iterator<Item = &str> {
    let records = resource.status.get("memberRecords");
    let records = records.and_then(serde_json::Value::as_array);
    let names = records.into_iter().flatten();
    names.filter_map(|record| record.get("name")?.as_str())
}

/// Adds what the dialect's archived operator made, which no cache shows, and says by which ReplicaSets it keeps pods. What
/// cannot be looked for may be there.
async fn find_old(
    client: &Client,
    key: &ClusterKey,
    objects: &mut Objects,
) -> Observed<Vec<OldSet>> {
    let Some((old, sets)) = live::old_children(client, key).await else {
        return Observed::Absent;
    };
    join(&mut objects.pods, old.pods, |pod| &pod.name);
    join(&mut objects.volumes, old.volumes, |volume| &volume.name);
    join(&mut objects.services, old.services, |service| &service.name);
    sets
}

/// Both lists as one, in the order of names.
fn join<T>(known: &mut Observed<Vec<T>>, found: Observed<Vec<T>>, name: fn(&T) -> &String) {
    let Observed::Seen(standing) = known else {
        return;
    };
    match found {
        Observed::Seen(found) => {
            standing.extend(found);
            standing.sort_by(|one, other| name(one).cmp(name(other)));
        }
        Observed::Unknown(why) => *known = Observed::Unknown(why),
        Observed::Absent => {}
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the archived operator left and nobody could look for may be there: an empty list would let a cluster be born.
    #[test]
    fn old_children_that_cannot_be_listed_make_the_list_unknown() {
        let joined = |mut known: Observed<Vec<String>>, found| {
            join(&mut known, found, |name| name);
            known
        };
        let seen = |names: &[&str]| Observed::Seen(names.iter().map(ToString::to_string).collect());
        let unknown = Observed::Unknown("forbidden".to_owned());
        assert_eq!(joined(seen(&["b"]), seen(&["a"])), seen(&["a", "b"]));
        assert_eq!(joined(seen(&["b"]), unknown.clone()), unknown);
        assert_eq!(joined(unknown.clone(), seen(&["a"])), unknown);
    }
}
