//! One repository of an OCI registry: its manifests and blobs, read in a process of its own and written at a terminal.
//!
//! Knows nothing of what modules do, and leaves how a registry is spoken to to the library. Believes no registry: the library
//! reads manifests, tokens and errors whole, however long they are, so what reads them is a process with little memory and
//! little time, and what has a digest for a name is hashed.

mod artifact;
mod failure;
mod login;
mod pipe;
mod pull;
mod push;
mod reference;
mod repository;
mod side_process;
mod signatures;

use serde::{Deserialize, Serialize};

pub(crate) use artifact::module_layer;
pub use failure::Error;
pub use login::Login;
pub(crate) use pipe::answer_stdin;
pub use pull::Pulled;
pub use push::{Pushed, push};
pub use reference::Reference;
pub use side_process::SideProcess;

/// How a registry is reached.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Access {
    /// Without TLS.
    pub plain_http: bool,
    /// Who asks; nobody in particular without it.
    pub login: Option<Login>,
}

#[cfg(test)]
mod tests;
