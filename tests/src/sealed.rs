//! The sealed module and the binary `binnacle`, built from this checkout by the very verb that everybody uses.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Context as _;
use cargo_metadata::MetadataCommand;

use crate::cargo;

/// What `make wasm` leaves behind.
#[derive(Debug)]
pub struct Sealed {
    /// The root of the checkout.
    pub checkout: PathBuf,
    /// The module's file.
    pub file: PathBuf,
    /// The module's bytes.
    pub bytes: Vec<u8>,
    /// The binary of the development profile.
    pub binary: PathBuf,
}

/// Builds both where need be, once a process.
///
/// # Panics
/// When they cannot be built; the build's own words are on standard error.
pub fn sealed() -> &'static Sealed {
    static SEALED: OnceLock<Sealed> = OnceLock::new();
    SEALED.get_or_init(|| match build() {
        Ok(sealed) => sealed,
        Err(error) => panic!("the sealed module cannot be built: {error:#}"),
    })
}

fn build() -> anyhow::Result<Sealed> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let checkout = metadata.workspace_root.into_std_path_buf();
    let status = cargo::command("make")
        .args(["--no-print-directory", "wasm"])
        .current_dir(&checkout)
        .status()?;
    anyhow::ensure!(status.success(), "`make wasm` ended with {status}");
    let target = metadata.target_directory.into_std_path_buf();
    let file = target.join("reconciler.wasm");
    let bytes = std::fs::read(&file)?;
    Ok(Sealed {
        checkout,
        file,
        bytes,
        binary: target.join("debug/binnacle"),
    })
}

/// The same module with another digest: a section that nothing reads, with `mark` in it.
///
/// # Errors
/// When the mark has more than a hundred bytes.
pub fn marked(module: &[u8], mark: &str) -> anyhow::Result<Vec<u8>> {
    const NAME: &str = "mark";
    let length = u8::try_from(1 + NAME.len() + mark.len())
        .ok()
        .filter(|length| *length < 0x80)
        .context("the mark is too long for one byte of length")?;
    let name_length = u8::try_from(NAME.len())?;
    Ok([
        module,
        &[0, length, name_length],
        NAME.as_bytes(),
        mark.as_bytes(),
    ]
    .concat())
}
