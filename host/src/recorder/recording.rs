//! Reads recordings, frame by frame, with memory for one frame.
//!
//! Takes files and directories, packed and as plain JSON lines. Says where a recording breaks off; judges no decision.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use contract::SCHEMA;
use serde::{Deserialize, Serialize};

use super::record::{FORMAT_VERSION, Header};
use super::{Record, frame, ring};

/// Plain JSON lines are handed out in blocks of about this size.
const PLAIN_BLOCK: usize = 1 << 20;

/// Why a recording cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused to read it.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The file or directory.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A directory without recordings.
    #[error("{path} holds no recordings (files named ….jsonl.zst)")]
    Empty {
        /// The directory.
        path: String,
    },
    /// Something else than a recording.
    #[error("{path} is not a recording: {why}")]
    NotRecording {
        /// The file.
        path: String,
        /// What is missing.
        why: String,
    },
    /// Written by a later Binnacle.
    #[error(
        "{path} is a recording of {what} {theirs}, written by Binnacle {host}; this one reads up to {ours}: use that Binnacle or a later one"
    )]
    Newer {
        /// The file.
        path: String,
        /// `format` or `schema`.
        what: &'static str,
        /// Its number.
        theirs: u32,
        /// The highest that is read here.
        ours: u32,
        /// Who wrote it.
        host: String,
    },
    /// A line that is no record.
    #[error("a line after record {after} of {path} is not a record")]
    Line {
        /// The file.
        path: String,
        /// The last good record's number; 0 when there was none.
        after: u64,
        /// Where the JSON is wrong.
        source: serde_json::Error,
    },
}

/// A place where a recording breaks off. What comes before it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Break {
    /// The file.
    pub path: String,
    /// The last record read from it; none when there was none.
    pub after: Option<u64>,
    /// True: the rest is missing, as after a crash. False: the rest is there and damaged.
    pub cut_off: bool,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            after,
            cut_off,
        } = self;
        let how = if *cut_off { "cut off" } else { "damaged" };
        match after {
            Some(seq) => write!(
                f,
                "{path} is {how} after record {seq}; read up to its last whole frame"
            ),
            None => write!(f, "{path} is {how} before its first record"),
        }
    }
}

/// A block of whole JSON lines.
#[derive(Clone, Debug)]
pub struct Frame {
    lines: Vec<u8>,
    path: String,
}

impl Frame {
    /// Its lines as they are, headers among them.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let lines = self.lines.split(|byte| *byte == b'\n');
        lines.filter(|line| !line.is_empty())
    }

    /// The records in it, in order. Headers are left out.
    pub fn records(&self) -> impl Iterator<Item = Result<Record, Error>> {
        let mut after = 0;
        self.lines()
            .filter(|line| is_record(line))
            .map(move |line| {
                let record: Record =
                    serde_json::from_slice(line).map_err(|source| Error::Line {
                        path: self.path.clone(),
                        after,
                        source,
                    })?;
                after = record.seq;
                readable("schema", record.schema, SCHEMA, &self.path, &record.host)?;
                Ok(record)
            })
    }
}

/// The files of a path: itself, or the segments of a directory, oldest first, or else its other recordings, or else those
/// of the directories in it. What was cut out of segments and lies beside them is not read twice.
///
/// # Errors
/// When the path cannot be read, or is a directory without recordings.
pub fn recordings(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let name = path.display().to_string();
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    match of_folder(path) {
        Ok(files) if files.is_empty() => Err(Error::Empty { path: name }),
        Ok(files) => Ok(files),
        Err(source) => Err(Error::Unreadable { path: name, source }),
    }
}

/// Those of a directory itself, else of the directories in it: one for each pod they were pulled from.
fn of_folder(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path)? {
        entries.push(entry?.path());
    }
    entries.sort();
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|one| one.is_dir());
    files.retain(|file| file.to_string_lossy().ends_with(ring::SUFFIX));
    let segments = ring::segments(path)?;
    for own in [segments, files] {
        if !own.is_empty() {
            return Ok(own);
        }
    }
    let found = folders.iter().map(|folder| ring::segments(folder));
    Ok(found.collect::<io::Result<Vec<_>>>()?.concat())
}

/// One file, read once from its beginning to its end.
#[derive(Debug)]
pub struct Recording {
    path: String,
    input: BufReader<File>,
    packed: bool,
    header: Header,
    first: Option<Frame>,
    last_seq: Option<u64>,
    ended: Option<Break>,
}

