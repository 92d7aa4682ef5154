//! A module that is asked and not followed.
//!
//! It cannot act by construction: what it decides does not leave this file. What comes out is an [`Opinion`], which holds
//! no action but as recorded text, and the executor takes none.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

use contract::{FirstDifference, Millis, Snapshot};

use super::Counts;
use super::counts::locked;
use crate::difference::{self, Change, Difference};
use crate::module::{Answer, Failure, Module};
use crate::output;
use crate::recorder::ShadowRecord;

/// Kinds of differences that are told apart; further ones count as one.
const KINDS: usize = 16;
/// Kinds of which the first one is shown.
const SHOWN: usize = 5;
/// Lines of a difference that are shown.
const LINES: usize = 8;
/// Name of the kind that gathers the rest.
const REST: &str = "of further kinds";

/// A module beside the one that decides.
#[derive(Debug)]
pub struct Shadow {
    module: Module,
    object: String,
    counts: Counts,
    differences: Mutex<Differences>,
}

/// Differences so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// How many, by kind.
    pub by_kind: BTreeMap<String, u64>,
    /// The first of each kind.
    pub first: Vec<FirstDifference>,
}

impl Differences {
    /// How many in all.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.by_kind.values().sum()
    }

    fn note(&mut self, difference: &Difference, cluster: &str, at: Millis) {
        let kind = difference.cause();
        let is_known = self.by_kind.contains_key(&kind);
        if is_known || self.by_kind.len() < KINDS {
            *self.by_kind.entry(kind.clone()).or_default() += 1;
        } else {
            *self.by_kind.entry(REST.to_owned()).or_default() += 1;
        }
        if !is_known && self.first.len() < SHOWN {
            self.first.push(FirstDifference {
                kind,
                cluster: cluster.to_owned(),
                at: output::time(at),
                what: lines(difference),
            });
        }
    }
}

/// What a shadow said of one snapshot, for the recording and the metrics.
#[derive(Clone, Debug)]
pub struct Opinion {
    /// What is recorded of it.
    pub record: ShadowRecord,
    /// It differs from what was followed.
    pub differs: bool,
    /// It failed, or the envelope would have refused it.
    pub failed: bool,
}

impl Shadow {
    /// The module of a ReconcilerModule.
    #[must_use]
    pub fn new(module: Module, object: String, since: Millis) -> Self {
        Self {
            module,
            object,
            counts: Counts::new(since),
            differences: Mutex::default(),
        }
    }

    /// Asks it about a snapshot, given in both forms, and compares with what was `followed`. Blocks as
    /// [`Module::decide`] does.
    pub fn look(
        &self,
        snapshot: &Snapshot,
        bytes: &[u8],
        followed: &Result<Answer, Failure>,
    ) -> Opinion {
        let decided = self.module.decide(bytes);
        let refused = match &decided {
            Ok(answer) => {
                self.counts.note_decision(answer.fuel);
                envelope::permit(&answer.decision, snapshot).is_err()
            }
            Err(_) => false,
        };
        if refused {
            self.counts.note_failure(Instant::now());
        } else if decided.is_err() {
            self.counts.note_silence(Instant::now());
        }
        let failed = refused || decided.is_err();
        let difference = difference::between(followed.as_ref(), decided.as_ref());
        if let Some(difference) = &difference {
            let resource = &snapshot.resource;
            let cluster = format!("{}/{}", resource.namespace, resource.name);
            locked(&self.differences).note(difference, &cluster, snapshot.now);
        }
        Opinion {
            record: ShadowRecord::new(
                &self.object,
                self.module.digest(),
                decided,
                refused,
                difference.as_ref().map(Difference::cause),
            ),
            differs: difference.is_some(),
            failed,
        }
    }

    /// The module's digest.
    #[must_use]
    pub fn digest(&self) -> &str {
        self.module.digest()
    }

    /// What the module says of itself.
    #[must_use]
    pub const fn description(&self) -> &contract::Description {
        self.module.description()
    }

    /// Size of the module in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.module.size()
    }

    /// Name of the ReconcilerModule that put it there.
    #[must_use]
    pub fn object(&self) -> &str {
        &self.object
    }

    /// How it does.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The differences so far.
    #[must_use]
    pub fn differences(&self) -> Differences {
        locked(&self.differences).clone()
    }
}

fn lines(difference: &Difference) -> Vec<String> {
    let said = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
    match difference {
        Difference::Answer { changes } => changes
            .iter()
            .take(LINES)
            .map(
                |Change {
                     cause: _,
                     what,
                     recorded,
                     replayed,
                 }| {
                    format!(
                        "{what}: followed {}, shadow {}",
                        said(recorded),
                        said(replayed)
                    )
                },
            )
            .collect(),
        Difference::Fuel { recorded, replayed } => {
            vec![format!("fuel: followed {recorded}, shadow {replayed}")]
        }
        Difference::Failure { recorded, replayed } => {
            let told = |failure: &Option<crate::recorder::RecordedFailure>| {
                failure
                    .as_ref()
                    .map_or_else(|| "answered".to_owned(), |failure| failure.message.clone())
            };
            vec![format!(
                "followed: {}; shadow: {}",
                told(recorded),
                told(replayed)
            )]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(name: &str) -> Difference {
        Difference::Failure {
            recorded: None,
            replayed: Some(crate::recorder::RecordedFailure {
                name: name.to_owned(),
                message: format!("the module met {name}"),
            }),
        }
    }

    #[test]
    fn each_kind_is_counted_and_its_first_one_shown() {
        let mut differences = Differences::default();
        for _ in 0..3 {
            differences.note(&failure("Trap"), "infra/kv", Millis(0));
        }
        differences.note(&failure("OutOfFuel"), "infra/other", Millis(1));
        assert_eq!(differences.count(), 4);
        assert_eq!(differences.by_kind["Trap instead of an answer"], 3);
        let first: Vec<_> = differences
            .first
            .iter()
            .map(|one| one.cluster.as_str())
            .collect();
        assert_eq!(first, ["infra/kv", "infra/other"]);
    }

    /// A module that is wrong in ever new ways must not grow a status without bound.
    #[test]
    fn kinds_beyond_the_bound_are_counted_as_one() {
        let mut differences = Differences::default();
        for kind in 0..100 {
            differences.note(&failure(&kind.to_string()), "infra/kv", Millis(0));
        }
        assert_eq!(differences.count(), 100);
        assert_eq!(differences.by_kind.len(), KINDS + 1);
        assert_eq!(differences.first.len(), SHOWN);
    }
}
