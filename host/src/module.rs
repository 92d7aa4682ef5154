//! The sealed module: loaded from bytes, checked, and asked for one decision at a time.
//!
//! Knows the two exports and how a call can fail. It does not know what a decision means, and it reads neither
//! cluster nor clock for the module: all the module sees is the snapshot's bytes.

mod ahead;
mod anatomy;
mod engine;
mod failure;
mod limits;
mod seal;
mod source;

use std::time::{Duration, Instant};

use contract::{Decision, Description, SCHEMA};
use wasmtime::component::{
    Component, ComponentExportIndex, InstancePre, Linker, WasmList, WasmStr,
};
use wasmtime::{Store, Trap, WasmBacktrace};

pub use ahead::{compile_ahead, compile_from_stdin};
pub use anatomy::Anatomy;
pub use engine::{Engine, cache_directory};
pub use failure::{Error, Failure};
pub use limits::{ANSWER_LIMIT, FUEL_LIMIT, MEMORY_LIMIT, MODULE_LIMIT, TIME_LIMIT};
pub use seal::{ABI, seal};
pub use source::{Source, digest};

use limits::MemoryLimit;

/// The exports a module has: these and no others.
pub const EXPORTS: [&str; 2] = ["describe", "reconcile"];

/// A module that passed every check at load and can be asked for decisions.
#[derive(Clone)]
pub struct Module {
    engine: Engine,
    instance: InstancePre<MemoryLimit>,
    reconcile: ComponentExportIndex,
    digest: String,
    size: usize,
    description: Description,
}

/// What a module answered to one snapshot.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer exactly as it crossed the boundary: one line of JSON.
    pub bytes: Vec<u8>,
    /// The same, read.
    pub decision: Decision,
    /// Fuel the call used. Equal in every run of the same module, engine settings and snapshot.
    pub fuel: u64,
    /// Wall-clock time of the call.
    pub took: Duration,
}

/// The bytes of an answer that nobody has read yet.
#[derive(Clone, Debug)]
pub struct RawAnswer {
    /// The answer exactly as it crossed the boundary.
    pub bytes: Vec<u8>,
    /// Fuel the call used.
    pub fuel: u64,
}

impl Module {
    /// Checks `bytes` and makes them ready to decide: a component without imports, with exactly the two exports,
    /// whose `describe()` says that it reads the snapshots of this host.
    ///
    /// Compiles, unless the engine's cache holds the result already; that takes up to a second and tens of MiB.
    ///
    /// # Errors
    /// The first check that failed.
    pub fn load(engine: &Engine, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MODULE_LIMIT {
            return Err(Error::TooLarge { size: bytes.len() });
        }
        let anatomy = Anatomy::of(bytes)?;
        anatomy.require_no_import()?;
        if !anatomy.component {
            return Err(Error::CoreModule);
        }
        anatomy.require_exports()?;
        let component =
            Component::from_binary(engine.wasmtime(), bytes).map_err(Error::uncompilable)?;
        let [describe, reconcile] = functions(&component)?;
        // The linker is empty: what the outside of the module did not show cannot be linked either.
        let instance = Linker::new(engine.wasmtime())
            .instantiate_pre(&component)
            .map_err(Error::uncompilable)?;
        let description = describe_itself(engine, &instance, &describe)?;
        let module = Self {
            engine: engine.clone(),
            instance,
            reconcile,
            digest: digest(bytes),
            size: bytes.len(),
            description,
        };
        module.require_callable()?;
        Ok(module)
    }

    /// Asks for the decision on one snapshot, given as JSON. A fresh instance each time; blocks for as long as it takes,
    /// at most [`TIME_LIMIT`].
    ///
    /// # Errors
    /// A failure means that there is no decision: nothing of it may be executed.
    pub fn decide(&self, snapshot: &[u8]) -> Result<Answer, Failure> {
        let began = Instant::now();
        let RawAnswer { bytes, fuel } = self.answer(snapshot)?;
        let decision = read(&bytes)?;
        Ok(Answer {
            bytes,
            decision,
            fuel,
            took: began.elapsed(),
        })
    }

    /// As [`Self::decide`], without reading the answer.
    ///
    /// # Errors
    /// As [`Self::decide`], but for those of unreadable answers.
    pub fn answer(&self, snapshot: &[u8]) -> Result<RawAnswer, Failure> {
        let _slot = self.engine.take_slot();
        let mut store = self.engine.store();
        let answer = call_reconcile(&mut store, &self.instance, &self.reconcile, snapshot);
        match answer {
            Ok(Reply::Answer(bytes)) => Ok(RawAnswer {
                bytes,
                fuel: spent(&store),
            }),
            Ok(Reply::Refusal(words)) => Err(Failure::Refused { words }),
            Ok(Reply::TooLarge(size)) => Err(Failure::TooLarge {
                size,
                limit: ANSWER_LIMIT,
            }),
            Err(error) => Err(failure(&error, store.data())),
        }
    }

