//! What is to happen in one history: the cluster, and the faults with their times.
//!
//! Made from a seed. Everything that goes wrong is in a list, so that a failing history can be made smaller by
//! leaving entries out.

use std::fmt;

use crate::release::Release;
use crate::roll;

/// One history to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// From which everything is made that the plan does not say: names, latencies.
    pub seed: u64,
    /// `spec.size` at first.
    pub size: i64,
    /// `spec.version` at first, where the history is about versions.
    pub version: Option<Release>,
    /// `spec.upgrade.throughMinors`, where it is.
    pub through: bool,
    /// Members have volume claims.
    pub claims: bool,
    /// Volumes are on one node each.
    pub local: bool,
    /// The operator makes certificates.
    pub tls: bool,
    /// The archived operator left a living cluster, and how its pods are to be dealt with.
    pub old: Option<OldPods>,
    /// What goes wrong, and what people do.
    pub faults: Vec<Planned>,
    /// What goes wrong with the operator's own actions, by their number in the history.
    pub mishaps: Vec<(u32, Mishap)>,
}

/// What is asked for the pods that the archived operator left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldPods {
    /// Nothing: they stay.
    Kept,
    /// That they be made anew.
    Renewed,
}

/// A fault with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it begins, in milliseconds.
    pub at: i64,
    /// How long it lasts, where it lasts.
    pub lasts: i64,
    /// What happens.
    pub fault: Fault,
}

/// What goes wrong in the world, or what people do. Numbers choose among what there is at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A disk is emptied and its process ends.
    Wipe(u32),
    /// A process is killed.
    Kill(u32),
    /// A process is stopped for a while.
    Freeze(u32),
    /// A pod is deleted by somebody else.
    DeletePod(u32),
    /// A pod and its claim are deleted by somebody else.
    DeleteClaim(u32),
    /// A node is cut off for a while.
    CutNode(u32),
    /// A node is down for a while.
    StopNode(u32),
    /// A node is gone for ever with its local disks; another one takes its place.
    LoseNode(u32),
    /// Images cannot be pulled for a while.
    NoImages,
    /// Members catch up slowly for a while.
    SlowSync,
    /// The operator's caches stand still for a while.
    StaleCache,
    /// The API server does not answer for a while.
    NoApi,
    /// The operator is started again.
    Restart,
    /// The operator decides once on the snapshot before.
    Echo,
    /// `spec.size` is edited.
    Resize(i64),
    /// `spec.version` is edited.
    Version(Release),
    /// A label in `spec.pod` is edited.
    Label(u8),
    /// `spec.pod` asks for claims from now on.
    Claims,
    /// `spec.paused` is true for a while.
    Pause,
    /// Clients fill the quota with history.
    FillWithHistory,
    /// Clients fill the quota with keys, and delete them after a while.
    FillWithKeys,
    /// Somebody reads whom the condition names as survivor, if it names one, and consents.
    Consent,
    /// Somebody consents without having read: this member, with the id of this cluster or, for odd numbers, another one.
    RashConsent(u32),
    /// Somebody removes the consent.
    Withdraw,
}

/// What goes wrong with one action of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// The effect happens and the answer is lost.
    AnswerLost,
    /// The request never arrives.
    NeverArrives,
    /// The request arrives after so many milliseconds, when nobody waits for it any more.
    Late(i64),
    /// The operator ends before the effect.
    EndsBefore,
    /// The operator ends after the effect.
    EndsAfter,
}

/// Faults begin within this time.
const FAULTS_UNTIL: i64 = 90_000;
/// Makes a second stream of a seed.
const NAPS: u64 = 0x7a9;
/// And a third one.
const CONSENTS: u64 = 0xc0_45e7;
/// And a fourth one.
const POLICIES: u64 = 0x90_11c1;
/// The same for clients that fill the quota.
const FILLS: u64 = 0xf111;

impl Plan {
    /// The plan of a seed.
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
        let old = match rng.u8(0..8) {
            // Another image waits for the renewal.
            0 if !is_about_versions => Some(OldPods::Kept),
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
            faults,
            mishaps,
        }
    }

    /// When the last fault is over.
    #[must_use]
    pub fn calm_from(&self) -> i64 {
        self.faults
            .iter()
            .map(|planned| planned.at + planned.lasts)
            .max()
            .unwrap_or_default()
    }

    /// The plan without the faults that take a disk, so that whatever is lost was lost by the operator.
    #[must_use]
    pub fn without_lost_disks(mut self) -> Self {
        self.faults.retain(|planned| {
            !matches!(
                planned.fault,
                Fault::Wipe(_) | Fault::DeletePod(_) | Fault::DeleteClaim(_) | Fault::LoseNode(_)
            )
        });
        self
    }

    /// Plans with one entry less.
    #[must_use]
    pub fn smaller(&self) -> Vec<Self> {
        // Without the last edit the spec may ask for a release that does not exist.
        let is_version = |planned: &Planned| matches!(planned.fault, Fault::Version(_));
        let last = self.faults.iter().rposition(is_version);
        let may_go = (0..self.faults.len()).filter(move |index| Some(*index) != last);
        let faults = may_go.map(|leave_out| {
            let mut smaller = self.clone();
            smaller.faults.remove(leave_out);
            smaller
        });
        let mishaps = (0..self.mishaps.len()).map(|leave_out| {
            let mut smaller = self.clone();
            smaller.mishaps.remove(leave_out);
            smaller
        });
        let born = self.old.map(|_| Self {
            old: None,
            ..self.clone()
        });
        faults.chain(mishaps).chain(born).collect()
    }
}

