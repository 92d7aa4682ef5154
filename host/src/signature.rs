//! Signatures of modules, as cosign makes them with a key: over an artifact's manifest, or over the bytes themselves.
//!
//! Fetches nothing, and trusts nobody but the key: identities of Sigstore would need its services or a copy of their roots.

mod payload;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

pub use payload::{Form, Signed};

use crate::module::digest;
use crate::registry::module_layer;

/// What stands before the point of every P-256 key in DER.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// Bytes of such a point.
const POINT: usize = 65;
/// Label of the key in PEM.
const LABEL: &str = "PUBLIC KEY";

/// The public half of the key that modules are signed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    point: Vec<u8>,
    fingerprint: String,
}

/// What was signed besides the module, and the signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// Over the module's bytes, in base64.
    Detached(String),
    /// Over payloads that name the manifest that names the module's bytes.
    Artifact {
        /// The manifest.
        manifest: String,
        /// Each payload with its signature.
        signed: Vec<Signed>,
    },
}

impl PublicKey {
    /// Reads a key in PEM, as cosign.pub has it.
    ///
    /// # Errors
    /// It is none that can be used; in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = pem::parse(text.trim()).map_err(|_| {
            format!("it is no key in PEM, which begins with -----BEGIN {LABEL}-----")
        })?;
        if found.tag() != LABEL {
            return Err(format!(
                "it is a {}, and a {LABEL} is wanted, such as cosign.pub",
                found.tag()
            ));
        }
        let der = found.contents();
        let point = der
            .strip_prefix(&P256)
            .filter(|point| point.len() == POINT)
            .ok_or("it is no ECDSA key of the curve P-256, which `cosign generate-key-pair` makes; others are not taken")?;
        Ok(Self {
            point: point.to_vec(),
            fingerprint: digest(der),
        })
    }

    /// `sha256:` and the hex digest of the key in DER.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether `signature`, in base64, is this key's over the message.
    fn has_signed(&self, message: &[u8], signature: &str) -> bool {
        let Ok(signature) = STANDARD.decode(signature.trim()) else {
            return false;
        };
        let verified =
            webpki::ring::ECDSA_P256_SHA256.verify_signature(&self.point, message, &signature);
        verified.is_ok()
    }
}

impl Proof {
    /// What `cosign sign-blob` wrote: a signature, or the bundle that it is in.
    #[must_use]
    pub fn detached(text: &str) -> Self {
        Self::Detached(payload::of_blob(text).unwrap_or_else(|| text.trim().to_owned()))
    }

    /// Says why this does not prove that `key` signed the module, or `None` if it does.
    #[must_use]
    pub fn why_not_of(&self, key: &PublicKey, module: &[u8]) -> Option<&'static str> {
        match self {
            Self::Detached(signature) if key.has_signed(module, signature) => None,
            Self::Detached(_) => Some("its signature is not of this key over these bytes"),
            Self::Artifact { manifest, signed } => {
                if module_layer(manifest.as_bytes()) != Some(digest(module)) {
                    return Some("the signed manifest is that of other bytes");
                }
                let named = digest(manifest.as_bytes());
                let mut of_key = signed
                    .iter()
                    .filter(|one| key.has_signed(&one.message(), &one.signature))
                    .peekable();
                if of_key.peek().is_none() {
                    return Some("no signature beside it is of this key");
                }
                if of_key.any(|one| one.is_about(&named)) {
                    return None;
                }
                Some("what this key signed is another artifact")
            }
        }
    }
}

#[cfg(test)]
mod tests;
