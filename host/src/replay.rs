//! `binnacle replay`: decides recorded snapshots again, with no cluster, and says whether each decision is equal.
//!
//! Runs the very engine that serves. Compares bytes; it does not know what makes a decision good. Another module is
//! compared with the recording, or with a second module on the same snapshots.

mod compare;
mod modules;
mod progress;
mod tally;
mod text;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::bail;

use crate::module::{Engine, Source};
use crate::output::{self, Format};
use crate::recorder::{Break, Frame, ReadError, Record, Recording, recordings};

pub use compare::Found;
pub use modules::Error as ModuleError;
pub use tally::Tally;

use modules::Modules;
use progress::Progress;

/// Arguments of `binnacle replay`.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// Recordings: files, or directories of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The module to decide with; without it, each recording's own, as kept beside it.
    #[arg(short, long)]
    module: Option<PathBuf>,
    /// A second module: what it decides is compared with what the first one decides, instead of with the recording.
    #[arg(long, value_name = "MODULE")]
    against: Option<PathBuf>,
    /// Only the record of this number, with all that is other about it.
    #[arg(long, value_name = "RECORD")]
    sequence: Option<u64>,
    /// How the answer is printed.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Why a replay could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] ReadError),
    /// A module cannot be had.
    #[error(transparent)]
    Module(#[from] ModuleError),
}

/// Replays and prints. The verdict is for the exit code.
///
/// # Errors
/// When a recording or a module cannot be read, or the answer cannot be printed.
pub fn run(args: &ReplayArgs) -> anyhow::Result<Verdict> {
    let ReplayArgs {
        paths,
        module,
        against,
        sequence,
        output,
    } = args;
    let engine = Engine::new(crate::module::cache_directory(None).as_deref())?;
    let find = |path: &Option<PathBuf>| {
        let path = path.as_deref();
        path.map(|path| Source::find(Some(path))).transpose()
    };
    let question = Question {
        module: find(module)?,
        against: find(against)?,
        sequence: *sequence,
    };
    let began = Instant::now();
    let tally = replay(&engine, paths, &question)?;
    for place in tally.breaks() {
        output::note(place);
    }
    if let Some(sequence) = sequence
        && tally.decisions() == 0
    {
        let names: Vec<_> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        bail!(
            "no record {sequence} can be read in {}: `binnacle explain PATH` lists them",
            names.join(", ")
        );
    }
    match output {
        Format::Text => {
            let sides = if against.is_some() {
                text::MODULES
            } else {
                text::RECORDED
            };
            output::print(text::text(&tally, sides, began.elapsed()))?;
        }
        Format::Json => output::print_json(&tally)?,
    }
    Ok(Verdict::of(&tally))
}

/// What a replay comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every decision is equal.
    Equal,
    /// At least one is not.
    Differs,
    /// A recording is damaged, or nothing was there to replay.
    Unreadable,
}

impl Verdict {
    /// The verdict on a tally. A recording that is only cut off counts for what it holds.
    #[must_use]
    pub fn of(tally: &Tally) -> Self {
        let damaged = tally.breaks().iter().any(|place| !place.cut_off);
        if tally.differing() > 0 {
            Self::Differs
        } else if damaged || tally.decisions() == 0 {
            Self::Unreadable
        } else {
            Self::Equal
        }
    }
}

/// What is asked of a recording.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Decides again; without it, each record's own module does.
    pub module: Option<Source>,
    /// Decides beside it, and is compared with it instead of with the recording.
    pub against: Option<Source>,
    /// The only record that is looked at.
    pub sequence: Option<u64>,
}

/// Decides what `paths` hold again, on all processors, with memory for a few frames.
///
/// # Errors
/// The first recording or module that cannot be read.
pub fn replay(engine: &Engine, paths: &[PathBuf], question: &Question) -> Result<Tally, Error> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(recordings(path)?);
    }
    let modules = Modules::new(engine, question)?;
    let progress = Progress::of(&files);
    let tally = Mutex::new(Tally::default());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let (frames, work) = sync_channel(workers * 2);
    // Only the workers hold the receiving end: when the last one fails, sending fails too.
    let work = Arc::new(Mutex::new(work));
    std::thread::scope(|scope| {
        let judges: Vec<_> = (0..workers)
            .map(|_| {
                let (work, modules, tally, progress) =
                    (Arc::clone(&work), &modules, &tally, &progress);
                scope.spawn(move || judge_frames(&work, modules, tally, progress))
            })
            .collect();
        drop(work);
        let read = read_frames(&files, &frames, &modules, &tally, &progress);
        drop(frames);
        for judge in judges {
            match judge.join() {
                Ok(judged) => judged?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        read
    })?;
    progress.end();
    Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// A frame, with its file and that file's place among all.
type Work = (usize, PathBuf, Frame);

fn read_frames(
    files: &[PathBuf],
    frames: &SyncSender<Work>,
    modules: &Modules<'_>,
    tally: &Mutex<Tally>,
    progress: &Progress,
) -> Result<(), Error> {
    for (index, file) in files.iter().enumerate() {
        let mut recording = Recording::open(file)?;
        modules.offer(recording.header());
        while let Some(frame) = recording.next_frame()? {
            // Workers are gone only when they failed; their error is the one that counts.
            if frames.send((index, file.clone(), frame)).is_err() {
                return Ok(());
            }
            progress.at(index, recording.position());
        }
        note_break(tally, recording.broken());
    }
    Ok(())
}

fn judge_frames(
    work: &Mutex<Receiver<Work>>,
    modules: &Modules<'_>,
    tally: &Mutex<Tally>,
    progress: &Progress,
) -> Result<(), Error> {
    loop {
        let next = locked(work).recv();
        let Ok((index, file, frame)) = next else {
            return Ok(());
        };
        let mut part = Tally::default();
        for record in frame.records() {
            let record = record?;
            if modules.is_asked(&record) {
                judge(&record, index, &file, modules, &mut part)?;
                progress.add();
            }
        }
        locked(tally).merge(part);
    }
}

fn judge(
    record: &Record,
    index: usize,
    file: &std::path::Path,
    modules: &Modules<'_>,
    tally: &mut Tally,
) -> Result<(), Error> {
    let module = modules.of(record, file)?;
    match modules.against() {
        Some(against) => {
            let found = compare::of_modules(record, &module, against);
            tally.count(record, &[&module, against], found, index);
        }
        None => {
            let found = compare::with_record(record, &module, modules.engine());
            tally.count(record, &[&module], found, index);
        }
    }
    Ok(())
}

fn note_break(tally: &Mutex<Tally>, place: Option<&Break>) {
    if let Some(place) = place {
        locked(tally).note_break(place.clone());
    }
}

/// A panic elsewhere ends the replay anyway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
