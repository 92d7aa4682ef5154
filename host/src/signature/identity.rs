//! An identity that modules are signed by without a key of its own, and what is trusted to tell who that was.
//!
//! Asks nobody: the certificate, the log's promise and its proof lie beside the module, and whom to trust is in a file.
//!
//! # Guarantees
//! What is taken was signed by the key of a certificate that leads to an authority of the file, was valid when the log took
//! the signature in, names this identity and who vouched for it, and is in the log of certificates where the file names one;
//! and the log of signatures promised or proved to have this very signature of this very message.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::{Artifact, Bundle};
use sigstore_verify::{VerificationPolicy, Verifier};

use super::algorithms;
use crate::error::Chain;

/// Who signs, by the word of somebody who knows people or workflows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Who vouches for it: the address of an OpenID Connect provider.
    pub issuer: String,
    /// Who it is: an e-mail address, or the address of a workflow.
    pub subject: String,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issuer, subject } = self;
        write!(f, "{subject} by {issuer}")
    }
}

/// Authorities and logs that are trusted.
#[derive(Clone)]
pub struct Roots {
    verifier: Arc<Verifier>,
    has_log_of_certificates: bool,
}

impl Roots {
    /// Reads a `trusted_root.json` of Sigstore.
    ///
    /// # Errors
    /// It is none, or names nobody to trust; in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        algorithms::install();
        let root = TrustedRoot::from_json(text).map_err(|error| {
            format!("it is no trusted_root.json of Sigstore: {}", Chain(&error))
        })?;
        if root.certificate_authorities.is_empty() || root.tlogs.is_empty() {
            return Err("it names no certificate authority, or no log of signatures".to_owned());
        }
        let verifier = Verifier::new(&root).map_err(|error| Chain(&error).to_string())?;
        Ok(Self {
            verifier: Arc::new(verifier),
            has_log_of_certificates: !root.ctlogs.is_empty(),
        })
    }

    /// Says why a bundle does not prove that this identity signed the artifact, or `None` if it does.
    pub(super) fn why_not_of<'a>(
        &self,
        identity: &Identity,
        artifact: impl Into<Artifact<'a>>,
        bundle: &str,
    ) -> Option<String> {
        let bundle = match Bundle::from_json(bundle) {
            Ok(bundle) => bundle,
            Err(error) => return Some(Chain(&error).to_string()),
        };
        let Identity { issuer, subject } = identity;
        let mut policy = VerificationPolicy::new(subject, issuer);
        if !self.has_log_of_certificates {
            policy = policy.skip_sct();
        }
        let verified = self.verifier.verify(artifact, &bundle, &policy);
        verified.err().map(|error| Chain(&error).to_string())
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roots").finish_non_exhaustive()
    }
}
