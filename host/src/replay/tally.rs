//! What a replay found, summed up.

use std::collections::BTreeSet;

use serde::Serialize;

use super::difference::{Difference, Found};
use crate::module::Module;
use crate::recorder::{Break, Record};

/// Differences that are told one by one; the others are counted.
const TOLD: usize = 10;

/// Sums over replayed decisions, and the first differences.
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
    differences: Vec<Told>,
    breaks: Vec<Break>,
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

    pub(super) fn told(&self) -> &[Told] {
        &self.differences
    }

    pub(super) fn note_break(&mut self, place: Break) {
        self.breaks.push(place);
    }

    pub(super) fn count(&mut self, record: &Record, module: &Module, found: Found, file: usize) {
        self.decisions += 1;
        insert(&mut self.clusters, &record.cluster.uid);
        insert(&mut self.modules, module.digest());
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
                let told = Told {
                    file,
                    seq: record.seq,
                    now: record.now,
                    cluster,
                    difference: *difference,
                };
                self.tell(told);
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
            differences,
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
        for told in differences {
            self.tell(told);
        }
    }

    /// Workers finish in any order; the first ones are those of the recording.
    fn tell(&mut self, told: Told) {
        let place = |told: &Told| (told.file, told.seq);
        let at = self
            .differences
            .partition_point(|other| place(other) < place(&told));
        self.differences.insert(at, told);
        self.differences.truncate(TOLD);
    }
}

fn insert(set: &mut BTreeSet<String>, text: &str) {
    if !set.contains(text) {
        set.insert(text.to_owned());
    }
}
