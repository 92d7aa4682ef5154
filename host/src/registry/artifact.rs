//! The manifest of an artifact: which of its layers is the module.
//!
//! Pure. What is no single wasm layer is refused by what it is.

use serde::Deserialize;

use super::Error;
use super::reference::is_digest;
use crate::module::MODULE_LIMIT;

/// Media types of a layer that is a module: today's, and that of older tools.
pub(super) const LAYERS: [&str; 2] = [
    "application/wasm",
    "application/vnd.wasm.content.layer.v1+wasm",
];

/// A manifest, as far as it is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    #[serde(default)]
    pub(super) layers: Vec<Layer>,
    #[serde(default)]
    config: Option<Described>,
    /// Of an index.
    #[serde(default)]
    manifests: Option<Vec<Described>>,
}

/// A layer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Layer {
    #[serde(default)]
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default)]
    pub(super) annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    #[serde(default)]
    media_type: String,
}

impl Manifest {
    /// Reads one.
    pub(super) fn parse(bytes: &[u8], what: &str) -> Result<Self, Error> {
        serde_json::from_slice(bytes).map_err(|_| Error::NoModule {
            what: what.to_owned(),
            why: "its manifest is none of OCI".to_owned(),
        })
    }

    /// The layer that is the module, which is not larger than a module may be.
    pub(super) fn module(&self, what: &str) -> Result<&Layer, Error> {
        let refused = |why: String| {
            Err(Error::NoModule {
                what: what.to_owned(),
                why,
            })
        };
        if let Some(manifests) = &self.manifests {
            return refused(format!(
                "it is an index of {} manifests, as images for several platforms have it",
                manifests.len()
            ));
        }
        let [layer] = &self.layers[..] else {
            let config = self.config.as_ref().map(|config| &config.media_type);
            return refused(format!(
                "it has {} layers and the configuration {:?}; a module has one layer, {}",
                self.layers.len(),
                config.map_or("", String::as_str),
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
        if layer.size > MODULE_LIMIT as u64 {
            return Err(Error::TooLarge {
                what: format!("{what}, which says that it has {} bytes,", layer.size),
                limit: MODULE_LIMIT as u64,
            });
        }
        Ok(layer)
    }
}

/// The digest of the module that a manifest leads to.
pub(crate) fn module_layer(manifest: &[u8]) -> Option<String> {
    let manifest = Manifest::parse(manifest, "").ok()?;
    manifest.module("").ok().map(|layer| layer.digest.clone())
}
