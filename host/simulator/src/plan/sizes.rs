//! Plans in which people ask for volumes of other sizes, and StorageClasses let none grow for a while.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, Plan, Planned};

/// Makes a stream of a seed of its own.
const SIZES: u64 = 0x51_2e5;

impl Plan {
    /// The plan of a seed with claims, every fourth with wrong clocks or second operators, in which the size that
    /// `spec.pod.persistentVolumeClaimSpec` asks for is edited once to four times, up and down, and volumes cannot grow now
    /// and then.
    #[must_use]
    pub fn with_sizes(seed: u64) -> Self {
        let others = match seed % 4 {
            0 => Self::with_doubts(seed),
            _ => Self::of_seed(seed),
        };
        let mut plan = Self {
            claims: true,
            ..others
        };
        let mut rng = fastrand::Rng::with_seed(seed ^ SIZES);
        plan.faults.extend((0..rng.u8(1..5)).map(|_| Planned {
            at: rng.i64(0..FAULTS_UNTIL),
            lasts: 0,
            fault: Fault::Storage(rng.u32(1..5)),
        }));
        plan.faults.extend((0..rng.u8(0..3)).map(|_| Planned {
            at: rng.i64(0..FAULTS_UNTIL),
            lasts: [5_000, 60_000, 900_000][rng.usize(0..3)],
            fault: Fault::Rigid,
        }));
        plan
    }
}
