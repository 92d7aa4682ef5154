//! Signatures of modules, as cosign makes them with a key or for an identity: over an artifact's manifest, or over the bytes
//! themselves.
//!
//! Fetches nothing, and trusts nobody but the keys and the roots that it is given.

mod algorithms;
mod annotations;
mod identity;
mod payload;
mod public_key;

use std::fmt;

use serde::{Deserialize, Serialize};
use sigstore_verify::types::Sha256Hash;

pub use identity::{Identity, Roots};
pub use payload::{Form, Signed};
pub use public_key::PublicKey;

use crate::module::digest;
use crate::registry::module_layer;

/// What is said of a signature by a key alone.
const NO_IDENTITY: &str =
    "the signature beside it has no certificate with the word of a log, and says of no identity";

/// Who must have signed a module.
#[derive(Clone, Debug)]
pub enum Signer {
    /// Whoever has the key to this one.
    Key(PublicKey),
    /// This identity, by the word of those who are trusted.
    Identity(Identity, Roots),
}

/// Whose signature an operator wants of every module, and whom it trusts to tell identities.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The key that every module must be signed with, if there is one.
    pub key: Option<PublicKey>,
    /// The identity that every module must be signed by, if there is one.
    pub identity: Option<Identity>,
    /// Without them no identity can be judged.
    pub roots: Option<Roots>,
}

/// What was signed besides the module, and the signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// Over the module's bytes: in base64, or in a bundle of Sigstore.
    Detached(String),
    /// Over payloads that name the manifest that names the module's bytes.
    Artifact {
        /// The manifest.
        manifest: String,
        /// Each payload with its signature.
        signed: Vec<Signed>,
    },
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key.fingerprint()),
            Self::Identity(identity, _) => identity.fmt(f),
        }
    }
}

impl Signer {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Identity(..) => "identity",
        }
    }

    /// Says why they did not sign a module with the signature or bundle beside it.
    fn why_not_detached(&self, text: &str, module: &[u8]) -> Option<String> {
        match self {
            Self::Key(key) => {
                let signature = payload::of_blob(text);
                let signature = signature.as_deref().unwrap_or(text);
                let is_of_key = key.has_signed(module, signature);
                (!is_of_key).then(|| "its signature is not of this key over these bytes".to_owned())
            }
            Self::Identity(identity, roots) if payload::of_blob(text).is_some() => {
                let why = roots.why_not_of(identity, module, text)?;
                Some(format!("its signature is not of this identity: {why}"))
            }
            Self::Identity(..) => Some(
                "its signature is no bundle of Sigstore, as `cosign sign-blob --bundle` writes it, and proves no identity"
                    .to_owned(),
            ),
        }
    }

    /// Says why they did not sign the manifest of this digest with one of the signatures beside it.
    fn why_not_beside(&self, signed: &[Signed], manifest: &str) -> Option<String> {
        let mut why = match self {
            Self::Key(_) => "no signature beside it is of this key".to_owned(),
            Self::Identity(..) => NO_IDENTITY.to_owned(),
        };
        for one in signed {
            let is_theirs = match self {
                Self::Key(key) => key.has_signed(&one.message(), &one.signature),
                Self::Identity(identity, roots) => {
                    let not = roots.why_not_signed(identity, one, manifest);
                    let is_theirs = not.is_none();
                    why = not.unwrap_or(why);
                    is_theirs
                }
            };
            if is_theirs && one.is_about(manifest) {
                return None;
            }
            if is_theirs {
                why = format!("what this {} signed is another artifact", self.kind());
            }
        }
        Some(why)
    }
}

impl Roots {
    /// Says why a signature beside an artifact is not of this identity.
    fn why_not_signed(&self, identity: &Identity, one: &Signed, manifest: &str) -> Option<String> {
        let Some(bundle) = &one.bundle else {
            return Some(NO_IDENTITY.to_owned());
        };
        // What is read of a statement must be what the bundle proves.
        if one.form == Form::Statement && Signed::of_bundle(bundle.as_bytes()).as_ref() != Some(one)
        {
            return Some(NO_IDENTITY.to_owned());
        }
        let why = match one.form {
            Form::Simple => self.why_not_of(identity, one.payload.as_bytes(), bundle),
            Form::Statement => {
                let hash = manifest.trim_start_matches("sha256:");
                match Sha256Hash::from_hex(hash) {
                    Ok(hash) => self.why_not_of(identity, hash, bundle),
                    Err(error) => Some(error.to_string()),
                }
            }
        };
        Some(format!(
            "a signature beside it is not of this identity: {}",
            why?
        ))
    }
}

impl Proof {
    /// What `cosign sign-blob` wrote: a signature, or the bundle that it is in.
    #[must_use]
    pub fn detached(text: &str) -> Self {
        Self::Detached(text.trim().to_owned())
    }

    /// Says why this does not prove that `signer` signed the module, or `None` if it does.
    #[must_use]
    pub fn why_not_of(&self, signer: &Signer, module: &[u8]) -> Option<String> {
        match self {
            Self::Detached(text) => signer.why_not_detached(text, module),
            Self::Artifact { manifest, signed } => {
                if module_layer(manifest.as_bytes()) != Some(digest(module)) {
                    return Some("the signed manifest is that of other bytes".to_owned());
                }
                signer.why_not_beside(signed, &digest(manifest.as_bytes()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
