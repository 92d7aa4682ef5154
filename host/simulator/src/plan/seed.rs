//! Plans that are drawn from a seed.
//!
//! Owns what is drawn, how often, and in which order: an old seed makes its old plan only as long as that stays. It does
//! not know what becomes of a plan.

use super::{Fault, Mishap, OldPods, Plan, Planned, deaf};
use crate::roll;

/// Faults begin within this time.
pub(super) const FAULTS_UNTIL: i64 = 90_000;
/// Makes a second stream of a seed.
const NAPS: u64 = 0x7a9;
/// And a third one.
const CONSENTS: u64 = 0xc0_45e7;
/// And a fourth one.
const POLICIES: u64 = 0x90_11c1;
/// The same for clients that fill the quota.
const FILLS: u64 = 0xf111;
/// And for people who restore.
const RESTORES: u64 = 0x4e57_04e5;
/// And for clocks and operators that are not what they seem.
const DOUBTS: u64 = 0xd0_0b75;
/// And for backups before risky acts.
const GUARDS: u64 = 0x6a_4d5e;
/// And for networks between members.
const PARTITIONS: u64 = 0x9a_4717;

impl Plan {
    /// The plan of a seed, and in every third one people take backups and ask for restores.
    #[must_use]
    pub fn with_restores(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        plan.faults.extend(restores(seed));
        plan
    }

    /// The plan of a seed with restores, in which risky acts wait for a backup from the beginning on, and its store is away
    /// now and then. Without TLS: a pod that is made anew to trust other authorities looks like the first of a stop.
    #[must_use]
    pub fn with_guards(seed: u64) -> Self {
        let mut plan = Self {
            tls: false,
            ..Self::with_restores(seed)
        };
        plan.faults.extend(guards(seed));
        plan
    }

    /// The plan of a seed, in which the operator's clock is wrong, or another operator acts beside it, or both.
    #[must_use]
    pub fn with_doubts(seed: u64) -> Self {
        let mut plan = Self::of_seed(seed);
        plan.faults.extend(doubts(seed));
        plan
    }

    /// The same beside restores, backups before risky acts, or turns of TLS.
    #[must_use]
    pub fn with_doubts_beside(seed: u64) -> Self {
        let mut plan = match seed % 3 {
            0 => Self::with_restores(seed),
            1 => Self::with_guards(seed),
            _ => Self::with_turns(seed),
        };
        plan.faults.extend(doubts(seed));
        plan
    }

    /// The plan of a seed. Nobody asks for a restore, and no second operator acts.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let size = [1, 3, 3, 3, 3, 5][rng.usize(0..6)];
        let claims = rng.u8(0..4) > 0;
        let local = rng.bool();
        let mut faults: Vec<Planned> = (0..rng.usize(0..7)).map(|_| planned(&mut rng)).collect();
        let mishaps = (0..rng.usize(0..4))
            .map(|_| (rng.u32(0..40), mishap(&mut rng)))
            .collect();
        // The last draw, so that a seed's other choices stay what they were.
        let tls = rng.u8(0..4) == 0;
        let is_about_versions = seed % 4 == 3;
        let version = is_about_versions.then(|| roll::any(&mut rng));
        if is_about_versions {
            faults.extend(roll::edits(&mut rng));
        }
        faults.extend(naps(seed));
        faults.extend(policies(seed));
        faults.extend(consents(seed));
        faults.extend(fills(seed));
        faults.extend(partitions(seed));
        faults.extend(deaf::deafness(seed));
        faults.extend(deaf::slowness(seed, &faults));
        let old = match rng.u8(0..8) {
            // Another image or pod policy waits for the renewal.
            0 if !is_about_versions && policies(seed).is_empty() => Some(OldPods::Kept),
            1 => Some(OldPods::Renewed),
            _ => None,
        };
        Self {
            seed,
            size,
            version,
            through: rng.bool(),
            claims,
            local,
            // Nothing turns TLS on where it was not from birth.
            tls: tls && old.is_none(),
            old,
            numbered: false,
            faults,
            mishaps,
        }
    }
}

