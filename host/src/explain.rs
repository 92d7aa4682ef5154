//! `binnacle explain`: tells a living cluster, or a recorded decision, in words, or lists decisions to choose from.
//!
//! It tells what was seen, decided and done; it judges nothing and decides nothing again.

mod living;
mod results;
mod seen;
mod story;
mod table;
mod which;
pub(crate) mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde_json::json;

use crate::operator::Reach;
use crate::output::{self, Format, count};
use crate::recorder::{Record, Recording, recordings};
use crate::run::runtime;
use which::Which;

/// Arguments of `binnacle explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// A recording, which is a file or a directory of them; or a living EtcdCluster, by its name or as
    /// etcdcluster.etcd.improbable.io/NAME where each group has one
    #[arg(value_name = "PATH|[TYPE/]NAME")]
    what: PathBuf,
    /// Of a recording: the number of the decision to tell; without it, all decisions are listed
    #[arg(long, value_name = "SEQ")]
    at: Option<u64>,
    /// Of a living cluster: its namespace; without it, that of the kubeconfig
    #[arg(short, long)]
    namespace: Option<String>,
    /// Of a living cluster: the operator's namespace; without it, that of the cluster
    #[arg(long, value_name = "NAMESPACE")]
    operator_namespace: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// How the answer is printed
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Prints a living cluster or one decision in words, or the list of all decisions.
///
/// # Errors
/// When the cluster or the recording cannot be read or has no such decision, or the answer cannot be printed.
pub fn run(args: ExplainArgs) -> anyhow::Result<()> {
    let ExplainArgs {
        what,
        at,
        namespace,
        operator_namespace,
        reach,
        output,
    } = args;
    match living_cluster(&what, at.is_some(), namespace.is_some()) {
        Some(which) => {
            let asked = living::Asked {
                which,
                namespace,
                operators: operator_namespace,
                reach,
            };
            runtime()?.block_on(living::explain(asked, output))
        }
        None => recorded(&what, at, output),
    }
}

/// What has the form of a name and is no file is a cluster's name.
fn living_cluster(what: &Path, is_at: bool, has_namespace: bool) -> Option<Which> {
    let which = Which::read(what.to_str()?)?;
    (!is_at && (has_namespace || !what.exists())).then_some(which)
}

fn recorded(path: &Path, at: Option<u64>, output: Format) -> anyhow::Result<()> {
    let files = recordings(path)?;
    let Some(seq) = at else {
        if table::print(&files, output)? == 0 {
            bail!("{} holds no decision that can be read", path.display());
        }
        return Ok(());
    };
    let found = find(&files, seq)?;
    let places: BTreeSet<&Path> = found.iter().map(|(file, _)| *file).collect();
    if places.is_empty() {
        bail!(
            "{} has no record {seq}: list them with `binnacle explain {0}`",
            path.display()
        );
    }
    if places.len() > 1 {
        let places: Vec<_> = places
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        bail!(
            "several recordings have a record {seq}: name the one that is meant, of {}",
            places.join(", ")
        );
    }
    // A cut may reach over the start of an operator, and each operator counts its own decisions.
    if found.len() > 1 {
        output::note(format!(
            "{} have the number {seq}, of one operator each; all are told.",
            count(found.len(), "record")
        ));
    }
    for (_, record) in found {
        let story = story::tell(&record)?;
        match output {
            Format::Text => output::print(story)?,
            Format::Json => output::print_json(&json!({ "record": record, "words": story }))?,
        }
    }
    Ok(())
}

/// The records of this number in each file that has any.
fn find(files: &[PathBuf], seq: u64) -> anyhow::Result<Vec<(&Path, Record)>> {
    let mut found = Vec::new();
    for file in files {
        each_record(std::slice::from_ref(file), |record| {
            if record.seq == seq {
                found.push((file.as_path(), record));
            }
            Ok(true)
        })?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_paths() {
        let name = |what: &str, at, namespace| living_cluster(Path::new(what), at, namespace);
        assert_eq!(name("shop", false, false), Which::read("shop"));
        assert_eq!(name("src", false, true), Which::read("src"));
        assert_eq!(name("src", false, false), None, "a folder of this crate");
        for path in ["./shop", "shop.jsonl.zst", "/var/lib", ""] {
            assert_eq!(name(path, false, true), None, "{path}");
        }
        assert_eq!(name("shop", true, false), None);
    }
}
