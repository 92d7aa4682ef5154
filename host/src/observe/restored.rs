//! What may be being restored in a namespace, in either dialect: whatever the dialect, a restore may read what a backup of the
//! other one stored.
//!
//! From the caches where these can be relied on, else from a live read.

use std::time::Instant;

use contract::{BeingRestored, Dialect, Observed, Resource, ResourceKind};
use kube::Client;

use super::{World, live};
use crate::error::Chain;

/// For a snapshot.
pub(crate) async fn being_restored(
    client: &Client,
    world: &World,
    namespace: &str,
) -> Observed<Vec<BeingRestored>> {
    let cached = |dialect, kind| {
        let shelf = world.resources_of(dialect, kind);
        shelf.of_namespace(namespace, Instant::now())
    };
    gather(client, namespace, cached).await
}

/// At this moment, for the envelope.
pub(crate) async fn being_restored_now(
    client: &Client,
    namespace: &str,
) -> Observed<Vec<BeingRestored>> {
    gather(client, namespace, |_, _| Observed::Absent).await
}

/// EtcdRestores first: one that is deleted before the clusters are read is known all the same.
async fn gather(
    client: &Client,
    namespace: &str,
    cached: impl Fn(Dialect, ResourceKind) -> Observed<Vec<Resource>>,
) -> Observed<Vec<BeingRestored>> {
    let mut found = [Vec::new(), Vec::new()];
    let kinds = [ResourceKind::EtcdRestore, ResourceKind::EtcdCluster];
    for (kind, found) in kinds.into_iter().zip(&mut found) {
        for dialect in Dialect::ALL {
            let known = match cached(dialect, kind) {
                Observed::Seen(known) => known,
                Observed::Absent | Observed::Unknown(_) => {
                    match live::resources(client, dialect, kind, namespace).await {
                        Ok(known) => known,
                        Err(error) => return Observed::Unknown(Chain(&error).to_string()),
                    }
                }
            };
            found.extend(known);
        }
    }
    let [restores, clusters] = found;
    Observed::Seen(BeingRestored::of(&restores, &clusters))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::key::ClusterKey;
    use crate::observe::shelf::Scope;
    use crate::testing::{ApiServer, status};

    const COREOS: &str = "/apis/etcd.database.coreos.com/v1beta2/namespaces/infra";
    const IMPROBABLE: &str = "/apis/etcd.improbable.io/v1alpha1/namespaces/infra";

    fn list(api_version: &str, kind: &str, items: Vec<Value>) -> Value {
        let items = items.into_iter().map(|mut item| {
            item["apiVersion"] = json!(api_version);
            item["kind"] = json!(kind);
            item
        });
        json!({"apiVersion": api_version, "kind": format!("{kind}List"), "metadata": {},
            "items": items.collect::<Vec<_>>()})
    }

    /// An API server without the second dialect's definitions.
    fn server(restores: Vec<Value>, clusters: Vec<Value>) -> ApiServer {
        let version = "etcd.database.coreos.com/v1beta2";
        let restores = list(version, "EtcdRestore", restores);
        let clusters = list(version, "EtcdCluster", clusters);
        ApiServer::default()
            .answering("GET", &format!("{COREOS}/etcdrestores"), 200, restores)
            .answering("GET", &format!("{COREOS}/etcdclusters"), 200, clusters)
    }

    fn restore(succeeded: bool) -> Value {
        json!({
            "metadata": {"name": "back", "namespace": "infra", "uid": "r"},
            "spec": {"etcdCluster": {"name": "shop"}, "backupStorageType": "S3",
                "s3": {"path": "bucket/b_v1", "awsSecret": "aws"}},
            "status": {"succeeded": succeeded},
        })
    }

    async fn now(server: &ApiServer) -> Vec<(String, Option<String>)> {
        match being_restored_now(&server.client(), "infra").await {
            Observed::Seen(found) => found.into_iter().map(|one| (one.by, one.key)).collect(),
            Observed::Absent => panic!("nobody looked"),
            Observed::Unknown(why) => panic!("{why}"),
        }
    }

    #[tokio::test]
    async fn what_is_restored_is_read_of_either_dialect_and_a_missing_definition_is_no_hindrance() {
        let own = ("EtcdRestore back".to_owned(), Some("b_v1".to_owned()));
        let filled = json!({
            "metadata": {"name": "shop", "namespace": "infra", "uid": "c"},
            "status": {"restoration": {"restore": "gone", "uid": "g", "stage": "Filling"}},
        });
        let orphaned = ("EtcdCluster shop".to_owned(), None);
        let first = server(vec![restore(false)], vec![filled]);
        assert_eq!(now(&first).await, [orphaned, own]);
        assert_eq!(now(&server(vec![restore(true)], Vec::new())).await, []);
        let other = json!({
            "metadata": {"name": "other", "namespace": "infra", "uid": "o"},
            "spec": {"source": {"objectURL": "s3://bucket/b_v2", "secretName": "aws"},
                "clusterTemplate": {"clusterName": "kv", "spec": {"replicas": 1}}},
        });
        let others = list("etcd.improbable.io/v1alpha1", "EtcdRestore", vec![other]);
        let both = server(Vec::new(), Vec::new());
        let both = both.answering("GET", &format!("{IMPROBABLE}/etcdrestores"), 200, others);
        let other = ("EtcdRestore other".to_owned(), Some("b_v2".to_owned()));
        assert_eq!(now(&both).await, [other]);
    }

    #[tokio::test]
    async fn what_is_restored_is_unknown_where_it_cannot_be_listed() {
        let path = format!("{IMPROBABLE}/etcdrestores");
        let forbidden = status(403, "Forbidden", "no right");
        let server = server(Vec::new(), Vec::new()).answering("GET", &path, 403, forbidden);
        let found = being_restored_now(&server.client(), "infra").await;
        assert!(matches!(found, Observed::Unknown(why) if why.contains("no right")));
    }

    #[tokio::test]
    async fn what_the_caches_show_is_not_asked_for() {
        let scope = Scope::All;
        let world = World::new(std::slice::from_ref(&scope));
        let own = Resource {
            name: "back".to_owned(),
            namespace: "infra".to_owned(),
            spec: restore(false)["spec"].clone(),
            ..Resource::default()
        };
        let key = ClusterKey::new(ResourceKind::EtcdRestore, "infra", "back");
        world.restores.put(key, own);
        let shown = BTreeSet::from([("infra".to_owned(), "back".to_owned())]);
        world.restores.listed(&scope, &shown);
        world.resources.listed(&scope, &BTreeSet::new());
        // The live ones are of nobody: the second dialect's alone are asked for, and have no definition.
        let client = ApiServer::default().client();
        let found = being_restored(&client, &world, "infra").await;
        let expected = BeingRestored {
            by: "EtcdRestore back".to_owned(),
            key: Some("b_v1".to_owned()),
        };
        assert_eq!(found, Observed::Seen(vec![expected]));
    }
}
