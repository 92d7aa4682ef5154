//! How many decisions a second `binnacle replay` makes again, on all processors of the machine.
//!
//! The recording is a real one, repeated until the start of the replay no longer counts.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use contract::Millis;
use host::module::{Engine, Module, cache_directory};
use host::recorder::{Header, Limits, Record, Recorder, Recording, recordings};
use host::replay::{Question, replay};

use crate::figure::{Aim, Figure};
use crate::part::Bench;

/// Records of the long recording.
const RECORDS: usize = 50_000;
/// Records between two flushes: about those of a frame, and fewer than the recorder's queue takes.
const AT_ONCE: usize = 100;

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let short = bench.recordings().await?;
    let long = bench.suite.folder.join("long-recording");
    let engine = Engine::new(cache_directory(None).as_deref())?;
    let bytes = std::fs::read(&bench.suite.programs.module)?;
    let module = Module::load(&engine, &bytes)?;
    let header = Header::new(engine.hash(), module.digest().to_owned(), Millis(0));
    let recorder = Recorder::open(&long, Limits::default(), header)?;
    recorder.keep_module(module.digest(), bytes);
    repeat(&recorder, &records(&short)?);
    drop(recorder);

    let mut rates = Vec::new();
    for _ in 0..bench.samples {
        let began = Instant::now();
        let tally = replay(&engine, std::slice::from_ref(&long), &Question::default())?;
        let took = began.elapsed().as_secs_f64();
        ensure!(
            tally.equal() == RECORDS && tally.without_fuel() == 0,
            "{} of {} decisions are equal",
            tally.equal(),
            tally.decisions()
        );
        rates.push(f64::from(u32::try_from(tally.decisions())?) / took);
    }
    Ok(vec![
        Figure::median("replay_per_s", "decisions", rates).aiming_at(Aim::AtLeast(25_000.0)),
    ])
}

fn repeat(recorder: &Recorder, records: &[Record]) {
    for (number, record) in records.iter().cycle().take(RECORDS).enumerate() {
        recorder.record(record.clone());
        if number % AT_ONCE == 0 {
            recorder.flush();
        }
    }
}

fn records(folder: &Path) -> Result<Vec<Record>> {
    let mut found = Vec::new();
    for file in recordings(folder)? {
        let mut recording = Recording::open(&file)?;
        while let Some(frame) = recording.next_frame()? {
            for record in frame.records() {
                found.push(record?);
            }
        }
    }
    ensure!(!found.is_empty(), "{} has no record", folder.display());
    Ok(found)
}