fn planned(rng: &mut fastrand::Rng) -> Planned {
    let which = rng.u32(0..8);
    let fault = match rng.u8(0..32) {
        0..=4 => Fault::Wipe(which),
        5..=6 => Fault::Kill(which),
        7 => Fault::Freeze(which),
        8..=10 => Fault::DeletePod(which),
        11..=12 => Fault::DeleteClaim(which),
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
        | Fault::StopNode(_)
        | Fault::NoImages
        | Fault::SlowSync
        | Fault::FillWithKeys
        | Fault::Pause => [2_000, 10_000, 40_000, 200_000, 400_000][rng.usize(0..5)],
        Fault::StaleCache | Fault::NoApi => rng.i64(200..15_000),
        Fault::Wipe(_)
        | Fault::Kill(_)
        | Fault::DeletePod(_)
        | Fault::DeleteClaim(_)
        | Fault::LoseNode(_)
        | Fault::Restart
        | Fault::Echo
        | Fault::FillWithHistory
        | Fault::Version(_)
        | Fault::Label(_)
        | Fault::Claims
        | Fault::Resize(_)
        | Fault::Consent
        | Fault::RashConsent(_)
        | Fault::Withdraw => 0,
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

fn mishap(rng: &mut fastrand::Rng) -> Mishap {
    match rng.u8(0..5) {
        0 => Mishap::AnswerLost,
        1 => Mishap::NeverArrives,
        2 => Mishap::Late(rng.i64(10..8_000)),
        3 => Mishap::EndsBefore,
        _ => Mishap::EndsAfter,
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seed,
            size,
            version,
            through,
            claims,
            local,
            tls,
            old,
            faults,
            mishaps,
        } = self;
        let disks = match (claims, local) {
            (false, _) => "data in the pods",
            (true, false) => "volumes that any node reaches",
            (true, true) => "volumes that belong to a node",
        };
        let traffic = if *tls { ", with TLS" } else { "" };
        let born = match old {
            None => "",
            Some(OldPods::Kept) => ", left by the archived operator",
            Some(OldPods::Renewed) => ", left by the archived operator, its pods to be made anew",
        };
        writeln!(
            f,
            "seed {seed}: a cluster of {size} with {disks}{traffic}{born}"
        )?;
        if let Some(version) = version {
            let way = if *through {
                "through all minor versions"
            } else {
                "one minor version at a time"
            };
            writeln!(f, "  of etcd {version}, {way}")?;
        }
        let mut faults = faults.clone();
        faults.sort_by_key(|planned| planned.at);
        for Planned { at, lasts, fault } in faults {
            match lasts {
                0 => writeln!(f, "  at {at} ms {fault}")?,
                lasts => writeln!(f, "  at {at} ms, for {lasts} ms, {fault}")?,
            }
        }
        for (number, mishap) in mishaps {
            writeln!(f, "  with action {number} {mishap}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wipe(which) => write!(f, "the disk of member {which} is emptied"),
            Self::Kill(which) => write!(f, "the process of member {which} is killed"),
            Self::Freeze(which) => write!(f, "the process of member {which} is frozen"),
            Self::DeletePod(which) => write!(f, "somebody deletes the pod of member {which}"),
            Self::DeleteClaim(which) => write!(
                f,
                "somebody deletes the pod and the claim of member {which}"
            ),
            Self::CutNode(which) => write!(f, "node {which} is cut off"),
            Self::StopNode(which) => write!(f, "node {which} is down"),
            Self::LoseNode(which) => write!(f, "node {which} is lost for ever"),
            Self::NoImages => write!(f, "images cannot be pulled"),
            Self::SlowSync => write!(f, "members catch up slowly"),
            Self::StaleCache => write!(f, "the operator's caches stand still"),
            Self::NoApi => write!(f, "the API server does not answer"),
            Self::Restart => write!(f, "the operator is started again"),
            Self::Echo => write!(f, "the operator decides on an old snapshot"),
            Self::Resize(size) => write!(f, "somebody sets the size to {size}"),
            Self::Version(release) => write!(f, "somebody asks for etcd {release}"),
            Self::Label(label) => write!(f, "somebody labels the pods {label}"),
            Self::Claims => write!(f, "somebody asks for claims"),
            Self::Pause => write!(f, "somebody pauses the cluster"),
            Self::FillWithHistory => write!(f, "clients fill the quota with history"),
            Self::FillWithKeys => write!(f, "clients fill the quota with keys"),
            Self::Consent => write!(f, "somebody consents as the condition says"),
            Self::RashConsent(which) => {
                write!(f, "somebody consents to member {which} without reading")
            }
            Self::Withdraw => write!(f, "somebody removes the consent"),
        }
    }
}

impl fmt::Display for Mishap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnswerLost => write!(f, "the answer is lost"),
            Self::NeverArrives => write!(f, "the request never arrives"),
            Self::Late(late) => write!(f, "the request arrives {late} ms late"),
            Self::EndsBefore => write!(f, "the operator ends before the effect"),
            Self::EndsAfter => write!(f, "the operator ends after the effect"),
        }
    }
}
