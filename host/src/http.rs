//! `/healthz`, `/readyz` and `/metrics`; recordings, for those who come through the API server.
//!
//! Serves what others know; it knows nothing itself.

pub(crate) mod recordings;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::observe::World;
use crate::recorder::Recorder;
use crate::upgradeable::Told;

/// What the pages show.
#[derive(Clone, Debug)]
pub struct Pages {
    /// Ready when nothing of it is missing.
    pub world: Arc<World>,
    /// Rendered at `/metrics`.
    pub metrics: Metrics,
    /// Ready when it is said.
    pub told: Told,
    /// The folder of recordings, for `binnacle record pull`.
    pub recordings: PathBuf,
    /// Writes them.
    pub recorder: Arc<Recorder>,
    /// Ends transfers that are under way.
    pub stop: CancellationToken,
}

/// Serves the pages until `stop`.
///
/// # Errors
/// The socket failed.
pub async fn serve(listener: TcpListener, pages: Pages) -> std::io::Result<()> {
    let stop = pages.stop.clone();
    let service = router(pages).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

fn router(pages: Pages) -> Router {
    let recordings = recordings::routes(
        pages.recordings.clone(),
        Some(Arc::clone(&pages.recorder)),
        pages.stop.clone(),
    );
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(pages)
        .merge(recordings)
}

/// An instance that waits for the lease is ready too: it can take over at once.
async fn readyz(State(pages): State<Pages>) -> Response {
    let mut missing = pages.world.missing();
    if !pages.told.is_told() {
        missing.push("the first word to Operator Lifecycle Manager: not said yet".to_owned());
    }
    if missing.is_empty() {
        return "ok\n".into_response();
    }
    let lines: String = missing
        .iter()
        .map(|what| format!("missing: {what}\n"))
        .collect();
    (StatusCode::INTERNAL_SERVER_ERROR, lines).into_response()
}

async fn metrics(State(pages): State<Pages>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match pages.metrics.render() {
        Ok(page) => ([(header::CONTENT_TYPE, kind)], page).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
