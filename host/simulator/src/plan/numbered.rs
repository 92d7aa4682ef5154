//! Plans of clusters of the second dialect.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::{Fault, Plan};

impl Plan {
    /// The plan of a seed, for a cluster of the second dialect. It always has claims and never the size 0.
    #[must_use]
    pub fn with_numbered_members(seed: u64) -> Self {
        let mut plan = Self {
            numbered: true,
            claims: true,
            old: None,
            ..Self::of_seed(seed)
        };
        let is_nap = |fault: Fault| matches!(fault, Fault::Resize(0) | Fault::Claims);
        plan.faults.retain(|planned| !is_nap(planned.fault));
        plan
    }
}
