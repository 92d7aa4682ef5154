//! One transfer: a snapshot streamed from a member into the store and read back, or only read back.
//!
//! Memory is bounded by a few pieces, whatever the size.
//!
//! # Guarantees
//! An object appears in the store only after etcd's own hash fitted what was streamed: before that the write is taken back.
//! Success means that what is stored was read back and is the same.

use std::time::{Duration, Instant};

use contract::{Contents, Millis, SnapshotContent, Stored};
use futures::TryStreamExt as _;
use opendal::{Reader, Writer};
use tracing::info;

use super::content::{self, Bytes, Missing};
use super::fingerprint::{Fingerprint, Passed};
use super::progress::Progress;
use super::store::{self, RUN, Store, is_permanent, words};
use crate::error::Chain;
use crate::etcd::Connection;

/// Bytes that are sent or read at a time: the least that S3 takes as a part of many.
const PIECE: usize = 5 << 20;
/// So many of them are on their way at once.
const AT_ONCE: usize = 2;
/// How long a member may be silent while it streams.
const SILENCE: Duration = Duration::from_secs(60);

/// Why a transfer ended without a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) why: String,
    pub(super) permanent: bool,
    /// It is the bytes that are at fault.
    pub(super) damaged: bool,
}

impl Failure {
    pub(super) fn passing(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            permanent: false,
            damaged: false,
        }
    }

    fn of_store(what: &str, error: &opendal::Error) -> Self {
        Self {
            why: format!("{what}: {}", words(error)),
            permanent: is_permanent(error),
            damaged: false,
        }
    }
}

/// Streams a snapshot into the store and reads it back; with `witness` the member is asked what it holds at the revision of
/// what is stored.
pub(super) async fn take(
    member: &Connection,
    store: &Store,
    key: &str,
    run: &str,
    witness: bool,
) -> Result<Stored, Failure> {
    let began = Instant::now();
    let streamed = stream(member, store, key, run).await?;
    let read = read_back(store, key, WRITTEN, |_| Ok(())).await?;
    if read != streamed {
        return Err(Failure::passing(format!(
            "{key} was read back as {} bytes with the sha-256 {}, but {} bytes with {} were sent: somebody else writes \
             under this name, or the store is at fault",
            read.bytes, read.sha256, streamed.bytes, streamed.sha256
        )));
    }
    let stored = stored(read, began, None);
    if !witness {
        return Ok(stored);
    }
    Ok(match said(member, store, key).await {
        Ok((content, contents)) => Stored {
            content: Some(content),
            contents: Some(contents),
            ..stored
        },
        Err(why) => {
            info!(
                why,
                "The member did not say what it holds at the backup's revision"
            );
            stored
        }
    })
}

/// The revision of what is stored, and what the member says of its keys at it. A backup is one without that, too.
async fn said(
    member: &Connection,
    store: &Store,
    key: &str,
) -> Result<(SnapshotContent, Contents), String> {
    let reader = store
        .moving
        .reader(key)
        .await
        .map_err(|error| words(&error))?;
    let content = content::look(&Ranges(reader)).await;
    let content = content.map_err(|missing| match missing {
        Missing::Unread { why, permanent: _ } => why,
        Missing::Foreign(why) => why.to_owned(),
    })?;
    let contents = member.contents(content.revision).await;
    let contents = contents.map_err(|error| Chain(&error).to_string())?;
    Ok((content, contents))
}

/// Reads back what is stored.
pub(super) async fn verify(store: &Store, key: &str) -> Result<Stored, Failure> {
    let began = Instant::now();
    Ok(stored(
        read_back(store, key, WRITTEN, |_| Ok(())).await?,
        began,
        None,
    ))
}

/// Reads what is stored from its first byte to its last, and looks what etcd would find in it. What the bytes say is for
/// good.
pub(super) async fn prove(store: &Store, key: &str) -> Result<Stored, Failure> {
    let began = Instant::now();
    if let Some((why, permanent)) = store.why_missing(key).await {
        return Err(Failure {
            permanent,
            ..Failure::passing(format!("{FOUND}: {why}"))
        });
    }
    let count = |bytes: &[u8]| {
        store.progress.add(bytes.len());
        Ok(())
    };
    let read = read_back(store, key, FOUND, count).await;
    let read = read.map_err(|failure| Failure {
        permanent: failure.permanent || failure.damaged,
        ..failure
    })?;
    let reader = store.moving.reader(key).await;
    let reader = reader.map_err(|error| Failure::of_store(FOUND, &error))?;
    match content::look(&Ranges(reader)).await {
        Ok(content) => Ok(stored(read, began, Some(content))),
        Err(Missing::Unread { why, permanent }) => Err(Failure {
            permanent,
            ..Failure::passing(why)
        }),
        Err(Missing::Foreign(why)) => Err(Failure {
            permanent: true,
            ..Failure::passing(format!("what is stored as {key} is no data of etcd: {why}"))
        }),
    }
}

