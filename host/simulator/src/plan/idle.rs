//! Plans in which clients fall silent and members are made anew.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, Plan, Planned};

/// Makes a stream of a seed of its own.
const IDLE: u64 = 0x1d1e;

impl Plan {
    /// The plan of a seed, in which clients write nothing from a time on, most of them never again, and the cluster needs one
    /// to three new members afterwards.
    #[must_use]
    pub fn with_idle_clients(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        let mut rng = fastrand::Rng::with_seed(seed ^ IDLE);
        let from = rng.i64(0..FAULTS_UNTIL);
        plan.faults.push(Planned {
            at: from,
            lasts: [0, 0, 0, 20_000, 200_000][rng.usize(0..5)],
            fault: Fault::Idle,
        });
        plan.faults.extend((0..rng.u8(1..4)).map(|_| Planned {
            at: from + rng.i64(0..FAULTS_UNTIL),
            lasts: 0,
            fault: match rng.u8(0..3) {
                0 => Fault::DeleteClaim(rng.u32(0..8)),
                _ => Fault::Resize(i64::from(rng.u8(1..6))),
            },
        }));
        plan
    }
}
