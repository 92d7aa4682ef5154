//! What cosign wrote beside a signature of an identity before it wrote bundles, as the bundle that it would write today.
//!
//! Judges nothing: what is put together wrongly proves nothing.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Whose key it is.
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
/// Who certified that.
const CHAIN: &str = "dev.sigstore.cosign/chain";
/// What the log says.
const LOGGED: &str = "dev.sigstore.cosign/bundle";
/// The form that has a promise of the log and no proof.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle+json;version=0.1";

/// The log's promise.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Logged {
    signed_entry_timestamp: String,
    payload: Entry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    body: String,
    integrated_time: i64,
    log_index: i64,
    #[serde(rename = "logID")]
    log_id: String,
}

/// What kind of entry it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    kind: String,
    api_version: String,
}

/// The bundle of a signature over a payload; none where no identity signed it.
pub(super) fn bundle(
    payload: &[u8],
    signature: &str,
    annotations: &BTreeMap<String, String>,
) -> Option<String> {
    let chain = annotations.get(CHAIN).map(String::as_str);
    let chain = [annotations.get(CERTIFICATE)?, chain.unwrap_or_default()];
    let certificates: Vec<Value> = chain
        .iter()
        .filter_map(|text| pem::parse_many(text).ok())
        .flatten()
        .map(|found| json!({"rawBytes": STANDARD.encode(found.contents())}))
        .collect();
    let Logged {
        signed_entry_timestamp,
        payload: entry,
    } = serde_json::from_str(annotations.get(LOGGED)?).ok()?;
    let body: Body = serde_json::from_slice(&STANDARD.decode(&entry.body).ok()?).ok()?;
    let entry = json!({
        "logIndex": entry.log_index.to_string(),
        "logId": {"keyId": STANDARD.encode(bytes(&entry.log_id)?)},
        "kindVersion": {"kind": body.kind, "version": body.api_version},
        "integratedTime": entry.integrated_time.to_string(),
        "inclusionPromise": {"signedEntryTimestamp": signed_entry_timestamp},
        "canonicalizedBody": entry.body,
    });
    let digest = STANDARD.encode(Sha256::digest(payload));
    let bundle = json!({
        "mediaType": BUNDLE,
        "verificationMaterial": {
            "x509CertificateChain": {"certificates": certificates},
            "tlogEntries": [entry],
        },
        "messageSignature": {
            "messageDigest": {"algorithm": "SHA2_256", "digest": digest},
            "signature": signature,
        },
    });
    Some(bundle.to_string())
}

/// The bytes of digits in hex.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
