//! Who decides for which cluster: one pointer to a lineup of modules, moved in one step.
//!
//! A pass takes the lineup once and keeps it to its end, so a swap neither interrupts a pass nor makes one twice. It
//! loads no module and judges none.

mod counts;
mod seat;
mod shadow;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kube::core::{Selector, SelectorExt as _};
use tokio::sync::{Notify, watch};

pub use counts::{Counts, WINDOW};
pub use seat::Seat;
pub use shadow::{Differences, Opinion, Shadow};

/// The lineup in force. Clones of the [`Arc`] share it.
#[derive(Debug)]
pub struct Roster {
    lineup: ArcSwap<Lineup>,
    failing: Notify,
    settled: watch::Sender<bool>,
}

/// Modules in their roles.
#[derive(Clone, Debug)]
pub struct Lineup {
    /// Decides where no canary does.
    pub active: Arc<Seat>,
    /// Decide for the clusters they select, the oldest first.
    pub canaries: Vec<Canary>,
    /// Are asked beside those that decide.
    pub shadows: Vec<Arc<Shadow>>,
}

/// A module for some of the clusters.
#[derive(Clone, Debug)]
pub struct Canary {
    /// Which ones, by their labels.
    pub clusters: Selector,
    /// The module.
    pub seat: Arc<Seat>,
}

impl Lineup {
    /// One module for all clusters.
    #[must_use]
    pub const fn alone(active: Arc<Seat>) -> Self {
        Self {
            active,
            canaries: Vec::new(),
            shadows: Vec::new(),
        }
    }

    /// Who decides for a cluster with these labels.
    #[must_use]
    pub fn seat(&self, labels: &BTreeMap<String, String>) -> &Arc<Seat> {
        self.canaries
            .iter()
            .find(|canary| canary.clusters.matches(labels))
            .map_or(&self.active, |canary| &canary.seat)
    }

    /// Whether both are made of the very same modules in the same roles.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let same_canary = |(one, other): (&Canary, &Canary)| {
            Arc::ptr_eq(&one.seat, &other.seat)
                && one.clusters.to_string() == other.clusters.to_string()
        };
        Arc::ptr_eq(&self.active, &other.active)
            && self.canaries.len() == other.canaries.len()
            && self.canaries.iter().zip(&other.canaries).all(same_canary)
            && self.shadows.len() == other.shadows.len()
            && self
                .shadows
                .iter()
                .zip(&other.shadows)
                .all(|(one, other)| Arc::ptr_eq(one, other))
    }
}

impl Roster {
    /// Begins with this lineup, which is not settled yet.
    #[must_use]
    pub fn new(lineup: Lineup) -> Self {
        Self {
            lineup: ArcSwap::from_pointee(lineup),
            failing: Notify::new(),
            settled: watch::Sender::new(false),
        }
    }

    /// The lineup at this moment.
    #[must_use]
    pub fn current(&self) -> Arc<Lineup> {
        self.lineup.load_full()
    }

    /// Puts another lineup in force. Passes that run keep theirs.
    pub fn publish(&self, lineup: Lineup) {
        self.lineup.store(Arc::new(lineup));
    }

    /// To be called after a module gave no decision, or one that was refused as a whole.
    pub fn note_failure(&self) {
        self.failing.notify_one();
    }

    /// Waits for the next failure of a module.
    pub async fn failure(&self) {
        self.failing.notified().await;
    }

    /// To be called once the modules that are asked for have been tried: from then on passes may start.
    pub fn settle(&self) {
        self.settled.send_replace(true);
    }

    /// Waits for that. A pass before it might be decided by another module than before a restart.
    pub async fn settled(&self) {
        // The sender lives as long as the roster.
        let _ = self.settled.subscribe().wait_for(|settled| *settled).await;
    }
}
