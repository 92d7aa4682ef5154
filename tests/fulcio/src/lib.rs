//! A Sigstore for tests: an authority that certifies identities, a log of certificates, and a log of signatures.
//!
//! Its keys live as long as its value. Checks nothing of what it is asked to sign: whoever tests refusals asks for what is wrong.

mod certificate;
mod log;
mod signature;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use time::{Duration, OffsetDateTime};

pub use certificate::Leaf;
pub use signature::{Signature, envelope};

use certificate::Authority;

/// An authority and both logs.
pub struct Sigstore {
    pub(crate) authority: Authority,
    /// The log of certificates.
    pub(crate) certificates: KeyPair,
    /// The log of signatures.
    pub(crate) signatures: KeyPair,
    /// Whether certificates are logged at all.
    logs_certificates: bool,
}

impl Sigstore {
    /// One whose authority is valid from a year ago to a year ahead.
    ///
    /// # Panics
    /// There is no randomness.
    #[must_use]
    pub fn new() -> Self {
        Self {
            authority: Authority::new(),
            certificates: key(),
            signatures: key(),
            logs_certificates: true,
        }
    }

    /// The same without a log of certificates, as private ones often are.
    #[must_use]
    pub fn without_a_log_of_certificates(mut self) -> Self {
        self.logs_certificates = false;
        self
    }

    /// What there is to trust, as `trusted_root.json` has it.
    #[must_use]
    pub fn trusted_root(&self) -> String {
        let always = json!({"start": "2020-01-01T00:00:00Z"});
        let log = |key: &KeyPair, url: &str| {
            json!({
                "baseUrl": url, "hashAlgorithm": "SHA2_256", "logId": {"keyId": base64(&id(key))},
                "publicKey": {
                    "rawBytes": base64(&key.subject_public_key_info()), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": always,
                },
            })
        };
        let chain = self.authority.chain();
        let chain = chain.map(|der| json!({"rawBytes": base64(der)}));
        let certificates = log(&self.certificates, "https://ct.example");
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(&self.signatures, "https://rekor.example")],
            "certificateAuthorities": [{
                "subject": {"organization": "example", "commonName": "example"}, "uri": "https://fulcio.example",
                "certChain": {"certificates": chain}, "validFor": always,
            }],
            "ctlogs": if self.logs_certificates { vec![certificates] } else { Vec::new() },
        })
        .to_string()
    }

    /// Signs a message as that identity, with a certificate of this hour.
    ///
    /// # Panics
    /// There is no randomness.
    #[must_use]
    pub fn sign(&self, issuer: &str, subject: &str, message: &[u8]) -> Signature {
        self.sign_as(&Leaf::new(issuer, subject), message)
    }

    /// Signs a message with that certificate, and has it logged a minute after the certificate began.
    ///
    /// # Panics
    /// There is no randomness.
    #[must_use]
    pub fn sign_as(&self, leaf: &Leaf, message: &[u8]) -> Signature {
        Signature::new(self, leaf, message)
    }
}

impl Default for Sigstore {
    fn default() -> Self {
        Self::new()
    }
}

fn key() -> KeyPair {
    match KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256) {
        Ok(key) => key,
        Err(error) => panic!("no key: {error}"),
    }
}

/// What a log is known by.
fn id(key: &KeyPair) -> [u8; 32] {
    sha256(&key.subject_public_key_info())
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn signed(key: &KeyPair, message: &[u8]) -> Vec<u8> {
    match rcgen::SigningKey::sign(key, message) {
        Ok(signature) => signature,
        Err(error) => panic!("no signature: {error}"),
    }
}

/// A JSON document as the log signs it: its keys in order, nothing between them.
fn canonical(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn hours(hours: i64) -> Duration {
    Duration::hours(hours)
}

fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}
