//! The log of signatures: an entry, the promise to keep it, and the proof that it is kept.

use serde_json::{Value, json};

use crate::{Sigstore, base64, canonical, hex, id, sha256, signed};

/// What is logged of a signature, and when.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    kind: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) at: i64,
}

impl Entry {
    /// The entry of a signature by a certificate.
    pub(crate) fn new(message: &[u8], signature: &[u8], certificate: &str, at: i64) -> Self {
        let hash = json!({"algorithm": "sha256", "value": hex(&sha256(message))});
        let key = json!({"content": base64(certificate.as_bytes())});
        let body = json!({
            "apiVersion": "0.0.1", "kind": "hashedrekord",
            "spec": {"data": {"hash": hash}, "signature": {"content": base64(signature), "publicKey": key}},
        });
        Self {
            kind: "hashedrekord",
            body: canonical(&body),
            at,
        }
    }

    /// The same for a signature over a statement in an envelope.
    pub(crate) fn of_statement(
        statement: &str,
        signature: &[u8],
        certificate: &str,
        at: i64,
    ) -> Self {
        let hash =
            |text: &str| json!({"algorithm": "sha256", "value": hex(&sha256(text.as_bytes()))});
        let verifier = base64(certificate.as_bytes());
        let signature = json!({"signature": base64(signature), "verifier": verifier});
        // The envelope's own hash depends on how it is written down, and nobody compares it.
        let spec = json!({
            "envelopeHash": hash(""), "payloadHash": hash(statement), "signatures": [signature],
        });
        Self {
            kind: "dsse",
            body: canonical(&json!({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})),
            at,
        }
    }

    /// As cosign puts it beside a signature.
    fn payload(&self, log: &Sigstore) -> Value {
        json!({
            "body": base64(&self.body), "integratedTime": self.at,
            "logID": hex(&id(&log.signatures)), "logIndex": 0,
        })
    }

    /// The entry and the promise to keep it, as cosign writes them into an annotation.
    pub(crate) fn promised(&self, log: &Sigstore) -> Value {
        let payload = self.payload(log);
        let promise = signed(&log.signatures, &canonical(&payload));
        json!({"SignedEntryTimestamp": base64(&promise), "Payload": payload})
    }

    /// The entry with promise and proof, as a bundle of Sigstore has it: the only one of a tree.
    pub(crate) fn proven(&self, log: &Sigstore) -> Value {
        let promised = self.promised(log);
        let root = sha256(&[&[0], &self.body[..]].concat());
        let note = format!("rekor.example\n1\n{}\n", base64(&root));
        let signature = signed(&log.signatures, note.as_bytes());
        let signature = [&id(&log.signatures)[..4], &signature].concat();
        let envelope = format!("{note}\n\u{2014} rekor.example {}\n", base64(&signature));
        json!({
            "logIndex": "0", "logId": {"keyId": base64(&id(&log.signatures))},
            "kindVersion": {"kind": self.kind, "version": "0.0.1"},
            "integratedTime": self.at.to_string(),
            "inclusionPromise": {"signedEntryTimestamp": promised["SignedEntryTimestamp"]},
            "inclusionProof": {
                "logIndex": "0", "rootHash": base64(&root), "treeSize": "1", "hashes": [],
                "checkpoint": {"envelope": envelope},
            },
            "canonicalizedBody": base64(&self.body),
        })
    }
}
