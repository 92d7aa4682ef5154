//! Plans of clusters of the second dialect.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, OldPods, Plan, Planned};

/// Makes a stream of a seed of its own.
const AGAIN: u64 = 0xa6_a111;

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

    /// The same, of a cluster that the archived operator left alive. Nobody deletes its claims, nor loses a node with them:
    /// its pods would vote without a memory.
    #[must_use]
    pub fn with_kept_members(seed: u64) -> Self {
        let mut plan = Self {
            old: Some(OldPods::Renewed),
            tls: false,
            ..Self::with_numbered_members(seed)
        };
        let is_odd = |fault: Fault| {
            matches!(
                fault,
                Fault::DeleteClaim(_)
                    | Fault::CondemnClaim(_)
                    | Fault::LoseNode(_)
                    | Fault::Recreate
            )
        };
        plan.faults.retain(|planned| !is_odd(planned.fault));
        plan
    }

    /// A cluster of the second dialect that somebody deletes and makes again, once or twice; its claims stay. Of one version: whoever
    /// asks for another one at the same time may ask for one that cannot read the data.
    #[must_use]
    pub fn with_claims_that_stay(seed: u64) -> Self {
        let mut plan = Self {
            version: None,
            ..Self::with_numbered_members(seed)
        };
        plan.faults
            .retain(|planned| !matches!(planned.fault, Fault::Version(_)));
        let mut rng = fastrand::Rng::with_seed(seed ^ AGAIN);
        let count = rng.u8(1..3);
        plan.faults.extend((0..count).map(|_| Planned {
            at: rng.i64(0..2 * FAULTS_UNTIL),
            lasts: 0,
            fault: Fault::Recreate,
        }));
        plan
    }
}
