//! Why a module cannot be had, in words for the person who wrote where it is.

use std::io;
use std::time::Duration;

use crate::module::MODULE_LIMIT;
use crate::registry;

/// How long reading an object may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Why the bytes cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The spec cannot be followed.
    #[error("{0}")]
    Spec(String),
    /// There is no such object.
    #[error("there is no {kind} {name} in the namespace {namespace}")]
    NoObject {
        /// ConfigMap or Secret.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The operator's namespace.
        namespace: String,
    },
    /// The API server refuses it.
    #[error("the {kind} {name} cannot be read: {words}")]
    Object {
        /// ConfigMap or Secret.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What the API server said.
        words: String,
    },
    /// The API server does not answer.
    #[error("the {kind} {name} cannot be read: no answer within {TIMEOUT:?}")]
    Silent {
        /// ConfigMap or Secret.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The object has no such key.
    #[error("the {kind} {name} has no key {key}; it has {found}")]
    NoKey {
        /// ConfigMap or Secret.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The key that is looked for.
        key: String,
        /// Those it has.
        found: String,
    },
    /// It is no zstd frame.
    #[error("{what} cannot be unpacked")]
    Packed {
        /// Where the bytes are.
        what: String,
        /// What the decoder said.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("the file {path} cannot be read")]
    File {
        /// Its path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The registry gives nothing.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// It was not waited for any longer.
    #[error("its source gave nothing within {within:?}")]
    Late {
        /// The time it had.
        within: Duration,
    },
    /// There are too many bytes.
    #[error("{what} has more than the {MODULE_LIMIT} bytes that a module may have")]
    TooLarge {
        /// Where the bytes are.
        what: String,
    },
    /// They are others.
    #[error("{what} is {found}, and the spec asks for {wanted}")]
    Digest {
        /// Where the bytes are.
        what: String,
        /// Their digest.
        found: String,
        /// The digest that is asked for.
        wanted: String,
    },
    /// What shall be the public key is none.
    #[error("{what} is no public key that can be used: {why}")]
    Key {
        /// Where it is.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody is trusted to tell identities.
    #[error(
        "whether {identity} signed it cannot be judged: give the operator Sigstore's trusted_root.json with --module-signature-trusted-root"
    )]
    NoRoots {
        /// Who is to have signed.
        identity: String,
    },
    /// It is not signed as it must be.
    #[error("{what} is not signed as {by} asks for it: {why}")]
    Unsigned {
        /// Where the bytes are.
        what: String,
        /// The rule.
        by: &'static str,
        /// What is missing.
        why: String,
    },
}

impl Error {
    /// Whether the same version of the source gives the same error again.
    pub(in crate::rollout) const fn is_of_content(&self) -> bool {
        match self {
            Self::Digest { .. }
            | Self::NoKey { .. }
            | Self::Packed { .. }
            | Self::TooLarge { .. } => true,
            Self::Registry(error) => error.is_of_content(),
            Self::Spec(_)
            | Self::NoObject { .. }
            | Self::Object { .. }
            | Self::Silent { .. }
            | Self::File { .. }
            | Self::Late { .. }
            | Self::Key { .. }
            | Self::NoRoots { .. }
            | Self::Unsigned { .. } => false,
        }
    }
}
