//! The public half of a key that modules are signed with, as `cosign generate-key-pair` makes it.

use sigstore_verify::crypto::{KeyAlgorithm, VerificationKey};
use sigstore_verify::types::{DerPublicKey, SignatureBytes};

use super::algorithms;
use crate::module::digest;

/// Label of the key in PEM.
const LABEL: &str = "PUBLIC KEY";

/// The public half of the key that modules are signed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    key: DerPublicKey,
    fingerprint: String,
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
        let key = DerPublicKey::from_bytes(found.contents());
        if !matches!(KeyAlgorithm::from_spki(&key), Ok(KeyAlgorithm::EcdsaP256)) {
            return Err("it is no ECDSA key of the curve P-256, which `cosign generate-key-pair` makes; others are not taken".to_owned());
        }
        Ok(Self {
            fingerprint: digest(found.contents()),
            key,
        })
    }

    /// `sha256:` and the hex digest of the key in DER.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether `signature`, in base64, is this key's over the message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &str) -> bool {
        algorithms::install();
        let Ok(signature) = SignatureBytes::from_base64(signature.trim()) else {
            return false;
        };
        let key = VerificationKey::from_spki(&self.key);
        key.is_ok_and(|key| key.verify(message, &signature).is_ok())
    }
}