impl Recording {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// When it is not a recording, or a later Binnacle's.
    pub fn open(file: &Path) -> Result<Self, Error> {
        let path = file.display().to_string();
        let unreadable = |source| Error::Unreadable {
            path: path.clone(),
            source,
        };
        let mut input = BufReader::with_capacity(1 << 16, File::open(file).map_err(unreadable)?);
        let packed = input
            .fill_buf()
            .map_err(unreadable)?
            .starts_with(&frame::MAGIC);
        let lines = if packed {
            frame::unpack(&mut input)
        } else {
            plain(&mut input)
        };
        let first = match lines {
            Ok(lines) => Frame {
                lines,
                path: path.clone(),
            },
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(not_recording(
                    path,
                    "it breaks off before the end of its header",
                ));
            }
            Err(_) => return Err(not_recording(path, "its first frame is damaged")),
        };
        let header = header(&path, &first)?;
        let last_seq = ring::last_seq(&first.lines);
        Ok(Self {
            path,
            input,
            packed,
            header,
            first: Some(first),
            last_seq,
            ended: None,
        })
    }

    /// Its first line.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The next block of lines; none at the end, or where the recording breaks off.
    ///
    /// # Errors
    /// When the system fails to read.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Error> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        if self.ended.is_some() || self.at_end()? {
            return Ok(None);
        }
        let lines = if self.packed {
            frame::unpack(&mut self.input)
        } else {
            plain(&mut self.input)
        };
        match lines {
            Ok(lines) => {
                self.last_seq = ring::last_seq(&lines).or(self.last_seq);
                Ok(Some(Frame {
                    lines,
                    path: self.path.clone(),
                }))
            }
            Err(error) => {
                let cut_off = error.kind() == io::ErrorKind::UnexpectedEof;
                self.ended = Some(Break {
                    path: self.path.clone(),
                    after: self.last_seq,
                    cut_off,
                });
                Ok(None)
            }
        }
    }

    /// Bytes of the file that were read so far.
    pub fn position(&mut self) -> u64 {
        // Only for showing progress: a position that the system does not tell is none.
        self.input.stream_position().unwrap_or_default()
    }

    /// Where it broke off, if it did; known once [`Self::next_frame`] has answered none.
    #[must_use]
    pub const fn broken(&self) -> Option<&Break> {
        self.ended.as_ref()
    }

    fn at_end(&mut self) -> Result<bool, Error> {
        match self.input.fill_buf() {
            Ok(rest) => Ok(rest.is_empty()),
            Err(source) => Err(Error::Unreadable {
                path: self.path.clone(),
                source,
            }),
        }
    }
}

/// Some whole lines of plain text. A last line without its end is cut off, unless it is JSON all the same; so is one that
/// is longer than a frame may be.
fn plain(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    while lines.len() < PLAIN_BLOCK
        && input
            .by_ref()
            .take(frame::LARGEST)
            .read_until(b'\n', &mut lines)?
            > 0
    {}
    let whole = lines
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let rest = lines.get(whole..).unwrap_or_default();
    if !rest.is_empty() && serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_err() {
        if whole == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        lines.truncate(whole);
    }
    Ok(lines)
}

/// The header alone has the format's version; records have everything but that.
fn is_record(line: &[u8]) -> bool {
    !line.starts_with(br#"{"formatVersion""#)
}

fn header(path: &str, first: &Frame) -> Result<Header, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Versions {
        format_version: u32,
        schema: u32,
        #[serde(default)]
        host: String,
    }
    let line = first
        .lines
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let no_header = |_| {
        not_recording(
            path.to_owned(),
            "its first line is not a recording's header",
        )
    };
    // The versions alone come first: a later format may have another header.
    let Versions {
        format_version,
        schema,
        host,
    } = serde_json::from_slice(line).map_err(no_header)?;
    readable("format", format_version, FORMAT_VERSION, path, &host)?;
    readable("schema", schema, SCHEMA, path, &host)?;
    serde_json::from_slice(line).map_err(no_header)
}

/// Refuses what a later Binnacle wrote.
fn readable(
    what: &'static str,
    theirs: u32,
    ours: u32,
    path: &str,
    host: &str,
) -> Result<(), Error> {
    if theirs <= ours {
        return Ok(());
    }
    Err(Error::Newer {
        path: path.to_owned(),
        what,
        theirs,
        ours,
        host: host.to_owned(),
    })
}

fn not_recording(path: String, why: &str) -> Error {
    Error::NotRecording {
        path,
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_folders_holds_the_recordings_of_all_of_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for pod in ["b", "a", "modules"] {
            std::fs::create_dir(at(pod)).expect("it is made");
        }
        let names = [
            "a/binnacle-000000000002.jsonl.zst",
            "b/binnacle-000000000001.jsonl.zst",
        ];
        for name in names {
            std::fs::write(at(name), b"").expect("it is written");
        }
        let found = recordings(folder.path()).expect("they are found");
        assert_eq!(found, names.map(at));
        let own = "binnacle-000000000009.jsonl.zst";
        std::fs::write(at(own), b"").expect("it is written");
        assert_eq!(recordings(folder.path()).ok(), Some(vec![at(own)]));
        assert!(recordings(&at("modules")).is_err());
    }
}
