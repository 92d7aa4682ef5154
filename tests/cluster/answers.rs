//! Calls to etcd that are carried out, and whose answers never come.
//!
//! Stands between the operator and the members: the API server's word on where a pod is leads to a gate on this machine,
//! which passes every call on to the pod itself.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _};
use kube::Client;
use serde_json::json;
use tests::scenario::{Cluster, Scenario, spec};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::gate::{forward, operator_behind, operators_client};
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(180);
/// The calls whose first answers are lost.
const CALLS: [&str; 4] = ["MemberAdd", "MemberPromote", "MemberRemove", "MoveLeader"];
/// So many answers of each are.
const LOST: u32 = 2;
/// The port for clients.
const PORT: u16 = 2379;

/// What the gates know.
struct Gates {
    api: Client,
    lost: Mutex<BTreeMap<String, u32>>,
    /// Addresses that have a gate, and their servers.
    open: Mutex<(BTreeMap<IpAddr, IpAddr>, JoinSet<()>)>,
}

impl Gates {
    fn lost(&self) -> BTreeMap<String, u32> {
        self.lost
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether the answer to this call is lost; it counts then.
    fn loses(&self, path: &str) -> bool {
        let call = path.rsplit('/').next().unwrap_or_default();
        if !CALLS.contains(&call) {
            return false;
        }
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let count = lost.entry(call.to_owned()).or_default();
        *count += 1;
        *count <= LOST
    }

    /// The gate before a pod, opened when it is first heard of: an address of this machine that ends as the pod's does.
    async fn before(self: &Arc<Self>, pod: IpAddr) -> Result<IpAddr> {
        let known = |gates: &Self| {
            let open = gates.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.0.get(&pod).copied()
        };
        if let Some(gate) = known(self) {
            return Ok(gate);
        }
        let IpAddr::V4(address) = pod else {
            anyhow::bail!("{pod} is no IPv4 address")
        };
        let [_, _, third, fourth] = address.octets();
        let gate = IpAddr::V4(Ipv4Addr::new(127, 77, third, fourth));
        let listener = TcpListener::bind((gate, PORT)).await?;
        let gates = Arc::clone(self);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.0.insert(pod, gate);
        open.1.spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                // Whose connection breaks dials anew.
                tokio::spawn(pass_on(Arc::clone(&gates), caller, pod));
            }
        });
        Ok(gate)
    }

    /// The text with each pod's address replaced by that of its gate.
    async fn redirect(self: &Arc<Self>, text: &str) -> Result<String> {
        const KEY: &str = "\"podIP\":\"";
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(KEY) {
            let (address, end) = after.split_once('"').context("an address without an end")?;
            let gate = self.before(address.parse()?).await?;
            out.push_str(&format!("{before}{KEY}{gate}\""));
            rest = end;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// One connection to a member: HTTP/2, as gRPC has it.
async fn pass_on(gates: Arc<Gates>, caller: TcpStream, pod: IpAddr) -> Result<()> {
    let mut calls = h2::server::handshake(caller).await?;
    let member = TcpStream::connect((pod, PORT)).await?;
    let (client, connection) = h2::client::handshake(member).await?;
    let mut under_way = JoinSet::new();
    under_way.spawn(async move { Ok(connection.await?) });
    while let Some(call) = calls.accept().await {
        let (request, answer) = call?;
        under_way.spawn(carry(Arc::clone(&gates), client.clone(), request, answer));
    }
    Ok(())
}

/// One call: all of the question, then all of the answer, unless that is to be lost.
async fn carry(
    gates: Arc<Gates>,
    client: h2::client::SendRequest<Bytes>,
    request: axum::http::Request<h2::RecvStream>,
    mut answer: h2::server::SendResponse<Bytes>,
) -> Result<()> {
    let loses = gates.loses(request.uri().path());
    let (head, mut body) = request.into_parts();
    let mut client = client.ready().await?;
    let (answered, mut to) =
        client.send_request(axum::http::Request::from_parts(head, ()), false)?;
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        to.send_data(piece, false)?;
    }
    to.send_data(Bytes::new(), true)?;
    let (head, mut body) = answered.await?.into_parts();
    if loses {
        // Whoever called gives up long before.
        return std::future::pending().await;
    }
    let is_over = body.is_end_stream();
    let head = axum::http::Response::from_parts(head, ());
    let mut back = answer.send_response(head, is_over)?;
    if is_over {
        return Ok(());
    }
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        back.send_data(piece, false)?;
    }
    match body.trailers().await? {
        Some(trailers) => back.send_trailers(trailers)?,
        None => back.send_data(Bytes::new(), true)?,
    }
    Ok(())
}

/// One request to the API server.
async fn ask(State(gates): State<Arc<Gates>>, mut request: Request) -> Response {
    request.headers_mut().remove(header::ACCEPT_ENCODING);
    let is_about_pods = request.uri().path().contains("/pods");
    let is_watch = request.uri().query().unwrap_or_default().contains("watch=");
    let answer = forward(&gates.api, request).await;
    if !is_about_pods {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    if is_watch {
        let bytes = body.into_data_stream().map_err(std::io::Error::other);
        let lines = Box::pin(bytes).into_async_read().lines();
        let redirected = lines.then(move |line| {
            let gates = Arc::clone(&gates);
            async move { anyhow::Ok(gates.redirect(&line?).await? + "\n") }
        });
        return Response::from_parts(parts, Body::from_stream(redirected));
    }
    let whole = async {
        let bytes = to_bytes(body, usize::MAX).await?;
        gates.redirect(std::str::from_utf8(&bytes)?).await
    };
    match whole.await {
        Ok(text) => Response::from_parts(parts, Body::from(text)),
        Err(error) => (axum::http::StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
    }
}

async fn is_whole(cluster: &Cluster, size: usize) -> Result<()> {
    cluster.becomes_healthy(size).await?;
    let names = cluster.member_names().await?;
    ensure!(names.len() == size, "members are {names:?}");
    Ok(())
}

pub(crate) async fn lost(scenario: &mut Scenario) -> Result<()> {
    scenario.stop_operator().await?;
    let gates = Arc::new(Gates {
        api: operators_client(scenario).await?,
        lost: Mutex::default(),
        open: Mutex::default(),
    });
    let router = Router::new().fallback(ask).with_state(Arc::clone(&gates));
    let (_gate, operator) = operator_behind(scenario, router).await?;

    let cluster = scenario
        .create_healthy("unheard", spec::on_volumes(3))
        .await?;
    let id = cluster.etcd().await?.cluster_id().await?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;
    cluster.resize(5).await?;
    is_whole(&cluster, 5).await?;
    // Once the leader is among those who leave, and once a disk is gone.
    cluster.resize(1).await?;
    is_whole(&cluster, 1).await?;
    cluster.resize(3).await?;
    is_whole(&cluster, 3).await?;
    writer.goes_on(20, PATIENCE).await?;
    let journal = writer.finish().await?;
    let lost = gates.lost();
    eprintln!(
        "  {} writes were acknowledged; {}",
        journal.len(),
        json!(lost)
    );
    for call in ["MemberAdd", "MemberPromote", "MemberRemove"] {
        let count = lost.get(call).copied().unwrap_or_default();
        ensure!(count > LOST, "{call} was called {count} times");
    }
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    operator.stop().await
}
