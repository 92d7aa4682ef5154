//! A scenario's clusters in the group in which they are written, so that one scenario shows both.
//!
//! Scenarios speak as the first group does. That the second one means the same by its own fields is the suite
//! `improbable`'s to show, which spells them.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use contract::{Dialect, Resource};
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt};
use serde_json::{Map, Value, json};

use super::Cluster;

/// The only class of the testbed, which the second group wants to be named.
const CLASS: &str = "local";

/// What users of the group select a cluster's objects by.
pub(super) const fn label(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Coreos => "etcd_cluster",
        Dialect::Improbable => "etcd.improbable.io/cluster-name",
    }
}

/// A spec of the first group as one of this group, with what this one leaves to nobody.
pub(super) fn written(dialect: Dialect, mut spec: Value) -> Value {
    if dialect == Dialect::Improbable
        && let Some(claim) = spec.pointer_mut("/pod/persistentVolumeClaimSpec")
    {
        merge(claim, &json!({"storageClassName": CLASS}));
        let stay = json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}});
        merge(&mut spec["pod"], &stay);
    }
    dialect.written_spec(&spec)
}

/// What is stored, as the first group has it.
pub(super) fn read(dialect: Dialect, stored: &DynamicObject) -> Resource {
    let types = stored.types.clone().unwrap_or_default();
    let field = |name: &str| stored.data.get(name).cloned().unwrap_or_default();
    dialect.read(Resource {
        api_version: types.api_version,
        kind: types.kind,
        spec: field("spec"),
        status: field("status"),
        ..Resource::default()
    })
}

/// The merge patch that does to a stored spec what this one does to its like of the first group.
pub(super) fn patch(dialect: Dialect, stored: &DynamicObject, wanted: &Value) -> Value {
    let before = read(dialect, stored).spec;
    let mut after = before.clone();
    merge(&mut after, wanted);
    difference(
        &dialect.written_spec(&before),
        &dialect.written_spec(&after),
    )
}

/// In the second dialect each member is shown as an object, and nobody else is.
pub(super) async fn has_peers(cluster: &Cluster, members: &BTreeSet<String>) -> Result<()> {
    let dialect = cluster.dialect();
    if dialect == Dialect::Coreos {
        return Ok(());
    }
    let kind = GroupVersionKind::gvk(dialect.group(), dialect.version(), "EtcdPeer");
    let resource = ApiResource::from_gvk_with_plural(&kind, "etcdpeers");
    let client = cluster.testbed().client();
    let api: Api<DynamicObject> = Api::namespaced_with(client, cluster.namespace(), &resource);
    let labels = format!("{}={}", cluster.label(), cluster.name());
    let peers = api.list(&ListParams::default().labels(&labels)).await?;
    let peers: BTreeSet<_> = peers.iter().map(ResourceExt::name_any).collect();
    ensure!(peers == *members, "EtcdPeers are {peers:?}");
    Ok(())
}

fn difference(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let mut patch = Map::new();
    for (key, value) in after {
        match before.get(key) {
            Some(same) if same == value => {}
            Some(other) => drop(patch.insert(key.clone(), difference(other, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// As a merge patch: null takes away.
pub fn merge(target: &mut Value, change: &Value) {
    let Value::Object(change) = change else {
        *target = change.clone();
        return;
    };
    for (key, value) in change {
        if value.is_null() {
            if let Some(target) = target.as_object_mut() {
                target.remove(key);
            }
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}
