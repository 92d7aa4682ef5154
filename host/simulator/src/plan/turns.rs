//! Plans in which people turn TLS on and off.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, Plan, Planned};

/// Makes a stream of a seed of its own.
const TURNS: u64 = 0x7_0415;

impl Plan {
    /// The plan of a seed, in which people turn TLS on and off while the cluster lives, once to four times.
    #[must_use]
    pub fn with_turns(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        plan.faults.extend(turns(seed, plan.tls));
        plan
    }
}

/// TLS turned to what it is not, and back again, sometimes in the middle of a turn.
fn turns(seed: u64, mut secure: bool) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ TURNS);
    let mut at = rng.i64(0..FAULTS_UNTIL);
    (0..rng.u8(1..5))
        .map(|_| {
            secure = !secure;
            let planned = Planned {
                at,
                lasts: 0,
                fault: Fault::Tls(secure),
            };
            at += [300, 3_000, 30_000, 300_000][rng.usize(0..4)];
            planned
        })
        .collect()
}
