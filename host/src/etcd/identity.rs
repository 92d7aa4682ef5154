//! With what the operator proves itself to members, and by what it knows them.
//!
//! Holds a private key and has no way to show it.

use std::fmt;

use contract::{Resource, names};
use sha2::{Digest, Sha256};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity as Pair};

use super::Error;

/// The operator's certificate, and the names under which members of one cluster are verified.
#[derive(Clone)]
pub struct Identity {
    config: ClientTlsConfig,
    /// Of everything that makes it; another digest is another identity.
    digest: [u8; 32],
    cluster: String,
    namespace: String,
    domain: String,
}

impl Identity {
    /// From PEM: the operator's certificate and key, and the authorities that vouch for members.
    ///
    /// # Errors
    /// The library cannot use them.
    pub fn new(
        certificate: &[u8],
        key: &[u8],
        authorities: &[u8],
        resource: &Resource,
        domain: &str,
    ) -> Result<Self, Error> {
        let mut hash = Sha256::new();
        for part in [certificate, key, authorities, domain.as_bytes()] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let identity = Self {
            config: ClientTlsConfig::new()
                .ca_certificate(Certificate::from_pem(authorities))
                .identity(Pair::from_pem(certificate, key)),
            digest: hash.finalize().into(),
            cluster: resource.name.clone(),
            namespace: resource.namespace.clone(),
            domain: domain.to_owned(),
        };
        identity.secure(Endpoint::from_static("https://localhost"), "any")?;
        Ok(identity)
    }

    /// The same for a client of endpoints that have names of their own.
    ///
    /// # Errors
    /// The library cannot use them.
    pub fn of_client(certificate: &[u8], key: &[u8], authorities: &[u8]) -> Result<Self, Error> {
        // Only names of members are made of it, and nobody asks for one.
        let nobody = Resource {
            name: "any".to_owned(),
            namespace: "any".to_owned(),
            ..Resource::default()
        };
        Self::new(certificate, key, authorities, &nobody, "")
    }

    /// Makes calls to `endpoint` prove that they are answered by `host`.
    pub(super) fn secure_host(&self, endpoint: Endpoint, host: &str) -> Result<Endpoint, Error> {
        let config = self.config.clone().domain_name(host);
        endpoint
            .tls_config(config)
            .map_err(|source| Error::Identity(Box::new(source)))
    }

    /// Makes calls to `endpoint` prove that they are answered by `member`.
    pub(super) fn secure(&self, endpoint: Endpoint, member: &str) -> Result<Endpoint, Error> {
        let host = names::member_host(member, &self.cluster, &self.namespace, &self.domain);
        self.secure_host(endpoint, &host)
    }

    /// Whether calls with the other one are those with this one.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}
