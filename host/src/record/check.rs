//! `binnacle record check`: proves that no Secret data is in recordings.
//!
//! # Guarantees
//! Every snapshot holds the fields of the contract and no others, and those have digests and dates of Secrets alone; no text
//! of any record looks like a private key or a token; and none holds a value of the Secrets that are given to compare with.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use contract::{Decision, Snapshot};
use k8s_openapi::api::core::v1::Secret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::needles::{Needles, SHORTEST};
use crate::output::{self, Format, count};
use crate::recorder::{Record, Recording, recordings};

/// Findings that are told one by one; the others are counted.
const TOLD: usize = 20;

/// Arguments of `binnacle record check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Recordings: files, or directories of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Secrets whose values must not be there: what `kubectl get secrets --output json` prints
    #[arg(long, value_name = "FILE")]
    secrets: Vec<PathBuf>,
    /// How the answer is printed
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// What was checked and what was found.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    records: usize,
    /// Values of Secrets that were looked for.
    values: usize,
    findings: usize,
    first: Vec<Finding>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    file: PathBuf,
    /// The record; none where it is the file's header, or the file itself.
    seq: Option<u64>,
    what: String,
}

/// Checks and prints. True when nothing was found.
///
/// # Errors
/// When a recording or a file of Secrets cannot be read.
pub fn check(args: &CheckArgs) -> anyhow::Result<bool> {
    let CheckArgs {
        paths,
        secrets,
        output,
    } = args;
    let mut known = Vec::new();
    for path in secrets {
        known.extend(read_secrets(path)?);
    }
    let needles = Needles::new(&known);
    anyhow::ensure!(
        secrets.is_empty() || needles.values() > 0,
        "there is no value to look for in the files of --secrets, which is what `kubectl get secrets --output json` prints: \
         certificates, and values of less than {SHORTEST} bytes, are not looked for"
    );
    let mut report = Report {
        values: needles.values(),
        ..Report::default()
    };
    for path in paths {
        for file in recordings(path)? {
            check_file(&file, &needles, &mut report)?;
        }
    }
    anyhow::ensure!(report.records > 0, "no record could be read");
    match output {
        Format::Text => output::print(text(&report))?,
        Format::Json => output::print_json(&report)?,
    }
    Ok(report.findings == 0)
}

fn check_file(file: &Path, needles: &Needles, report: &mut Report) -> anyhow::Result<()> {
    let mut recording = Recording::open(file)?;
    while let Some(frame) = recording.next_frame()? {
        for line in frame.lines() {
            let whole: Value = serde_json::from_slice(line).unwrap_or_default();
            let seq = whole.get("seq").and_then(Value::as_u64);
            // Spelled anew, so that nothing hides behind another spelling of the same text.
            let found = needles.found_in(&whole.to_string()).map(like);
            report.note(file, seq, found);
        }
        for record in frame.records() {
            let record = record?;
            report.records += 1;
            report.note(file, Some(record.seq), strangers(&record));
        }
    }
    if let Some(place) = recording.broken() {
        output::note(place);
        let damaged = "what follows the damage cannot be looked through".to_owned();
        report.note(file, place.after, Some(damaged).filter(|_| !place.cut_off));
    }
    Ok(())
}

fn like(secret: &str) -> String {
    format!("it holds what looks like {secret}")
}

impl Report {
    fn note(&mut self, file: &Path, seq: Option<u64>, found: impl IntoIterator<Item = String>) {
        for what in found {
            self.findings += 1;
            if self.first.len() < TOLD {
                self.first.push(Finding {
                    file: file.to_owned(),
                    seq,
                    what,
                });
            }
        }
    }
}

/// What is beyond the contract, and nobody can vouch for.
fn strangers(record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let stranger = stranger::<Snapshot>(&record.snapshot);
    found.extend(stranger.map(|what| format!("the snapshot {what}")));
    if let Some(answer) = &record.answer {
        let stranger = self::stranger::<Decision>(answer);
        found.extend(stranger.map(|what| format!("the answer {what}")));
    }
    found
}

/// Says what in a document is beyond its type. Unknown fields are dropped in reading, so they are missing afterwards.
fn stranger<T: DeserializeOwned + Serialize>(raw: &RawValue) -> Option<String> {
    let whole: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let known = match serde_json::from_str::<T>(raw.get()) {
        Ok(known) => serde_json::to_value(known).unwrap_or_default(),
        Err(error) => return Some(format!("is none that this Binnacle knows: {error}")),
    };
    let path = beyond(&whole, &known, "")?;
    Some(format!(
        "holds {path}, which this Binnacle does not know and cannot vouch for"
    ))
}

/// The path of the first field of `whole` that `known` has not.
fn beyond(whole: &Value, known: &Value, path: &str) -> Option<String> {
    match (whole, known) {
        (Value::Object(whole), Value::Object(known)) => whole.iter().find_map(|(key, value)| {
            let path = format!("{path}.{key}");
            match known.get(key) {
                Some(known) => beyond(value, known, &path),
                // What is left out when it is empty says nothing.
                None if is_empty(value) => None,
                None => Some(path),
            }
        }),
        (Value::Array(whole), Value::Array(known)) => {
            let pairs = whole.iter().zip(known).enumerate();
            pairs
                .into_iter()
                .find_map(|(at, (whole, known))| beyond(whole, known, &format!("{path}[{at}]")))
        }
        (_, _) => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

fn read_secrets(path: &Path) -> anyhow::Result<Vec<Secret>> {
    let unreadable = || format!("{} cannot be read as Secrets", path.display());
    let mut document: Value =
        serde_json::from_slice(&std::fs::read(path).with_context(unreadable)?)
            .with_context(unreadable)?;
    let items = match document.get_mut("items") {
        Some(items) => items.take(),
        None => Value::Array(vec![document]),
    };
    serde_json::from_value(items).with_context(unreadable)
}

fn text(report: &Report) -> String {
    let Report {
        records,
        values,
        findings,
        first,
    } = report;
    let mut text = String::new();
    for Finding { file, seq, what } in first {
        let place = seq.map_or_else(String::new, |seq| format!(", record {seq}"));
        text.push_str(&format!("{}{place}: {what}\n", file.display()));
    }
    if *findings > first.len() {
        text.push_str(&format!("… and {} more.\n", findings - first.len()));
    }
    let looked = match values {
        0 => "for keys and tokens by their shape".to_owned(),
        values => format!(
            "for keys and tokens by their shape and for {}",
            count(*values, "value")
        ),
    };
    let verdict = match findings {
        0 => "No Secret data was found".to_owned(),
        findings => count(*findings, "finding"),
    };
    text.push_str(&format!(
        "{verdict} in {}, looked through {looked}.\n",
        count(*records, "record")
    ));
    text
}
