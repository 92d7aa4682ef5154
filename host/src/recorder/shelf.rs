//! A folder of recordings as it is handed out: segments and modules by name and size.
//!
//! # Guarantees
//! Names are plain and of the recorder's own making, on both sides: nothing else of a disk is read or written by them.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ring;

/// One file of a folder of recordings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its name; that of a module has its folder before it.
    pub name: String,
    /// How long it was when it was looked at. The newest segment grows.
    pub bytes: u64,
}

impl Kept {
    /// Whether it holds decisions, and no module.
    #[must_use]
    pub fn is_segment(&self) -> bool {
        ring::is_segment(&self.name)
    }

    /// The path of this name within `folder`, if it is a name that a recorder gives.
    #[must_use]
    pub fn within(&self, folder: &Path) -> Option<PathBuf> {
        ring::is_of_recorder(&self.name).then(|| folder.join(&self.name))
    }
}

/// What a folder of recordings holds: modules first, then segments, oldest first.
///
/// # Errors
/// When it cannot be read.
pub fn kept(folder: &Path) -> io::Result<Vec<Kept>> {
    let paths = [ring::modules(folder)?, ring::segments(folder)?].concat();
    let sized = paths.into_iter().filter_map(|path| {
        let name = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
        // What was forgotten since the folder was read is not there.
        let bytes = path.metadata().ok()?.len();
        Some(Kept { name, bytes })
    });
    Ok(sized
        .filter(|one| ring::is_of_recorder(&one.name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_a_recorder_gives_become_paths() {
        let kept = |name: &str| Kept {
            name: name.to_owned(),
            bytes: 0,
        };
        let folder = Path::new("/f");
        let hex = "0123456789abcdef".repeat(4);
        for good in [
            "binnacle-000000000001.jsonl.zst".to_owned(),
            format!("modules/{hex}.wasm"),
        ] {
            assert_eq!(kept(&good).within(folder), Some(folder.join(&good)));
        }
        for bad in [
            "../binnacle-000000000001.jsonl.zst",
            "binnacle-/../../x.jsonl.zst",
            "/etc/passwd",
            "modules/../x.wasm",
            "modules/x/y.wasm",
            "modules/0123.part",
            "binnacle-1.jsonl",
            "",
        ] {
            assert_eq!(kept(bad).within(folder), None, "{bad}");
        }
    }
}
