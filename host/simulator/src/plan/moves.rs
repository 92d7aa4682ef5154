//! Plans in which people move the images to other repositories, and repositories have none any more.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, OldPods, Plan, Planned};
use crate::registry::MISTYPED;

/// Makes a stream of a seed of its own.
const MOVES: u64 = 0x30_7e5;

impl Plan {
    /// The plan of a seed, in which `spec.repository` is edited once to four times, mistyped now and then, and other
    /// repositories than the last one have no images for a while or for good.
    #[must_use]
    pub fn with_moves(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        // Pods of the archived operator get no other image.
        plan.old = plan.old.map(|_| OldPods::Renewed);
        let mut rng = fastrand::Rng::with_seed(seed ^ MOVES);
        let mut times: Vec<i64> = (0..rng.u8(1..5))
            .map(|_| rng.i64(0..FAULTS_UNTIL))
            .collect();
        times.sort_unstable();
        let last = rng.u32(0..3);
        let asked = |index: usize, rng: &mut fastrand::Rng| match rng.u8(0..4) {
            _ if index + 1 == times.len() => last,
            0 => MISTYPED,
            _ => rng.u32(0..3),
        };
        let edits: Vec<Planned> = times
            .iter()
            .enumerate()
            .map(|(index, at)| Planned {
                at: *at,
                lasts: 0,
                fault: Fault::Repository(asked(index, &mut rng)),
            })
            .collect();
        plan.faults.extend(edits);
        plan.faults.extend((0..rng.u8(0..3)).map(|_| Planned {
            at: rng.i64(0..FAULTS_UNTIL),
            lasts: [0, 20_000, 200_000][rng.usize(0..3)],
            fault: Fault::RegistryGone((last + rng.u32(1..3)) % 3),
        }));
        plan
    }
}
