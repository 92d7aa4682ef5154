//! The manifest of an artifact: which of its layers is the module.
//!
//! Pure. What is no single wasm layer is refused by what it is.

use oci_client::manifest::{OciDescriptor, OciManifest, WASM_LAYER_MEDIA_TYPE};

use super::Error;
use super::reference::is_digest;
use crate::module::MODULE_LIMIT;

/// Media types of a layer that is a module: today's, and that of older tools.
pub(super) const LAYERS: [&str; 2] = ["application/wasm", WASM_LAYER_MEDIA_TYPE];

/// Reads a manifest.
pub(super) fn manifest(bytes: &[u8], what: &str) -> Result<OciManifest, Error> {
    serde_json::from_slice(bytes).map_err(|_| Error::NoModule {
        what: what.to_owned(),
        why: "its manifest is none of OCI".to_owned(),
    })
}

/// The layer that is the module, which is not larger than a module may be, and its size.
pub(super) fn module<'a>(
    manifest: &'a OciManifest,
    what: &str,
) -> Result<(&'a OciDescriptor, u64), Error> {
    let refused = |why: String| {
        Err(Error::NoModule {
            what: what.to_owned(),
            why,
        })
    };
    let manifest = match manifest {
        OciManifest::Image(manifest) => manifest,
        OciManifest::ImageIndex(index) => {
            return refused(format!(
                "it is an index of {} manifests, as images for several platforms have it",
                index.manifests.len()
            ));
        }
    };
    let [layer] = &manifest.layers[..] else {
        return refused(format!(
            "it has {} layers and the configuration {:?}; a module has one layer, {}",
            manifest.layers.len(),
            manifest.config.media_type,
            LAYERS[0]
        ));
    };
    if !LAYERS.contains(&layer.media_type.as_str()) {
        return refused(format!(
            "its layer is {:?}, and that of a module is {}, not compressed",
            layer.media_type, LAYERS[0]
        ));
    }
    if !is_digest(&layer.digest) {
        return refused("its layer is not named by a sha256 digest".to_owned());
    }
    match u64::try_from(layer.size) {
        Ok(size) if size <= MODULE_LIMIT as u64 => Ok((layer, size)),
        Ok(_) | Err(_) => Err(Error::TooLarge {
            what: format!("{what}, which says that it has {} bytes,", layer.size),
            limit: MODULE_LIMIT as u64,
        }),
    }
}

/// The digest of the module that a manifest leads to.
pub(crate) fn module_layer(bytes: &[u8]) -> Option<String> {
    let manifest = manifest(bytes, "").ok()?;
    let (layer, _) = module(&manifest, "").ok()?;
    Some(layer.digest.clone())
}
