//! The parts of a run: which figures each measures, and what they share.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use tests::scenario::Suite;

use crate::figure::Figure;
use crate::{
    backups, births, decisions, disks, histories, losses, memory, replays, restores, sizes, swaps,
    upgrades, writes,
};

/// One thing to measure. The order is that of a run: what disturbs the machine least comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Memory,
    Births,
    Disks,
    Sizes,
    Upgrades,
    Losses,
    Restores,
    Backups,
    Writes,
    Decisions,
    Replays,
    Histories,
    Swaps,
}

const PARTS: [Part; 13] = [
    Part::Memory,
    Part::Births,
    Part::Disks,
    Part::Sizes,
    Part::Upgrades,
    Part::Losses,
    Part::Restores,
    Part::Backups,
    Part::Writes,
    Part::Decisions,
    Part::Replays,
    Part::Histories,
    Part::Swaps,
];

impl Part {
    /// Those that measure a figure whose name begins with one of `names`; all when there are none.
    pub(crate) fn chosen(names: &[String]) -> Result<Vec<Self>> {
        let is_meant =
            |part: &Self, name: &str| part.figures().iter().any(|one| one.starts_with(name));
        for name in names {
            ensure!(
                PARTS.iter().any(|part| is_meant(part, name)),
                "no figure is named {name}; there are {}",
                PARTS.map(|part| part.figures().join(", ")).join(", ")
            );
        }
        let chosen = PARTS
            .into_iter()
            .filter(|part| names.is_empty() || names.iter().any(|name| is_meant(part, name)));
        Ok(chosen.collect())
    }

    /// The names of its figures.
    pub(crate) const fn figures(self) -> &'static [&'static str] {
        match self {
            Self::Memory => &["rss_mib_idle", "rss_mib_100_clusters"],
            Self::Births => &["ready_3_ratio", "tls_ready_3_ratio", "pod_deleted_ratio"],
            Self::Disks => &["disk_lost_s", "disk_and_pod_lost_s"],
            Self::Sizes => &["scale_3_to_5_s", "scale_5_to_3_s", "scale_3_to_5_again_s"],
            Self::Upgrades => &["upgrade_3_failed_writes", "upgrade_3_over_restarts"],
            Self::Losses => &["node_loss_write_gap_ms"],
            Self::Restores => &["restore_3_s"],
            Self::Backups => &["backup_mib_per_s", "backup_rss_mib", "restore_2_gib_s"],
            Self::Writes => &[
                "api_writes_at_rest_per_min",
                "lease_writes_per_min",
                "api_reads_at_rest_per_min",
            ],
            Self::Decisions => &[
                "decision_wasm_over_native",
                "decision_wasm_us",
                "decision_native_us",
            ],
            Self::Replays => &["replay_per_s"],
            Self::Histories => &[tests::pace::HISTORIES],
            Self::Swaps => &[
                "swap_ms",
                "swap_missed",
                "module_load_ms",
                "shadow_cost_us",
                "rss_after_2000_swaps_mib",
            ],
        }
    }

    /// Measures them.
    pub(crate) async fn measure(self, bench: &mut Bench) -> Result<Vec<Figure>> {
        match self {
            Self::Memory => memory::measure(bench).await,
            Self::Births => births::measure(bench).await,
            Self::Disks => disks::measure(bench).await,
            Self::Sizes => {
                let samples = bench.samples;
                sizes::measure(bench, samples).await
            }
            Self::Upgrades => upgrades::measure(bench).await,
            Self::Losses => losses::measure(bench).await,
            Self::Restores => restores::measure(bench).await,
            Self::Backups => backups::measure(bench).await,
            Self::Writes => writes::measure(bench).await,
            Self::Decisions => decisions::measure(bench).await,
            Self::Replays => replays::measure(bench).await,
            Self::Histories => histories::measure(bench).await,
            Self::Swaps => swaps::measure(bench).await,
        }
    }
}

/// What the parts share.
pub(crate) struct Bench {
    pub(crate) suite: Suite,
    pub(crate) samples: usize,
    /// Recordings of a cluster that was born with three members and had five.
    pub(crate) recorded: Option<PathBuf>,
}

impl Bench {
    pub(crate) const fn new(suite: Suite, samples: usize) -> Self {
        Self {
            suite,
            samples,
            recorded: None,
        }
    }

    /// Recordings of this run; when no part left any yet, a cluster lives once for them.
    pub(crate) async fn recordings(&mut self) -> Result<PathBuf> {
        if self.recorded.is_none() {
            sizes::measure(self, 1).await?;
        }
        self.recorded.clone().context("nothing was recorded")
    }
}
