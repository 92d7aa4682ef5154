//! Tells a person what is being waited for: which part, which of how many, since when.
//!
//! On a terminal one moving line, elsewhere one line a part.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Where the news of a long operation goes.
pub struct Progress {
    started: Instant,
    show: Show,
}

enum Show {
    Nothing,
    Lines,
    Line(ProgressBar),
}

impl Progress {
    /// Reports on standard error.
    #[must_use]
    pub fn on_stderr() -> Self {
        let show = if stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>4} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            Show::Line(bar)
        } else {
            Show::Lines
        };
        Self {
            started: Instant::now(),
            show,
        }
    }

    /// Reports nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            started: Instant::now(),
            show: Show::Nothing,
        }
    }

    /// Part `number` of `all` begins.
    pub(crate) fn part(&self, number: usize, all: usize, what: &str) {
        self.say(&format!("[{number}/{all}] {what}"));
    }

    /// One thing worth knowing.
    pub fn say(&self, what: &str) {
        match &self.show {
            Show::Nothing => {}
            Show::Lines => eprintln!("{:6.1}s {what}", self.started.elapsed().as_secs_f32()),
            Show::Line(bar) => bar.set_message(what.to_owned()),
        }
    }

    /// Ends the moving line and leaves `what` in its place.
    pub fn finish(&self, what: &str) {
        let seconds = self.started.elapsed().as_secs_f32();
        match &self.show {
            Show::Nothing => {}
            Show::Lines => eprintln!("{seconds:6.1}s {what}"),
            Show::Line(bar) => {
                bar.finish_and_clear();
                eprintln!("{what} ({seconds:.1} s)");
            }
        }
    }
}
