//! The thread that writes: lines into frames, frames into segments.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use contract::Millis;

use super::ring::Ring;
use super::{Counts, Header, Limits, Record, frame};

/// What the writer is asked to do.
pub(super) enum Message {
    /// Write this down.
    Record(Box<Record>),
    /// Keep this module.
    Module {
        /// Its name.
        digest: String,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// Close the frame and answer.
    Flush(SyncSender<()>),
}

/// How long the writer sleeps when no frame is open.
const IDLE: Duration = Duration::from_secs(3600);

pub(super) struct Writer {
    ring: Ring,
    limits: Limits,
    header: Header,
    counts: Arc<Counts>,
    segment: Option<Segment>,
    /// Lines of the open frame.
    lines: Vec<u8>,
    /// What is known of it; none while it has no lines.
    open: Option<Open>,
    /// Modules its records name.
    used: BTreeSet<String>,
}

struct Segment {
    file: File,
    bytes: u64,
}

struct Open {
    /// Number of its first record.
    first: u64,
    records: u64,
    /// When it must be closed.
    due: Instant,
    /// Time of its first snapshot.
    now: Millis,
}

impl Writer {
    pub(super) fn new(ring: Ring, limits: Limits, header: Header, counts: Arc<Counts>) -> Self {
        Self {
            ring,
            limits,
            header,
            counts,
            segment: None,
            lines: Vec::new(),
            open: None,
            used: BTreeSet::new(),
        }
    }

    /// Works until the recorder is dropped, then closes the open frame.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let wait = self.open.as_ref().map_or(IDLE, |open| {
                open.due.saturating_duration_since(Instant::now())
            });
            match messages.recv_timeout(wait) {
                Ok(Message::Record(record)) => self.take(&record),
                Ok(Message::Module { digest, bytes }) => {
                    report("keep a module", self.ring.keep_module(&digest, &bytes));
                }
                Ok(Message::Flush(done)) => {
                    self.close_frame();
                    // Whoever asked may have stopped waiting.
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => self.close_frame(),
                Err(RecvTimeoutError::Disconnected) => return self.close_frame(),
            }
        }
    }

    fn take(&mut self, record: &Record) {
        let before = self.lines.len();
        if let Err(error) = serde_json::to_writer(&mut self.lines, record) {
            self.lines.truncate(before);
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            return report("write a record", Err(error.into()));
        }
        self.lines.push(b'\n');
        let beside = record.shadows.iter().map(|shadow| &shadow.module);
        for module in std::iter::once(&record.module).chain(beside) {
            if !self.used.contains(module) {
                self.used.insert(module.clone());
            }
        }
        let open = self.open.get_or_insert_with(|| Open {
            first: record.seq,
            records: 0,
            due: Instant::now() + self.limits.frame_age,
            now: record.now,
        });
        open.records += 1;
        if self.lines.len() >= self.limits.frame_bytes {
            self.close_frame();
        }
    }

    /// Writes the open frame in one piece. A frame that the disk refuses is lost and counted.
    fn close_frame(&mut self) {
        let Some(open) = self.open.take() else { return };
        // Taken, not cleared: between bursts the recorder holds no memory.
        let lines = std::mem::take(&mut self.lines);
        match self.write(&lines, &open) {
            Ok(()) => self
                .counts
                .written
                .fetch_add(open.records, Ordering::Relaxed),
            Err(error) => {
                report("write a frame", Err(error));
                // What a torn frame left behind would hide all that follows it in the same file.
                self.segment = None;
                self.counts
                    .dropped
                    .fetch_add(open.records, Ordering::Relaxed)
            }
        };
    }

    fn write(&mut self, lines: &[u8], open: &Open) -> io::Result<()> {
        let mut segment = match self.segment.take() {
            Some(segment) => segment,
            None => self.begin(open)?,
        };
        let packed = frame::pack(lines)?;
        segment.file.write_all(&packed)?;
        segment.bytes += packed.len() as u64;
        if segment.bytes < self.ring.segment_bytes() {
            self.segment = Some(segment);
        }
        for digest in std::mem::take(&mut self.used) {
            report("note the use of a module", self.ring.touch(&digest));
        }
        Ok(())
    }

    fn begin(&self, open: &Open) -> io::Result<Segment> {
        report("forget old recordings", self.ring.prune());
        let header = Header {
            created: open.now,
            ..self.header.clone()
        };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        let packed = frame::pack(&line)?;
        let mut file = self.ring.begin(open.first)?;
        file.write_all(&packed)?;
        Ok(Segment {
            file,
            bytes: packed.len() as u64,
        })
    }
}

fn report(what: &str, outcome: io::Result<()>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, what, "The recorder failed");
    }
}
