//! EtcdPeers that the archived operator left on their way out: what of them is seen, and what is done about one when a
//! decision says so.
//!
//! Judges nothing: whether a member is out of etcd's list is the module's and the envelope's question. What becomes of those
//! whose cluster is gone is `orphans`'.

mod orphans;

use std::time::{Duration, Instant};

use contract::improbable::{APP_LABEL, CLAIM_FINALIZER, CLUSTER_LABEL, PEER_KIND, PEER_PLURAL};
use contract::{DepartingPeer, ObjectKind, Observed, PeerEffect, Preconditions, Volume, names};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::{DynamicObject, ObjectMeta};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::error::Chain;
use crate::execute::{Error, Executor, Pass, kubernetes};
use crate::key::ClusterKey;
use crate::observe::{self, Memory, project, within};
use crate::peers;

pub(crate) use orphans::after_its_cluster;

/// How long it is believed that there are none.
const BELIEVED: Duration = Duration::from_secs(10);

/// When none was there.
#[derive(Debug, Default)]
pub struct Looked(Option<Instant>);

/// Those of a cluster, where its dialect's archived operator had such objects.
pub(crate) async fn look(
    client: &Client,
    key: &ClusterKey,
    looked: &mut Looked,
) -> Observed<Vec<DepartingPeer>> {
    let has_peers = key.dialect.predecessor().marks.is_some();
    let is_believed = looked.0.is_some_and(|at| at.elapsed() < BELIEVED);
    if !has_peers || is_believed {
        return Observed::Absent;
    }
    let found = match list(client, key).await {
        Ok(found) => found,
        Err(error) => return Observed::Unknown(Chain(&error).to_string()),
    };
    let mut departing = Vec::new();
    for peer in found.into_iter().filter(|peer| waits(&peer.metadata)) {
        let metadata = peer.metadata;
        let name = metadata.name.unwrap_or_default();
        departing.push(DepartingPeer {
            claim: claim(client, key, &name).await,
            name,
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
        });
    }
    looked.0 = departing.is_empty().then(Instant::now);
    if departing.is_empty() {
        return Observed::Absent;
    }
    Observed::Seen(departing)
}

/// Does what was decided about one.
pub(crate) async fn perform(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    effect: &PeerEffect,
    memory: &mut Memory,
) -> Result<(), Error> {
    match effect {
        PeerEffect::DeleteClaim { name } => {
            let kind = ObjectKind::PersistentVolumeClaim;
            let written = kubernetes::delete(executor, pass, pre, kind, name, None).await?;
            memory.written.push(written, Instant::now());
        }
        PeerEffect::Release {
            name,
            uid,
            resource_version,
            finalizers,
        } => {
            let api = api(&executor.client, pass.key);
            let patch = released(uid, resource_version, finalizers);
            kubernetes::within(api.patch(name, &params(), &patch)).await?;
        }
    }
    Ok(())
}

/// Exactly this peer with these finalizers.
fn released(uid: &str, resource_version: &str, finalizers: &[String]) -> Patch<serde_json::Value> {
    Patch::Merge(json!({ "metadata": {
        "uid": uid, "resourceVersion": resource_version, "finalizers": finalizers,
    }}))
}

fn params() -> PatchParams {
    PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

fn api(client: &Client, key: &ClusterKey) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), &key.namespace, &peers::kind(key.dialect))
}

/// All EtcdPeers of the cluster, whoever made them.
async fn list(client: &Client, key: &ClusterKey) -> Result<Vec<DynamicObject>, observe::Error> {
    let selector = format!("{APP_LABEL}={},{CLUSTER_LABEL}={}", names::APP, key.name);
    let params = ListParams::default().labels(&selector);
    let api = api(client, key);
    let found = within(|| PEER_PLURAL.to_owned(), api.list(&params)).await?;
    Ok(found.items)
}

fn has_finalizer(metadata: &ObjectMeta) -> bool {
    let mut finalizers = metadata.finalizers.iter().flatten();
    finalizers.any(|finalizer| finalizer == CLAIM_FINALIZER)
}

fn waits(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some() && has_finalizer(metadata)
}

async fn claim(client: &Client, key: &ClusterKey, name: &str) -> Observed<Volume> {
    let api: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &key.namespace);
    let what = || format!("PersistentVolumeClaim {}/{name}", key.namespace);
    match within(what, api.get_opt(name)).await {
        Ok(Some(claim)) => Observed::Seen(project::volume(claim)),
        Ok(None) => Observed::Absent,
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}

/// As people are told of it.
fn in_words(peer: &DynamicObject) -> String {
    format!("{PEER_KIND} {}", peer.name_any())
}

#[cfg(test)]
mod tests;
