//! What happened, as far as promises are about it: the material of the invariants.
//!
//! States what is so and judges nothing.

use contract::{ClusterId, EtcdClusterStatus, MemberId, Reason, RestorationStage, RiskyAct};

use crate::release::Release;

/// Something that a promise is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The envelope refused a whole decision.
    Refused {
        /// When.
        at: i64,
        /// The refusals, in words.
        why: Vec<String>,
    },
    /// The operator changed something.
    Deed {
        /// When.
        at: i64,
        /// What.
        deed: Deed,
        /// The world immediately before.
        before: Box<Truth>,
        /// Acknowledged writes of which this destroyed the last copy.
        lost: Vec<u32>,
        /// The world when the request was sent, if it arrived late: it has moved on since the last check.
        late: Option<Box<Truth>>,
    },
    /// The operator changed or deleted something of somebody else's.
    Trespassed {
        /// When.
        at: i64,
        /// The effect, and the object.
        what: String,
    },
    /// The operator acted many times in a row on a world that did not move.
    Spun {
        /// When.
        at: i64,
        /// The effects of its last decision.
        effects: Vec<&'static str>,
    },
    /// What people read after a look at all there is, if it says that somebody serves.
    Said {
        /// When.
        at: i64,
        /// The condition `Available` is True.
        available: bool,
        /// `members.ready`.
        ready: Vec<String>,
        /// A leader has a quorum of followers.
        confirmed: bool,
        /// Voters that serve, know of a leader who stands, and whose pods are to stay.
        serving: Vec<String>,
    },
    /// The operator acted, though nothing had moved since it looked and had nothing to do.
    Stirred {
        /// When.
        at: i64,
        /// The effects of its decision.
        effects: Vec<&'static str>,
        /// The world immediately before.
        before: Box<Truth>,
    },
    /// A member was elected.
    Elected {
        /// When.
        at: i64,
        /// The cluster.
        cluster: ClusterId,
        /// Who.
        leader: String,
        /// Acknowledged writes that it does not have.
        missing: Vec<u32>,
    },
}

/// An effect of the operator other than status and events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A pod was made that starts as `new` on an empty disk.
    StartedNew(String),
    /// A pod was made that starts as the only member of its cluster.
    StartedAlone(String),
    /// `MemberAdd`.
    Added(String),
    /// `MemberPromote`.
    Promoted(MemberId),
    /// `MemberRemove`.
    Removed(MemberId),
    /// `MoveLeader`.
    Moved(MemberId),
    /// A compaction.
    Compacted(i64),
    /// `Defragment`.
    Defragmented(MemberId),
    /// The alarm for lack of space of a member was ended.
    Disarmed(MemberId),
    /// A member's container was given another image.
    Restarted(String),
    /// The pod of that member was deleted, or its ReplicaSet.
    DeletedPod(String),
    /// A claim was deleted.
    DeletedClaim(String),
    /// What the cluster has was given up for a backup.
    GaveUp,
    /// The budget was written.
    Guarded {
        /// `minAvailable`, as it reads then.
        kept: Option<String>,
    },
    /// Another write, by the effect's name.
    Wrote(&'static str),
}

