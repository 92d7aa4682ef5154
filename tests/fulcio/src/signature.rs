//! A signature by an identity, in the forms in which cosign keeps it: annotations beside a payload, and a bundle of Sigstore.

use std::collections::BTreeMap;

use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::log::Entry;
use crate::{Leaf, Sigstore, base64, key, sha256, signed};

/// A signature, who made it, and when it was logged.
pub struct Signature {
    /// Over the message.
    pub signature: Vec<u8>,
    /// Whose key it is of, in DER.
    certificate: Vec<u8>,
    /// The same in PEM.
    pem: String,
    /// Who certified that, in PEM.
    chain: String,
    /// What is logged.
    entry: Entry,
    message: Vec<u8>,
    key: KeyPair,
}

impl Signature {
    pub(crate) fn new(sigstore: &Sigstore, leaf: &Leaf, message: &[u8]) -> Self {
        let key = key();
        let (certificate, pem) = sigstore.certify(leaf, &key);
        let signature = signed(&key, message);
        let at = leaf.begins.unix_timestamp() + 60;
        let entry = Entry::new(message, &signature, &pem, at);
        Self {
            signature,
            certificate,
            pem,
            chain: sigstore.authority.pem(),
            entry,
            message: message.to_vec(),
            key,
        }
    }

    /// The same, logged at another time, in seconds since 1970.
    #[must_use]
    pub fn logged_at(mut self, at: i64) -> Self {
        self.entry.at = at;
        self
    }

    /// The same key's signature over another message, with the entry of the first one.
    #[must_use]
    pub fn over(mut self, message: &[u8]) -> Self {
        self.signature = signed(&self.key, message);
        message.clone_into(&mut self.message);
        self
    }

    /// The same with the entry of another.
    #[must_use]
    pub fn with_entry_of(mut self, other: &Self) -> Self {
        self.entry = other.entry.clone();
        self
    }

    /// In base64.
    #[must_use]
    pub fn base64(&self) -> String {
        base64(&self.signature)
    }

    /// As `cosign sign` did it before: beside a payload, promised by that log.
    #[must_use]
    pub fn annotations(&self, log: &Sigstore) -> BTreeMap<String, String> {
        let entry = self.entry.promised(log).to_string();
        let named = |name: &str| format!("dev.sigstore.cosign/{name}");
        BTreeMap::from([
            (
                "dev.cosignproject.cosign/signature".to_owned(),
                self.base64(),
            ),
            (named("certificate"), self.pem.clone()),
            (named("chain"), self.chain.clone()),
            (named("bundle"), entry),
        ])
    }

    /// As `cosign sign` does it today: a statement in an envelope, where the message is what envelopes sign.
    #[must_use]
    pub fn statement(&self, log: &Sigstore, statement: &str) -> String {
        let envelope = json!({
            "payload": base64(statement.as_bytes()), "payloadType": "application/vnd.in-toto+json",
            "signatures": [{"sig": self.base64()}],
        });
        let entry = Entry::of_statement(statement, &self.signature, &self.pem, self.entry.at);
        self.bundle(&entry.proven(log), "dsseEnvelope", &envelope)
    }

    /// As `cosign sign-blob --bundle` does it.
    #[must_use]
    pub fn blob(&self, log: &Sigstore) -> String {
        let digest = base64(&sha256(&self.message));
        let signature = json!({
            "messageDigest": {"algorithm": "SHA2_256", "digest": digest}, "signature": self.base64(),
        });
        self.bundle(&self.entry.proven(log), "messageSignature", &signature)
    }

    fn bundle(&self, entry: &Value, content: &str, value: &Value) -> String {
        let certificate = json!({"rawBytes": base64(&self.certificate)});
        let material = json!({"certificate": certificate, "tlogEntries": [entry]});
        let kind = "application/vnd.dev.sigstore.bundle.v0.3+json";
        json!({"mediaType": kind, "verificationMaterial": material, content: value}).to_string()
    }
}

/// What an envelope of that statement signs.
#[must_use]
pub fn envelope(statement: &str) -> Vec<u8> {
    let kind = "application/vnd.in-toto+json";
    let (kinds, size) = (kind.len(), statement.len());
    format!("DSSEv1 {kinds} {kind} {size} {statement}").into_bytes()
}