    /// `sha256:` and the hex digest of the module's bytes: its name everywhere.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What the module says of itself.
    #[must_use]
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// Size of the module in bytes, as it was given to [`Self::load`].
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Finds a wrong signature of `reconcile` at load instead of at the first decision.
    fn require_callable(&self) -> Result<(), Error> {
        let _slot = self.engine.take_slot();
        let mut store = self.engine.store();
        let instance = self
            .instance
            .instantiate(&mut store)
            .map_err(|error| Error::Unstartable(failure(&error, store.data())))?;
        instance
            .get_typed_func::<(&[u8],), (Result<WasmList<u8>, WasmStr>,)>(
                &mut store,
                &self.reconcile,
            )
            .map(|_| ())
            .map_err(|error| Error::signature("reconcile", error))
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

/// What `reconcile` gave back.
enum Reply {
    Answer(Vec<u8>),
    Refusal(String),
    TooLarge(usize),
}

/// The refusal of a guest is shown to people; this much of it.
const LONGEST_REFUSAL: usize = 4096;

fn call_reconcile(
    store: &mut Store<MemoryLimit>,
    instance: &InstancePre<MemoryLimit>,
    export: &ComponentExportIndex,
    snapshot: &[u8],
) -> Result<Reply, wasmtime::Error> {
    let instance = instance.instantiate(&mut *store)?;
    let reconcile = instance
        .get_typed_func::<(&[u8],), (Result<WasmList<u8>, WasmStr>,)>(&mut *store, export)?;
    let (result,) = reconcile.call(&mut *store, (snapshot,))?;
    Ok(match result {
        Ok(bytes) if bytes.len() > ANSWER_LIMIT => Reply::TooLarge(bytes.len()),
        Ok(bytes) => Reply::Answer(bytes.as_le_slice(&*store).to_vec()),
        Err(words) => Reply::Refusal(
            words
                .to_str(&*store)?
                .chars()
                .take(LONGEST_REFUSAL)
                .collect(),
        ),
    })
}

/// Reads an answer. It must be bare and of one line, because recordings hold it as it is, one line each.
///
/// # Errors
/// `Undecodable`, with what is wrong.
pub fn read(bytes: &[u8]) -> Result<Decision, Failure> {
    let bare = bytes.first() == Some(&b'{') && bytes.last() == Some(&b'}');
    if !bare || bytes.contains(&b'\n') || bytes.contains(&b'\r') {
        return Err(Failure::Undecodable {
            why: "it is not one line of JSON from { to }".to_owned(),
        });
    }
    let decision: Decision =
        serde_json::from_slice(bytes).map_err(|error| Failure::Undecodable {
            why: error.to_string(),
        })?;
    if decision.schema != SCHEMA {
        return Err(Failure::Undecodable {
            why: format!(
                "it is of schema {}; this host executes schema {SCHEMA}",
                decision.schema
            ),
        });
    }
    Ok(decision)
}

fn functions(component: &Component) -> Result<[ComponentExportIndex; 2], Error> {
    let missing = || Error::Exports {
        found: "things of these names that are no functions".to_owned(),
    };
    let [describe, reconcile] = EXPORTS.map(|name| component.get_export_index(None, name));
    Ok([
        describe.ok_or_else(missing)?,
        reconcile.ok_or_else(missing)?,
    ])
}

fn describe_itself(
    engine: &Engine,
    instance: &InstancePre<MemoryLimit>,
    export: &ComponentExportIndex,
) -> Result<Description, Error> {
    let _slot = engine.take_slot();
    let mut store = engine.store();
    let instance = instance
        .instantiate(&mut store)
        .map_err(|error| Error::Unstartable(failure(&error, store.data())))?;
    let describe = instance
        .get_typed_func::<(), (WasmList<u8>,)>(&mut store, export)
        .map_err(|error| Error::signature("describe", error))?;
    let (list,) = describe
        .call(&mut store, ())
        .map_err(|error| Error::Speechless(failure(&error, store.data())))?;
    let bytes = list.as_le_slice(&store);
    let description: Description =
        serde_json::from_slice(bytes).map_err(|source| Error::Description { source })?;
    require_schemas(&description)?;
    require_host(&description)?;
    Ok(description)
}

fn require_schemas(description: &Description) -> Result<(), Error> {
    let &Description {
        oldest_schema: oldest,
        newest_schema: newest,
        decision_schema,
        ..
    } = description;
    if !(oldest..=newest).contains(&SCHEMA) {
        return Err(Error::SnapshotSchema { oldest, newest });
    }
    if decision_schema != SCHEMA {
        return Err(Error::DecisionSchema {
            writes: decision_schema,
        });
    }
    Ok(())
}

fn require_host(description: &Description) -> Result<(), Error> {
    let minimum = &description.minimum_host;
    let unreadable = |source| Error::HostVersion {
        text: minimum.clone(),
        source,
    };
    let wanted: semver::Version = minimum.parse().map_err(unreadable)?;
    let ours: semver::Version = crate::VERSION.parse().map_err(unreadable)?;
    if ours < wanted {
        return Err(Error::OldHost { minimum: wanted });
    }
    Ok(())
}

fn spent(store: &Store<MemoryLimit>) -> u64 {
    store
        .get_fuel()
        .map_or(0, |left| FUEL_LIMIT.saturating_sub(left))
}

/// Gives a failed call its name. A module that was denied memory traps in its own way; the denial is the cause.
fn failure(error: &wasmtime::Error, limit: &MemoryLimit) -> Failure {
    if limit.denied() {
        return Failure::OutOfMemory {
            limit: MEMORY_LIMIT,
        };
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => Failure::OutOfFuel { limit: FUEL_LIMIT },
        Some(Trap::Interrupt) => Failure::OutOfTime { limit: TIME_LIMIT },
        // The cause first: what people are shown of it is cut.
        Some(trap) => Failure::Trap {
            what: match error.downcast_ref::<WasmBacktrace>() {
                Some(backtrace) => format!("{trap}\n{backtrace}"),
                None => trap.to_string(),
            },
        },
        None => Failure::Trap {
            what: format!("{error:#}"),
        },
    }
}
