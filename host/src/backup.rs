//! Backups as the host sees and moves them: who can be asked, what is stored, and bytes on their way.
//!
//! Decides nothing: which endpoint, which name and what is deleted come from the module. Credentials stay in here.

mod access;
mod archive;
mod cluster;
mod content;
mod fetch;
mod fingerprint;
mod perform;
mod progress;
mod rehearsal;
mod restore;
mod secret;
mod sight;
mod source;
mod store;
mod transfer;
mod transfers;

pub(crate) use archive::{Archive, Entry};
pub(crate) use fetch::{Passing, fetch};
pub(crate) use perform::{perform, prove};
pub(crate) use restore::look as look_at_restore;
pub use sight::Sight;
pub(crate) use sight::look;
pub use transfers::Transfers;

/// Makes TLS to stores possible. To be called once, before the first look.
pub fn prepare() {
    // Whoever installed one before installed the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    opendal_http_transport_reqwest::install_default();
}
