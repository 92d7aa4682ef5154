//! How far a replay has come, for whoever waits at a terminal.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::grouped;

/// How often the eye wants news.
const BLINK: Duration = Duration::from_millis(100);

pub(super) struct Progress {
    bar: ProgressBar,
    /// Bytes of all files before each file.
    before: Vec<u64>,
    decisions: AtomicUsize,
    /// How many of [`BLINK`] had passed when it was told last.
    told: AtomicU64,
}

impl Progress {
    /// Hidden by itself where standard error is no terminal.
    pub(super) fn of(files: &[PathBuf]) -> Self {
        let mut total = 0;
        let before = files
            .iter()
            .map(|file| {
                let before = total;
                total += file.metadata().map_or(0, |metadata| metadata.len());
                before
            })
            .collect();
        let bar = ProgressBar::new(total);
        // The template is fixed and right, or a test of it fails; a bar of another look would do too.
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent}%  {msg}  {elapsed}") {
            bar.set_style(style);
        }
        Self {
            bar,
            before,
            decisions: AtomicUsize::new(0),
            told: AtomicU64::new(0),
        }
    }

    /// The reader stands at `position` of a file.
    pub(super) fn at(&self, file: usize, position: u64) {
        self.bar
            .set_position(self.before.get(file).copied().unwrap_or_default() + position);
    }

    /// One more decision is made.
    pub(super) fn add(&self) {
        let total = self.decisions.fetch_add(1, Ordering::Relaxed) + 1;
        let elapsed = self.bar.elapsed();
        let blinks = u64::try_from(elapsed.as_millis() / BLINK.as_millis()).unwrap_or_default();
        if self.told.swap(blinks, Ordering::Relaxed) == blinks {
            return;
        }
        let seconds = elapsed.as_secs_f64().max(0.001);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a rate for the eye"
        )]
        let rate = (total as f64 / seconds) as usize;
        self.bar
            .set_message(format!("{} decisions, {}/s", grouped(total), grouped(rate)));
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
