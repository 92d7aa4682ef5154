//! The recorder: every decision with what was seen and what became of it, on disk, bounded.
//!
//! A recording is zstd frames of JSON lines; `zstd -dc FILE | jq` reads it. Knows nothing of modules and clusters: it
//! writes what it is handed.
//!
//! # Guarantees
//! - Recording never holds up a pass: when the disk cannot keep up, records are dropped and counted, and their numbers
//!   are missing from the sequence.
//! - A crash loses at most the open frame: the records of the last seconds.
//! - The directory never holds more than [`Limits::bytes`], but for the segment being written.

mod export;
mod frame;
mod record;
mod recording;
mod ring;
mod shelf;
mod tail;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

pub use export::Export;
pub use record::{
    ActionResult, ClusterName, DecidedBy, FORMAT_VERSION, Header, Record, RecordedFailure,
    ShadowRecord,
};
pub use recording::{Break, Error as ReadError, Frame, Recording, recordings};
pub use ring::{kept_module, module_file, module_name};
pub use shelf::{Kept, kept};
pub use tail::{backwards, last_records};

use writer::{Message, Writer};

/// Records that wait for the writer; further ones are dropped.
const QUEUE: usize = 256;

/// How much is kept, and how much a crash may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes on disk, modules included. The oldest segments go first.
    pub bytes: u64,
    /// Bytes of JSON after which a frame is closed.
    pub frame_bytes: usize,
    /// Age of its first record at which a frame is closed.
    pub frame_age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 256 << 20,
            frame_bytes: 1 << 20,
            frame_age: Duration::from_secs(10),
        }
    }
}

/// Why recordings cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory cannot be used.
    #[error("recordings cannot be kept in {directory}")]
    Directory {
        /// Which directory.
        directory: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The thread that writes cannot be started.
    #[error("the thread that writes recordings cannot be started")]
    Thread {
        /// What the system said.
        source: std::io::Error,
    },
}

/// Counts of what a recorder did, for metrics.
#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    dropped: AtomicU64,
}

/// Writes records to a directory, in a thread of its own. Dropping it writes what is still open.
#[derive(Debug)]
pub struct Recorder {
    queue: Option<SyncSender<Message>>,
    writer: Option<JoinHandle<()>>,
    next: AtomicU64,
    counts: Arc<Counts>,
}

impl Recorder {
    /// Starts recording into `directory`, which is created if need be. Numbers go on after those of the records that are
    /// there.
    ///
    /// # Errors
    /// When the directory cannot be written to.
    pub fn open(directory: &Path, limits: Limits, header: Header) -> Result<Self, Error> {
        let unusable = |source| Error::Directory {
            directory: directory.display().to_string(),
            source,
        };
        let ring = ring::Ring::open(directory, limits.bytes).map_err(unusable)?;
        let next = ring
            .last_seq()
            .map_err(unusable)?
            .map_or(1, |last| last + 1);
        let counts = Arc::new(Counts::default());
        let (queue, messages) = sync_channel(QUEUE);
        let writer = Writer::new(ring, limits, header, Arc::clone(&counts));
        let writer = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || writer.run(&messages))
            .map_err(|source| Error::Thread { source })?;
        Ok(Self {
            queue: Some(queue),
            writer: Some(writer),
            next: AtomicU64::new(next),
            counts,
        })
    }

    /// Takes one record, gives it its number and returns that. Never waits: a full queue drops the record.
    pub fn record(&self, mut record: Record) -> u64 {
        let seq = self.next.fetch_add(1, Ordering::Relaxed);
        record.seq = seq;
        self.send(Message::Record(Box::new(record)));
        seq
    }

    /// Keeps a module's bytes beside the recordings, so that they can be replayed by whoever gets the directory.
    pub fn keep_module(&self, digest: &str, bytes: Vec<u8>) {
        self.send(Message::Module {
            digest: digest.to_owned(),
            bytes,
        });
    }

    /// Writes the open frame and returns when all records taken so far are in the file.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        // A writer that is gone has written all it could.
        if self
            .queue
            .as_ref()
            .is_some_and(|queue| queue.send(Message::Flush(done)).is_ok())
        {
            let _ = wait.recv();
        }
    }

    /// Records in files so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.counts.written.load(Ordering::Relaxed)
    }

    /// Records that were lost because the queue was full or the disk refused them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }

    fn send(&self, message: Message) {
        let Some(queue) = &self.queue else { return };
        match queue.try_send(message) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(writer) = self.writer.take() {
            // The writer's panic, if any, has been printed.
            let _ = writer.join();
        }
    }
}
