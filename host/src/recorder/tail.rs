//! The newest records of a directory, without unpacking what comes before them.

use std::path::Path;
use std::{fs, io};

use super::{Record, frame, ring};

/// Hands out the records of one packed file, newest first, until told to stop by false. Frames and lines that cannot be
/// read are left out.
///
/// # Errors
/// When the file cannot be read.
pub fn backwards(file: &Path, mut take: impl FnMut(Record) -> bool) -> io::Result<()> {
    let content = fs::read(file)?;
    for packed in frame::whole(&content).into_iter().rev() {
        let mut input = packed;
        let lines = frame::unpack(&mut input).unwrap_or_default();
        let records = lines
            .rsplit(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok());
        for record in records {
            if !take(record) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The last records that are in files, oldest first, at most so many. Frames and lines that cannot be read are left out.
///
/// # Errors
/// When the directory or a file cannot be read.
pub fn last_records(directory: &Path, most: usize) -> io::Result<Vec<Record>> {
    // Newest first until there are enough.
    let mut found = Vec::new();
    for segment in ring::segments(directory)?.iter().rev() {
        backwards(segment, |record| {
            found.push(record);
            found.len() < most
        })?;
        if found.len() >= most {
            break;
        }
    }
    found.reverse();
    Ok(found)
}
