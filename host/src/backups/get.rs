//! `binnacle backup get`: one backup into a file, as `etcdutl snapshot restore` takes it.
//!
//! # Guarantees
//! The file appears only once all bytes are there and etcd's own hash fits them. What is there already is not written over.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use serde::Serialize;

use super::{Opened, Which};
use crate::backup::{Archive, Entry};
use crate::output::{self, Format, grouped};
use crate::run::runtime;

/// Arguments of `binnacle backup get`.
#[derive(Debug, clap::Args)]
pub struct GetArgs {
    #[command(flatten)]
    which: Which,
    /// The file to write; it must not be there
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// How it is told what was written
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// What was fetched.
#[derive(Debug, Serialize)]
struct Got {
    file: PathBuf,
    key: String,
    bytes: i64,
    sha256: String,
}

/// Fetches and says what was written.
///
/// # Errors
/// The backup cannot be found, read or written, or is no whole backup.
pub fn get(args: GetArgs) -> anyhow::Result<()> {
    let GetArgs { which, to, output } = args;
    ensure!(
        !to.exists(),
        "{} is there already, and is not written over",
        to.display()
    );
    let Which { whose, key } = which;
    let got = runtime()?.block_on(async {
        let Opened { archive, .. } = whose.open().await?;
        let entry = archive.find(key.as_deref()).await?;
        fetch(&archive, entry, to).await
    })?;
    match output {
        Format::Text => output::print(format_args!(
            "{}  {} bytes  sha256:{}\n{} was read whole, and the hash that etcd appends fits it.\n",
            got.file.display(),
            grouped(usize::try_from(got.bytes).unwrap_or_default()),
            got.sha256,
            got.key
        ))?,
        Format::Json => output::print_json(&got)?,
    }
    Ok(())
}

async fn fetch(archive: &Archive, entry: Entry, to: PathBuf) -> anyhow::Result<Got> {
    let unwritable = || format!("{} cannot be written", to.display());
    let unfinished = unfinished(&to);
    let created = File::create_new(&unfinished);
    let mut file =
        created.with_context(|| format!("{} cannot be written", unfinished.display()))?;
    let progress = output::bar(&entry.key, u64::try_from(entry.bytes).unwrap_or_default());
    let take = |bytes: &[u8]| {
        progress.inc(bytes.len() as u64);
        let written = file.write_all(bytes);
        written.map_err(|error| format!("{} cannot be written: {error}", to.display()))
    };
    let read = tokio::select! {
        read = archive.read(&entry.key, take) => read,
        _ = tokio::signal::ctrl_c() => Err(anyhow!("interrupted; nothing was kept")),
    };
    progress.finish_and_clear();
    let kept = match read {
        Ok(sha256) => file
            .sync_all()
            .and_then(|()| std::fs::rename(&unfinished, &to))
            .with_context(unwritable)
            .map(|()| sha256),
        Err(error) => Err(error),
    };
    if kept.is_err() {
        // The error that led here is the one to tell.
        let _ = std::fs::remove_file(&unfinished);
    }
    let Entry { key, bytes, .. } = entry;
    Ok(Got {
        sha256: kept?,
        file: to,
        key,
        bytes,
    })
}

fn unfinished(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".part");
    name.into()
}
