//! An API server that is slow, refuses now and then, and tells late: what an operator meets on a busy day.
//!
//! Stands between the operator and the real API server. What goes wrong follows from the number of the request alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use kube::Client;
use serde_json::json;
use tests::scenario::{Scenario, spec};

use crate::gate::{forward, operator_behind, operators_client};
use crate::writer::Writer;

const PATIENCE: Duration = Duration::from_secs(120);
/// Events of watches come so late.
const BELATED: Duration = Duration::from_millis(700);
/// A slow answer takes up to four times so long.
const SLOW: Duration = Duration::from_millis(60);

/// What befalls a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    /// 409, and nothing is done.
    Conflict,
    /// 429, and nothing is done.
    TooMany,
    /// 500, and nothing is done.
    Broken,
    /// It is done, and the answer says 500.
    AnswerLost,
    /// A watch whose events come late.
    Late,
}

/// What the gate knows.
struct Troubled {
    upstream: Client,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: u32,
    troubles: BTreeMap<Trouble, u32>,
}

impl Troubled {
    fn troubles(&self) -> BTreeMap<Trouble, u32> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.troubles.clone()
    }

    /// The number of this request, and what befalls it.
    fn choose(&self, request: &Request) -> (u32, Option<Trouble>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.requests += 1;
        let number = counts.requests;
        let is_watch = request.uri().query().unwrap_or_default().contains("watch=");
        let trouble = match (request.method(), number % 23) {
            // An operator that loses its lease is another story.
            _ if request.uri().path().contains("/leases") => None,
            _ if is_watch => Some(Trouble::Late),
            (&Method::GET, 3) | (_, 5) => Some(Trouble::Broken),
            (&Method::GET, 7) | (_, 9) => Some(Trouble::TooMany),
            (&Method::GET, _) => None,
            (_, 1) => Some(Trouble::Conflict),
            (_, 7) => Some(Trouble::AnswerLost),
            _ => None,
        };
        if let Some(trouble) = trouble {
            *counts.troubles.entry(trouble).or_default() += 1;
        }
        (number, trouble)
    }
}

async fn pass_on(State(state): State<Arc<Troubled>>, request: Request) -> Response {
    let (number, trouble) = state.choose(&request);
    tokio::time::sleep(SLOW * (number % 5)).await;
    match trouble {
        Some(Trouble::Conflict) => refusal(StatusCode::CONFLICT, "Conflict"),
        Some(Trouble::TooMany) => refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
        Some(Trouble::Broken) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        Some(Trouble::AnswerLost) => {
            forward(&state.upstream, request).await;
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")
        }
        Some(Trouble::Late) => belated(forward(&state.upstream, request).await, BELATED),
        None => forward(&state.upstream, request).await,
    }
}

/// Each piece of the answer comes so much later.
fn belated(answer: Response, late: Duration) -> Response {
    let (parts, body) = answer.into_parts();
    let pieces = body.into_data_stream().then(move |piece| async move {
        tokio::time::sleep(late).await;
        piece
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// As the API server says no.
fn refusal(code: StatusCode, reason: &str) -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code.as_u16(),
        "message": format!("the gate says {reason}"),
    });
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (code, kind, status.to_string()).into_response()
}

pub(crate) async fn hesitating(scenario: &mut Scenario) -> Result<()> {
    scenario.stop_operator().await?;
    let state = Arc::new(Troubled {
        upstream: operators_client(scenario).await?,
        counts: Mutex::default(),
    });
    let router = Router::new()
        .fallback(pass_on)
        .with_state(Arc::clone(&state));
    let (_gate, operator) = operator_behind(scenario, router).await?;

    let cluster = scenario
        .create_healthy("tried", spec::on_volumes(3))
        .await?;
    let id = cluster.etcd().await?.cluster_id().await?;
    let writer = Writer::start(vec![cluster.client_address().await?]);
    writer.goes_on(20, PATIENCE).await?;
    cluster.resize(5).await?;
    cluster.becomes_healthy(5).await?;
    let leader = cluster.leader().await?;
    cluster.delete_pod(&leader).await?;
    cluster.becomes_healthy(5).await?;
    cluster.resize(3).await?;
    cluster.becomes_healthy(3).await?;
    writer.goes_on(20, PATIENCE).await?;
    let journal = writer.finish().await?;
    let troubles = state.troubles();
    eprintln!("  {} writes were acknowledged; {troubles:?}", journal.len());
    for trouble in [
        Trouble::Conflict,
        Trouble::TooMany,
        Trouble::Broken,
        Trouble::AnswerLost,
        Trouble::Late,
    ] {
        ensure!(troubles.contains_key(&trouble), "{trouble:?} befell nobody");
    }
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    operator.stop().await
}
