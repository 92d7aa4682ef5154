//! The newest records of a directory, without unpacking what comes before them.

use std::path::Path;
use std::{fs, io};

use super::{Record, frame, ring};

/// The last records that are in files, oldest first, at most so many. Frames and lines that cannot be read are left out.
///
/// # Errors
/// When the directory or a file cannot be read.
pub fn last_records(directory: &Path, most: usize) -> io::Result<Vec<Record>> {
    // Newest first until there are enough.
    let mut found = Vec::new();
    for segment in ring::segments(directory)?.iter().rev() {
        let content = fs::read(segment)?;
        for packed in frame::whole(&content).into_iter().rev() {
            let mut input = packed;
            let lines = frame::unpack(&mut input).unwrap_or_default();
            let records = lines
                .rsplit(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice(line).ok());
            found.extend(records.take(most - found.len()));
            if found.len() == most {
                break;
            }
        }
        if found.len() == most {
            break;
        }
    }
    found.reverse();
    Ok(found)
}
