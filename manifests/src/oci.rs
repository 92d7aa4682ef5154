//! A container image of a few text files, made without any tool: the same files give the same digest on every machine.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
/// What every file and every part of the image is dated with.
const BEGINNING: &str = "1970-01-01T00:00:00Z";

/// An image: its manifest and what that names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The manifest's bytes.
    pub manifest: Vec<u8>,
    /// Configuration and layer, by digest.
    pub blobs: BTreeMap<String, Vec<u8>>,
}

impl Image {
    /// The media type of [`Self::manifest`].
    pub const MEDIA_TYPE: &str = MANIFEST;

    /// An image of these files and labels.
    pub(crate) fn of<'a>(
        files: impl Iterator<Item = (&'a str, &'a [u8])>,
        labels: BTreeMap<String, String>,
    ) -> Self {
        // Writing into memory does not fail.
        let layer = archive(files).unwrap_or_default();
        let config = json!({
            "created": BEGINNING,
            "architecture": "amd64",
            "os": "linux",
            "config": {"Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
            "history": [{"created": BEGINNING, "created_by": "binnacle generate"}],
        });
        let config = config.to_string().into_bytes();
        let named = |kind: &str, bytes: &[u8]| json!({"mediaType": kind, "digest": digest(bytes), "size": bytes.len()});
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": named(CONFIG, &config),
            "layers": [named(LAYER, &layer)],
        });
        Self {
            manifest: manifest.to_string().into_bytes(),
            blobs: [config, layer].map(|bytes| (digest(&bytes), bytes)).into(),
        }
    }

    /// The digest that names it.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(&self.manifest)
    }

    /// The image as an OCI archive, for `skopeo copy oci-archive:FILE docker://…`.
    ///
    /// # Errors
    /// Writing into memory failed.
    pub fn oci_archive(&self) -> io::Result<Vec<u8>> {
        let index: Value = json!({
            "schemaVersion": 2,
            "manifests": [{"mediaType": MANIFEST, "digest": self.digest(), "size": self.manifest.len()}],
        });
        let (index, layout) = (
            index.to_string(),
            json!({"imageLayoutVersion": "1.0.0"}).to_string(),
        );
        let manifest = self.digest();
        let blobs = self.blobs.iter().chain([(&manifest, &self.manifest)]);
        let blobs: Vec<_> = blobs
            .map(|(digest, bytes)| {
                (
                    format!("blobs/{}", digest.replace(':', "/")),
                    bytes.as_slice(),
                )
            })
            .collect();
        let files = [
            ("index.json", index.as_bytes()),
            ("oci-layout", layout.as_bytes()),
        ];
        archive(
            files
                .into_iter()
                .chain(blobs.iter().map(|(path, bytes)| (path.as_str(), *bytes))),
        )
    }
}

fn archive<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        archive.append_data(&mut header, path, bytes)?;
    }
    archive.into_inner()
}

fn digest(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_the_same_image_and_others_are_not() {
        let image = |text: &'static str| {
            Image::of([("a/b.yaml", text.as_bytes())].into_iter(), BTreeMap::new())
        };
        assert_eq!(image("x: 1\n"), image("x: 1\n"));
        assert_ne!(image("x: 1\n").digest(), image("x: 2\n").digest());
        assert_eq!(image("x: 1\n").blobs.len(), 2);
    }
}
