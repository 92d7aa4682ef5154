//! Makes a module ready for its role, aside from whatever decides meanwhile: fetched, hashed, checked, compiled, tried on
//! the last recorded snapshots, and kept.
//!
//! Puts nothing in force.

use std::path::PathBuf;
use std::sync::Arc;

use contract::{SelfTest, Snapshot};
use kube::Client;
use tracing::warn;

use super::fetch;
use super::wanted::{Role, Wanted};
use crate::error::Chain;
use crate::module::{self, Engine, Module, compile_ahead};
use crate::recorder::{Record, Recorder, kept_module, last_records};

/// Recorded snapshots that a module is tried on.
const TRIED_ON: usize = 64;

/// Why a module is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0}")]
    Spec(String),
    #[error(transparent)]
    Fetch(#[from] fetch::Error),
    #[error(transparent)]
    Module(#[from] module::Error),
    #[error(
        "{failures} of the last {snapshots} recorded snapshots are not decided within the envelope: {first}"
    )]
    SelfTest {
        failures: i64,
        snapshots: i64,
        first: String,
    },
    #[error("loading it ended in a panic: {0}")]
    Panic(String),
}

impl Error {
    /// Whether it may pass without a change of the ReconcilerModule.
    pub(super) const fn may_pass(&self) -> bool {
        match self {
            Self::Fetch(_) | Self::Panic(_) => true,
            Self::Spec(_) | Self::Module(_) | Self::SelfTest { .. } => false,
        }
    }
}

/// What loading needs.
#[derive(Clone)]
pub(super) struct Loader {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) engine: Engine,
    /// Where compiled modules are kept.
    pub(super) cache: Option<PathBuf>,
    pub(super) built_in: Arc<Vec<u8>>,
    /// Where recordings are, and with them the modules that made them.
    pub(super) recordings: PathBuf,
    pub(super) recorder: Arc<Recorder>,
}

/// A module that is ready.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) module: Module,
    pub(super) self_test: SelfTest,
    /// It is the copy that was kept; the words say why its source was of no use.
    pub(super) kept: Option<String>,
}

/// The answer to an order.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What became of the module that the spec asks for; none when that is not to be tried again.
    pub(super) asked: Option<Result<Loaded, Error>>,
    /// The module that was in the role before the operator's restart, when the other is not to be had.
    pub(super) resumed: Option<Loaded>,
}

impl Loader {
    /// Loads what is wanted, unless it fell back before; and `resume`, by its digest, where that gives nothing.
    pub(super) async fn load(
        &self,
        wanted: &Wanted,
        has_fallen: bool,
        resume: Option<String>,
    ) -> Outcome {
        let asked = if has_fallen {
            None
        } else {
            Some(self.asked(wanted).await)
        };
        let resumed = match resume {
            Some(name) if !matches!(asked, Some(Ok(_))) => self.resumed(wanted, &name).await,
            Some(_) | None => None,
        };
        Outcome { asked, resumed }
    }

    async fn asked(&self, wanted: &Wanted) -> Result<Loaded, Error> {
        let fetched = fetch::bytes(&self.client, &self.namespace, &self.built_in, wanted).await;
        let (bytes, kept) = match (fetched, &wanted.digest) {
            (Ok(bytes), _) => (bytes, None),
            (Err(error), Some(name)) => match kept_module(&self.recordings, name) {
                Some(bytes) => (bytes, Some(Chain(&error).to_string())),
                None => return Err(error.into()),
            },
            (Err(error), None) => return Err(error.into()),
        };
        self.ready(bytes, kept, wanted.role.clone()).await
    }

    async fn resumed(&self, wanted: &Wanted, name: &str) -> Option<Loaded> {
        let bytes = kept_module(&self.recordings, name)?;
        match self.ready(bytes, None, wanted.role.clone()).await {
            Ok(loaded) => Some(loaded),
            Err(error) => {
                warn!(module = name, error = %Chain(&error), "The last good module is not used");
                None
            }
        }
    }

    /// All that computes or blocks, where that harms nobody.
    async fn ready(
        &self,
        bytes: Vec<u8>,
        kept: Option<String>,
        role: Role,
    ) -> Result<Loaded, Error> {
        let this = self.clone();
        let working = tokio::task::spawn_blocking(move || {
            if let Some(cache) = &this.cache
                && let Err(error) = compile_ahead(cache, &bytes)
            {
                warn!(error = %Chain(&error), "Compiling in this process instead");
            }
            let module = Module::load(&this.engine, &bytes)?;
            this.recorder.flush();
            let records = last_records(&this.recordings, TRIED_ON).unwrap_or_default();
            let (self_test, first) = self_test(&module, &records);
            match first {
                Some(first) if !matches!(role, Role::Shadow) => Err(Error::SelfTest {
                    failures: self_test.failures,
                    snapshots: self_test.snapshots,
                    first,
                }),
                Some(_) | None => {
                    // Before it decides: a restart after its first decision must find it.
                    this.recorder.keep_module(module.digest(), bytes);
                    this.recorder.flush();
                    Ok(Loaded {
                        module,
                        self_test,
                        kept,
                    })
                }
            }
        });
        working
            .await
            .unwrap_or_else(|panic| Err(Error::Panic(panic.to_string())))
    }
}

/// What the module makes of recorded snapshots, and the first one that it does not decide within the envelope.
fn self_test(module: &Module, records: &[Record]) -> (SelfTest, Option<String>) {
    let mut test = SelfTest::default();
    let mut first = None;
    for record in records {
        let bytes = record.snapshot.get().as_bytes();
        let Ok(snapshot) = serde_json::from_slice::<Snapshot>(bytes) else {
            continue;
        };
        test.snapshots += 1;
        let failure = match module.decide(bytes) {
            Err(failure) => Some(failure.to_string()),
            Ok(answer) => {
                let recorded = record.answer.as_ref().map(|answer| answer.get().as_bytes());
                test.differing +=
                    i64::from(recorded.is_some_and(|recorded| recorded != answer.bytes));
                envelope::permit(&answer.decision, &snapshot)
                    .err()
                    .and_then(|refusals| refusals.first().map(ToString::to_string))
            }
        };
        if let Some(words) = failure {
            test.failures += 1;
            // A backtrace follows; the log has it when it happens in earnest.
            let words = words.lines().next().unwrap_or_default();
            first.get_or_insert_with(|| format!("record {}: {words}", record.seq));
        }
    }
    (test, first)
}
