//! Stands between the operator and the API server and counts requests by verb and resource.
//!
//! Changes nothing on the way: answers are passed on as they come, watches too.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kube::Client;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Far more than the operator ever sends.
const LARGEST: usize = 8 << 20;

/// A proxy that runs; it ends with its value.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    counts: Counts,
    server: JoinHandle<()>,
}

/// Requests by method and resource.
type Counts = Arc<Mutex<BTreeMap<(String, String), u32>>>;

impl Proxy {
    /// Starts one that has the rights of `upstream`.
    pub(crate) async fn start(upstream: Client) -> Result<Self> {
        let counts = Counts::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let router = Router::new()
            .fallback(pass_on)
            .with_state((upstream, Arc::clone(&counts)));
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                eprintln!("The counting proxy failed: {error}");
            }
        });
        Ok(Self {
            address,
            counts,
            server,
        })
    }

    /// The counts since the last time they were taken.
    pub(crate) fn take(&self) -> BTreeMap<(String, String), u32> {
        std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass_on(State((upstream, counts)): State<(Client, Counts)>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let key = (
        parts.method.to_string(),
        resource(parts.uri.path()).to_owned(),
    );
    *counts
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(key)
        .or_default() += 1;
    for name in [header::HOST, header::AUTHORIZATION, header::CONNECTION] {
        parts.headers.remove(name);
    }
    let Ok(body) = to_bytes(body, LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let request = axum::http::Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
    match upstream.send(request).await {
        Ok(answer) => {
            let (mut parts, body) = answer.into_parts();
            hop_by_hop(&mut parts.headers);
            Response::from_parts(parts, Body::new(body))
        }
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

/// Those belong to one connection, and the answer goes over another one.
fn hop_by_hop(headers: &mut HeaderMap) {
    for name in [header::CONNECTION, header::TRANSFER_ENCODING] {
        headers.remove(name);
    }
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
