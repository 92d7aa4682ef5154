//! Stands between the operator and a store and keeps the heads of all requests. Changes nothing on the way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, Uri, header};
use axum::response::Response;
use kube::{Client, Config};
use tests::scenario::Scenario;

use crate::gate::{Gate, forward};

/// One request, without its body.
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: BTreeMap<String, String>,
}

/// A tap that runs; it ends with its value.
pub(crate) struct Tap {
    gate: Gate,
    heads: Heads,
}

type Heads = Arc<Mutex<Vec<Head>>>;

impl Tap {
    /// Starts one before the server at this URL, on an address that pods reach too.
    pub(crate) async fn start(scenario: &Scenario, server: &str) -> Result<Self> {
        // A client of Kubernetes sends any request to any server.
        let upstream = Client::try_from(Config::new(server.parse()?))?;
        let heads = Heads::default();
        let router = Router::new()
            .fallback(pass_on)
            .with_state((upstream, Arc::clone(&heads)));
        let gate = Gate::open(scenario.testbed().host_address().into(), router).await?;
        Ok(Self { gate, heads })
    }

    /// Its URL.
    pub(crate) fn endpoint(&self) -> String {
        self.gate.endpoint()
    }

    /// What came since the last time it was taken.
    pub(crate) fn take(&self) -> Vec<Head> {
        std::mem::take(&mut *self.heads.lock().unwrap_or_else(PoisonError::into_inner))
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