/// The world as it is, of which no snapshot knows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// `spec.size`.
    pub size: i64,
    /// `spec.paused`.
    pub paused: bool,
    /// `spec.version`.
    pub asked: Option<Release>,
    /// `spec.repository`, by its number.
    pub repository: u32,
    /// `spec.upgrade.throughMinors`.
    pub through: bool,
    /// The minor version that the cluster as a whole has taken on.
    pub minor: Option<u64>,
    /// A label in `spec.pod`.
    pub label: Option<String>,
    /// `spec.pod` asks for claims.
    pub wants_claims: bool,
    /// Pods of the archived operator are asked to be made anew.
    pub renews: bool,
    /// `spec.TLS` leaves certificates to the operator.
    pub wants_tls: bool,
    /// The member that `spec.quorumRecovery` names, if it names this cluster.
    pub consent: Option<String>,
    /// The member that `status.recovery` says is made the only one, at this moment, if it names this cluster.
    pub recovering: Option<String>,
    /// `status.restoration.stage` while it is under way.
    pub restoring: Option<RestorationStage>,
    /// The EtcdRestore of it names the recorded cluster as the one to be given up.
    pub replaced: bool,
    /// Whose claims are kept until the cluster is whole again.
    pub given_up: Vec<String>,
    /// Acts that wait for a backup which was not taken.
    pub unsaved: Vec<RiskyAct>,
    /// `status.clusterId`.
    pub cluster: Option<ClusterId>,
    /// A leader has a quorum of followers.
    pub confirmed: bool,
    /// `status.asleepSince` is set.
    pub asleep: bool,
    /// What the condition `Available` of the status says, if it stands.
    pub said_available: Option<bool>,
    /// An alarm for lack of space stands.
    pub alarmed: bool,
    /// Who leads, if somebody does.
    pub leader: Option<MemberId>,
    /// The members of the recorded cluster, by the most complete log.
    pub members: Vec<MemberTruth>,
    /// Names of pods that are to stay.
    pub pods: Vec<String>,
    /// Names of pods that have their data within or have never run on their claims, and none of what clients wrote.
    pub blank: Vec<String>,
    /// Names of pods that run on what founds the recorded cluster, and have got nothing from any of its leaders.
    pub unled: Vec<String>,
    /// Names of claims.
    pub claims: Vec<String>,
    /// Names of claims whose volumes are smaller than the spec asks for.
    pub small: Vec<String>,
    /// Names of Services.
    pub services: Vec<String>,
    /// `minAvailable` of the budget.
    pub budget: Option<String>,
    /// No budget can be: somebody else's has its name, or Services and a budget would not select pods that the archived
    /// operator made and that are still to be taken over. Somebody else's that was collected a moment ago may still be
    /// there in the last look. Or nothing tells the operator which budget there is.
    pub unguardable: bool,
}

/// One member as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberTruth {
    /// Its id.
    pub id: MemberId,
    /// Its name.
    pub name: String,
    /// It has no vote.
    pub learner: bool,
    /// It has run.
    pub started: bool,
    /// It serves and follows the leader, and its pod is to stay.
    pub healthy: bool,
    /// Its data is on a disk that its pod can have.
    pub intact: bool,
    /// That disk goes with its pod.
    pub in_pod: bool,
    /// Somebody deletes its claim, which goes when its pod does.
    pub condemned: bool,
    /// Its file takes nine tenths of the quota or more.
    pub full: bool,
    /// The same label on its pod.
    pub label: Option<String>,
    /// Its pod has certificates for the other members.
    pub secure: bool,
    /// The other members are told to reach it by TLS.
    pub reached_by_tls: bool,
    /// What it runs.
    pub release: Option<Release>,
    /// The repository of its pod's image, by its number.
    pub repository: Option<u32>,
    /// It runs, and is about to be restarted with another image. Whose pod is being deleted counts as down instead.
    pub swaps: bool,
    /// It runs in a pod of the archived operator, which gets no other image.
    pub old: bool,
}

/// How a history ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// When.
    pub at: i64,
    /// When the last fault was over.
    pub calm: i64,
    /// The world.
    pub truth: Truth,
    /// It reached the goal and then rested.
    pub rested: bool,
    /// It can never reach the goal, and nothing was done in its last passes.
    pub still: bool,
    /// Reasons in the last report.
    pub reasons: Vec<Reason>,
    /// Passes.
    pub passes: u32,
    /// The last passes in words, for a history that found no end.
    pub last_words: Vec<String>,
    /// The status that people read then.
    pub status: EtcdClusterStatus,
    /// `metadata.generation` of the resource.
    pub generation: i64,
}

/// A history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// What happened.
    pub facts: Vec<Fact>,
    /// How it ended.
    pub end: End,
    /// Everything in words, if it was asked for.
    pub words: Vec<String>,
}
