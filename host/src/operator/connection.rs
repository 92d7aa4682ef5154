//! One connection to a pod of the operator by way of the API server's port forwarding, and what is asked over it.
//!
//! Knows the pages that recordings are handed out on, and nothing of what becomes of their bytes.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use tokio::io::{AsyncRead, AsyncWrite};

use super::in_words;
use crate::recorder::Kept;

/// How long an answer, or the next piece of one, may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes that a list of files may have.
const LIST: usize = 1 << 20;
/// Most bytes of a refusal that are shown.
const REFUSAL: usize = 1 << 10;

/// Stays open as long as it is kept.
pub(crate) struct Connection {
    requests: SendRequest<Empty<Bytes>>,
    pod: String,
    _forwarding: Option<Portforwarder>,
}

/// The bytes of one file as they come.
pub(crate) struct Body {
    incoming: Incoming,
    name: String,
    /// What is still to come.
    missing: u64,
}

impl Connection {
    pub(crate) async fn open(api: &Api<Pod>, pod: &str, port: u16) -> anyhow::Result<Self> {
        let ports = [port];
        let mut forwarding = in_time(api.portforward(pod, &ports))
            .await?
            .map_err(in_words)
            .context("the API server does not forward its port")?;
        let stream = forwarding
            .take_stream(port)
            .context("the API server forwards another port")?;
        Self::over(stream, pod, Some(forwarding)).await
    }

    pub(crate) async fn over(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        pod: &str,
        forwarding: Option<Portforwarder>,
    ) -> anyhow::Result<Self> {
        let (requests, connection) = in_time(handshake(TokioIo::new(stream)))
            .await?
            .context("the pod does not answer")?;
        // How it ends is seen by whoever waits for an answer.
        tokio::spawn(connection);
        Ok(Self {
            requests,
            pod: pod.to_owned(),
            _forwarding: forwarding,
        })
    }

    /// The files that there are.
    pub(crate) async fn list(&mut self) -> anyhow::Result<Vec<Kept>> {
        let answer = self.get("/recordings").await?;
        ensure!(
            answer.status() != StatusCode::NOT_FOUND,
            "this operator is older than `binnacle record pull` and hands out nothing"
        );
        let whole = in_time(Limited::new(accepted(answer).await?, LIST).collect())
            .await?
            .map_err(|error| anyhow!("its list of files broke off: {error}"))?;
        serde_json::from_slice(&whole.to_bytes()).context("its list of files cannot be read")
    }

    /// One of them; none when it is gone.
    pub(crate) async fn open_file(&mut self, name: &str) -> anyhow::Result<Option<Body>> {
        let answer = self.get(&format!("/recordings/{name}")).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let length = answer.headers().get(hyper::header::CONTENT_LENGTH).cloned();
        let missing = length.and_then(|length| length.to_str().ok()?.parse().ok());
        Ok(Some(Body {
            missing: missing.with_context(|| format!("the pod does not say how long {name} is"))?,
            name: name.to_owned(),
            incoming: accepted(answer).await?,
        }))
    }

    async fn get(&mut self, path: &str) -> anyhow::Result<Response<Incoming>> {
        let request = Request::get(path)
            .header(hyper::header::HOST, &self.pod)
            .body(Empty::new())?;
        let lost = || format!("the connection was lost before the answer to {path}");
        in_time(self.requests.ready()).await?.with_context(lost)?;
        in_time(self.requests.send_request(request))
            .await?
            .with_context(lost)
    }
}

impl Body {
    /// The next bytes; none at the end, which is the announced one.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        let Self {
            incoming,
            name,
            missing,
        } = self;
        let cut = || format!("{name} broke off {missing} bytes before its end; pull again");
        while let Some(frame) = in_time(incoming.frame()).await.with_context(cut)? {
            if let Ok(piece) = frame.with_context(cut)?.into_data() {
                *missing = missing.saturating_sub(piece.len() as u64);
                return Ok(Some(piece));
            }
        }
        ensure!(*missing == 0, cut());
        Ok(None)
    }
}

async fn accepted(answer: Response<Incoming>) -> anyhow::Result<Incoming> {
    let (status, body) = (answer.status(), answer.into_body());
    if status.is_success() {
        return Ok(body);
    }
    let words = in_time(Limited::new(body, REFUSAL).collect()).await?;
    let words = words.map(|words| words.to_bytes()).unwrap_or_default();
    bail!(
        "the pod refuses ({status}): {}",
        String::from_utf8_lossy(&words).trim()
    )
}

async fn in_time<T>(waiting: impl Future<Output = T>) -> anyhow::Result<T> {
    tokio::time::timeout(TIMEOUT, waiting)
        .await
        .map_err(|_elapsed| anyhow!("no answer within {TIMEOUT:?}"))
}
