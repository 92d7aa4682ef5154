//! Plans in which the operator does not reach members who reach one another, as where a policy of the network keeps it out.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, Plan, Planned};

/// Makes a stream of a seed of its own.
const UNHEARD: u64 = 0x0dd_ea2;

impl Plan {
    /// The plan of a seed in which the members of one node to three are out of the operator's reach, once to three times, for
    /// less and for more than a member is waited for.
    #[must_use]
    pub fn with_unheard_members(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        let mut rng = fastrand::Rng::with_seed(seed ^ UNHEARD);
        for _ in 0..rng.u8(1..4) {
            let at = rng.i64(0..FAULTS_UNTIL);
            let lasts = [2_000, 20_000, 200_000, 600_000][rng.usize(0..4)];
            let first = rng.u32(0..3);
            plan.faults.extend((0..rng.u32(1..4)).map(|more| Planned {
                at: at + rng.i64(0..500),
                lasts,
                fault: Fault::Unheard(first + more),
            }));
        }
        plan
    }
}