pub(super) fn planned(rng: &mut fastrand::Rng) -> Planned {
    let which = rng.u32(0..8);
    let fault = match rng.u8(0..32) {
        0..=4 => Fault::Wipe(which),
        5..=6 => Fault::Kill(which),
        7 => Fault::Freeze(which),
        8..=10 => Fault::DeletePod(which),
        11 => Fault::DeleteClaim(which),
        12 => Fault::CondemnClaim(which),
        13..=14 => Fault::CutNode(which),
        15 => Fault::StopNode(which),
        16 => Fault::LoseNode(which),
        17 => Fault::NoImages,
        18 => Fault::SlowSync,
        19..=20 => Fault::StaleCache,
        21 => Fault::NoApi,
        22 => Fault::Restart,
        23..=24 => Fault::Echo,
        25..=30 => Fault::Resize(i64::from(rng.u8(1..6))),
        _ => Fault::Pause,
    };
    let lasts = match fault {
        Fault::Freeze(_)
        | Fault::CutNode(_)
        | Fault::Partition(_)
        | Fault::Unheard(_)
        | Fault::StopNode(_)
        | Fault::NoImages
        | Fault::RegistryGone(_)
        | Fault::NoStore
        | Fault::SlowSync
        | Fault::FillWithKeys
        | Fault::Pause => [2_000, 10_000, 40_000, 200_000, 400_000][rng.usize(0..5)],
        Fault::StaleCache | Fault::Deaf(_) | Fault::SlowWatches | Fault::NoApi => {
            rng.i64(200..15_000)
        }
        Fault::Wipe(_)
        | Fault::Kill(_)
        | Fault::Evict(_)
        | Fault::DeletePod(_)
        | Fault::DeleteClaim(_)
        | Fault::CondemnClaim(_)
        | Fault::LoseNode(_)
        | Fault::Restart
        | Fault::Echo
        | Fault::Clock(_)
        | Fault::Rival
        | Fault::FillWithHistory
        | Fault::Version(_)
        | Fault::Repository(_)
        | Fault::Label(_)
        | Fault::Claims
        | Fault::Storage(_)
        | Fault::Rigid
        | Fault::Tls(_)
        | Fault::Resize(_)
        | Fault::Consent
        | Fault::RashConsent(_)
        | Fault::Withdraw
        | Fault::BackUp
        | Fault::Restore(_)
        | Fault::TakeBack
        | Fault::Guard
        | Fault::Intrude(_)
        | Fault::Recreate
        | Fault::Idle => 0,
    };
    // Half of them early, when the cluster is being born.
    let at = if rng.bool() {
        rng.i64(0..8_000)
    } else {
        rng.i64(0..FAULTS_UNTIL)
    };
    Planned { at, lasts, fault }
}

/// In some histories clients fill the quota.
fn fills(seed: u64) -> Option<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ FILLS);
    if rng.u8(0..6) > 0 {
        return None;
    }
    let at = rng.i64(10_000..FAULTS_UNTIL);
    let (fault, lasts) = if rng.bool() {
        (Fault::FillWithHistory, 0)
    } else {
        let lasts = [2_000, 20_000, 200_000, 900_000][rng.usize(0..4)];
        (Fault::FillWithKeys, lasts)
    };
    Some(Planned { at, lasts, fault })
}

/// In some histories the members on a node reach no others, once or twice.
fn partitions(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ PARTITIONS);
    if rng.u8(0..6) > 0 {
        return Vec::new();
    }
    (0..rng.u8(1..3))
        .map(|_| Planned {
            at: rng.i64(0..FAULTS_UNTIL),
            lasts: [2_000, 20_000, 200_000, 600_000][rng.usize(0..4)],
            fault: Fault::Partition(rng.u32(0..8)),
        })
        .collect()
}

/// In some histories people set the size to 0, and most of them to another one again. Drawn from a stream of its own, so
/// that all else of a seed stays as it was.
fn naps(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ NAPS);
    if rng.u8(0..5) > 0 {
        return Vec::new();
    }
    let mut at = rng.i64(0..FAULTS_UNTIL);
    let mut sizes = vec![0];
    for _ in 0..rng.u8(0..4) {
        sizes.push(i64::from(rng.u8(0..6)));
    }
    sizes
        .into_iter()
        .map(|size| {
            let planned = Planned {
                at,
                lasts: 0,
                fault: Fault::Resize(size),
            };
            at += [300, 3_000, 30_000, 500_000][rng.usize(0..4)];
            planned
        })
        .collect()
}

