//! `/recordings`: what there is, and each file of it, read only.
//!
//! For `binnacle record pull`, which comes by way of the API server's port forwarding and so from within the pod. A spec
//! may hold what its writer would not show to everybody, so whoever comes over the network is refused: who may forward
//! ports is the API server's to say.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures::stream;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, Take};
use tokio_util::sync::CancellationToken;

use crate::recorder::{Kept, Recorder, kept};

/// Bytes that are read at a time: what a transfer costs in memory, once or twice.
const PIECE: usize = 64 << 10;
/// What proxies add to requests that they pass on.
const FORWARDED: [&str; 2] = ["forwarded", "x-forwarded-for"];

/// What is handed out, and what ends it.
#[derive(Clone)]
struct Shelf {
    folder: PathBuf,
    recorder: Option<Arc<Recorder>>,
    stop: CancellationToken,
}

/// The pages. What `recorder` still holds in memory is written before the files are listed.
pub(crate) fn routes(
    folder: PathBuf,
    recorder: Option<Arc<Recorder>>,
    stop: CancellationToken,
) -> Router {
    Router::new()
        .route("/recordings", get(list))
        .route("/recordings/{*name}", get(one))
        .route_layer(middleware::from_fn(from_within))
        .with_state(Shelf {
            folder,
            recorder,
            stop,
        })
}

async fn from_within(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    if is_within(peer.ip(), request.headers()) {
        return next.run(request).await;
    }
    let words = "Recordings are handed out through the API server alone: binnacle record pull\n";
    (StatusCode::FORBIDDEN, words).into_response()
}

/// Service meshes hand requests on from other addresses of the loopback network, or say whose they are.
fn is_within(peer: IpAddr, headers: &HeaderMap) -> bool {
    let is_own = match peer.to_canonical() {
        IpAddr::V4(address) => address == Ipv4Addr::LOCALHOST,
        IpAddr::V6(address) => address == Ipv6Addr::LOCALHOST,
    };
    is_own && !FORWARDED.iter().any(|name| headers.contains_key(*name))
}

async fn list(State(shelf): State<Shelf>) -> Response {
    let Shelf {
        folder, recorder, ..
    } = shelf;
    let listed = blocking(move || {
        if let Some(recorder) = recorder {
            recorder.flush();
        }
        kept(&folder)
    });
    match listed.await {
        Ok(files) => Json(files).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// As much of the file as there is when it is opened.
async fn one(State(shelf): State<Shelf>, Path(name): Path<String>) -> Response {
    let asked = Kept { name, bytes: 0 };
    let Some(path) = asked.within(&shelf.folder) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let opened = async {
        let file = File::open(path).await?;
        let bytes = file.metadata().await?.len();
        Ok::<_, io::Error>((file, bytes))
    };
    match opened.await {
        Ok((file, bytes)) => {
            let headers = [
                (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
                (header::CONTENT_LENGTH, bytes.to_string()),
            ];
            (headers, body(file.take(bytes), shelf.stop)).into_response()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            StatusCode::NOT_FOUND.into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Breaks off when the operator stops, which must not wait for a slow reader.
fn body(file: Take<File>, stop: CancellationToken) -> Body {
    let pieces = stream::try_unfold((file, stop), async |(mut file, stop)| {
        let mut piece = Vec::with_capacity(PIECE);
        let reading = stop.run_until_cancelled(file.read_buf(&mut piece)).await;
        let stopping = || Err(io::Error::other("the operator stops"));
        let more = reading.unwrap_or_else(stopping)? > 0;
        Ok::<_, io::Error>(more.then_some((piece, (file, stop))))
    });
    Body::from_stream(pieces)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_who_comes_from_within_the_pod_is_served() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let mut headers = HeaderMap::new();
        for within in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert!(is_within(address(within), &headers), "{within}");
        }
        for outside in ["10.244.0.7", "127.0.0.6", "::ffff:10.0.0.1", "fe80::1"] {
            assert!(!is_within(address(outside), &headers), "{outside}");
        }
        headers.insert("x-forwarded-for", HeaderValue::from_static("10.0.0.1"));
        assert!(!is_within(address("127.0.0.1"), &headers));
    }
}
