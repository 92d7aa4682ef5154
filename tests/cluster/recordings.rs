//! What all the other scenarios recorded, decided once more: by the sealed module, and by the same judgement natively.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use contract::Snapshot;
use host::module::digest;
use host::recorder::{ReadError, Record, Recording, recordings};
use serde::Deserialize;
use tests::scenario::Suite;
use tokio::process::Command;

use crate::model::{Compared, compare};

/// What `binnacle replay` sums up.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tally {
    decisions: usize,
    equal: usize,
    without_fuel: usize,
    differing: usize,
    ways: serde_json::Value,
}

pub(crate) async fn replay_in_wasm(suite: &Suite) -> Result<()> {
    let folders = folders(&suite.folder)?;
    let replay = Command::new(&suite.programs.program)
        .arg("replay")
        .args(&folders)
        .args(["--output", "json"])
        .stdin(Stdio::null())
        .output()
        .await
        .context("binnacle replay cannot be started")?;
    let complaint = String::from_utf8_lossy(&replay.stderr);
    let tally: Tally = serde_json::from_slice(&replay.stdout)
        .with_context(|| format!("binnacle replay said {complaint}"))?;
    eprintln!(
        "  {} decisions of {} recordings were replayed",
        tally.decisions,
        folders.len()
    );
    let differences = serde_json::to_string_pretty(&tally.ways)?;
    ensure!(
        tally.differing == 0,
        "{} of {} decisions differ: {differences}",
        tally.differing,
        tally.decisions
    );
    ensure!(
        tally.equal == tally.decisions && tally.decisions > 0,
        "{tally:?}"
    );
    ensure!(
        tally.without_fuel == 0,
        "the fuel of {} decisions was not compared",
        tally.without_fuel
    );
    ensure!(
        replay.status.success(),
        "binnacle replay ended with {}: {complaint}",
        replay.status
    );
    Ok(())
}

/// Held against the model that all simulated histories rest on.
#[allow(
    clippy::unused_async,
    reason = "a scenario is a future, and this one waits for nobody"
)]
pub(crate) async fn are_as_the_model(suite: &Suite) -> Result<()> {
    let compared = compare(&folders(&suite.folder)?)?;
    let Compared {
        members, objects, ..
    } = &compared;
    eprintln!("  {members}\n  {objects}");
    ensure!(
        compared.agrees(),
        "the model is not as reality was: {members}; {objects}:\n{}",
        compared.differences.join("\n")
    );
    ensure!(
        members.steps > 0 && objects.done > 0,
        "nothing was ever changed"
    );
    Ok(())
}

pub(crate) async fn decide_natively(suite: &Suite) -> Result<()> {
    // Scenarios roll out other modules, too; this judgement is the stock one's.
    let stock = digest(&fs::read(&suite.programs.module)?);
    let mut decided = 0_usize;
    for folder in folders(&suite.folder)? {
        for file in recordings(&folder)? {
            let mut recording = Recording::open(&file)?;
            while let Some(frame) = recording.next_frame()? {
                for record in frame.records() {
                    let record = record?;
                    if record.module == stock {
                        decided += usize::from(is_same_natively(&record)?);
                    }
                }
            }
        }
    }
    eprintln!("  {decided} decisions are the same natively");
    ensure!(decided > 0, "nothing was recorded");
    Ok(())
}

/// Decides a recorded snapshot natively. False when there was no answer to compare with.
fn is_same_natively(record: &Record) -> Result<bool> {
    let Some(answer) = &record.answer else {
        return Ok(false);
    };
    let of = || {
        format!(
            "record {} of {}/{}",
            record.seq, record.cluster.namespace, record.cluster.name
        )
    };
    let snapshot: Snapshot = serde_json::from_str(record.snapshot.get()).with_context(of)?;
    let native = serde_json::to_string(&reconciler::reconcile(&snapshot)).with_context(of)?;
    ensure!(
        native == answer.get(),
        "{}: {native}\n  is not what was recorded: {}",
        of(),
        answer.get()
    );
    Ok(true)
}

/// The folders of recordings that scenarios left; a scenario that failed early left an empty one.
fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for scenario in fs::read_dir(of)? {
        let folder = scenario?.path().join("recordings");
        match recordings(&folder) {
            _ if !folder.is_dir() => {}
            Ok(_) => folders.push(folder),
            Err(ReadError::Empty { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    folders.sort();
    Ok(folders)
}
