//! Plans in which kubelets end pods for good while a lost quorum is recovered by consent.
//!
//! All else of a seed's plan is [`super::seed`]'s.

use super::seed::FAULTS_UNTIL;
use super::{Fault, Plan, Planned};

/// Makes a stream of a seed of its own.
const EVICTIONS: u64 = 0xe51c7;
/// A recovery goes from stage to stage within so many milliseconds.
const RECOVERY: i64 = 60_000;

impl Plan {
    /// The plan of a seed with claims, in which most disks are lost, a person consents to what the condition names, once to
    /// three times, and pods are evicted before and after each of it.
    #[must_use]
    pub fn with_evictions(seed: u64) -> Self {
        let mut plan = Self {
            claims: true,
            ..Self::of_seed(seed)
        };
        // Whoever deletes the claim of a member and consents to go on from another one loses what only the first one has.
        plan.faults
            .retain(|planned| !matches!(planned.fault, Fault::CondemnClaim(_)));
        let mut rng = fastrand::Rng::with_seed(seed ^ EVICTIONS);
        let lost = 10_000 + rng.i64(0..FAULTS_UNTIL);
        plan.faults.extend((0..rng.u8(2..5)).map(|_| Planned {
            at: lost + rng.i64(0..500),
            lasts: 0,
            fault: Fault::DeleteClaim(rng.u32(0..8)),
        }));
        let mut at = lost;
        for _ in 0..rng.u8(1..4) {
            at += rng.i64(2_000..RECOVERY);
            plan.faults.push(Planned {
                at,
                lasts: 0,
                fault: Fault::Consent,
            });
            plan.faults.extend((0..rng.u8(1..6)).map(|_| Planned {
                at: at + rng.i64(-2_000..RECOVERY),
                lasts: 0,
                fault: Fault::Evict(rng.u32(0..8)),
            }));
        }
        plan
    }
}
