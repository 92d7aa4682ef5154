//! Keeps the `EtcdPeer` objects of a cluster in step with its status, for people who look at them.
//!
//! Which they are is said by [`contract::improbable::peers`]; nothing is decided here and nothing follows from them.
//! Objects of another owner are left alone.

use std::time::{Duration, Instant};

use contract::improbable::{
    CLAIM_FINALIZER, EtcdPeerSpec, EtcdPeerStatus, PEER_KIND, PEER_PLURAL, Peer, peers,
};
use contract::{Dialect, Resource, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{
    ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy,
};
use kube::core::{DynamicObject, ObjectMeta, TypeMeta};
use kube::{Api, Client, ResourceExt};
use serde::Deserialize as _;
use serde_json::json;
use tracing::{debug, info, warn};

use crate::error::Chain;
use crate::execute::Executor;
use crate::observe::{self, Memory, project, within};

/// How long what was shown is believed to be there still.
const BELIEVED: Duration = Duration::from_secs(60);

/// What was last shown, and when.
#[derive(Debug)]
pub struct Shown {
    peers: Vec<Peer>,
    at: Instant,
}

/// Shows the members of a cluster, if that is not as it was left. Nothing depends on it, so a failure is told, and what is
/// missing is done by a later pass.
pub async fn show(executor: &Executor, cluster: &Resource, memory: &mut Memory) {
    if !executor.leadership.is_held() {
        return;
    }
    if let Err(error) = keep(&executor.client, cluster, &mut memory.peers).await {
        warn!(error = %Chain(&error), "Members could not be shown as objects");
    }
}

async fn keep(
    client: &Client,
    cluster: &Resource,
    shown: &mut Option<Shown>,
) -> Result<(), observe::Error> {
    let wanted = peers(cluster);
    let is_shown = match shown {
        Some(shown) => shown.peers == wanted && shown.at.elapsed() < BELIEVED,
        None => wanted.is_empty(),
    };
    // While members are taken over, the objects are still what their ReplicaSets belong to.
    if is_shown || cluster.deleted.is_some() || cluster.is_being_taken_over() {
        return Ok(());
    }
    *shown = None;
    // Whoever pauses a cluster still reads of the members that are there.
    let is_paused = envelope::is_paused(cluster);
    let kind = kind(cluster.dialect());
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &cluster.namespace, &kind);
    let dialect = cluster.dialect();
    let selector = dialect.selector(&cluster.name);
    let mut found = list(&api, &selector).await?;
    let is_recorded = cluster.status.get("clusterId").is_some();
    if let Some(old) = dialect
        .predecessors_selector(&cluster.name)
        .filter(|_| is_recorded)
    {
        let old = list(&api, &old).await?.into_iter();
        found.extend(old.filter(|peer| makes_room(peer, &wanted)));
    }
    let own = |peer: &&DynamicObject| {
        project::controller(&peer.metadata).as_deref() == Some(cluster.uid.as_str())
    };
    let mut is_whole = true;
    let mut standing = Vec::new();
    for peer in found.iter().filter(own) {
        let name = peer.name_any();
        let as_wanted = wanted
            .iter()
            .find(|wanted| wanted.name == name && is_spec(peer, &wanted.spec));
        match as_wanted {
            Some(wanted) => {
                standing.push(name);
                write_status(&api, peer, wanted).await?;
            }
            None if is_paused || peer.metadata.deletion_timestamp.is_some() => is_whole = false,
            None => delete(&api, peer).await?,
        }
    }
    for peer in wanted.iter().filter(|peer| !standing.contains(&peer.name)) {
        is_whole &= !is_paused && create(&api, &kind, cluster, peer).await?;
    }
    *shown = is_whole.then(|| Shown {
        peers: wanted,
        at: Instant::now(),
    });
    Ok(())
}

async fn list(
    api: &Api<DynamicObject>,
    selector: &str,
) -> Result<Vec<DynamicObject>, observe::Error> {
    let params = ListParams::default().labels(selector);
    let found = within(|| PEER_PLURAL.to_owned(), api.list(&params)).await?;
    Ok(found.items)
}

pub(crate) fn kind(dialect: Dialect) -> ApiResource {
    ApiResource {
        group: dialect.group().to_owned(),
        version: dialect.version().to_owned(),
        api_version: dialect.api_version(),
        kind: PEER_KIND.to_owned(),
        plural: PEER_PLURAL.to_owned(),
    }
}

