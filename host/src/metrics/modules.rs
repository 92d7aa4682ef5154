//! Which modules are in force, how often that changed, and how shadows differ.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::roster::Opinion;

/// One module in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ModuleShown {
    /// Its ReconcilerModule; `built-in` for the one the operator was started with.
    pub name: String,
    /// Active, Canary or Shadow.
    pub role: &'static str,
    /// Its digest.
    pub digest: String,
    /// Its own version.
    pub version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
struct NameLabel {
    name: String,
}

/// Clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct Modules {
    in_force: Family<ModuleShown, Gauge>,
    swaps: Counter,
    fallbacks: Counter,
    shadow_decisions: Family<NameLabel, Counter>,
    shadow_differences: Family<NameLabel, Counter>,
    shadow_failures: Family<NameLabel, Counter>,
    /// Names that may have series.
    named: Arc<Mutex<BTreeSet<NameLabel>>>,
}

impl Modules {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let modules = Self::default();
        let Self {
            in_force,
            swaps,
            fallbacks,
            shadow_decisions,
            shadow_differences,
            shadow_failures,
            named: _,
        } = modules.clone();
        registry.register("module", "1 for each reconciler module in force", in_force);
        registry.register("module_swaps", "Changes of the modules in force", swaps);
        registry.register(
            "module_fallbacks",
            "Modules that failed beyond their limit",
            fallbacks,
        );
        registry.register(
            "shadow_decisions",
            "Snapshots that a shadow was asked about",
            shadow_decisions,
        );
        registry.register(
            "shadow_differences",
            "Those of them where it differs from what was followed",
            shadow_differences,
        );
        registry.register(
            "shadow_failures",
            "Those of them where it gave no decision, or one outside the envelope",
            shadow_failures,
        );
        modules
    }

    pub(super) fn show(&self, shown: &[ModuleShown]) {
        self.in_force.clear();
        let mut names = BTreeSet::new();
        for module in shown {
            self.in_force.get_or_create(module).set(1);
            names.insert(NameLabel {
                name: module.name.clone(),
            });
        }
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in named.difference(&names) {
            self.shadow_decisions.remove(gone);
            self.shadow_differences.remove(gone);
            self.shadow_failures.remove(gone);
        }
        *named = names;
    }

    pub(super) fn count_swap(&self) {
        self.swaps.inc();
    }

    pub(super) fn count_fallback(&self) {
        self.fallbacks.inc();
    }

    pub(super) fn count_opinion(&self, opinion: &Opinion) {
        let label = NameLabel {
            name: opinion.record.name.clone(),
        };
        self.shadow_decisions.get_or_create(&label).inc();
        for (family, counts) in [
            (&self.shadow_differences, opinion.differs),
            (&self.shadow_failures, opinion.failed),
        ] {
            family.get_or_create(&label).inc_by(u64::from(counts));
        }
    }
}
