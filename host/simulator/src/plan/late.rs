//! Plans in which things go wrong late.
//!
//! Does not know what they are about.

use super::seed::{FAULTS_UNTIL, mishap, planned};
use super::{Plan, Planned};

/// Makes another stream of a seed.
const TROUBLES: u64 = 0x1a7e;

impl Plan {
    /// The plan of a seed, or one with turns of TLS, in which things go wrong after the first forty actions and the first 90
    /// seconds, too: in the middle of upgrades, stops, turns and consents.
    #[must_use]
    pub fn with_late_trouble(seed: u64) -> Self {
        let plan = match seed % 3 {
            0 => Self::with_turns(seed),
            _ => Self::of_seed(seed),
        };
        plan.troubled(seed)
    }

    /// The same beside restores, or backups before risky acts.
    #[must_use]
    pub fn with_late_trouble_beside(seed: u64) -> Self {
        let plan = match seed % 2 {
            0 => Self::with_restores(seed),
            _ => Self::with_guards(seed),
        };
        plan.troubled(seed)
    }

    fn troubled(mut self, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ TROUBLES);
        for _ in 0..rng.u8(1..5) {
            let number = rng.u32(20..250);
            self.mishaps.push((number, mishap(&mut rng)));
        }
        for _ in 0..rng.u8(0..3) {
            let at = rng.i64(FAULTS_UNTIL..1_000_000);
            self.faults.push(Planned {
                at,
                ..planned(&mut rng)
            });
        }
        self
    }
}
