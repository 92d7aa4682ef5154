//! How one module does: decisions, failures, fuel.
//!
//! Counts since the module came into its role; knows no module.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::{FuelUsed, Millis};

/// Failures that are older count no more against the limit.
pub const WINDOW: Duration = Duration::from_secs(600);
/// Decisions whose fuel is remembered.
const FUEL_OF: usize = 512;
/// No limit is higher, so no more failures than these are remembered.
const MOST_FAILURES: usize = 1001;

/// The counts of one module in one role.
#[derive(Debug)]
pub struct Counts {
    since: Millis,
    decisions: AtomicU64,
    failures: AtomicU64,
    recent: Mutex<VecDeque<Instant>>,
    fuel: Mutex<VecDeque<u64>>,
}

impl Counts {
    /// All at zero, `since` this time.
    #[must_use]
    pub const fn new(since: Millis) -> Self {
        Self {
            since,
            decisions: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            recent: Mutex::new(VecDeque::new()),
            fuel: Mutex::new(VecDeque::new()),
        }
    }

    /// When counting began.
    #[must_use]
    pub const fn since(&self) -> Millis {
        self.since
    }

    /// Snapshots it was asked about.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.decisions.load(Ordering::Relaxed)
    }

    /// Snapshots that were not, or not within the envelope.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Failures within [`WINDOW`] before `now`.
    #[must_use]
    pub fn failures_lately(&self, now: Instant) -> usize {
        let is_late = |at: &&Instant| now.saturating_duration_since(**at) < WINDOW;
        locked(&self.recent).iter().filter(is_late).count()
    }

    /// What the last decisions used; none before the first.
    #[must_use]
    pub fn fuel(&self) -> Option<FuelUsed> {
        let mut used: Vec<u64> = locked(&self.fuel).iter().copied().collect();
        used.sort_unstable();
        let at = |hundredth: usize| {
            let place = (used.len() * hundredth).div_ceil(100).max(1) - 1;
            used.get(place)
                .map(|fuel| i64::try_from(*fuel).unwrap_or(i64::MAX))
        };
        Some(FuelUsed {
            p50: at(50)?,
            p99: at(99)?,
        })
    }

    pub(super) fn note_decision(&self, fuel: u64) {
        self.decisions.fetch_add(1, Ordering::Relaxed);
        let mut used = locked(&self.fuel);
        used.push_back(fuel);
        if used.len() > FUEL_OF {
            used.pop_front();
        }
    }

    /// Asked, and no answer.
    pub(super) fn note_silence(&self, now: Instant) {
        self.decisions.fetch_add(1, Ordering::Relaxed);
        self.note_failure(now);
    }

    pub(super) fn note_failure(&self, now: Instant) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut recent = locked(&self.recent);
        recent.push_back(now);
        if recent.len() > MOST_FAILURES {
            recent.pop_front();
        }
    }
}

/// Numbers in a list cannot be left half-changed, so poison means nothing here.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_long_ago_are_counted_and_borne() {
        let (counts, began) = (Counts::new(Millis(0)), Instant::now());
        counts.note_failure(began);
        counts.note_failure(began + Duration::from_secs(300));
        assert_eq!(counts.failures_lately(began + Duration::from_secs(301)), 2);
        assert_eq!(counts.failures_lately(began + WINDOW), 1);
        assert_eq!(counts.failures(), 2);
    }

    #[test]
    fn fuel_is_that_of_the_last_decisions() {
        let counts = Counts::new(Millis(0));
        assert_eq!(counts.fuel(), None);
        for fuel in 1..=600 {
            counts.note_decision(fuel);
        }
        // The last 512 are 89 to 600.
        assert_eq!(counts.fuel(), Some(FuelUsed { p50: 344, p99: 595 }));
        assert_eq!(counts.decisions(), 600);
    }
}
