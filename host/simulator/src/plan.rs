//! What is to happen in one history: the cluster, and the faults with their times.
//!
//! Everything that goes wrong is in a list, so that a failing history can be made smaller by leaving entries out. How
//! one comes from a seed is [`seed`]'s, [`deaf`]'s, [`evictions`]', [`idle`]'s, [`late`]'s, [`moves`]', [`numbered`]'s, [`sizes`]', [`strangers`]', [`turns`]', [`recreation`]'s and [`unheard`]'s, and how it reads is [`words`]'s; what faults do is for the world.

mod deaf;
mod evictions;
mod idle;
mod late;
mod moves;
mod numbered;
mod recreation;
mod seed;
mod sizes;
mod strangers;
mod turns;
mod unheard;
mod words;

use serde::{Deserialize, Serialize};

use crate::release::Release;

/// One history to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// The cluster is of the second dialect: its members are numbered, and its claims stay when it is deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub numbered: bool,
    /// What goes wrong, and what people do.
    pub faults: Vec<Planned>,
    /// What goes wrong with the operator's own actions, by their number in the history.
    pub mishaps: Vec<(u32, Mishap)>,
}

/// What is asked for the pods that the archived operator left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OldPods {
    /// Nothing: they stay.
    Kept,
    /// That they be made anew.
    Renewed,
}

/// A fault with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// When it begins, in milliseconds.
    pub at: i64,
    /// How long it lasts, where it lasts.
    pub lasts: i64,
    /// What happens.
    pub fault: Fault,
}

/// What goes wrong in the world, or what people do. Numbers choose among what there is at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Fault {
    /// A disk is emptied and its process ends.
    Wipe(u32),
    /// A process is killed.
    Kill(u32),
    /// A kubelet ends a pod for good, as it does when its node is short of something. Nobody starts its containers again.
    Evict(u32),
    /// A process is stopped for a while.
    Freeze(u32),
    /// A pod is deleted by somebody else.
    DeletePod(u32),
    /// A pod and its claim are deleted by somebody else.
    DeleteClaim(u32),
    /// A claim is deleted by somebody else, and goes when its pod does.
    CondemnClaim(u32),
    /// A node is cut off for a while.
    CutNode(u32),
    /// The members on a node reach no others for a while, and everybody else reaches them.
    Partition(u32),
    /// The operator reaches no members on a node for a while. They reach one another, and kubelets go on.
    Unheard(u32),
    /// A node is down for a while.
    StopNode(u32),
    /// A node is gone for ever with its local disks; another one takes its place.
    LoseNode(u32),
    /// Images cannot be pulled for a while.
    NoImages,
    /// Images cannot be pulled from a repository for a while, or, where that lasts for no time, ever again.
    RegistryGone(u32),
    /// Members catch up slowly for a while.
    SlowSync,
    /// Clients write nothing any more, or for a while, after so many writes that a new member gets them as a snapshot.
    Idle,
    /// The operator's caches stand still for a while.
    StaleCache,
    /// One of the operator's watches tells nothing for a while: of the resources, the pods, the claims, or what stands around
    /// them. The others go on.
    Deaf(u32),
    /// For a while the operator looks a second after a change, and not a tenth of one.
    SlowWatches,
    /// The API server does not answer for a while.
    NoApi,
    /// The operator is started again.
    Restart,
    /// The operator decides once on the snapshot before.
    Echo,
    /// The operator's clock is off by so many milliseconds for a while.
    Clock(i64),
    /// Another instance of the operator takes itself for the leader for a while, with caches that lag behind.
    Rival,
    /// `spec.size` is edited.
    Resize(i64),
    /// `spec.version` is edited.
    Version(Release),
    /// `spec.repository` is edited.
    Repository(u32),
    /// A label in `spec.pod` is edited.
    Label(u8),
    /// `spec.pod` asks for claims from now on.
    Claims,
    /// `spec.pod` asks for volumes of so many gibibytes, where it asks for claims.
    Storage(u32),
    /// The StorageClass lets no volume grow for a while.
    Rigid,
    /// `spec.TLS` leaves certificates to the operator from now on, or there are none any more.
    Tls(bool),
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
    /// Somebody takes a backup.
    BackUp,
    /// Somebody creates an EtcdRestore of the newest backup, and consents to give the cluster up or does not.
    Restore(bool),
    /// Somebody deletes the EtcdRestores that are not over.
    TakeBack,
    /// Somebody creates an EtcdBackup that upgrades, stops and restores wait for.
    Guard,
    /// Its store does not answer for a while.
    NoStore,
    /// Somebody puts an object of their own in the place of one of the cluster's.
    Intrude(u32),
    /// Somebody deletes the EtcdCluster and makes one of the same name at once; what it owned is collected.
    Recreate,
}

/// What goes wrong with one action of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mishap {
    /// The effect happens and the answer is lost.
    AnswerLost,
    /// The request never arrives.
    NeverArrives,
    /// The request arrives after so many milliseconds, when nobody waits for it any more.
    Late(i64),
    /// Somebody else was faster: the request is answered with a conflict and changes nothing.
    Conflict,
    /// The operator ends before the effect.
    EndsBefore,
    /// The operator ends after the effect.
    EndsAfter,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Planned {
    /// When it is over.
    pub(crate) const fn ends(&self) -> i64 {
        self.at + self.lasts
    }

    /// Whether it lasts at that time.
    pub(crate) fn is_at(&self, now: i64) -> bool {
        (self.at..self.ends()).contains(&now)
    }
}

impl Plan {
    /// When the last fault is over.
    #[must_use]
    pub fn calm_from(&self) -> i64 {
        self.faults
            .iter()
            .map(Planned::ends)
            .max()
            .unwrap_or_default()
    }

    /// The plan without the faults that take a disk, so that whatever is lost was lost by the operator.
    #[must_use]
    pub fn without_lost_disks(mut self) -> Self {
        self.faults.retain(|planned| {
            !matches!(
                planned.fault,
                Fault::Wipe(_)
                    | Fault::Evict(_)
                    | Fault::DeletePod(_)
                    | Fault::DeleteClaim(_)
                    | Fault::CondemnClaim(_)
                    | Fault::LoseNode(_)
            )
        });
        self
    }

    /// Plans with one entry less.
    #[must_use]
    pub fn smaller(&self) -> Vec<Self> {
        // Without the last edit the spec may ask for an image that does not exist.
        let is_version = |planned: &Planned| matches!(planned.fault, Fault::Version(_));
        let is_repository = |planned: &Planned| matches!(planned.fault, Fault::Repository(_));
        let last = [
            self.faults.iter().rposition(is_version),
            self.faults.iter().rposition(is_repository),
        ];
        let may_go = (0..self.faults.len()).filter(move |index| !last.contains(&Some(*index)));
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
