//! An API server that has clusters with what the model has of their objects, lets their status and events be written, and
//! remembers whatever it is asked to change.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use contract::{ObjectKind, Resource, names};
use envelope::{ObjectHead, Reads};
use kube::Client;
use serde_json::{Value, json};
use simulator::Branch;

/// What it has in one namespace. Clones are one server.
#[derive(Clone)]
pub(crate) struct ApiServer {
    namespace: String,
    cluster: Arc<Mutex<Value>>,
    branch: Arc<Branch>,
    changes: Arc<Mutex<Vec<String>>>,
}

impl ApiServer {
    pub(crate) fn of(resource: &Resource, branch: &Branch) -> Self {
        let cluster = json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": {
                "name": resource.name, "namespace": resource.namespace, "uid": resource.uid,
                "resourceVersion": resource.resource_version, "generation": resource.generation,
            },
            "spec": resource.spec, "status": resource.status,
        });
        Self {
            namespace: resource.namespace.clone(),
            cluster: Arc::new(Mutex::new(cluster)),
            branch: Arc::new(branch.clone()),
            changes: Arc::default(),
        }
    }

    /// Reaches each of them in its namespace, and the first one everywhere else.
    pub(crate) fn client(servers: &[Self]) -> Client {
        let servers = servers.to_vec();
        let answer = async move |method: Method, uri: Uri, body: Bytes| {
            let is_of = |server: &&Self| {
                let namespace = format!("/namespaces/{}/", server.namespace);
                uri.path().contains(&namespace)
            };
            let server = servers.iter().find(is_of).unwrap_or(&servers[0]);
            server.respond(&method, &uri, &body)
        };
        Client::new(Router::new().fallback(answer), "default")
    }

    /// Method and path of every change that was asked for, in order.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.changes.lock().expect("no holder panics").clone()
    }

    /// The condition of that type, of the cluster as it is stored.
    pub(crate) fn condition(&self, kind: &str) -> Option<Value> {
        let cluster = self.cluster.lock().expect("no holder panics");
        let conditions = cluster["status"]["conditions"].as_array()?;
        let mut of_kind = conditions
            .iter()
            .filter(|condition| condition["type"] == kind);
        of_kind.next().cloned()
    }

    /// The status of the cluster as it is stored.
    pub(crate) fn status(&self) -> Value {
        let cluster = self.cluster.lock().expect("no holder panics");
        cluster["status"].clone()
    }

    fn respond(&self, method: &Method, uri: &Uri, body: &[u8]) -> Response {
        let path = uri.path();
        if method != Method::GET {
            let mut changes = self.changes.lock().expect("no holder panics");
            changes.push(format!("{method} {path}"));
        }
        let is_cluster = path.contains("/etcdclusters/");
        let mut cluster = self.cluster.lock().expect("no holder panics");
        if method == Method::PUT && is_cluster && path.ends_with("/status") {
            let sent: Value = serde_json::from_slice(body).unwrap_or_default();
            cluster["status"] = sent["status"].clone();
        }
        let (code, answer) = if is_cluster && (method == Method::GET || method == Method::PUT) {
            (StatusCode::OK, cluster.clone())
        } else if method == Method::POST && path.ends_with("/events") {
            let event =
                json!({"metadata": {"name": "e", "namespace": "default"}, "eventTime": null});
            (StatusCode::CREATED, event)
        } else if let Some(found) = self.child(path).filter(|_| method == Method::GET) {
            (StatusCode::OK, found)
        } else {
            let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound", "message": "not found"});
            (StatusCode::NOT_FOUND, gone)
        };
        (code, axum::Json(answer)).into_response()
    }

    /// The object at that path, as far as a fresh read looks at it.
    fn child(&self, path: &str) -> Option<Value> {
        let mut parts = path.rsplit('/');
        let (name, collection) = (parts.next()?, parts.next()?);
        let kind = match collection {
            "pods" => ObjectKind::Pod,
            "persistentvolumeclaims" => ObjectKind::PersistentVolumeClaim,
            "services" => ObjectKind::Service,
            "poddisruptionbudgets" => ObjectKind::PodDisruptionBudget,
            "secrets" => ObjectKind::Secret,
            _ => return None,
        };
        let reads = Reads {
            object: Some((kind, name.to_owned())),
            ..Reads::default()
        };
        let head = self.branch.fresh(&reads).object;
        head.seen().map(|head| document(kind, name, head))
    }
}

/// What the host reads that head from.
fn document(kind: ObjectKind, name: &str, head: &ObjectHead) -> Value {
    let ObjectHead {
        uid,
        resource_version,
        owner,
        deleted,
        ended,
        running,
        restarts,
        ran,
        claim,
        founds,
    } = head;
    let owners = owner.iter().map(|uid| {
        json!({"apiVersion": "v1", "kind": "Owner", "name": "owner", "uid": uid, "controller": true})
    });
    let state = if *founds { "new" } else { "existing" };
    let mut document = json!({
        "apiVersion": "v1", "kind": kind.name(),
        "metadata": {
            "name": name, "uid": uid, "resourceVersion": resource_version,
            "labels": names::labels("cluster"),
            "annotations": {names::INITIAL_STATE_ANNOTATION: state},
            "ownerReferences": owners.collect::<Vec<_>>(),
        },
    });
    if *restarts {
        // Its container status tells of none so far.
        document["metadata"]["annotations"][names::RESTARTS_ANNOTATION] = json!("0");
    }
    if *deleted {
        document["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    if kind == ObjectKind::Pod {
        let volumes = claim.iter().map(|claim| {
            json!({"name": names::DATA_VOLUME, "persistentVolumeClaim": {"claimName": claim}})
        });
        document["spec"] = json!({"containers": [], "volumes": volumes.collect::<Vec<_>>()});
        let state = if *running {
            json!({"running": {}})
        } else {
            json!({})
        };
        let last = if *ran && !*running {
            json!({"terminated": {"exitCode": 1}})
        } else {
            json!({})
        };
        document["status"] = json!({
            "phase": if *ended { "Failed" } else { "Running" },
            "containerStatuses": [{
                "name": names::ETCD_CONTAINER, "image": "", "imageID": "", "ready": running, "restartCount": 0,
                "state": state, "lastState": last,
            }],
        });
    }
    document
}
