//! The signatures that cosign put beside an artifact: under a tag of its own, and as bundles that refer to it.
//!
//! Judges none of them. Only so many are looked at, however many somebody puts there.

use serde::Deserialize;

use super::artifact::{Layer, Manifest};
use super::reference::is_digest;
use super::{Error, MANIFEST_LIMIT, Repository};
use crate::signature::{Form, Signed};

/// Where cosign puts a signature in its older form.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// Media type of a bundle; versions differ in what is not read.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
/// As many of each form are looked at.
const SIGNATURES: usize = 16;
/// A payload and a bundle have less than a kilobyte each.
const LIMIT: u64 = 16 << 10;

/// What refers to an artifact.
#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    manifests: Vec<Referrer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Referrer {
    digest: String,
    #[serde(default)]
    artifact_type: String,
}

impl Repository {
    /// Those of the artifact of this digest.
    pub(super) async fn signatures(&mut self, name: &str) -> Result<Vec<Signed>, Error> {
        let mut signed = self.tagged(name).await?;
        signed.extend(self.referring(name).await?);
        Ok(signed)
    }

    /// Under the tag `sha256-HEX.sig`.
    async fn tagged(&mut self, name: &str) -> Result<Vec<Signed>, Error> {
        let tag = format!("{}.sig", name.replace(':', "-"));
        let found = self.manifest(&tag).await;
        let mut signed = Vec::new();
        for layer in layers(if_there(found)?.as_deref()) {
            if let Some(signature) = layer.annotations.get(SIGNATURE) {
                let payload = self.blob(&layer.digest, layer.size).await?;
                signed.push(Signed {
                    form: Form::Simple,
                    payload: String::from_utf8_lossy(&payload).into_owned(),
                    signature: signature.clone(),
                });
            }
        }
        Ok(signed)
    }

    /// Bundles that refer to it. A registry that does not know who refers to what has a tag for that.
    async fn referring(&mut self, name: &str) -> Result<Vec<Signed>, Error> {
        let known = self.referrers(name).await;
        let mut bundles = bundles(if_there(known)?.as_deref());
        if bundles.is_empty() {
            let tagged = self.manifest(&name.replace(':', "-")).await;
            bundles = self::bundles(if_there(tagged)?.as_deref());
        }
        let mut signed = Vec::new();
        for digest in bundles {
            let found = self.manifest(&digest).await;
            for layer in layers(if_there(found)?.as_deref()).iter().take(1) {
                let bundle = self.blob(&layer.digest, layer.size).await?;
                signed.extend(Signed::of_bundle(&bundle));
            }
        }
        Ok(signed)
    }

    async fn referrers(&mut self, name: &str) -> Result<(String, Vec<u8>), Error> {
        let what = self.reference.at(name);
        let response = self.get(&format!("referrers/{name}"), &what).await?;
        let bytes = self.read(response, MANIFEST_LIMIT, &what).await?;
        Ok((name.to_owned(), bytes))
    }
}

/// The layers of a manifest that may be looked at: what becomes part of an address is a digest, whoever wrote it.
fn layers(manifest: Option<&[u8]>) -> Vec<Layer> {
    let manifest = manifest.and_then(|bytes| Manifest::parse(bytes, "").ok());
    let layers = manifest.map(|manifest| manifest.layers).unwrap_or_default();
    let small = layers
        .into_iter()
        .filter(|layer| layer.size <= LIMIT && is_digest(&layer.digest));
    small.take(SIGNATURES).collect()
}

/// The digests of the manifests of bundles.
fn bundles(index: Option<&[u8]>) -> Vec<String> {
    let index = index.and_then(|bytes| serde_json::from_slice::<Index>(bytes).ok());
    let referrers = index.map(|index| index.manifests).unwrap_or_default();
    let bundles = referrers
        .into_iter()
        .filter(|one| one.artifact_type.starts_with(BUNDLE) && is_digest(&one.digest));
    bundles.map(|one| one.digest).take(SIGNATURES).collect()
}

fn if_there(found: Result<(String, Vec<u8>), Error>) -> Result<Option<Vec<u8>>, Error> {
    match found {
        Ok((_, bytes)) => Ok(Some(bytes)),
        Err(Error::Absent { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
