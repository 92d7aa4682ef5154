//! Counts what the host does, and renders it for Prometheus.
//!
//! Labels come from the names of enums, so their number is bounded; only certificates have a file and names of their own. What others already know (the
//! caches, the recorder, the lease) is read when it is scraped, not counted twice.

mod backups;
mod certificates;
mod clusters;
mod modules;
mod old;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use contract::{Effect, OutcomeKind, Phase, Reason, ResourceKind, Snapshot};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use serde::Deserialize;

use crate::key::ClusterKey;
use crate::lease::Leadership;
use crate::observe::World;
use crate::recorder::Recorder;
use crate::roster::Opinion;
use clusters::Looks;
pub use modules::ModuleShown;
use modules::Modules;
use old::OldNames;

/// From a cached look to a pass with a frozen member.
const SECONDS: [f64; 10] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];
/// From an empty decision to the budget.
const FUEL: [f64; 7] = [3e5, 1e6, 3e6, 1e7, 3e7, 1e8, 3e8];

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassEnd {
    /// The module decided and the envelope permitted it.
    Decided,
    /// The envelope refused the decision as a whole.
    Refused,
    /// The module gave no decision.
    Failed,
    /// No snapshot could be taken.
    Unobserved,
}

impl PassEnd {
    const fn name(self) -> &'static str {
        match self {
            Self::Decided => "Decided",
            Self::Refused => "Refused",
            Self::Failed => "Failed",
            Self::Unobserved => "Unobserved",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EffectLabels {
    effect: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    reason: &'static str,
    module: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabel {
    phase: &'static str,
}

/// The counters of the running host. Clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    passes: Family<OutcomeLabel, Counter>,
    effects: Family<EffectLabels, Counter>,
    refusals: Family<RefusalLabels, Counter>,
    pass_seconds: Histogram,
    decision_seconds: Histogram,
    decision_fuel: Histogram,
    modules: Modules,
    looks: Arc<Looks>,
    old: OldNames,
}

impl Metrics {
    /// Counters at zero.
    #[must_use]
    pub fn new(scraped: Scraped) -> Self {
        let passes = Family::default();
        let effects = Family::default();
        let refusals = Family::default();
        let pass_seconds = Histogram::new(SECONDS);
        let decision_seconds = Histogram::new(SECONDS);
        let decision_fuel = Histogram::new(FUEL);
        let mut all = Registry::default();
        let old = OldNames::register(&mut all);
        let looks = Arc::new(Looks::default());
        let registry = all.sub_registry_with_prefix("binnacle");
        registry.register(
            "passes",
            "Passes over one cluster, by how they ended",
            passes.clone(),
        );
        registry.register("effects", "Actions, by effect and outcome", effects.clone());
        registry.register(
            "refusals",
            "Why the envelope refused a module's decisions or actions, and why it gave none",
            refusals.clone(),
        );
        let seconds = Unit::Seconds;
        registry.register_with_unit(
            "pass",
            "Time of one whole pass",
            seconds.clone(),
            pass_seconds.clone(),
        );
        registry.register_with_unit(
            "decision",
            "Time of one call of the module",
            seconds,
            decision_seconds.clone(),
        );
        registry.register(
            "decision_fuel",
            "Fuel one decision used",
            decision_fuel.clone(),
        );
        let modules = Modules::register(registry);
        let looks_of = Arc::clone(&looks);
        registry.register_collector(Box::new(Collected {
            scraped,
            looks: looks_of,
        }));
        Self {
            registry: Arc::new(all),
            passes,
            effects,
            refusals,
            pass_seconds,
            decision_seconds,
            decision_fuel,
            modules,
            looks,
            old,
        }
    }

    /// A cluster was looked at.
    pub fn see(&self, key: &ClusterKey, snapshot: &Snapshot) {
        self.looks.keep(key, snapshot);
        self.old.see(key, snapshot);
    }

    /// A cluster is gone; its series go with it.
    pub fn forget(&self, key: &ClusterKey) {
        self.looks.forget(key);
        self.old.forget(key);
    }

    /// A pass ended.
    pub fn count_pass(&self, key: &ClusterKey, end: PassEnd, took: Duration) {
        if key.kind == ResourceKind::EtcdCluster {
            self.old.count_pass(key, took);
        }
        match end {
            PassEnd::Decided => {}
            PassEnd::Refused | PassEnd::Failed => self.old.count_failure(Reason::DecisionRefused),
            PassEnd::Unobserved => self.old.count_failure(Reason::KubernetesUnreadable),
        }
        self.passes
            .get_or_create(&OutcomeLabel {
                outcome: end.name(),
            })
            .inc();
        self.pass_seconds.observe(took.as_secs_f64());
    }

    /// The module answered.
    pub fn count_decision(&self, fuel: u64, took: Duration) {
        self.decision_seconds.observe(took.as_secs_f64());
        #[expect(
            clippy::cast_precision_loss,
            reason = "a histogram needs no exact number"
        )]
        self.decision_fuel.observe(fuel as f64);
    }

