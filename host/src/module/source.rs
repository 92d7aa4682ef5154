//! Where the module's bytes are, and what they are called.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Error;

/// The file name of the module that ships with the host.
const FILE: &str = "reconciler.wasm";
/// Where packages and images put it.
const INSTALLED: &str = "/usr/share/binnacle/reconciler.wasm";

/// A module's bytes and where they came from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Source {
    /// Reads the module that was named, else the one that ships with this host: beside the executable, else where
    /// packages and images put it.
    ///
    /// # Errors
    /// When the named file cannot be read, or none was named and none is there.
    pub fn find(named: Option<&Path>) -> Result<Self, Error> {
        if let Some(path) = named {
            return Self::read(path);
        }
        let places: Vec<PathBuf> = beside_executable()
            .into_iter()
            .chain([PathBuf::from(INSTALLED)])
            .collect();
        match places.iter().find(|place| place.is_file()) {
            Some(place) => Self::read(place),
            None => Err(Error::Missing {
                places: places
                    .iter()
                    .map(|place| place.display().to_string())
                    .collect(),
            }),
        }
    }

    fn read(path: &Path) -> Result<Self, Error> {
        std::fs::read(path)
            .map(|bytes| Self {
                path: path.to_owned(),
                bytes,
            })
            .map_err(|source| Error::Unreadable {
                path: path.display().to_string(),
                source,
            })
    }
}

/// `reconciler.wasm` beside the executable; for one in cargo's `target/debug`, also the one in `target`.
fn beside_executable() -> Vec<PathBuf> {
    let Ok(executable) = std::env::current_exe() else {
        return Vec::new();
    };
    executable
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(FILE))
        .collect()
}

/// The name of a module: `sha256:` and the hex digest of its bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Bytes as lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
