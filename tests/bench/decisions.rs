//! What a decision costs in the sealed module and natively, on the snapshots of a cluster that really lived.
//!
//! In the module as the host calls it: bytes in, a fresh instance, answer read. Natively the same work: snapshot read,
//! judged, answer written.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use contract::Snapshot;
use host::module::{Engine, Module, cache_directory};
use host::recorder::{Record, Recording, recordings};

use crate::figure::{Aim, Figure};
use crate::part::Bench;

/// Snapshots of clusters of these sizes, at rest and not.
const SIZES: [usize; 2] = [3, 5];
/// How often all snapshots are decided for one sample.
const ROUNDS: usize = 5;

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let folder = bench.recordings().await?;
    let engine = Engine::new(cache_directory(None).as_deref())?;
    let module = Module::load(&engine, &std::fs::read(&bench.suite.programs.module)?)?;
    let snapshots = snapshots(&folder)?;
    ensure!(
        !snapshots.is_empty(),
        "{} has no decision",
        folder.display()
    );
    let bytes: usize = snapshots.iter().map(Vec::len).sum();
    eprintln!(
        "  {} snapshots of {} bytes on average",
        snapshots.len(),
        bytes / snapshots.len()
    );

    let (mut sealed, mut native) = (Vec::new(), Vec::new());
    // The first round finds all caches cold and does not count.
    for round in 0..=bench.samples {
        let in_module = micros(&snapshots, |bytes| Ok(module.decide(bytes)?.bytes.len()))?;
        let natively = micros(&snapshots, |bytes| {
            let snapshot: Snapshot = serde_json::from_slice(bytes)?;
            Ok(serde_json::to_vec(&reconciler::reconcile(&snapshot))?.len())
        })?;
        if round > 0 {
            sealed.push(in_module);
            native.push(natively);
        }
    }
    Ok(vec![
        Figure::ratio("decision_wasm_over_native", sealed.clone(), native.clone())
            .aiming_at(Aim::AtMost(2.0)),
        Figure::median("decision_wasm_us", "us", sealed),
        Figure::median("decision_native_us", "us", native),
    ])
}

/// The bytes that crossed the boundary.
pub(crate) fn snapshots(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for file in recordings(folder)? {
        let mut recording = Recording::open(&file)?;
        while let Some(frame) = recording.next_frame()? {
            for record in frame.records() {
                let record = record?;
                if has_size(&record)? {
                    found.push(record.snapshot.get().as_bytes().to_vec());
                }
            }
        }
    }
    Ok(found)
}

/// Whether etcd's list had one of [`SIZES`].
fn has_size(record: &Record) -> Result<bool> {
    let snapshot: Snapshot = serde_json::from_str(record.snapshot.get())?;
    let members = snapshot
        .etcd
        .membership
        .seen()
        .map(|list| list.members.len());
    Ok(members.is_some_and(|count| SIZES.contains(&count)))
}

/// Microseconds of one decision, as the mean over all snapshots.
fn micros(snapshots: &[Vec<u8>], decide: impl Fn(&[u8]) -> Result<usize>) -> Result<f64> {
    let began = Instant::now();
    for _ in 0..ROUNDS {
        for bytes in snapshots {
            ensure!(decide(bytes)? > 0, "an empty answer");
        }
    }
    let decisions = u32::try_from(snapshots.len() * ROUNDS)?;
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(decisions))
}