fn is_spec(peer: &DynamicObject, wanted: &EtcdPeerSpec) -> bool {
    let spec = peer.data.get("spec").map(EtcdPeerSpec::deserialize);
    spec.is_some_and(|spec| spec.is_ok_and(|spec| spec == *wanted))
}

async fn write_status(
    api: &Api<DynamicObject>,
    peer: &DynamicObject,
    wanted: &Peer,
) -> Result<(), observe::Error> {
    let status = peer.data.get("status").map(EtcdPeerStatus::deserialize);
    if status.is_some_and(|status| status.is_ok_and(|status| status == wanted.status)) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({
        "metadata": {"uid": peer.uid()}, "status": wanted.status,
    }));
    let params = PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let what = || format!("the status of {PEER_KIND} {}", wanted.name);
    within(what, api.patch_status(&wanted.name, &params, &patch)).await?;
    debug!(
        peer = wanted.name,
        version = wanted.status.server_version,
        "Showed a member's version"
    );
    Ok(())
}

/// Whether one of the archived operator's is of a member that was taken over. With one that asks for a claim to go, that
/// would go.
fn makes_room(peer: &DynamicObject, wanted: &[Peer]) -> bool {
    let asks = peer.finalizers().iter().any(|one| one == CLAIM_FINALIZER);
    !asks && wanted.iter().any(|wanted| wanted.name == peer.name_any())
}

