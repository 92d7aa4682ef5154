//! Why a module was not accepted, and why a call gave no decision: in words for people, and by name for metrics.

use std::time::Duration;

use contract::SCHEMA;

/// Why a module was refused at load.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No file at the place that was named.
    #[error("the module {path} cannot be read")]
    Unreadable {
        /// Where it should be.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// No place was named, and none of the usual ones has a module.
    #[error(
        "there is no module: name one with --module FILE or BINNACLE_MODULE, or put it at one of {}",
        places.join(", ")
    )]
    Missing {
        /// Where it was looked for.
        places: Vec<String>,
    },
    /// Too large to be one.
    #[error(
        "the module has {size} bytes; at most {} are taken",
        super::MODULE_LIMIT
    )]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// The bytes do not begin as WebAssembly does.
    #[error("this is not WebAssembly: it begins with {beginning}")]
    NotWasm {
        /// The first bytes, in hex.
        beginning: String,
    },
    /// The bytes begin as WebAssembly does, and do not go on so.
    #[error("this WebAssembly is broken")]
    Broken {
        /// Where, and what was expected.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A core module where a component is wanted.
    #[error(
        "this is a core module, not a component: wrap it with `binnacle module seal CORE.wasm --to FILE.wasm`"
    )]
    CoreModule,
    /// A component where a core module is wanted.
    #[error("this is a component already: it needs no sealing")]
    AlreadySealed,
    /// A core module that cannot be wrapped.
    #[error("this core module cannot be made a reconciler")]
    Unsealable {
        /// What it lacks.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// wasmtime refused the bytes.
    #[error("the module cannot be compiled")]
    Uncompilable {
        /// wasmtime's words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A module that imports could reach the clock, the network or the cluster.
    #[error(
        "the module imports {names}; a reconciler imports nothing (build it for wasm32-unknown-unknown)"
    )]
    Imports {
        /// What it imports.
        names: String,
    },
    /// Not the two exports, or more than these.
    #[error("the module exports {found}; a reconciler exports exactly describe and reconcile")]
    Exports {
        /// What it exports.
        found: String,
    },
    /// An export of another type.
    #[error("the export {export} has another type than binnacle:reconciler@1.0.0 gives it")]
    Signature {
        /// Which export.
        export: &'static str,
        /// wasmtime's words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It failed before any of its functions was called.
    #[error("the module cannot be started")]
    Unstartable(#[source] Failure),
    /// `describe()` failed.
    #[error("the module's describe() failed")]
    Speechless(#[source] Failure),
    /// `describe()` answered something else.
    #[error("the module's describe() did not answer with a description")]
    Description {
        /// Where the JSON is wrong.
        source: serde_json::Error,
    },
    /// It does not read this host's snapshots.
    #[error(
        "the module reads snapshots of schema {oldest} to {newest}; this host writes schema {SCHEMA}"
    )]
    SnapshotSchema {
        /// The oldest it reads.
        oldest: u32,
        /// The newest it reads.
        newest: u32,
    },
    /// This host does not execute its decisions.
    #[error("the module writes decisions of schema {writes}; this host executes schema {SCHEMA}")]
    DecisionSchema {
        /// What it writes.
        writes: u32,
    },
    /// It asks for a host version that is no version.
    #[error("the module asks for the host version {text:?}, which is not MAJOR.MINOR.PATCH")]
    HostVersion {
        /// What it says.
        text: String,
        /// What is wrong with it.
        source: semver::Error,
    },
    /// This host is too old for it.
    #[error("the module needs host {minimum} or later; this is {}", crate::VERSION)]
    OldHost {
        /// The lowest host version.
        minimum: semver::Version,
    },
    /// wasmtime could not be set up.
    #[error("the WebAssembly engine cannot be started")]
    Engine {
        /// wasmtime's words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Compiling it takes more than a module may take.
    #[error(
        "compiling the module takes more than {what}, and was ended: no module that is meant to decide is that large"
    )]
    Costly {
        /// Which bound, and how much it is.
        what: String,
    },
    /// The side process that compiles was ended from without, as where all memory of the container is gone.
    #[error("compiling the module was ended from without, most likely for want of memory: {how}")]
    Ended {
        /// How it ended.
        how: String,
    },
    /// The side process that compiles did not do so.
    #[error("compiling the module in a process of its own failed: {words}")]
    Ahead {
        /// What it said, or how it ended.
        words: String,
    },
}

impl Error {
    pub(crate) fn uncompilable(error: wasmtime::Error) -> Self {
        Self::Uncompilable {
            source: error.into(),
        }
    }

    pub(crate) fn signature(export: &'static str, error: wasmtime::Error) -> Self {
        Self::Signature {
            export,
            source: error.into(),
        }
    }

    pub(crate) fn engine(error: wasmtime::Error) -> Self {
        Self::Engine {
            source: error.into(),
        }
    }
}

/// Why a call gave no decision. Nothing happens then: there is no partial decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It hit a trap; a panic in the guest is one.
    #[error("the module trapped: {what}")]
    Trap {
        /// wasmtime's words, with the names of the functions that were running.
        what: String,
    },
    /// It used up its fuel.
    #[error("the module used up its fuel of {limit}: it loops, or the snapshot is far too large")]
    OutOfFuel {
        /// The budget.
        limit: u64,
    },
    /// It ran for too long before the fuel was used up.
    #[error("the module did not answer within {limit:?}")]
    OutOfTime {
        /// The budget.
        limit: Duration,
    },
    /// It asked for more memory than it may have.
    #[error("the module asked for more than its {} MiB of memory", limit >> 20)]
    OutOfMemory {
        /// The cap in bytes.
        limit: usize,
    },
    /// It answered with an error: it could not read the snapshot.
    #[error("the module refused the snapshot: {words}")]
    Refused {
        /// Its words.
        words: String,
    },
    /// Its answer is no decision of this schema.
    #[error("the module's answer cannot be read: {why}")]
    Undecodable {
        /// What is wrong with it.
        why: String,
    },
    /// Its answer is longer than any sensible one.
    #[error("the module's answer has {size} bytes, more than the {limit} allowed")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The cap in bytes.
        limit: usize,
    },
}

impl Failure {
    /// The name under which recordings, metrics and logs know the failure.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "Trap",
            Self::OutOfFuel { .. } => "OutOfFuel",
            Self::OutOfTime { .. } => "OutOfTime",
            Self::OutOfMemory { .. } => "OutOfMemory",
            Self::Refused { .. } => "Refused",
            Self::Undecodable { .. } => "Undecodable",
            Self::TooLarge { .. } => "TooLarge",
        }
    }
}
