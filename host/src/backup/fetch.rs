//! Fetches a proven backup onto a disk: in a member's pod, with the credentials that are mounted there.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use contract::{EtcdBackupSpec, Place};

use super::access::Access;
use super::{store, transfer};

/// Why a backup could not be fetched, where another attempt may go better.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Passing(String);

/// Fetches what `source` names into `file`; nothing but bytes of this sha-256.
///
/// # Errors
/// The credentials, the store or the disk fail ([`Passing`] where that may pass), or the bytes are others than those that
/// were proven.
pub(crate) async fn fetch(
    source: &EtcdBackupSpec,
    credentials: &Path,
    file: &Path,
    sha256: &str,
) -> anyhow::Result<i64> {
    let place = Place::of(source).context("--source names no backup")?;
    let access = Access::mounted(&place, credentials).with_context(|| {
        format!(
            "what opens the store cannot be read in {}",
            credentials.display()
        )
    })?;
    let store = store::open(source, &place, &access).map_err(|why| anyhow!(why))?;
    let mut written =
        File::create(file).with_context(|| format!("{} cannot be written", file.display()))?;
    let take = |bytes: &[u8]| {
        written
            .write_all(bytes)
            .map_err(|error| format!("{} cannot be written: {error}", file.display()))
    };
    let passed = transfer::read_back(&store, &place.key, transfer::FOUND, take)
        .await
        .map_err(|failure| {
            if failure.damaged {
                anyhow!(failure.why)
            } else {
                Passing(failure.why).into()
            }
        })?;
    if passed.sha256 != sha256 {
        bail!(
            "{}/{} has the sha-256 {}, but the backup that was read before anything was touched had {sha256}: somebody \
             wrote another one under its name",
            place.bucket,
            place.key,
            passed.sha256
        );
    }
    written
        .sync_all()
        .with_context(|| format!("{} is not safely written", file.display()))?;
    Ok(store::size(passed.bytes))
}
