//! Plans in which objects of others stand where the cluster's did.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, Plan, Planned};

/// Makes a stream of a seed of its own.
const STRANGERS: u64 = 0x57_4a4e;

impl Plan {
    /// The plan of a seed with restores, in which objects of others stand where the cluster's did.
    #[must_use]
    pub fn with_strangers(seed: u64) -> Self {
        let mut plan = Self::with_restores(seed);
        plan.faults.extend(strangers(seed));
        plan
    }
}

/// One to six objects of others, some of them before the cluster is born.
fn strangers(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ STRANGERS);
    (0..rng.u8(1..7))
        .map(|_| Planned {
            at: [
                rng.i64(0..8_000),
                rng.i64(0..FAULTS_UNTIL),
                rng.i64(0..600_000),
            ][rng.usize(0..3)],
            lasts: 0,
            fault: Fault::Intrude(rng.u32(0..80)),
        })
        .collect()
}
