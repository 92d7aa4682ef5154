//! The directory of recordings: numbered segments, modules by digest, and the bound on both.
//!
//! Knows nothing of what stands in a segment but the number of its last record.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;

use super::frame;
use crate::module::digest;

/// Segments a full ring is made of: what is forgotten at once is this part of it.
const SEGMENTS: u64 = 16;
/// Segments are named by the number of their first record.
const PREFIX: &str = "binnacle-";
pub(super) const SUFFIX: &str = ".jsonl.zst";
/// Where modules are kept.
const MODULES: &str = "modules";

/// A directory that holds at most so many bytes.
#[derive(Debug)]
pub(super) struct Ring {
    directory: PathBuf,
    bytes: u64,
}

impl Ring {
    pub(super) fn open(directory: &Path, bytes: u64) -> io::Result<Self> {
        fs::create_dir_all(directory.join(MODULES))?;
        Ok(Self {
            directory: directory.to_owned(),
            bytes,
        })
    }

    /// Size at which a segment is closed.
    pub(super) const fn segment_bytes(&self) -> u64 {
        self.bytes / SEGMENTS
    }

    /// Begins the segment whose first record is `seq`.
    pub(super) fn begin(&self, seq: u64) -> io::Result<File> {
        let path = self.directory.join(format!("{PREFIX}{seq:012}{SUFFIX}"));
        File::options().write(true).create_new(true).open(path)
    }

    /// The number of the last record in the newest segment that has a whole frame.
    pub(super) fn last_seq(&self) -> io::Result<Option<u64>> {
        for segment in segments(&self.directory)?.iter().rev() {
            let content = fs::read(segment)?;
            let lines = frame::whole(&content)
                .pop()
                .map(|mut last| frame::unpack(&mut last));
            if let Some(Ok(lines)) = lines
                && let Some(seq) = last_seq(&lines)
            {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }

    /// Keeps a module, under a name that only a whole file ever has.
    pub(super) fn keep_module(&self, digest: &str, bytes: &[u8]) -> io::Result<()> {
        let path = module_file(&self.directory, digest);
        if path.exists() {
            return self.touch(digest);
        }
        let unfinished = path.with_extension("part");
        fs::write(&unfinished, bytes)?;
        fs::rename(unfinished, path)
    }

    /// Notes that a record of this moment needs the module. A module's time is that of its last use.
    pub(super) fn touch(&self, digest: &str) -> io::Result<()> {
        match File::options()
            .write(true)
            .open(module_file(&self.directory, digest))
        {
            Ok(file) => file.set_modified(SystemTime::now()),
            // Not every module is kept here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes the oldest segments until the directory is within its bound, then the modules that were last used before
    /// the oldest segment left was written to.
    pub(super) fn prune(&self) -> io::Result<()> {
        let modules = self.directory.join(MODULES);
        let mut total = size(&modules)? + size(&self.directory)?;
        let mut oldest = None;
        for segment in segments(&self.directory)? {
            let metadata = fs::metadata(&segment)?;
            if total <= self.bytes {
                oldest = Some(metadata.modified()?);
                break;
            }
            total = total.saturating_sub(metadata.len());
            fs::remove_file(segment)?;
        }
        let Some(oldest) = oldest else { return Ok(()) };
        for file in fs::read_dir(&modules)? {
            let path = file?.path();
            // What stands beside a module is of use for as long as the module is, whose time is that of its last use.
            let used = fs::metadata(path.with_extension("wasm")).or_else(|_| fs::metadata(&path));
            if used?.modified()? < oldest {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Bytes of the files directly in a directory.
fn size(directory: &Path) -> io::Result<u64> {
    fs::read_dir(directory)?.try_fold(0, |total, file| {
        let metadata = file?.metadata()?;
        Ok(total
            + if metadata.is_file() {
                metadata.len()
            } else {
                0
            })
    })
}

/// The segments of a directory, oldest first.
pub(super) fn segments(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut segments = Vec::new();
    for file in fs::read_dir(directory)? {
        let path = file?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            segments.push(path);
        }
    }
    segments.sort();
    Ok(segments)
}

/// Whether a file of this name, relative to its directory, is a segment or a module.
pub(super) fn is_of_recorder(name: &str) -> bool {
    let hex = between(name, &format!("{MODULES}/"), ".wasm");
    let is_module = hex
        .is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|one| one.is_ascii_alphanumeric()));
    is_segment(name) || is_module
}

/// Whether a file of this name is a segment.
pub(super) fn is_segment(name: &str) -> bool {
    let number = between(name, PREFIX, SUFFIX);
    number
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|one| one.is_ascii_digit()))
}

fn between<'a>(name: &'a str, prefix: &str, suffix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix)?.strip_suffix(suffix)
}

/// The modules that are kept in a directory of recordings, whole ones only.
pub(super) fn modules(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = directory.join(MODULES);
    let mut found = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "wasm")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Where the module of this digest is kept in a directory of recordings.
#[must_use]
pub fn module_file(directory: &Path, digest: &str) -> PathBuf {
    directory.join(module_name(digest))
}

/// The name of the module of this digest, relative to its directory of recordings.
#[must_use]
pub fn module_name(digest: &str) -> String {
    let name = digest.strip_prefix("sha256:").unwrap_or(digest);
    // A digest comes from a file that anybody may have written: only its digits become part of a path.
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{MODULES}/{name}.wasm")
}

/// The module of this digest, if it is kept in a directory of recordings and is what it is named after.
#[must_use]
pub fn kept_module(directory: &Path, name: &str) -> Option<Vec<u8>> {
    let bytes = fs::read(module_file(directory, name)).ok()?;
    (digest(&bytes) == name).then_some(bytes)
}

/// The number of the last record in some lines.
pub(super) fn last_seq(lines: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        seq: u64,
    }
    let last = lines
        .strip_suffix(b"\n")
        .unwrap_or(lines)
        .rsplit(|byte| *byte == b'\n')
        .next()?;
    serde_json::from_slice::<Numbered>(last)
        .ok()
        .map(|record| record.seq)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A module without the signatures it came with could not be used where those are asked for.
    #[test]
    fn what_stands_beside_a_module_is_kept_and_forgotten_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let ring = Ring::open(folder.path(), 1 << 20).expect("a ring");
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        let files = |name: &str| {
            let module = module_file(folder.path(), name);
            [module.clone(), module.with_extension("proof")]
        };
        for path in [files("used"), files("unused")].concat() {
            fs::write(&path, b"bytes").expect("a file");
            let file = File::options().write(true).open(path).expect("a file");
            file.set_modified(long_ago).expect("a time");
        }
        let segment = ring.begin(1).expect("a segment");
        let since = SystemTime::now() - Duration::from_secs(60);
        segment.set_modified(since).expect("a time");
        ring.touch("used").expect("it is kept");
        ring.prune().expect("it is within its bound");
        assert!(files("used").iter().all(|file| file.exists()));
        assert!(files("unused").iter().all(|file| !file.exists()));
    }
}
