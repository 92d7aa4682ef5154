//! What a replay found, summed up: how many decisions differ, and in how many ways.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::compare::Found;
use crate::difference::Difference;
use crate::module::Module;
use crate::recorder::{Break, Record};

/// Ways that are told apart; differences of further ones are counted together.
const WAYS: usize = 100;
/// What those are called.
const FURTHER: &str = "further ways";

/// Sums over replayed decisions, and an example of each way in which some differ.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    decisions: usize,
    equal: usize,
    /// Equal ones whose fuel could not be compared, because module or engine are others than those recorded.
    without_fuel: usize,
    /// Equal ones that are equal failures.
    failed_alike: usize,
    differing: usize,
    clusters: BTreeSet<String>,
    /// Digests of the modules that decided again.
    modules: BTreeSet<String>,
    /// By cause.
    ways: BTreeMap<String, Way>,
    breaks: Vec<Break>,
}

/// Differences of one cause.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Way {
    pub(super) count: usize,
    /// The first one of the recording.
    pub(super) example: Told,
}

/// One difference, and where it is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    #[serde(skip)]
    file: usize,
    pub(super) seq: u64,
    pub(super) now: contract::Millis,
    pub(super) cluster: String,
    #[serde(flatten)]
    pub(super) difference: Difference,
}

impl Told {
    const fn place(&self) -> (usize, u64) {
        (self.file, self.seq)
    }
}

impl Tally {
    /// Decisions made again.
    #[must_use]
    pub const fn decisions(&self) -> usize {
        self.decisions
    }

    /// Those that are equal.
    #[must_use]
    pub const fn equal(&self) -> usize {
        self.equal
    }

    /// Those that are not.
    #[must_use]
    pub const fn differing(&self) -> usize {
        self.differing
    }

    /// In how many ways they differ.
    #[must_use]
    pub fn ways(&self) -> usize {
        self.ways.len()
    }

    /// Equal ones whose fuel was not compared.
    #[must_use]
    pub const fn without_fuel(&self) -> usize {
        self.without_fuel
    }

    /// Where recordings break off.
    #[must_use]
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    pub(super) const fn failed_alike(&self) -> usize {
        self.failed_alike
    }

    pub(super) fn clusters(&self) -> usize {
        self.clusters.len()
    }

    pub(super) const fn modules(&self) -> &BTreeSet<String> {
        &self.modules
    }

    /// Causes, the most frequent first.
    pub(super) fn by_count(&self) -> Vec<(&str, &Way)> {
        let mut ways: Vec<_> = self
            .ways
            .iter()
            .map(|(cause, way)| (cause.as_str(), way))
            .collect();
        ways.sort_by_key(|(_, way)| (usize::MAX - way.count, way.example.place()));
        ways
    }

    pub(super) fn note_break(&mut self, place: Break) {
        self.breaks.push(place);
    }

    /// Counts one record that was decided by these modules.
    pub(super) fn count(&mut self, record: &Record, by: &[&Module], found: Found, file: usize) {
        self.decisions += 1;
        insert(&mut self.clusters, &record.cluster.uid);
        for module in by {
            insert(&mut self.modules, module.digest());
        }
        match found {
            Found::Equal { fuel_compared } => {
                self.equal += 1;
                self.without_fuel += usize::from(!fuel_compared);
            }
            Found::FailedAlike => {
                self.equal += 1;
                self.failed_alike += 1;
            }
            Found::Differs(difference) => {
                self.differing += 1;
                let cluster = format!("{}/{}", record.cluster.namespace, record.cluster.name);
                let cause = difference.cause();
                let example = Told {
                    file,
                    seq: record.seq,
                    now: record.now,
                    cluster,
                    difference: *difference,
                };
                self.tell(cause, Way { count: 1, example });
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        let Self {
            decisions,
            equal,
            without_fuel,
            failed_alike,
            differing,
            clusters,
            modules,
            ways,
            breaks,
        } = other;
        self.decisions += decisions;
        self.equal += equal;
        self.without_fuel += without_fuel;
        self.failed_alike += failed_alike;
        self.differing += differing;
        self.clusters.extend(clusters);
        self.modules.extend(modules);
        self.breaks.extend(breaks);
        for (cause, way) in ways {
            self.tell(cause, way);
        }
    }

    /// Workers finish in any order; the example is the first one of the recording.
    fn tell(&mut self, cause: String, way: Way) {
        let is_known = self.ways.contains_key(&cause);
        let cause = if is_known || self.ways.len() < WAYS {
            cause
        } else {
            FURTHER.to_owned()
        };
        match self.ways.get_mut(&cause) {
            None => {
                self.ways.insert(cause, way);
            }
            Some(known) => {
                known.count += way.count;
                if way.example.place() < known.example.place() {
                    known.example = way.example;
                }
            }
        }
    }
}

fn insert(set: &mut BTreeSet<String>, text: &str) {
    if !set.contains(text) {
        set.insert(text.to_owned());
    }
}