/// A spec never changes, so an object with another one goes, and so does one of a member that is gone. Whatever belongs to
/// it stays.
async fn delete(api: &Api<DynamicObject>, peer: &DynamicObject) -> Result<(), observe::Error> {
    let name = peer.name_any();
    let params = DeleteParams {
        preconditions: Some(kube::api::Preconditions {
            uid: peer.uid(),
            resource_version: None,
        }),
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    within(|| format!("{PEER_KIND} {name}"), async {
        match api.delete(&name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    })
    .await?;
    info!(peer = name, "Took back a member that is shown");
    Ok(())
}

/// Whether it is there; not so while one of that name is being deleted.
async fn create(
    api: &Api<DynamicObject>,
    kind: &ApiResource,
    cluster: &Resource,
    peer: &Peer,
) -> Result<bool, observe::Error> {
    let mut labels = cluster.dialect().labels(&cluster.name);
    let member_label = cluster.dialect().member_label().to_owned();
    labels.insert(member_label, peer.name.clone());
    let object = DynamicObject {
        types: Some(TypeMeta {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
        }),
        metadata: ObjectMeta {
            name: Some(peer.name.clone()),
            namespace: Some(cluster.namespace.clone()),
            labels: Some(labels),
            owner_references: Some(vec![OwnerReference {
                api_version: cluster.api_version.clone(),
                kind: cluster.kind.clone(),
                name: cluster.name.clone(),
                uid: cluster.uid.clone(),
                controller: Some(true),
                block_owner_deletion: None,
            }]),
            ..ObjectMeta::default()
        },
        data: json!({ "spec": peer.spec }),
    };
    let params = PostParams {
        dry_run: false,
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
    };
    let created = within(|| format!("{PEER_KIND} {}", peer.name), async {
        match api.create(&params, &object).await {
            Ok(created) => Ok(Some(created)),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(None),
            Err(error) => Err(error),
        }
    })
    .await?;
    let Some(created) = created else {
        return Ok(false);
    };
    info!(peer = peer.name, "Showed a member");
    write_status(api, &created, peer).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::ApiServer;

    const PEERS: &str = "/apis/etcd.improbable.io/v1alpha1/namespaces/infra/etcdpeers";

    /// With the members kv-0, which answers, and kv-1, which does not.
    fn cluster() -> Resource {
        let record = |name: &str, health: &str| {
            json!({
                "name": name, "id": "a1", "role": "Voter", "health": health, "since": "", "roleSince": "",
                "version": "3.6.16", "image": "quay.io/coreos/etcd:v3.6.16",
            })
        };
        let object = json!({
            "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": "kv", "namespace": "infra", "uid": "r1", "resourceVersion": "5"},
            "spec": {
                "replicas": 2, "version": "3.6.16",
                "storage": {"volumeClaimTemplate": {
                    "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}},
                }},
            },
            "status": {
                "phase": "Running",
                "memberRecords": [record("kv-0", "Healthy"), record("kv-1", "Unknown")],
            },
        });
        project::resource(serde_json::from_value(object).expect("a resource"))
    }

    fn peer(name: &str, owner: &str, spec: &EtcdPeerSpec, version: &str) -> Value {
        json!({
            "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdPeer",
            "metadata": {"name": name, "namespace": "infra", "uid": format!("uid-{name}"), "ownerReferences": [
                {"apiVersion": "v", "kind": "EtcdCluster", "name": "kv", "uid": owner, "controller": true},
            ]},
            "spec": spec, "status": {"serverVersion": version},
        })
    }

    fn serving(peers: &[Value]) -> ApiServer {
        let list = json!({
            "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdPeerList", "metadata": {}, "items": peers,
        });
        let (one, path) = (peer("kv-0", "r1", &EtcdPeerSpec::default(), ""), PEERS);
        let mut server = ApiServer::default()
            .answering("GET", path, 200, list)
            .answering("POST", path, 201, one.clone());
        for name in ["kv-0", "kv-1", "kv-9"] {
            server = server
                .answering("PATCH", &format!("{path}/{name}/status"), 200, one.clone())
                .answering("DELETE", &format!("{path}/{name}"), 200, one.clone());
        }
        server
    }

    async fn changes(server: &ApiServer) -> Vec<String> {
        let mut shown = None;
        keep(&server.client(), &cluster(), &mut shown)
            .await
            .expect("an answer");
        let changes = server.changes().into_iter();
        changes.map(|change| change.replace(PEERS, "")).collect()
    }

    #[tokio::test]
    async fn members_are_shown_and_then_believed() {
        let server = serving(&[]);
        let mut shown = None;
        for _ in 0..2 {
            keep(&server.client(), &cluster(), &mut shown)
                .await
                .expect("an answer");
        }
        let bodies = server.bodies();
        let (asked, body) = &bodies[0];
        assert_eq!(*asked, format!("POST {PEERS}"));
        assert_eq!(body["metadata"]["name"], "kv-0");
        assert_eq!(body["metadata"]["ownerReferences"][0]["uid"], "r1");
        let labels = &body["metadata"]["labels"];
        assert_eq!(labels["etcd.improbable.io/peer-name"], "kv-0");
        assert_eq!(body["spec"]["clusterName"], "kv");
        let versions: Vec<&Value> = bodies
            .iter()
            .filter(|(asked, _)| asked.starts_with("PATCH"))
            .map(|(_, body)| &body["status"]["serverVersion"])
            .collect();
        assert_eq!(versions, ["3.6.16"], "it was written once");
        assert_eq!(bodies.len(), 3, "{bodies:?}");
    }

    /// One of no member is nobody's to delete, and with one that asks for it a claim would go.
    #[test]
    fn of_the_archived_operators_peers_those_of_members_make_room() {
        let wanted = peers(&cluster());
        let of = |name: &str, finalizers: &[&str]| {
            let mut peer = peer(name, "r1", &wanted[0].spec, "3.4.34");
            peer["metadata"]["finalizers"] = json!(finalizers);
            serde_json::from_value(peer).expect("a peer")
        };
        assert!(makes_room(&of("kv-0", &[]), &wanted));
        assert!(!makes_room(&of("kv-9", &[]), &wanted));
        assert!(!makes_room(&of("kv-0", &[CLAIM_FINALIZER]), &wanted));
    }

    #[tokio::test]
    async fn only_own_peers_that_are_not_as_they_should_be_are_changed() {
        let wanted = peers(&cluster());
        let other = EtcdPeerSpec {
            version: "3.5.21".to_owned(),
            ..wanted[1].spec.clone()
        };
        let server = serving(&[
            peer("kv-0", "r1", &wanted[0].spec, "3.6.16"),
            peer("kv-1", "r1", &other, ""),
            peer("kv-8", "somebody", &other, ""),
            peer("kv-9", "r1", &other, ""),
        ]);
        assert_eq!(
            changes(&server).await,
            ["DELETE /kv-1", "DELETE /kv-9", "POST "]
        );
    }
}
