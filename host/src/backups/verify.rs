//! `binnacle backup verify`: reads a backup whole and says what etcd would find in it.

use std::time::Duration;

use anyhow::Context as _;
use contract::{SnapshotContent, Stored};
use serde::Serialize;

use super::{Opened, Which};
use crate::backup::{Archive, Entry};
use crate::output::{self, Format, grouped, span};
use crate::run::runtime;

/// Between two moves of the bar.
const BLINK: Duration = Duration::from_millis(200);

/// Arguments of `binnacle backup verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    which: Which,
    /// How the answer is printed
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// What a backup is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Verified {
    key: String,
    bytes: i64,
    sha256: String,
    /// Of the newest key in it.
    revision: i64,
    /// MAJOR.MINOR.0; empty where the cluster was too young to have noted it.
    etcd_version: String,
    took_ms: i64,
}

/// Reads and says what was found.
///
/// # Errors
/// The backup cannot be found or read, or is no whole backup.
pub fn verify(args: VerifyArgs) -> anyhow::Result<()> {
    let VerifyArgs { which, output } = args;
    let Which { whose, key } = which;
    let (verified, took) = runtime()?.block_on(async {
        let Opened { archive, .. } = whose.open().await?;
        let entry = archive.find(key.as_deref()).await?;
        let stored = proven(&archive, &entry).await?;
        let Stored {
            bytes,
            sha256,
            took,
            content,
            contents: _,
        } = stored;
        let SnapshotContent { revision, version } =
            content.context("nobody looked what is in it")?;
        let verified = Verified {
            key: entry.key,
            bytes,
            sha256,
            revision,
            etcd_version: version,
            took_ms: took.0,
        };
        anyhow::Ok((verified, took))
    })?;
    match output {
        Format::Text => output::print(format_args!(
            "{} is a whole backup: {} bytes, sha256:{}\nRevision {}, of etcd {}; read in {}.\n",
            verified.key,
            grouped(usize::try_from(verified.bytes).unwrap_or_default()),
            verified.sha256,
            verified.revision,
            match verified.etcd_version.as_str() {
                "" => "of a version that it does not name",
                version => version,
            },
            span(took)
        ))?,
        Format::Json => output::print_json(&verified)?,
    }
    Ok(())
}

/// Proves it while the bar moves.
async fn proven(archive: &Archive, entry: &Entry) -> anyhow::Result<Stored> {
    let progress = output::bar(&entry.key, u64::try_from(entry.bytes).unwrap_or_default());
    let mut blink = tokio::time::interval(BLINK);
    let proving = archive.prove(&entry.key);
    tokio::pin!(proving);
    let stored = loop {
        tokio::select! {
            stored = &mut proving => break stored,
            _ = blink.tick() => {
                let read = u64::try_from(archive.passed());
                progress.set_position(read.unwrap_or_default());
            }
        }
    };
    progress.finish_and_clear();
    stored
}
