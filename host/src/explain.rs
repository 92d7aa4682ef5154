//! `binnacle explain`: tells a recorded decision in words, or lists decisions to choose from.
//!
//! Reads recordings alone. It tells what was seen, decided and done; it judges nothing and decides nothing again.

mod results;
mod seen;
mod story;
mod table;
mod words;

use std::path::PathBuf;

use anyhow::bail;
use serde_json::json;

use crate::output::{self, Format};
use crate::recorder::{Record, Recording, recordings};

/// Arguments of `binnacle explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// A recording: a file, or a directory of them.
    path: PathBuf,
    /// The number of the decision to tell; without it, all decisions are listed.
    #[arg(long, value_name = "SEQ")]
    at: Option<u64>,
    /// How the answer is printed.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Prints one decision in words, or the list of all.
///
/// # Errors
/// When the recording cannot be read or has no such decision, or the answer cannot be printed.
pub fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let ExplainArgs { path, at, output } = args;
    let files = recordings(path)?;
    let Some(seq) = at else {
        if table::print(&files, *output)? == 0 {
            bail!("{} holds no decision that can be read", path.display());
        }
        return Ok(());
    };
    let Some(record) = find(&files, *seq)? else {
        bail!(
            "{} has no record {seq}: list them with `binnacle explain {0}`",
            path.display()
        );
    };
    let story = story::tell(&record)?;
    match output {
        Format::Text => output::print(story)?,
        Format::Json => output::print_json(&json!({ "record": record, "words": story }))?,
    }
    Ok(())
}

fn find(files: &[PathBuf], seq: u64) -> anyhow::Result<Option<Record>> {
    let mut found = None;
    each_record(files, |record| {
        if record.seq == seq {
            found = Some(record);
        }
        Ok(found.is_none())
    })?;
    Ok(found)
}

/// Hands out all records in order, until told to stop by false. Says on standard error where a recording breaks off.
fn each_record(
    files: &[PathBuf],
    mut take: impl FnMut(Record) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    for file in files {
        let mut recording = Recording::open(file)?;
        while let Some(frame) = recording.next_frame()? {
            for record in frame.records() {
                if !take(record?)? {
                    return Ok(());
                }
            }
        }
        if let Some(place) = recording.broken() {
            output::note(place);
        }
    }
    Ok(())
}
