//! Stands between the operator and a store and keeps the heads of all requests. Changes nothing on the way.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use kube::{Client, Config};
use tests::scenario::Scenario;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// More than any piece of a backup.
const LARGEST: usize = 32 << 20;

/// One request, without its body.
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: BTreeMap<String, String>,
}

/// A tap that runs; it ends with its value.
pub(crate) struct Tap {
    address: SocketAddr,
    heads: Heads,
    server: JoinHandle<()>,
}

type Heads = Arc<Mutex<Vec<Head>>>;

impl Tap {
    /// Starts one before the server at this URL, on an address that pods reach too.
    pub(crate) async fn start(scenario: &Scenario, server: &str) -> Result<Self> {
        // A client of Kubernetes sends any request to any server.
        let upstream = Client::try_from(Config::new(server.parse()?))?;
        let heads = Heads::default();
        let listener = TcpListener::bind((scenario.testbed().host_address(), 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new()
            .fallback(pass_on)
            .with_state((upstream, Arc::clone(&heads)));
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                eprintln!("The tap failed: {error}");
            }
        });
        Ok(Self {
            address,
            heads,
            server,
        })
    }

    /// Its URL.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What came since the last time it was taken.
    pub(crate) fn take(&self) -> Vec<Head> {
        std::mem::take(&mut *self.heads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass_on(State((upstream, heads)): State<(Client, Heads)>, request: Request) -> Response {
    let readable = |(name, value): (&header::HeaderName, &header::HeaderValue)| {
        Some((name.to_string(), value.to_str().ok()?.to_owned()))
    };
    let head = Head {
        method: request.method().clone(),
        uri: request.uri().clone(),
        headers: request.headers().iter().filter_map(readable).collect(),
    };
    heads
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(head);
    forward(&upstream, request).await
}

/// The answer of the server that `upstream` leads to.
pub(crate) async fn forward(upstream: &Client, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    // These belong to one connection, and the request goes on over another one.
    for name in [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING] {
        parts.headers.remove(name);
    }
    let Ok(body) = to_bytes(body, LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let request = axum::http::Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
    match upstream.send(request).await {
        Ok(answer) => {
            let (mut parts, body) = answer.into_parts();
            for name in [header::CONNECTION, header::TRANSFER_ENCODING] {
                parts.headers.remove(name);
            }
            Response::from_parts(parts, Body::new(body))
        }
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
