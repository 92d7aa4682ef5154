//! Support for tests: an API server that answers from a list, small modules, and a host that moves nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use contract::Millis;
use kube::Client;
use serde_json::{Value, json};
use small::Text;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backup::Transfers;
use crate::execute::Executor;
use crate::lease::Leadership;
use crate::metrics::{Metrics, Scraped};
use crate::module::{Engine, Module, seal};
use crate::observe::World;
use crate::recorder::{Header, Limits, Recorder};

pub(crate) use small::NOTHING;

/// An API server: what it answers to a method and a path, and which changes it was asked for.
#[derive(Clone, Default)]
pub(crate) struct ApiServer {
    answers: Arc<Mutex<BTreeMap<String, (u16, Value)>>>,
    changes: Arc<Mutex<Vec<(String, Value)>>>,
}

impl ApiServer {
    pub(crate) fn answering(self, method: &str, path: &str, code: u16, body: Value) -> Self {
        let mut answers = self
            .answers
            .lock()
            .expect("no test panics while it holds it");
        answers.insert(format!("{method} {path}"), (code, body));
        drop(answers);
        self
    }

    fn respond(&self, method: &Method, uri: &Uri, body: &[u8]) -> Response {
        let asked = format!("{method} {}", uri.path());
        if method != Method::GET {
            let body = serde_json::from_slice(body).unwrap_or_default();
            let mut changes = self
                .changes
                .lock()
                .expect("no test panics while it holds it");
            changes.push((asked.clone(), body));
        }
        let answers = self
            .answers
            .lock()
            .expect("no test panics while it holds it");
        let absent = || (404, status(404, "NotFound", "not found"));
        let (code, body) = answers.get(&asked).cloned().unwrap_or_else(absent);
        (
            StatusCode::from_u16(code).expect("a valid code"),
            axum::Json(body),
        )
            .into_response()
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let answer =
            async move |method: Method, uri: Uri, body: Bytes| server.respond(&method, &uri, &body);
        Client::new(Router::new().fallback(answer), "infra")
    }

    /// Method and path of every change asked for, in order.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.bodies().into_iter().map(|(asked, _)| asked).collect()
    }

    /// The same, with what was sent.
    pub(crate) fn bodies(&self) -> Vec<(String, Value)> {
        self.changes
            .lock()
            .expect("no test panics while it holds it")
            .clone()
    }
}

/// An executor that asks this API server, with the folder of its recordings.
pub(crate) fn executor(
    server: &ApiServer,
    leadership: Leadership,
) -> (Executor, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let header = Header::new(String::new(), String::new(), Millis(0));
    let recorder = Recorder::open(directory.path(), Limits::default(), header).expect("a recorder");
    let scraped = Scraped {
        world: Arc::new(World::new(&[])),
        recorder: Arc::new(recorder),
        leadership: leadership.clone(),
    };
    let executor = Executor {
        client: server.client(),
        instance: "test".to_owned(),
        leadership: leadership.clone(),
        metrics: Metrics::new(scraped),
        transfers: transfers(leadership),
        stop: CancellationToken::new(),
    };
    (executor, directory)
}

/// Transfers of which none is under way.
pub(crate) fn transfers(leadership: Leadership) -> Arc<Transfers> {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    Arc::new(Transfers::new(Arc::default(), leadership, tasks, stop))
}

/// A `Status`, as the API server sends it with an error.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

/// A module whose `reconcile` does this, with `data` at hand.
pub(crate) fn module(engine: &Engine, reconcile: &str, data: &str) -> Module {
    let text = Text {
        reconcile,
        data: data.as_bytes(),
        ..Text::default()
    };
    sealed(engine, &text.core())
}

/// A module that gives this answer to everything.
pub(crate) fn answering(engine: &Engine, answer: &str) -> Module {
    sealed(engine, &small::answering(answer.as_bytes()))
}

fn sealed(engine: &Engine, core: &[u8]) -> Module {
    Module::load(engine, &seal(core).expect("it fits the world")).expect("it passes the checks")
}
