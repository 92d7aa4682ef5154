//! Certificates that the operator makes: what is asked for, and where it goes.
//!
//! Keys are made by whoever executes an order and written into the Secret; nothing of them is in here.

use serde::{Deserialize, Serialize};

use crate::{TlsFiles, TlsRole};

/// What is to be in a Secret of the cluster's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Order {
    /// A fresh authority for peers and one for clients, beside the newest ones that are there.
    Authorities,
    /// The newest authorities alone.
    NewestAuthorities,
    /// A fresh certificate and key for a role, beside all authorities.
    Certificate {
        /// The role.
        role: TlsRole,
        /// The names it is for.
        names: Vec<String>,
        /// The fingerprint of the authority that signs it.
        by: String,
    },
    /// All authorities beside the certificate and key that are there.
    Trust {
        /// The role.
        role: TlsRole,
    },
}

/// The keys of the Secret with the authorities that vouch for a role: their list, newest first, and their keys.
#[must_use]
pub const fn authority_keys(role: TlsRole) -> (&'static str, &'static str) {
    match role {
        TlsRole::Peer => ("peer-ca.crt", "peer-ca.key"),
        TlsRole::Server | TlsRole::Operator => ("client-ca.crt", "client-ca.key"),
    }
}

/// The keys of the Secrets that the operator makes: those of the type `kubernetes.io/tls`.
pub const MADE_FILES: TlsFiles = TlsFiles {
    certificate: "tls.crt",
    key: "tls.key",
    authority: "ca.crt",
};
