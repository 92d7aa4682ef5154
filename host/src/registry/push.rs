//! Pushes a module as a wasm artifact: its bytes, a configuration, a manifest.
//!
//! The same bytes give the same manifest, whoever pushes them and when.

use std::time::Duration;

use oci_client::RegistryOperation;
use oci_client::manifest::OCI_IMAGE_MEDIA_TYPE;
use reqwest::header::HeaderValue;
use serde_json::json;

use super::artifact::LAYERS;
use super::pull::within;
use super::repository::Repository;
use super::{Access, Error, Reference};
use crate::module::{EXPORTS, digest};

/// How long all of it may take.
const WITHIN: Duration = Duration::from_secs(300);
/// Media type of what is said of a module.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// What was pushed.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// Registry, repository and the digest of the manifest.
    pub artifact: String,
    /// The digest of the manifest.
    pub manifest: String,
}

/// Pushes a module's bytes to the tag of a reference.
///
/// # Errors
/// The reference has no tag, or the registry does not take the module within the time.
pub async fn push(reference: &Reference, access: Access, module: Vec<u8>) -> Result<Pushed, Error> {
    let tag = reference.tag().ok_or_else(|| Error::Reference {
        text: reference.to_string(),
        why: "what is pushed gets a digest of its own, so say the tag to put it under, by :TAG"
            .into(),
    })?;
    let layer = digest(&module);
    let config = json!({
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [layer],
        "component": {"exports": EXPORTS, "imports": []},
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": OCI_IMAGE_MEDIA_TYPE,
        "config": {"mediaType": CONFIG, "digest": digest(&config), "size": config.len()},
        "layers": [{"mediaType": LAYERS[0], "digest": layer, "size": module.len()}],
    });
    let manifest = manifest.to_string().into_bytes();
    let name = digest(&manifest);
    within(reference, WITHIN, async {
        let repository = Repository::open(reference, access, RegistryOperation::Push).await?;
        for blob in [module, config] {
            repository.put_blob(blob).await?;
        }
        repository.put_manifest(tag, manifest).await
    })
    .await?;
    Ok(Pushed {
        artifact: reference.at(&name),
        manifest: name,
    })
}

impl Repository {
    async fn put_blob(&self, bytes: Vec<u8>) -> Result<(), Error> {
        let name = digest(&bytes);
        let put = self.client.push_blob(&self.at(&name), bytes, &name).await;
        put.map(drop)
            .map_err(|error| self.failure(&self.in_words(&name), error))
    }

    async fn put_manifest(&self, tag: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let kind = HeaderValue::from_static(OCI_IMAGE_MEDIA_TYPE);
        let named = self.at(tag);
        let put = self.client.push_manifest_raw(&named, bytes, kind).await;
        put.map(drop)
            .map_err(|error| self.failure(&self.in_words(tag), error))
    }
}
