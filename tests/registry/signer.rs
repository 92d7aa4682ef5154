//! Signs artifacts in a registry as `cosign sign --key` does, in both of its forms.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host::module::digest;
use rcgen::{KeyPair, SigningKey as _};
use serde_json::json;
use tests::registry::Registry;

/// Media type of what is signed.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Media types of a manifest, of an index of them, and of a bundle.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Where the signature is.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// Somebody with a key.
pub(crate) struct Signer {
    key: KeyPair,
}

impl Signer {
    pub(crate) fn new() -> Result<Self> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        Ok(Self { key })
    }

    /// As cosign.pub.
    pub(crate) fn public_key(&self) -> String {
        self.key.public_key_pem()
    }

    /// In base64, as `cosign sign-blob` writes it.
    pub(crate) fn signature(&self, message: &[u8]) -> Result<String> {
        Ok(STANDARD.encode(self.key.sign(message)?))
    }

    /// As `cosign sign` does it today: a bundle that refers to the artifact, in a registry that does not know referrers.
    pub(crate) async fn sign_in_bundle(
        &self,
        registry: &Registry,
        repository: &str,
        manifest: &str,
    ) -> Result<()> {
        let statement = statement(manifest)?;
        let kind = "application/vnd.in-toto+json";
        let signature = self.signature(&fulcio::envelope(&statement))?;
        let envelope = json!({"payload": STANDARD.encode(&statement), "payloadType": kind, "signatures": [{"sig": signature}]});
        let bundle = serde_json::to_vec(&json!({"mediaType": BUNDLE, "dsseEnvelope": envelope}))?;
        put_bundle(registry, repository, manifest, bundle).await
    }

    /// Puts a signature beside the artifact of this manifest, as `cosign sign` did it before.
    pub(crate) async fn sign(
        &self,
        registry: &Registry,
        repository: &str,
        manifest: &str,
    ) -> Result<()> {
        let payload = payload(registry, repository, manifest);
        let beside = BTreeMap::from([(SIGNATURE.to_owned(), self.signature(&payload)?)]);
        put_annotated(registry, repository, manifest, &payload, &beside).await
    }
}

/// What says today that the artifact of this manifest is signed.
pub(crate) fn statement(manifest: &str) -> Result<String> {
    let hex = manifest.strip_prefix("sha256:").context("a digest")?;
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1", "subject": [{"digest": {"sha256": hex}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1", "predicate": {},
    });
    Ok(statement.to_string())
}

/// What said so before.
pub(crate) fn payload(registry: &Registry, repository: &str, manifest: &str) -> Vec<u8> {
    let payload = json!({
        "critical": {
            "identity": {"docker-reference": registry.repository(repository)},
            "image": {"docker-manifest-digest": manifest},
            "type": "cosign container image signature",
        },
        "optional": null,
    });
    payload.to_string().into_bytes()
}

/// Puts a bundle that refers to the artifact of this manifest into a registry that does not know referrers.
pub(crate) async fn put_bundle(
    registry: &Registry,
    repository: &str,
    manifest: &str,
    bundle: Vec<u8>,
) -> Result<()> {
    let hex = manifest.strip_prefix("sha256:").context("a digest")?;
    let config = b"{}".as_slice();
    let (bundle_name, config_name) = (digest(&bundle), digest(config));
    let referrer = serde_json::to_vec(&json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE,
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": config_name, "size": config.len()},
        "layers": [{"mediaType": BUNDLE, "digest": bundle_name, "size": bundle.len()}],
    }))?;
    let name = digest(&referrer);
    let blobs = [(&*bundle_name, &bundle[..]), (&*config_name, config)];
    registry.put(repository, &name, &blobs, &referrer).await?;
    let listed = json!({"mediaType": MANIFEST, "digest": name, "size": referrer.len(), "artifactType": BUNDLE});
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [listed]});
    let (tag, index) = (format!("sha256-{hex}"), serde_json::to_vec(&index)?);
    registry.put_index(repository, &tag, &index).await
}

/// Puts a payload with annotations under the tag that stands for signatures of this manifest.
pub(crate) async fn put_annotated(
    registry: &Registry,
    repository: &str,
    manifest: &str,
    payload: &[u8],
    beside: &BTreeMap<String, String>,
) -> Result<()> {
    let config = b"{}".as_slice();
    let (payload_name, config_name) = (digest(payload), digest(config));
    let signed = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config_name, "size": config.len()},
        "layers": [{
            "mediaType": PAYLOAD, "digest": payload_name, "size": payload.len(), "annotations": beside,
        }],
    });
    let hex = manifest.strip_prefix("sha256:").context("a digest")?;
    let blobs = [(&*payload_name, payload), (&*config_name, config)];
    let tag = format!("sha256-{hex}.sig");
    let signed = serde_json::to_vec(&signed)?;
    registry.put(repository, &tag, &blobs, &signed).await
}
