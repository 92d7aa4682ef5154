//! What exchanging modules costs: the pointer and the first decision after it, decisions that are missed while modules are
//! exchanged under load, loading a module, asking a shadow, and memory that loading may leave behind.
//!
//! In this process with the operator's own parts, on the snapshots of a cluster that really lived. That nothing is missed
//! in a whole operator with a growing cluster is what the scenario `swaps_under_load_miss_nothing_and_do_nothing_twice` shows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use contract::{Millis, Snapshot};
use host::module::{Engine, Module, cache_directory};
use host::roster::{Lineup, Roster, Seat, Shadow};
use tests::sealed::marked;

use crate::decisions::snapshots;
use crate::figure::{Aim, Figure};
use crate::part::Bench;

/// Swaps while decisions are made.
const SWAPS: usize = 1_000;
/// Modules loaded, put in force and dropped.
const LOADS: usize = 2_000;
/// Threads that decide meanwhile.
const DECIDING: usize = 2;

pub(crate) async fn measure(bench: &mut Bench) -> Result<Vec<Figure>> {
    let snapshots = snapshots(&bench.recordings().await?)?;
    let first = snapshots.first().context("there is no decision")?;
    let stock = fs::read(&bench.suite.programs.module)?;
    let pair = [marked(&stock, "left")?, marked(&stock, "right")?];
    let engine = Engine::new(cache_directory(None).as_deref())?;
    let seats = pair
        .iter()
        .map(|bytes| seat(&engine, bytes))
        .collect::<Result<Vec<_>>>()?;
    let roster = Roster::new(Lineup::alone(Arc::clone(&seats[0])));

    let (mut swaps, mut missed, mut loads, mut shadows) = (vec![], vec![], vec![], vec![]);
    for sample in 0..bench.samples {
        swaps.push(swap_ms(&roster, &seats, first)?);
        missed.push(missed_under_load(&roster, &seats, &snapshots)?);
        loads.push(load_ms(&stock, sample)?);
        shadows.push(shadow_us(&engine, &pair[1], &seats[0], &snapshots)?);
    }
    let kept = kept_mib(&engine, &roster, &pair, first)?;
    Ok(vec![
        Figure::median("swap_ms", "ms", swaps).aiming_at(Aim::AtMost(1.0)),
        Figure::median("swap_missed", "decisions", missed).aiming_at(Aim::AtMost(0.0)),
        Figure::median("module_load_ms", "ms", loads),
        Figure::median("shadow_cost_us", "us", shadows),
        Figure::median("rss_after_2000_swaps_mib", "MiB", vec![kept]),
    ])
}

fn seat(engine: &Engine, bytes: &[u8]) -> Result<Arc<Seat>> {
    let module = Module::load(engine, bytes)?;
    Ok(Arc::new(Seat::of_object(
        module,
        "bench".to_owned(),
        3,
        Millis(0),
    )))
}

fn decide(roster: &Roster, snapshot: &[u8]) -> Result<String> {
    let lineup = roster.current();
    let seat = lineup.seat(&BTreeMap::new());
    seat.decide(snapshot)?;
    Ok(seat.digest().to_owned())
}

/// From before the pointer moves until the other module has decided.
fn swap_ms(roster: &Roster, seats: &[Arc<Seat>], snapshot: &[u8]) -> Result<f64> {
    let mut took = Vec::new();
    for swap in 0..SWAPS {
        let seat = &seats[swap % 2];
        let began = Instant::now();
        roster.publish(Lineup::alone(Arc::clone(seat)));
        let digest = decide(roster, snapshot)?;
        took.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(digest == seat.digest(), "another module decided");
    }
    took.sort_by(f64::total_cmp);
    Ok(took[SWAPS / 2])
}

/// Snapshots that were asked about while modules were exchanged, and not answered.
fn missed_under_load(roster: &Roster, seats: &[Arc<Seat>], snapshots: &[Vec<u8>]) -> Result<f64> {
    let (asked, answered) = (AtomicU64::new(0), AtomicU64::new(0));
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..DECIDING {
            scope.spawn(|| {
                for snapshot in snapshots.iter().cycle() {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                    let is_answered = decide(roster, snapshot).is_ok();
                    answered.fetch_add(u64::from(is_answered), Ordering::Relaxed);
                }
            });
        }
        for swap in 0..SWAPS {
            let before = asked.load(Ordering::Relaxed);
            roster.publish(Lineup::alone(Arc::clone(&seats[swap % 2])));
            // Else all swaps would be over before the first decision.
            while asked.load(Ordering::Relaxed) == before {
                std::thread::yield_now();
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    let (asked, answered) = (asked.into_inner(), answered.into_inner());
    ensure!(
        asked >= SWAPS as u64,
        "only {asked} decisions were asked for"
    );
    Ok(f64::from(u32::try_from(asked - answered)?))
}

/// From the bytes to a module that can decide, compiled where nothing was compiled before.
fn load_ms(stock: &[u8], sample: usize) -> Result<f64> {
    let bytes = marked(stock, &format!("load {sample} {}", std::process::id()))?;
    let engine = Engine::new(None)?;
    let began = Instant::now();
    Module::load(&engine, &bytes)?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

/// What one look of a shadow takes.
fn shadow_us(engine: &Engine, bytes: &[u8], followed: &Seat, snapshots: &[Vec<u8>]) -> Result<f64> {
    let shadow = Shadow::new(Module::load(engine, bytes)?, "bench".to_owned(), Millis(0));
    let mut read = Vec::new();
    for bytes in snapshots {
        let snapshot: Snapshot = serde_json::from_slice(bytes)?;
        read.push((snapshot, bytes, followed.decide(bytes)));
    }
    let began = Instant::now();
    for (snapshot, bytes, decided) in &read {
        let opinion = shadow.look(snapshot, bytes, decided);
        ensure!(!opinion.differs, "the same module differs");
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(u32::try_from(read.len())?))
}

/// Resident memory that 2,000 swaps of freshly loaded modules leave behind: the least of the last hundred over the least
/// of the second hundred. The least, because what the allocator gives back it gives back now and then.
fn kept_mib(engine: &Engine, roster: &Roster, pair: &[Vec<u8>; 2], snapshot: &[u8]) -> Result<f64> {
    let mut resident = Vec::with_capacity(LOADS);
    for swap in 0..LOADS {
        roster.publish(Lineup::alone(seat(engine, &pair[swap % 2])?));
        decide(roster, snapshot)?;
        resident.push(resident_mib()?);
    }
    let least = |swaps: &[f64]| swaps.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(least(&resident[LOADS - 100..]) - least(&resident[100..200]))
}

fn resident_mib() -> Result<f64> {
    let status = fs::read_to_string(Path::new("/proc/self/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line
        .context("the kernel tells no VmRSS")?
        .trim()
        .trim_end_matches(" kB")
        .parse()?;
    Ok(kib / 1024.0)
}
