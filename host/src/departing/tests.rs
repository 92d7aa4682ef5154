//! What is seen of peers on their way out, and what becomes of them once their cluster is gone.

use contract::ResourceKind;
use serde_json::{Value, json};

use super::*;
use crate::lease::Leadership;
use crate::observe::World;
use crate::observe::shelf::Scope;
use crate::queue::After;
use crate::testing::{ApiServer, executor};

const PEERS: &str = "/apis/etcd.improbable.io/v1alpha1/namespaces/infra/etcdpeers";
const CLAIMS: &str = "/api/v1/namespaces/infra/persistentvolumeclaims";

fn key(dialect: contract::Dialect) -> ClusterKey {
    ClusterKey {
        dialect,
        ..ClusterKey::new(ResourceKind::EtcdCluster, "infra", "kv")
    }
}

fn peer(name: &str, finalizers: &[&str], is_deleted: bool) -> Value {
    let mut peer = json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdPeer",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "4", "finalizers": finalizers},
    });
    if is_deleted {
        peer["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    peer
}

fn serving(peers: &[Value]) -> ApiServer {
    let list = json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdPeerList", "metadata": {}, "items": peers,
    });
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "kv-7", "uid": "uid-claim"},
    });
    ApiServer::default()
        .answering("GET", PEERS, 200, list)
        .answering("GET", &format!("{CLAIMS}/kv-7"), 200, claim)
}

#[tokio::test]
async fn peers_on_their_way_out_are_seen_with_the_claim_of_their_name() {
    let server = serving(&[
        peer("kv-0", &[], false),
        peer("kv-1", &[CLAIM_FINALIZER], false),
        peer("kv-2", &["other"], true),
        peer("kv-7", &["other", CLAIM_FINALIZER], true),
    ]);
    let mut looked = Looked::default();
    let key = key(contract::Dialect::Improbable);
    let Observed::Seen(found) = look(&server.client(), &key, &mut looked).await else {
        panic!("none is seen")
    };
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].name, "kv-7");
    assert_eq!(found[0].other_finalizers(), ["other"]);
    let claim = found[0].claim.seen().expect("a claim");
    assert_eq!(claim.uid, "uid-claim");
    assert!(looked.0.is_none(), "it is looked at again at once");
}

#[tokio::test]
async fn that_there_are_none_is_believed_for_a_while_and_no_answer_is_not() {
    let server = serving(&[peer("kv-0", &[], false)]);
    let mut looked = Looked::default();
    let improbable = key(contract::Dialect::Improbable);
    for _ in 0..2 {
        let found = look(&server.client(), &improbable, &mut looked).await;
        assert_eq!(found, Observed::Absent);
    }
    assert!(looked.0.is_some());
    let silent = ApiServer::default();
    let mut looked = Looked::default();
    let unread = look(&silent.client(), &improbable, &mut looked).await;
    assert!(matches!(unread, Observed::Unknown(_)), "{unread:?}");
    let coreos = key(contract::Dialect::Coreos);
    let found = look(&silent.client(), &coreos, &mut looked).await;
    assert_eq!(found, Observed::Absent, "it has no such objects");
}

/// What is asked for once no EtcdCluster kv is there, and whether it is looked at again.
async fn orphaned(server: ApiServer) -> (Vec<(String, Value)>, bool) {
    let (executor, _directory) = executor(&server, Leadership::alone());
    let world = World::new(&[Scope::All]);
    let key = key(contract::Dialect::Improbable);
    let after = after_its_cluster(&executor, &world, &key).await;
    (server.bodies(), !matches!(after, After::Gone))
}

/// Nothing else takes the finalizer off, and nobody can say any more that the member had left.
#[tokio::test]
async fn without_the_cluster_a_peer_is_let_go_and_its_claim_stays() {
    let waiting = peer("kv-7", &["other", CLAIM_FINALIZER], true);
    let serving = || {
        serving(&[waiting.clone(), peer("kv-8", &["other"], true)]).answering(
            "PATCH",
            &format!("{PEERS}/kv-7"),
            200,
            waiting.clone(),
        )
    };
    let (asked, again) = orphaned(serving()).await;
    assert!(!again, "{asked:?}");
    let (first, body) = &asked[0];
    assert_eq!(*first, format!("PATCH {PEERS}/kv-7"));
    let released = json!({"uid": "uid-kv-7", "resourceVersion": "4", "finalizers": ["other"]});
    assert_eq!(body["metadata"], released);
    assert!(
        asked[1].0.contains("/events") && asked.len() == 2,
        "{asked:?}"
    );

    let cluster = "/apis/etcd.improbable.io/v1alpha1/namespaces/infra/etcdclusters/kv";
    let object = json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdCluster", "metadata": {"name": "kv"},
    });
    let there = serving().answering("GET", cluster, 200, object);
    assert_eq!(orphaned(there).await, (Vec::new(), true), "it is there");

    let lock = "/api/v1/namespaces/infra/configmaps/controller-leader-election-helper";
    let now = jiff::Timestamp::now();
    let record =
        format!(r#"{{"holderIdentity": "eco", "leaseDurationSeconds": 15, "renewTime": "{now}"}}"#);
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "controller-leader-election-helper", "annotations": {contract::OLD_LOCK_ANNOTATION: record},
        },
    });
    let held = serving().answering("GET", lock, 200, object);
    assert_eq!(
        orphaned(held).await,
        (Vec::new(), true),
        "the archived operator may be at it"
    );
}

#[tokio::test]
async fn a_peer_that_kubernetes_has_yet_to_delete_after_its_cluster_is_waited_for() {
    let mut owned = peer("kv-7", &[CLAIM_FINALIZER], false);
    let foreign = orphaned(serving(&[owned.clone()])).await;
    assert_eq!(foreign, (Vec::new(), false), "nobody deletes it");
    owned["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdCluster", "name": "kv", "uid": "u", "controller": true},
    ]);
    assert_eq!(orphaned(serving(&[owned])).await, (Vec::new(), true));
}
