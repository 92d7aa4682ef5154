//! The signatures that cosign put beside an artifact: under a tag of its own, and as bundles that refer to it.
//!
//! Judges none of them. Only so many are looked at, however many somebody puts there.

use oci_client::errors::OciDistributionError;
use oci_client::manifest::{OciDescriptor, OciImageIndex, OciManifest};

use super::Error;
use super::artifact::manifest;
use super::reference::is_digest;
use super::repository::Repository;
use crate::signature::Signed;

/// Where cosign puts a signature in its older form.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// Media type of a bundle; versions differ in what is not read.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
/// As many of each form are looked at.
const SIGNATURES: usize = 16;
/// A payload has less than a kilobyte, and a bundle with a certificate and a log's proof about ten.
const LIMIT: u64 = 64 << 10;

impl Repository {
    /// Those of the artifact of this digest.
    pub(super) async fn signatures(&self, name: &str) -> Result<Vec<Signed>, Error> {
        let mut signed = self.tagged(name).await?;
        signed.extend(self.referring(name).await?);
        Ok(signed)
    }

    /// Under the tag `sha256-HEX.sig`.
    async fn tagged(&self, name: &str) -> Result<Vec<Signed>, Error> {
        let tag = format!("{}.sig", name.replace(':', "-"));
        let found = self.manifest(&tag).await.map(|(_, bytes)| bytes);
        let mut signed = Vec::new();
        for (layer, size) in layers(if_there(found)?.as_deref()) {
            let annotations = layer.annotations.unwrap_or_default();
            if let Some(signature) = annotations.get(SIGNATURE) {
                let payload = self.blob(&layer.digest, size).await?;
                signed.push(Signed::simple(&payload, signature, &annotations));
            }
        }
        Ok(signed)
    }

    /// Bundles that refer to it. For a registry that does not know who refers to what, the library asks for the tag that
    /// stands for that.
    async fn referring(&self, name: &str) -> Result<Vec<Signed>, Error> {
        let known = match self.client.pull_referrers(&self.at(name), None).await {
            Err(error) if is_no_list(&error) => None,
            Err(error) => if_there(Err(self.failure(&self.in_words(name), error)))?,
            Ok(known) => Some(known),
        };
        let mut signed = Vec::new();
        for digest in bundles(known) {
            let found = self.manifest(&digest).await.map(|(_, bytes)| bytes);
            let layers = layers(if_there(found)?.as_deref());
            for (layer, size) in layers.into_iter().take(1) {
                let bundle = self.blob(&layer.digest, size).await?;
                signed.extend(Signed::of_bundle(&bundle));
            }
        }
        Ok(signed)
    }
}

/// Whether something else stands where a list of what refers to an artifact would: it has no signatures.
const fn is_no_list(error: &OciDistributionError) -> bool {
    matches!(
        error,
        OciDistributionError::ManifestParsingError(_)
            | OciDistributionError::SpecViolationError(_)
            | OciDistributionError::UnsupportedMediaTypeError(_)
            | OciDistributionError::UnsupportedSchemaVersionError(_)
            | OciDistributionError::VersionedParsingError(_)
    )
}

/// The layers of a manifest that may be looked at, with their sizes: what becomes part of an address is a digest, whoever
/// wrote it.
fn layers(bytes: Option<&[u8]>) -> Vec<(OciDescriptor, u64)> {
    let manifest = bytes.and_then(|bytes| manifest(bytes, "").ok());
    let layers = match manifest {
        Some(OciManifest::Image(manifest)) => manifest.layers,
        Some(OciManifest::ImageIndex(_)) | None => Vec::new(),
    };
    let small = layers.into_iter().filter_map(|layer| {
        let size = u64::try_from(layer.size).ok()?;
        (size <= LIMIT && is_digest(&layer.digest)).then_some((layer, size))
    });
    small.take(SIGNATURES).collect()
}

/// The digests of the manifests of bundles.
fn bundles(index: Option<OciImageIndex>) -> Vec<String> {
    let referrers = index.map(|index| index.manifests).unwrap_or_default();
    let bundles = referrers.into_iter().filter(|one| {
        let kind = one.artifact_type.as_deref().unwrap_or_default();
        kind.starts_with(BUNDLE) && is_digest(&one.digest)
    });
    bundles.map(|one| one.digest).take(SIGNATURES).collect()
}

fn if_there<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::Absent { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
