//! What cosign signs, in the two forms that it has: a payload of its own, and a statement in a bundle of Sigstore.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::annotations;

/// What the older form says that it is.
const KIND: &str = "cosign container image signature";
/// What a bundle's statement is, and what it says.
const STATEMENT: &str = "application/vnd.in-toto+json";
const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// A payload and its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// Its form.
    pub form: Form,
    /// JSON, byte by byte as it was signed.
    pub payload: String,
    /// In base64.
    pub signature: String,
    /// The bundle of Sigstore that says of which identity it is, if there is one; in JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

/// What a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Cosign's own, signed as it is.
    Simple,
    /// A statement of in-toto, signed in an envelope that names its type.
    Statement,
}

/// A bundle, as far as it is read for signatures of keys. Whatever else it proves is about identities and logs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    dsse_envelope: Option<Envelope>,
    message_signature: Option<MessageSignature>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
struct MessageSignature {
    signature: String,
}

/// The signature over a blob in a bundle; none in what is no bundle.
pub(super) fn of_blob(text: &str) -> Option<String> {
    let bundle: Bundle = serde_json::from_str(text).ok()?;
    bundle.message_signature.map(|one| one.signature)
}

impl Signed {
    /// A payload of cosign's own, with what is written beside it.
    #[must_use]
    pub fn simple(payload: &[u8], signature: &str, beside: &BTreeMap<String, String>) -> Self {
        Self {
            form: Form::Simple,
            payload: String::from_utf8_lossy(payload).into_owned(),
            signature: signature.to_owned(),
            bundle: annotations::bundle(payload, signature, beside),
        }
    }

    /// What is in a bundle beside an artifact; none in what is no such bundle.
    #[must_use]
    pub fn of_bundle(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let bundle: Bundle = serde_json::from_str(text).ok()?;
        let Envelope {
            payload,
            payload_type,
            mut signatures,
        } = bundle.dsse_envelope?;
        let payload = STANDARD.decode(payload).ok()?;
        (payload_type == STATEMENT).then_some(())?;
        Some(Self {
            form: Form::Statement,
            payload: String::from_utf8(payload).ok()?,
            signature: signatures.pop()?.sig,
            bundle: Some(text.to_owned()),
        })
    }

    /// The bytes that the signature is over.
    pub(super) fn message(&self) -> Vec<u8> {
        let payload = &self.payload;
        match self.form {
            Form::Simple => payload.clone().into_bytes(),
            Form::Statement => format!(
                "DSSEv1 {} {STATEMENT} {} {payload}",
                STATEMENT.len(),
                payload.len()
            )
            .into_bytes(),
        }
    }

    /// Whether it says of the manifest of this digest that it is signed.
    pub(super) fn is_about(&self, manifest: &str) -> bool {
        let found = match self.form {
            Form::Simple => simple(&self.payload),
            Form::Statement => statement(&self.payload),
        };
        found.is_some_and(|found| found == manifest)
    }
}

/// The digest of the manifest that a payload of cosign's own is about.
fn simple(payload: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Payload {
        critical: Critical,
    }
    #[derive(Deserialize)]
    struct Critical {
        image: Image,
        #[serde(rename = "type")]
        kind: String,
    }
    #[derive(Deserialize)]
    struct Image {
        #[serde(rename = "docker-manifest-digest")]
        digest: String,
    }
    let Payload { critical } = serde_json::from_str(payload).ok()?;
    (critical.kind == KIND).then_some(critical.image.digest)
}

/// The digest of the one manifest that a statement is about.
fn statement(payload: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Statement {
        subject: [Subject; 1],
        predicate_type: String,
    }
    #[derive(Deserialize)]
    struct Subject {
        digest: Digests,
    }
    #[derive(Deserialize)]
    struct Digests {
        sha256: String,
    }
    let Statement {
        subject: [subject],
        predicate_type,
    } = serde_json::from_str(payload).ok()?;
    (predicate_type == PREDICATE).then(|| format!("sha256:{}", subject.digest.sha256))
}
