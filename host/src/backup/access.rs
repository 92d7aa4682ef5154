//! What opens a store: the keys of a Secret, or a folder in which a volume claim is mounted.

use std::path::{Path, PathBuf};

use contract::{Place, StoreKind, names};
use kube::Client;

use super::secret::{self, Data};

/// What opens a store.
pub(super) enum Access {
    /// What a Secret holds.
    Keys(Data),
    /// Where a claim is mounted.
    Folder(PathBuf),
}

impl Access {
    /// The folder where the operator has a claim of `namespace`; none where the store is no claim.
    pub(super) fn of_claim(place: &Place, namespace: &str) -> Option<Self> {
        let folder = || Path::new(names::CLAIMS_MOUNT).join(namespace);
        (place.store == StoreKind::Pvc).then(|| Self::Folder(folder().join(&place.bucket)))
    }

    /// What the store of an object in `namespace` is opened with.
    ///
    /// # Errors
    /// Its Secret cannot be read, in words.
    pub(super) async fn of(
        client: &Client,
        namespace: &str,
        place: &Place,
    ) -> Result<Self, String> {
        if let Some(claim) = Self::of_claim(place, namespace) {
            return Ok(claim);
        }
        let (_, data) = secret::read(client, namespace, &place.secret).await;
        data.map(Self::Keys)
    }

    /// What is mounted into a member's pod, of whichever kind the store is.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn mounted(place: &Place, folder: &Path) -> std::io::Result<Self> {
        match place.store {
            StoreKind::Pvc => Ok(Self::Folder(folder.to_owned())),
            StoreKind::S3 | StoreKind::Abs | StoreKind::Gcs | StoreKind::Oss => {
                secret::mounted(folder).map(Self::Keys)
            }
        }
    }
}
