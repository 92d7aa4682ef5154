//! The stores that backups go to, opened with what the spec and its Secret say.
//!
//! Protocols are opendal's. Knows no backup but by its name.

mod abs;
mod authorities;
mod gcs;
mod oss;
mod pvc;
mod s3;
mod words;

use std::sync::Arc;
use std::time::Duration;

use contract::{EtcdBackupSpec, Observed, Place, StoreKind, StoredObject};
use futures::TryStreamExt as _;
use opendal::layers::{RetryEvent, RetryLayer, TimeoutLayer};
use opendal::{EntryMode, ErrorKind, Operator};
use tracing::info;

use super::access::Access;
use super::progress::Progress;
pub(super) use pvc::Folder;
pub(super) use words::{is_permanent, words};

/// The run that wrote an object, among what the store keeps beside it. Azure takes letters and digits only.
pub(super) const RUN: &str = "binnaclerun";
/// How long a question may take. A store that hangs costs a pass no more than this.
const QUESTION: Duration = Duration::from_secs(5);
/// How long one piece of a backup may take, either way.
const PIECE: Duration = Duration::from_secs(60);
/// Objects of one listing that are looked at: beyond it something else fills the folder.
const MOST: usize = 10_000;

/// A bucket that can be talked to.
#[derive(Clone)]
pub(super) struct Store {
    /// Asks once.
    asking: Operator,
    /// Asks again when something may pass.
    pub(super) moving: Operator,
    /// Where the store is a folder.
    pub(super) folder: Option<Folder>,
    /// How far what is moved is.
    pub(super) progress: Arc<Progress>,
}

/// Opens the bucket. Nothing is sent yet.
///
/// # Errors
/// What is wrong with the spec, the Secret or the folder, in words.
pub(super) fn open(spec: &EtcdBackupSpec, place: &Place, access: &Access) -> Result<Store, String> {
    let bucket = place.bucket.as_str();
    let missing = || format!("spec.{} is not there", place.store.field());
    let secret = match access {
        Access::Keys(secret) => secret,
        Access::Folder(folder) => {
            let operator = pvc::open(folder, bucket)?;
            return Ok(layered(operator, Some(Folder::new(folder, &place.key))));
        }
    };
    let operator = match place.store {
        StoreKind::S3 => s3::open(spec.s3.as_ref().ok_or_else(missing)?, bucket, secret),
        StoreKind::Abs => abs::open(spec.abs.as_ref().ok_or_else(missing)?, bucket, secret),
        StoreKind::Gcs => gcs::open(spec.gcs.as_ref().ok_or_else(missing)?, bucket, secret),
        StoreKind::Oss => oss::open(spec.oss.as_ref().ok_or_else(missing)?, bucket, secret),
        StoreKind::Pvc => return Err(missing()),
    };
    let operator = operator.and_then(|operator| authorities::trusting(operator, secret));
    let in_secret = |why| format!("Secret {}: {why}", place.secret);
    Ok(layered(operator.map_err(in_secret)?, None))
}

fn layered(operator: Operator, folder: Option<Folder>) -> Store {
    let progress = Arc::new(Progress::default());
    let told = Arc::clone(&progress);
    let retry = RetryLayer::new()
        .with_max_times(4)
        .with_max_delay(Duration::from_secs(10))
        .with_jitter()
        .with_notify(move |event: RetryEvent<'_>| {
            let (why, after) = (words(event.err), event.retry_after);
            info!(why, ?after, "The store is asked again");
            told.stumble(why);
        });
    let within = |piece| {
        TimeoutLayer::new()
            .with_timeout(QUESTION)
            .with_io_timeout(piece)
    };
    Store {
        asking: operator.clone().layer(within(QUESTION)),
        moving: operator.layer(within(PIECE)).layer(retry),
        folder,
        progress,
    }
}

impl Store {
    /// What is stored under this very name, with the run that wrote it. That nothing is may also say that there is no bucket:
    /// see [`Self::why_missing`].
    pub(super) async fn one(&self, key: &str) -> Observed<Vec<StoredObject>> {
        match self.asking.stat(key).await {
            Ok(found) => {
                let mut kept = found.user_metadata().into_iter().flatten();
                let run = kept.find(|(name, _)| *name == RUN);
                Observed::Seen(vec![StoredObject {
                    key: key.to_owned(),
                    bytes: size(found.content_length()),
                    run: run.map(|(_, run)| run.to_owned()),
                }])
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Observed::Seen(Vec::new()),
            // The answer to this question has no body; that to a listing says why.
            Err(error) => match self.asking.list_with(key).limit(1).await {
                Ok(_) => Observed::Unknown(words(&error)),
                Err(error) => Observed::Unknown(words(&error)),
            },
        }
    }

    /// Why an object cannot be read, in words, and whether another attempt would end the same way; none when it is there.
    pub(super) async fn why_missing(&self, key: &str) -> Option<(String, bool)> {
        let Err(error) = self.asking.stat(key).await else {
            return None;
        };
        let of = |error: &opendal::Error| Some((words(error), is_permanent(error)));
        // The answer to that question has no body; that to a listing says why.
        match self.asking.list_with(key).limit(1).await {
            Err(error) => of(&error),
            Ok(_) if error.kind() == ErrorKind::NotFound => {
                Some((format!("the bucket has no object {key}"), true))
            }
            Ok(_) => of(&error),
        }
    }

    /// What is stored under names that begin so, sorted; all pages of it.
    pub(super) async fn all(&self, prefix: &str) -> Observed<Vec<StoredObject>> {
        match self.list(prefix).await {
            Ok(found) if found.len() >= MOST => Observed::Unknown(format!(
                "there are {MOST} objects and more beside the backups"
            )),
            Ok(found) => Observed::Seen(found),
            Err(error) => Observed::Unknown(words(&error)),
        }
    }

    async fn list(&self, prefix: &str) -> opendal::Result<Vec<StoredObject>> {
        let mut entries = self.asking.lister(prefix).await?;
        let mut found = Vec::new();
        while let Some(entry) = entries.try_next().await? {
            if entry.metadata().mode() == EntryMode::FILE {
                found.push(StoredObject {
                    key: entry.path().to_owned(),
                    bytes: size(entry.metadata().content_length()),
                    run: None,
                });
            }
            if found.len() >= MOST {
                break;
            }
        }
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    /// Deletes one object. One that is gone already is as good.
    ///
    /// # Errors
    /// The store's refusal or silence, in words.
    pub(super) async fn delete(&self, key: &str) -> Result<(), String> {
        self.asking.delete(key).await.map_err(|error| words(&error))
    }
}

/// As JSON has it.
pub(super) fn size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
