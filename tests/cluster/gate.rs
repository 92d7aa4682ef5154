//! A gate before a server: requests come in here, and a handler says what becomes of them.
//!
//! Owns how requests and answers go on. It does not know what a handler counts, keeps back or refuses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use kube::Client;
use serde_json::json;
use tests::scenario::{OPERATOR, Operator, Programs, Scenario};
use tests::testbed::connect;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// More than any request has: a piece of a backup, or whatever an operator sends.
const LARGEST: usize = 32 << 20;
/// More than an operator needs to start and to lead.
const LEADS_WITHIN: Duration = Duration::from_secs(120);
/// Where only this machine reaches it.
pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A gate that is open; it closes with its value.
pub(crate) struct Gate {
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Gate {
    /// Opens one at a free port of this address.
    pub(crate) async fn open(at: IpAddr, router: Router) -> Result<Self> {
        let listener = TcpListener::bind((at, 0)).await?;
        let address = listener.local_addr()?;
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                eprintln!("The gate failed: {error}");
            }
        });
        Ok(Self { address, server })
    }

    /// Its URL.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A client with the operator's rights, for what is to stand behind a gate.
pub(crate) async fn operators_client(scenario: &Scenario) -> Result<Client> {
    let (testbed, namespace) = (scenario.testbed(), scenario.namespace());
    let rights = testbed.service_account_kubeconfig(namespace, OPERATOR);
    connect(&rights.await?).await
}

/// A kubeconfig that leads through the gate at this URL, without rights of its own.
pub(crate) fn kubeconfig(scenario: &Scenario, endpoint: &str) -> Result<PathBuf> {
    let path = scenario.folder().join("gate.kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "gate",
        "clusters": [{"name": "gate", "cluster": {"server": endpoint}}],
        "users": [{"name": "gate", "user": {}}],
        "contexts": [{"name": "gate", "context": {"cluster": "gate", "user": "gate", "namespace": scenario.namespace()}}],
    });
    std::fs::write(&path, config.to_string())?;
    Ok(path)
}

/// An operator that leads, and hears from the API server only what comes through the gate with this handler. The gate
/// closes with the first value.
pub(crate) async fn operator_behind(
    scenario: &Scenario,
    router: Router,
) -> Result<(Gate, Operator)> {
    let gate = Gate::open(HERE, router).await?;
    let kubeconfig = kubeconfig(scenario, &gate.endpoint())?;
    let Programs { program, module } = &scenario.suite().programs;
    let (namespace, folder) = (scenario.namespace(), scenario.folder());
    let operator = Operator::start(program, module, namespace, &kubeconfig, folder).await?;
    operator.leads(LEADS_WITHIN).await?;
    Ok((gate, operator))
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