/// In some histories people read the conditions and consent to go on from one member, or do so without reading.
fn consents(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ CONSENTS);
    let count = [0, 0, 1, 2, 4][rng.usize(0..5)];
    (0..count)
        .map(|_| Planned {
            at: rng.i64(0..1_000_000),
            lasts: 0,
            fault: match rng.u8(0..8) {
                0..=4 => Fault::Consent,
                5..=6 => Fault::RashConsent(rng.u32(0..8)),
                _ => Fault::Withdraw,
            },
        })
        .collect()
}

/// In every third history people take backups and ask for restores, mostly after something was lost.
fn restores(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ RESTORES);
    if rng.u8(0..3) > 0 {
        return Vec::new();
    }
    let mut all: Vec<Planned> = [
        (FAULTS_UNTIL, Fault::BackUp),
        (FAULTS_UNTIL, Fault::BackUp),
        (1_000_000, Fault::Restore(false)),
    ]
    .map(|(until, fault)| Planned {
        at: rng.i64(0..until),
        lasts: 0,
        fault,
    })
    .into();
    // Some lose more than a quorum first.
    for _ in 0..rng.u8(0..4) {
        let at = rng.i64(20_000..FAULTS_UNTIL);
        let fault = Fault::DeleteClaim(rng.u32(0..8));
        all.push(Planned {
            at,
            lasts: 0,
            fault,
        });
    }
    for _ in 0..rng.u8(0..3) {
        let at = rng.i64(0..600_000);
        let fault = match rng.u8(0..4) {
            0 => Fault::TakeBack,
            1 => Fault::Restore(false),
            _ => Fault::Restore(true),
        };
        all.push(Planned {
            at,
            lasts: 0,
            fault,
        });
    }
    all
}

/// An EtcdBackup that is asked for backups before risky acts, and a store that is away once to three times. Somebody stops
/// the cluster, so that there is such an act.
fn guards(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ GUARDS);
    let planned = |at: i64, lasts: i64, fault: Fault| Planned { at, lasts, fault };
    let mut all = vec![planned(0, 0, Fault::Guard)];
    let at = rng.i64(20_000..FAULTS_UNTIL);
    all.push(planned(at, 0, Fault::Resize(0)));
    let later = at + [3_000, 90_000, 500_000][rng.usize(0..3)];
    all.push(planned(later, 0, Fault::Resize(3)));
    for _ in 0..rng.u8(1..4) {
        let lasts = [2_000, 40_000, 300_000][rng.usize(0..3)];
        all.push(planned(rng.i64(0..400_000), lasts, Fault::NoStore));
    }
    all
}

/// A clock that is minutes or years off, operators that do not know of each other, one to three times.
fn doubts(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ DOUBTS);
    (0..rng.u8(1..4))
        .map(|_| {
            let at = rng.i64(0..FAULTS_UNTIL);
            let fault = if rng.bool() {
                Fault::Rival
            } else {
                let off = [400, 20_000, 900_000, 90_000_000, 300_000_000_000][rng.usize(0..5)];
                Fault::Clock(if rng.bool() { off } else { -off })
            };
            // A clock that nobody sets right, one in three.
            let is_for_long = matches!(fault, Fault::Clock(_)) && rng.u8(0..3) == 0;
            let lasts = rng.i64(200..if is_for_long { 1_800_000 } else { 20_000 });
            Planned { at, lasts, fault }
        })
        .collect()
}

/// Edits of `spec.pod`, in every fifth history.
fn policies(seed: u64) -> Vec<Planned> {
    let mut rng = fastrand::Rng::with_seed(seed ^ POLICIES);
    if rng.u8(0..5) > 0 {
        return Vec::new();
    }
    (0..rng.u8(1..4))
        .map(|_| Planned {
            at: rng.i64(0..2 * FAULTS_UNTIL),
            lasts: 0,
            fault: match rng.u8(0..4) {
                0 => Fault::Claims,
                _ => Fault::Label(rng.u8(0..3)),
            },
        })
        .collect()
}

pub(super) fn mishap(rng: &mut fastrand::Rng) -> Mishap {
    match rng.u8(0..6) {
        5 => Mishap::Conflict,
        0 => Mishap::AnswerLost,
        1 => Mishap::NeverArrives,
        2 => Mishap::Late(rng.i64(10..8_000)),
        3 => Mishap::EndsBefore,
        _ => Mishap::EndsAfter,
    }
}
