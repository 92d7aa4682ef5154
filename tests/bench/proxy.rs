//! Stands between the operator and the API server and counts requests by verb and resource.
//!
//! Changes nothing on the way: answers are passed on as they come, watches too.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use kube::Client;

use crate::gate::{Gate, HERE, forward};

/// A proxy that runs; it ends with its value.
pub(crate) struct Proxy {
    pub(crate) gate: Gate,
    counts: Counts,
}

/// Requests by method and resource.
type Counts = Arc<Mutex<BTreeMap<(String, String), u32>>>;

impl Proxy {
    /// Starts one that has the rights of `upstream`.
    pub(crate) async fn start(upstream: Client) -> Result<Self> {
        let counts = Counts::default();
        let router = Router::new()
            .fallback(pass_on)
            .with_state((upstream, Arc::clone(&counts)));
        let gate = Gate::open(HERE, router).await?;
        Ok(Self { gate, counts })
    }

    /// The counts since the last time they were taken.
    pub(crate) fn take(&self) -> BTreeMap<(String, String), u32> {
        std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn pass_on(State((upstream, counts)): State<(Client, Counts)>, request: Request) -> Response {
    let key = (
        request.method().to_string(),
        resource(request.uri().path()).to_owned(),
    );
    *counts
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(key)
        .or_default() += 1;
    forward(&upstream, request).await
}

/// Whether the method changes something.
pub(crate) fn is_write(method: &str) -> bool {
    ![Method::GET, Method::HEAD, Method::OPTIONS]
        .iter()
        .any(|read| read == method)
}

/// The plural in the path of a namespaced object or list.
fn resource(path: &str) -> &str {
    let mut parts = path
        .split('/')
        .skip_while(|part| *part != "namespaces")
        .skip(2);
    parts.next().unwrap_or(path)
}
