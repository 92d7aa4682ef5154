//! Why a registry gave nothing, in words for the person who wrote its name.
//!
//! No word of it is of a login or a token.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Reference;
use super::side_process::MEMORY_MIB;
use crate::error::Chain;

/// Why there is nothing from a registry. It crosses from the process that asks to the one that wants to know.
#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
pub enum Error {
    /// It is no name of an artifact.
    #[error("{text:?} is no reference: {why}")]
    Reference {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: Cow<'static, str>,
    },
    /// The login cannot be read.
    #[error("the login for {registry} cannot be read: {why}")]
    Login {
        /// Host and port.
        registry: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers there, or nobody that can be trusted.
    #[error("the registry {registry} cannot be reached: {why}")]
    Unreachable {
        /// Host and port.
        registry: String,
        /// What the connection ended with.
        why: String,
    },
    /// It answers too slowly.
    #[error("the registry {registry} is too slow: it was given {within:?}")]
    Slow {
        /// Host and port.
        registry: String,
        /// The time it had.
        within: Duration,
    },
    /// It wants another login.
    #[error(
        "{repository} may not be {verb} {by}: give the operator a pullSecret that may, and yourself a `docker login`"
    )]
    Denied {
        /// Registry and repository.
        repository: String,
        /// Read or written.
        verb: String,
        /// By whom it was tried.
        by: String,
    },
    /// It has no such thing.
    #[error("there is no {what} in the registry")]
    Absent {
        /// The reference.
        what: String,
    },
    /// It answers with another error.
    #[error("the registry {registry} answers {code} to the question for {what}: {said}")]
    Answered {
        /// Host and port.
        registry: String,
        /// What was asked for.
        what: String,
        /// The status code, or that of the registries' own.
        code: String,
        /// The beginning of what it says.
        said: String,
    },
    /// There is more of it than there may be.
    #[error("{what} has more than the {limit} bytes that it may have")]
    TooLarge {
        /// The reference.
        what: String,
        /// The bound.
        limit: u64,
    },
    /// There is no end of it.
    #[error(
        "asking the registry {registry} took more than the {MEMORY_MIB} MiB of memory that it may take, and was ended: no answer of a registry that means well is that long"
    )]
    Endless {
        /// Host and port.
        registry: String,
    },
    /// The process that asked ended by itself, or was never there.
    #[error("the process of its own that asks the registry {registry} gave no answer: {how}")]
    Unanswered {
        /// Host and port.
        registry: String,
        /// How it ended.
        how: String,
    },
    /// The bytes are not those of the name.
    #[error("the registry lies: what it gives for {what} is {found}")]
    Lying {
        /// The reference.
        what: String,
        /// The digest of what came.
        found: String,
    },
    /// There is something else than a module.
    #[error("{what} is no module: {why}. `binnacle module push FILE {what}` puts one there")]
    NoModule {
        /// The reference.
        what: String,
        /// What it is.
        why: String,
    },
    /// The artifact is another module than the one that is asked for; it was not fetched.
    #[error("{what} holds the module {found}, and the spec asks for {wanted}")]
    Other {
        /// The reference.
        what: String,
        /// The digest of the module in it.
        found: String,
        /// The digest that is asked for.
        wanted: String,
    },
}

impl Error {
    /// What became of a connection.
    pub(super) fn of(reference: &Reference, within: Duration, source: &reqwest::Error) -> Self {
        let registry = reference.registry().to_owned();
        if source.is_timeout() && !source.is_connect() {
            return Self::Slow { registry, within };
        }
        let why = Chain(source).to_string();
        Self::Unreachable { registry, why }
    }

    /// Whether the same manifest gives the same error again.
    pub(crate) const fn is_of_content(&self) -> bool {
        match self {
            Self::TooLarge { .. } | Self::NoModule { .. } | Self::Other { .. } => true,
            Self::Reference { .. }
            | Self::Login { .. }
            | Self::Unreachable { .. }
            | Self::Slow { .. }
            | Self::Denied { .. }
            | Self::Absent { .. }
            | Self::Answered { .. }
            | Self::Endless { .. }
            | Self::Unanswered { .. }
            | Self::Lying { .. } => false,
        }
    }
}
