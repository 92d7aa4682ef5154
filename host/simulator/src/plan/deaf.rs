//! Watches that tell nothing or little for a while, in the plan of a seed.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, Planned};

/// Makes a stream of a seed of its own.
const DEAF: u64 = 0xdeaf;
const SLOW: u64 = 0x510e;

/// In every sixth history one watch stands still while the others go on, once or twice.
pub(super) fn deafness(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ DEAF);
    if rng.u8(0..6) > 0 {
        return Vec::new();
    }
    (0..rng.u8(1..3))
        .map(|_| Planned {
            at: rng.i64(0..FAULTS_UNTIL),
            lasts: [2_000, 8_000, 30_000][rng.usize(0..3)],
            fault: Fault::Deaf(rng.u32(0..4)),
        })
        .collect()
}

/// In every second history with faults all watches are slow until the last of them is over: what comes within a second is
/// seen in one look, and what the operator wrote in one second it sees in another.
pub(super) fn slowness(seed: u64, faults: &[Planned]) -> Option<Planned> {
    let lasts = faults.iter().map(Planned::ends).max()?;
    let mut rng = fastrand::Rng::with_seed(seed ^ SLOW);
    rng.bool().then_some(Planned {
        at: 0,
        lasts,
        fault: Fault::SlowWatches,
    })
}