/// Pieces of a stored object.
struct Ranges(Reader);

impl Bytes for Ranges {
    async fn at(&self, from: u64, count: u64) -> Result<Vec<u8>, Missing> {
        let read = self.0.read(from..from + count).await;
        let read = read.map_err(|error| Missing::Unread {
            why: words(&error),
            permanent: is_permanent(&error),
        })?;
        let is_whole = u64::try_from(read.len()).is_ok_and(|found| found == count);
        if is_whole {
            Ok(read.to_vec())
        } else {
            Err(Missing::Foreign("it ends too early"))
        }
    }
}

fn stored(passed: Passed, began: Instant, content: Option<SnapshotContent>) -> Stored {
    Stored {
        bytes: store::size(passed.bytes),
        sha256: passed.sha256,
        took: Millis(i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX)),
        content,
        contents: None,
    }
}

async fn stream(
    member: &Connection,
    store: &Store,
    key: &str,
    run: &str,
) -> Result<Passed, Failure> {
    let folder = store.folder.as_ref();
    let name = folder.map_or(key, |folder| folder.unfinished.as_str());
    let opening = store
        .moving
        .writer_with(name)
        .chunk(PIECE)
        .concurrent(if folder.is_some() { 1 } else { AT_ONCE })
        .user_metadata([(RUN.to_owned(), run.to_owned())]);
    let mut writer = opening
        .await
        .map_err(|error| Failure::of_store("the store cannot be written to", &error))?;
    match copy(member, &mut writer, &store.progress).await {
        Ok(passed) => match writer.close().await {
            Ok(_metadata) => match folder.map(|folder| folder.finish(key)) {
                Some(Err(error)) => Err(Failure::passing(format!(
                    "the backup could not be given its name: {error}"
                ))),
                None | Some(Ok(())) => Ok(passed),
            },
            Err(error) => Err(Failure::of_store("the backup could not be stored", &error)),
        },
        Err(failure) => {
            // What was sent so far is of no use; a store that cannot be told forgets it by its own rules.
            let _ = match folder {
                Some(folder) => store.moving.delete(&folder.unfinished).await,
                None => writer.abort().await,
            };
            Err(failure)
        }
    }
}

async fn copy(
    member: &Connection,
    writer: &mut Writer,
    progress: &Progress,
) -> Result<Passed, Failure> {
    let mut snapshot = member.snapshot().await.map_err(|error| {
        Failure::passing(format!("the member streams nothing: {}", Chain(&error)))
    })?;
    let mut fingerprint = Fingerprint::default();
    loop {
        let next = match tokio::time::timeout(SILENCE, snapshot.message()).await {
            Ok(Ok(next)) => next,
            Ok(Err(error)) => {
                let why = format!("the member ended the stream: {}", Chain(&error));
                return Err(Failure::passing(why));
            }
            Err(_elapsed) => {
                let why = format!("the member was silent for {SILENCE:?}");
                return Err(Failure::passing(why));
            }
        };
        let Some(message) = next else { break };
        let blob = message.blob();
        fingerprint.take(blob);
        writer
            .write(blob.to_vec())
            .await
            .map_err(|error| Failure::of_store("the backup could not be stored", &error))?;
        progress.add(blob.len());
    }
    fingerprint
        .end()
        .map_err(|why| Failure::passing(format!("what the member streamed is no backup: {why}")))
}

/// What is said when what this host wrote cannot be read.
const WRITTEN: &str = "what was stored cannot be read back";
/// The same of what it found.
pub(super) const FOUND: &str = "the backup cannot be read";

/// Reads an object from its first byte to its last, giving each piece to `take`; `what` is said where that fails.
pub(super) async fn read_back(
    store: &Store,
    key: &str,
    what: &'static str,
    mut take: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<Passed, Failure> {
    let failed = |error: opendal::Error| Failure::of_store(what, &error);
    let reader = store
        .moving
        .reader_with(key)
        .chunk(PIECE)
        .concurrent(AT_ONCE)
        .await;
    let mut pieces = reader
        .map_err(failed)?
        .into_stream(..)
        .await
        .map_err(failed)?;
    let mut fingerprint = Fingerprint::default();
    while let Some(piece) = pieces.try_next().await.map_err(failed)? {
        for bytes in piece {
            fingerprint.take(&bytes);
            take(&bytes).map_err(Failure::passing)?;
        }
    }
    fingerprint.end().map_err(|why| Failure {
        why: format!("what is stored as {key} is no backup: {why}"),
        permanent: false,
        damaged: true,
    })
}
