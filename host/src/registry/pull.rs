//! Pulls a module: the manifest, the one layer, and where they are wanted the signatures that cosign put beside them.
//!
//! # Guarantees
//! - What is too large or another module than the one asked for is refused by its manifest, before a byte of it is fetched.
//! - What is larger than its manifest says is cut off.

use std::time::Duration;

use oci_client::RegistryOperation;
use serde::{Deserialize, Serialize};

use super::artifact::{manifest, module};
use super::repository::Repository;
use super::{Access, Error, Reference};
use crate::signature::Proof;

/// How long all of a module may take.
pub(super) const WITHIN: Duration = Duration::from_secs(60);
/// How long the question may take which manifest a tag leads to.
pub(super) const RESOLVED_WITHIN: Duration = Duration::from_secs(15);

/// A module, and where it was.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pulled {
    /// Registry, repository and the digest of the manifest.
    pub artifact: String,
    /// The module's bytes, which go their own way from one process to the other.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// Signatures over the manifest, where they were asked for and are there.
    pub proof: Option<Proof>,
}

/// Pulls the module of a reference: `wanted` by its digest where that is known, with its signatures if `signed`.
///
/// # Errors
/// There is none within the time, or another.
pub(super) async fn pull(
    reference: &Reference,
    access: Access,
    wanted: Option<&str>,
    signed: bool,
) -> Result<Pulled, Error> {
    within(reference, WITHIN, async {
        let repository = Repository::open(reference, access, RegistryOperation::Pull).await?;
        let what = reference.to_string();
        let (name, text) = repository.manifest(reference.version()).await?;
        let manifest = manifest(&text, &what)?;
        let (layer, size) = module(&manifest, &what)?;
        if let Some(wanted) = wanted.filter(|wanted| **wanted != layer.digest) {
            return Err(Error::Other {
                what,
                found: layer.digest.clone(),
                wanted: wanted.to_owned(),
            });
        }
        let bytes = repository.blob(&layer.digest, size).await?;
        let proof = if signed {
            let signed = repository.signatures(&name).await?;
            let manifest = String::from_utf8_lossy(&text).into_owned();
            (!signed.is_empty()).then_some(Proof::Artifact { manifest, signed })
        } else {
            None
        };
        Ok(Pulled {
            artifact: reference.at(&name),
            bytes,
            proof,
        })
    })
    .await
}

/// The digest of the manifest that a reference leads to.
///
/// # Errors
/// The registry does not say within the time.
pub(super) async fn resolve(reference: &Reference, access: Access) -> Result<String, Error> {
    within(reference, RESOLVED_WITHIN, async {
        let repository = Repository::open(reference, access, RegistryOperation::Pull).await?;
        repository.resolve(reference.version()).await
    })
    .await
}

pub(super) async fn within<T>(
    reference: &Reference,
    within: Duration,
    asking: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let answer = tokio::time::timeout(within, asking).await;
    answer.unwrap_or_else(|_elapsed| {
        Err(Error::Slow {
            registry: reference.registry().to_owned(),
            within,
        })
    })
}
