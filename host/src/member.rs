//! What runs in a member's pod before etcd, when its disk is filled from a backup: `binnacle member fetch` and
//! `binnacle member place`. Between the two, etcd's own tool makes a data folder.
//!
//! # Guarantees
//! The member's data folder appears in one step and is never written over. What an earlier attempt left half done is
//! removed first. With `--skip true` nothing is done.

mod witness;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use contract::{EtcdBackupSpec, names};

use crate::backup;
use crate::output;

pub use witness::{WitnessArgs, witness};

/// The member's data, in the folder of its disk.
const DATA: &str = "data";

/// Arguments of `binnacle member fetch`.
#[derive(Debug, clap::Args)]
pub struct FetchArgs {
    #[command(flatten)]
    common: Common,
    /// Where the backup is: the part of a spec that says so, as JSON
    #[arg(long, value_name = "JSON")]
    source: String,
    /// The folder in which the Secret of the store is mounted
    #[arg(long, value_name = "DIR", default_value = names::STORE_MOUNT)]
    credentials: PathBuf,
    /// The sha-256 that the backup must have
    #[arg(long, value_name = "HEX")]
    sha256: String,
}

/// Arguments of `binnacle member place`.
#[derive(Debug, clap::Args)]
pub struct PlaceArgs {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Whether to do nothing, because the member has its data
    #[arg(long, value_name = "BOOL", default_value_t = false, action = clap::ArgAction::Set)]
    skip: bool,
    /// The folder of the member's disk
    #[arg(long, value_name = "DIR", default_value = names::DATA_MOUNT)]
    disk: PathBuf,
}

/// Fetches the backup into the folder of the filling.
///
/// # Errors
/// It cannot be fetched or is another than the proven one.
pub fn fetch(args: &FetchArgs) -> anyhow::Result<()> {
    let FetchArgs {
        common: Common { skip, disk },
        source,
        credentials,
        sha256,
    } = args;
    if *skip {
        return said("The member has its data.");
    }
    let source: EtcdBackupSpec = serde_json::from_str(source).context("--source cannot be read")?;
    let folder = disk.join(names::FILLING_FOLDER);
    remove(&folder)?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("{} cannot be made", folder.display()))?;
    backup::prepare();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    let file = folder.join(names::FETCHED_FILE);
    let bytes = runtime.block_on(backup::fetch(&source, credentials, &file, sha256))?;
    said(&format!("Fetched {bytes} bytes with the sha-256 {sha256}."))
}

/// Puts the data folder into its place, unless there is one, and removes what is not needed any more.
///
/// # Errors
/// The disk fails.
pub fn place(args: &PlaceArgs) -> anyhow::Result<()> {
    let PlaceArgs {
        common: Common { skip, disk },
    } = args;
    if *skip {
        return said("The member has its data.");
    }
    let folder = disk.join(names::FILLING_FOLDER);
    let data = disk.join(DATA);
    let words = if data.exists() {
        "There is data already; it stays."
    } else {
        std::fs::rename(folder.join(DATA), &data).with_context(|| {
            format!(
                "{} cannot be put in its place as {}",
                folder.join(DATA).display(),
                data.display()
            )
        })?;
        // That the name is on the disk must outlast a crash of the node.
        let opened = std::fs::File::open(disk);
        opened
            .and_then(|folder| folder.sync_all())
            .with_context(|| format!("{} is not safely written", disk.display()))?;
        "The data is in its place."
    };
    remove(&folder)?;
    said(words)
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("{} cannot be removed", folder.display())),
    }
}

fn said(words: &str) -> anyhow::Result<()> {
    output::print(format_args!("{words}\n"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placing(disk: &Path, skip: bool) -> anyhow::Result<()> {
        let common = Common {
            skip,
            disk: disk.to_owned(),
        };
        place(&PlaceArgs { common })
    }

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    #[test]
    fn data_gets_into_its_place_once_and_is_never_written_over() {
        let disk = tempfile::tempdir().expect("a folder");
        let disk = disk.path();
        assert!(placing(disk, false).is_err(), "nothing was restored");
        write(&disk.join("restore/data/member/wal"), "restored");
        write(&disk.join("restore/snapshot.db"), "fetched");
        placing(disk, false).expect("placed");
        let read = || std::fs::read_to_string(disk.join("data/member/wal")).expect("data");
        assert_eq!(read(), "restored");
        assert!(!disk.join("restore").exists());
        write(&disk.join("data/member/wal"), "written since");
        write(&disk.join("restore/data/member/wal"), "restored");
        placing(disk, false).expect("kept");
        assert_eq!(read(), "written since");
        write(&disk.join("restore/snapshot.db"), "left");
        placing(disk, true).expect("skipped");
        assert!(disk.join("restore/snapshot.db").exists());
    }
}
