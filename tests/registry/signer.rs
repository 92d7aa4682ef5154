//! Signs artifacts in a registry as `cosign sign --key` does: a payload, a signature over it, a tag made of the digest.

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host::module::digest;
use rcgen::{KeyPair, SigningKey as _};
use serde_json::json;
use tests::registry::Registry;

/// Media type of what is signed.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
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

    /// Puts a signature beside the artifact of this manifest.
    pub(crate) async fn sign(
        &self,
        registry: &Registry,
        repository: &str,
        manifest: &str,
    ) -> Result<()> {
        let payload = json!({
            "critical": {
                "identity": {"docker-reference": registry.repository(repository)},
                "image": {"docker-manifest-digest": manifest},
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = serde_json::to_vec(&payload)?;
        let config = b"{}".as_slice();
        let (payload_name, config_name) = (digest(&payload), digest(config));
        let signed = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config_name, "size": config.len()},
            "layers": [{
                "mediaType": PAYLOAD, "digest": payload_name, "size": payload.len(),
                "annotations": {SIGNATURE: self.signature(&payload)?},
            }],
        });
        let hex = manifest.strip_prefix("sha256:").context("a digest")?;
        let blobs = [(&*payload_name, &payload[..]), (&*config_name, config)];
        let tag = format!("sha256-{hex}.sig");
        let signed = serde_json::to_vec(&signed)?;
        registry.put(repository, &tag, &blobs, &signed).await
    }
}
