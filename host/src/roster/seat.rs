//! A module that acts: its answers are followed.

use std::time::Instant;

use contract::Millis;

use super::Counts;
use crate::module::{Answer, Failure, Module};

/// A module in an acting role, and how it does there.
#[derive(Debug)]
pub struct Seat {
    module: Module,
    /// The ReconcilerModule that put it there; none for the module that the operator was started with.
    object: Option<String>,
    failure_limit: usize,
    counts: Counts,
}

impl Seat {
    /// The module that the operator was started with. It has no limit, because nothing could take its place.
    #[must_use]
    pub const fn built_in(module: Module, since: Millis) -> Self {
        Self {
            module,
            object: None,
            failure_limit: usize::MAX,
            counts: Counts::new(since),
        }
    }

    /// The module of a ReconcilerModule.
    #[must_use]
    pub const fn of_object(
        module: Module,
        object: String,
        failure_limit: usize,
        since: Millis,
    ) -> Self {
        Self {
            module,
            object: Some(object),
            failure_limit,
            counts: Counts::new(since),
        }
    }

    /// Asks for a decision and counts it. Blocks, as [`Module::decide`] does.
    ///
    /// # Errors
    /// As [`Module::decide`].
    pub fn decide(&self, snapshot: &[u8]) -> Result<Answer, Failure> {
        let decided = self.module.decide(snapshot);
        match &decided {
            Ok(answer) => self.counts.note_decision(answer.fuel),
            Err(_) => self.counts.note_silence(Instant::now()),
        }
        decided
    }

    /// The envelope refused a decision as a whole.
    pub fn note_refused(&self) {
        self.counts.note_failure(Instant::now());
    }

    /// Whether it failed more often of late than its limit allows.
    #[must_use]
    pub fn is_failing(&self, now: Instant) -> bool {
        self.counts.failures_lately(now) > self.failure_limit
    }

    /// Failures within the window that are borne.
    #[must_use]
    pub const fn failure_limit(&self) -> usize {
        self.failure_limit
    }

    /// The module.
    #[must_use]
    pub const fn module(&self) -> &Module {
        &self.module
    }

    /// The module's digest, which every decision of it names.
    #[must_use]
    pub fn digest(&self) -> &str {
        self.module.digest()
    }

    /// Name of the ReconcilerModule that put it there.
    #[must_use]
    pub fn object(&self) -> Option<&str> {
        self.object.as_deref()
    }

    /// How it does.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }
}
