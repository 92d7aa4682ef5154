//! Makes a module ready for its role, aside from whatever decides meanwhile: fetched, hashed, checked, compiled, tried on
//! the last recorded snapshots, and kept.
//!
//! Puts nothing in force.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::{SelfTest, Snapshot};
use tracing::warn;

use super::fetch::{self, Fetched, Sources};
use super::kept::{keep_proof, kept};
use super::wanted::{Role, Wanted};
use crate::error::Chain;
use crate::module::{self, Engine, Module, compile_ahead};
use crate::recorder::{Record, Recorder, last_records, module_file};

/// Recorded snapshots that a module is tried on.
const TRIED_ON: usize = 64;

/// How long a source may take where a copy of what is asked for is kept.
const WITH_COPY: Duration = Duration::from_secs(10);

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
        "{} of the last {} recorded snapshots are not decided within the envelope: {first}",
        test.failures, test.snapshots
    )]
    SelfTest { test: SelfTest, first: String },
    #[error("loading it ended in a panic: {0}")]
    Panic(String),
}

impl Error {
    /// Whether it may pass without a change of the ReconcilerModule.
    pub(super) const fn may_pass(&self) -> bool {
        match self {
            Self::Fetch(_) | Self::Panic(_) | Self::Module(module::Error::Ended { .. }) => true,
            Self::Spec(_) | Self::Module(_) | Self::SelfTest { .. } => false,
        }
    }
}

/// What loading needs.
#[derive(Clone)]
pub(super) struct Loader {
    pub(super) sources: Sources,
    pub(super) engine: Engine,
    /// Where compiled modules are kept.
    pub(super) cache: Option<PathBuf>,
    /// Where recordings are, and with them the modules that made them.
    pub(super) recordings: PathBuf,
    pub(super) recorder: Arc<Recorder>,
}

/// A module that is ready.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) module: Module,
    pub(super) self_test: SelfTest,
    pub(super) origin: Origin,
}

/// Where a module's bytes are from.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// It is the copy that was kept; the words say why its source was of no use.
    pub(super) kept: Option<String>,
    /// The artifact in a registry.
    pub(super) artifact: Option<String>,
    /// Whose signature was asked for and found.
    pub(super) signed_by: Vec<String>,
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
        let fetched = self.fetched(wanted).await;
        let (fetched, why_kept) = match (fetched, &wanted.digest) {
            (Ok(fetched), _) => (fetched, None),
            (Err(error), Some(name)) => {
                match kept(&self.sources, &self.recordings, wanted, name).await {
                    Some(fetched) => (fetched, Some(Chain(&error).to_string())),
                    None => return Err(error.into()),
                }
            }
            (Err(error), None) => return Err(error.into()),
        };
        self.ready(fetched, why_kept, wanted.role.clone()).await
    }

    /// At a start all clusters wait for this, so a source that hesitates is not waited for where a copy would do.
    async fn fetched(&self, wanted: &Wanted) -> Result<Fetched, fetch::Error> {
        let fetching = self.sources.fetch(wanted);
        let digest = wanted.digest.as_deref();
        if !digest.is_some_and(|name| module_file(&self.recordings, name).exists()) {
            return fetching.await;
        }
        let fetched = tokio::time::timeout(WITH_COPY, fetching).await;
        fetched.unwrap_or(Err(fetch::Error::Late { within: WITH_COPY }))
    }

    async fn resumed(&self, wanted: &Wanted, name: &str) -> Option<Loaded> {
        let fetched = kept(&self.sources, &self.recordings, wanted, name).await?;
        match self.ready(fetched, None, wanted.role.clone()).await {
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
        fetched: Fetched,
        kept: Option<String>,
        role: Role,
    ) -> Result<Loaded, Error> {
        let this = self.clone();
        let Fetched {
            bytes,
            artifact,
            proof,
            signed_by,
        } = fetched;
        let origin = Origin {
            kept,
            artifact,
            signed_by,
        };
        let working = tokio::task::spawn_blocking(move || {
            if let Some(cache) = &this.cache {
                match compile_ahead(cache, &bytes) {
                    Ok(()) => {}
                    // Here it would take the same, from the process that keeps clusters.
                    Err(error @ (module::Error::Costly { .. } | module::Error::Ended { .. })) => {
                        return Err(error.into());
                    }
                    Err(error) => {
                        warn!(error = %Chain(&error), "Compiling in this process instead")
                    }
                }
            }
            let module = Module::load(&this.engine, &bytes)?;
            this.recorder.flush();
            let records = last_records(&this.recordings, TRIED_ON).unwrap_or_default();
            let (self_test, first) = self_test(&module, &records);
            match first {
                Some(first) if !matches!(role, Role::Shadow) => Err(Error::SelfTest {
                    test: self_test,
                    first,
                }),
                Some(_) | None => {
                    if let Some(proof) = &proof
                        && let Err(error) = keep_proof(&this.recordings, module.digest(), proof)
                    {
                        warn!(error = %error, "Signatures of a module not kept");
                    }
                    // Before it decides: a restart after its first decision must find it.
                    this.recorder.keep_module(module.digest(), bytes);
                    this.recorder.flush();
                    Ok(Loaded {
                        module,
                        self_test,
                        origin,
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
