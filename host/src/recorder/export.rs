//! Writes one recording by itself: a header, then records in frames.
//!
//! For files that people pass on. The operator's own are the writer's.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use super::{Header, Record, frame};

/// Bytes of JSON after which a frame is closed.
const FRAME: usize = 1 << 20;

/// A recording that is being written.
#[derive(Debug)]
pub struct Export {
    file: File,
    lines: Vec<u8>,
}

impl Export {
    /// Begins a file that is not there yet.
    ///
    /// # Errors
    /// When it is there, or cannot be written.
    pub fn create(path: &Path, header: &Header) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        let mut export = Self {
            file,
            lines: Vec::new(),
        };
        export.line(header)?;
        export.close_frame()?;
        Ok(export)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn push(&mut self, record: &Record) -> io::Result<()> {
        self.line(record)?;
        if self.lines.len() >= FRAME {
            self.close_frame()?;
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.close_frame()?;
        self.file.sync_all()
    }

    fn line(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.lines, value)?;
        self.lines.push(b'\n');
        Ok(())
    }

    fn close_frame(&mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.lines);
        if lines.is_empty() {
            return Ok(());
        }
        self.file.write_all(&frame::pack(&lines)?)
    }
}
