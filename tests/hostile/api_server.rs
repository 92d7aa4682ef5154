//! An API server that has one cluster, lets its status and events be written, and remembers whatever it is asked to change.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use contract::Resource;
use kube::Client;
use serde_json::{Value, json};

/// Clones are one server.
#[derive(Clone)]
pub(crate) struct ApiServer {
    cluster: Arc<Mutex<Value>>,
    changes: Arc<Mutex<Vec<String>>>,
}

impl ApiServer {
    pub(crate) fn of(resource: &Resource) -> Self {
        let cluster = json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": {
                "name": resource.name, "namespace": resource.namespace, "uid": resource.uid,
                "resourceVersion": resource.resource_version, "generation": resource.generation,
            },
            "spec": resource.spec, "status": resource.status,
        });
        Self {
            cluster: Arc::new(Mutex::new(cluster)),
            changes: Arc::default(),
        }
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let answer =
            async move |method: Method, uri: Uri, body: Bytes| server.respond(&method, &uri, &body);
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
        } else {
            let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound", "message": "not found"});
            (StatusCode::NOT_FOUND, gone)
        };
        (code, axum::Json(answer)).into_response()
    }
}