    /// A decision or an action was refused, or there was no decision; `reason` is the name of a rule or of a failure,
    /// `module` the digest of the one that decided.
    pub fn count_refusal(&self, reason: &'static str, module: &str) {
        let module = module.to_owned();
        self.refusals
            .get_or_create(&RefusalLabels { reason, module })
            .inc();
    }

    /// An action ended.
    pub fn count_effect(&self, effect: &Effect, outcome: OutcomeKind) {
        if outcome == OutcomeKind::Failed {
            self.old.count_failure(Reason::ActionFailed);
        }
        let outcome = match outcome {
            OutcomeKind::Done => "Done",
            OutcomeKind::Refused => "Refused",
            OutcomeKind::Failed => "Failed",
            OutcomeKind::Skipped => "Skipped",
        };
        self.effects
            .get_or_create(&EffectLabels {
                effect: effect.name(),
                outcome,
            })
            .inc();
    }

    /// These modules are in force from now on, and no others.
    pub fn show_modules(&self, shown: &[ModuleShown]) {
        self.modules.show(shown);
    }

    /// Other modules came into force.
    pub fn count_swap(&self) {
        self.modules.count_swap();
    }

    /// A module failed beyond its limit.
    pub fn count_fallback(&self) {
        self.modules.count_fallback();
    }

    /// A shadow was asked.
    pub fn count_opinion(&self, opinion: &Opinion) {
        self.modules.count_opinion(opinion);
    }

    /// All of it in the OpenMetrics text format.
    ///
    /// # Errors
    /// Never in practice: a String takes whatever is written.
    pub fn render(&self) -> Result<String, std::fmt::Error> {
        let mut page = String::new();
        text::encode(&mut page, &self.registry)?;
        Ok(page)
    }
}

/// What is asked at the moment of a scrape.
#[derive(Debug)]
pub struct Scraped {
    /// The caches: clusters by phase.
    pub world: Arc<World>,
    /// Records written and dropped.
    pub recorder: Arc<Recorder>,
    /// Whether this instance leads.
    pub leadership: Leadership,
}

impl Scraped {
    fn clusters(&self) -> BTreeMap<&'static str, i64> {
        let mut clusters =
            BTreeMap::from([("None", 0), ("Creating", 0), ("Running", 0), ("Failed", 0)]);
        self.world.each_cluster(|resource| {
            let phase = resource
                .status
                .get("phase")
                .and_then(|phase| Phase::deserialize(phase).ok());
            let name = match phase.unwrap_or_default() {
                Phase::None => "None",
                Phase::Creating => "Creating",
                Phase::Running => "Running",
                Phase::Failed => "Failed",
            };
            *clusters.entry(name).or_default() += 1;
        });
        clusters
    }
}

/// What is asked at the moment of a scrape, and what was kept for it.
#[derive(Debug)]
struct Collected {
    scraped: Scraped,
    looks: Arc<Looks>,
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let Self { scraped, looks } = self;
        // Who does not lead looks at nobody, and would show how things once were.
        if scraped.leadership.is_held() {
            clusters::encode(&mut encoder, &scraped.world, looks)?;
            backups::encode(&mut encoder, &scraped.world)?;
        }
        let held = ConstGauge::new(i64::from(scraped.leadership.is_held()));
        held.encode(encoder.encode_descriptor(
            "leading",
            "1 while this instance holds the lease",
            None,
            held.metric_type(),
        )?)?;
        for (name, help, count) in [
            (
                "records_written",
                "Records in recordings",
                scraped.recorder.written(),
            ),
            (
                "records_dropped",
                "Records lost because the disk could not keep up",
                scraped.recorder.dropped(),
            ),
        ] {
            let count = ConstCounter::new(count);
            count.encode(encoder.encode_descriptor(name, help, None, count.metric_type())?)?;
        }
        let ends = certificates::ends(&self.scraped.world);
        ends.encode(encoder.encode_descriptor(
            "certificate_end_timestamp",
            "When a certificate ends, in seconds since 1970",
            Some(&Unit::Seconds),
            ends.metric_type(),
        )?)?;
        let family = Family::<PhaseLabel, Gauge>::default();
        for (phase, count) in scraped.clusters() {
            family.get_or_create(&PhaseLabel { phase }).set(count);
        }
        family.encode(encoder.encode_descriptor(
            "clusters",
            "Clusters by phase",
            None,
            family.metric_type(),
        )?)
    }
}

#[cfg(test)]
mod tests;
