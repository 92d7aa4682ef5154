//! `binnacle record cut`: one file out of recordings, of one cluster and one time, with the modules that decided within it.
//!
//! The file is a bug report, and put into a folder of recordings it is a test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use contract::Millis;
use serde_json::json;

use crate::module::{Source, digest};
use crate::output::{self, Format, count, grouped};
use crate::recorder::{Export, Header, Record, Recording, kept_module, recordings};

/// Arguments of `binnacle record cut`.
#[derive(Debug, clap::Args)]
pub struct CutArgs {
    /// Recordings: files, or directories of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only this cluster: NAMESPACE/NAME, or its UID
    #[arg(long)]
    cluster: Option<String>,
    /// Not before this time, such as 2026-11-21T12:50:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<jiff::Timestamp>,
    /// Not after this time
    #[arg(long, value_name = "TIME")]
    until: Option<jiff::Timestamp>,
    /// The file to write; it must not be there
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// How it is told what was written
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Which records are taken.
struct Choice<'a> {
    cluster: Option<&'a str>,
    from: Option<Millis>,
    until: Option<Millis>,
}

impl Choice<'_> {
    fn takes(&self, record: &Record) -> bool {
        let of_cluster = self.cluster.is_none_or(|wanted| {
            let cluster = &record.cluster;
            wanted == cluster.uid
                || wanted.split_once('/') == Some((&cluster.namespace, &cluster.name))
        });
        of_cluster
            && self.from.is_none_or(|from| record.now >= from)
            && self.until.is_none_or(|until| record.now <= until)
    }
}

/// What a first look found.
#[derive(Default)]
struct Found {
    header: Option<Header>,
    records: usize,
    /// Digests of modules that decided or were asked beside.
    needed: BTreeSet<String>,
    modules: BTreeMap<String, Vec<u8>>,
}

/// Cuts and says what was written.
///
/// # Errors
/// When a recording cannot be read, nothing is chosen, or the file cannot be written.
pub fn cut(args: &CutArgs) -> anyhow::Result<()> {
    let CutArgs {
        paths,
        cluster,
        from,
        until,
        to,
        output,
    } = args;
    let millis = |time: &jiff::Timestamp| Millis(time.as_millisecond());
    let choice = Choice {
        cluster: cluster.as_deref(),
        from: from.as_ref().map(millis),
        until: until.as_ref().map(millis),
    };
    let mut files = Vec::new();
    for path in paths {
        files.extend(recordings(path)?);
    }
    let found = look(&files, &choice)?;
    let Some(mut header) = found.header.filter(|_| found.records > 0) else {
        bail!(
            "no record is of that cluster and time; `binnacle explain` lists those that are there"
        );
    };
    header.modules.clear();
    let mut missing = Vec::new();
    for name in &found.needed {
        match found.modules.get(name) {
            Some(bytes) => header.carry(name, bytes)?,
            None => missing.push(name.as_str()),
        }
    }
    let unwritable = || format!("{} cannot be written", to.display());
    let mut export = Export::create(to, &header).with_context(unwritable)?;
    each(&files, |_, record| {
        if choice.takes(&record) {
            export.push(&record).with_context(unwritable)?;
        }
        Ok(())
    })?;
    export.finish().with_context(unwritable)?;
    for name in &missing {
        output::note(format_args!(
            "The module {name} is not kept anywhere near; whoever replays the file needs it."
        ));
    }
    let size = to.metadata().map_or(0, |metadata| metadata.len());
    match output {
        Format::Text => output::print(format_args!(
            "{}: {} with {} inside, {} bytes\n",
            to.display(),
            count(found.records, "decision"),
            count(found.needed.len() - missing.len(), "module"),
            grouped(usize::try_from(size).unwrap_or_default())
        ))?,
        Format::Json => output::print_json(&json!({
            "file": to,
            "decisions": found.records,
            "modules": header.modules.keys().collect::<Vec<_>>(),
            "missingModules": missing,
            "bytes": size,
        }))?,
    }
    Ok(())
}

/// The first of two readings, so that the header can say what the file holds and nothing large is kept in memory.
fn look(files: &[PathBuf], choice: &Choice<'_>) -> anyhow::Result<Found> {
    let mut found = Found::default();
    for file in files {
        let recording = Recording::open(file)?;
        let header = recording.header();
        found.modules.extend(header.carried());
        found.header.get_or_insert_with(|| header.clone());
    }
    each(files, |file, record| {
        if !choice.takes(&record) {
            return Ok(());
        }
        found.records += 1;
        let beside = record.shadows.iter().map(|shadow| &shadow.module);
        for name in std::iter::once(&record.module).chain(beside) {
            if found.needed.insert(name.clone())
                && !found.modules.contains_key(name)
                && let Some(bytes) = bytes(file, name)
            {
                found.modules.insert(name.clone(), bytes);
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// A module beside the recording, else the one that ships with this Binnacle if it is the very same.
fn bytes(file: &std::path::Path, name: &str) -> Option<Vec<u8>> {
    let shipped = || {
        let Source { path: _, bytes } = Source::find(None).ok()?;
        (digest(&bytes) == name).then_some(bytes)
    };
    kept_module(file.parent()?, name).or_else(shipped)
}

fn each(
    files: &[PathBuf],
    mut visit: impl FnMut(&std::path::Path, Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for file in files {
        let mut recording = Recording::open(file)?;
        while let Some(frame) = recording.next_frame()? {
            for record in frame.records() {
                visit(file, record?)?;
            }
        }
        if let Some(place) = recording.broken() {
            output::note(place);
        }
    }
    Ok(())
}
