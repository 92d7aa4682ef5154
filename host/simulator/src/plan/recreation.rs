//! Plans in which the cluster is deleted and made again under its name.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, Plan, Planned};

/// Makes a stream of a seed of its own.
const RECREATIONS: u64 = 0x4e_c4ea;

impl Plan {
    /// The plan of a seed, in which people delete the EtcdCluster and make one of the same name at once, once or twice.
    #[must_use]
    pub fn with_recreations(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        let mut rng = fastrand::Rng::with_seed(seed ^ RECREATIONS);
        let count = rng.u8(1..3);
        plan.faults.extend((0..count).map(|_| Planned {
            at: rng.i64(0..FAULTS_UNTIL),
            lasts: 0,
            fault: Fault::Recreate,
        }));
        plan
    }
}
