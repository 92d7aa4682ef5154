//! The report: what a decision found, in words and in one list of reasons.
//!
//! Conditions, events, logs and metrics take their reason from [`Reason`] and from nowhere else.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a decision found out. The first finding is the most important one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Findings, most important first.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// One thing found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How it bears on the cluster.
    pub kind: FindingKind,
    /// The reason's name.
    pub reason: Reason,
    /// A sentence: what it is, what is waited for, what a person can do.
    pub message: String,
    /// The member it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

/// How a finding bears on the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FindingKind {
    /// The resource asks for something that cannot be. A person must change it.
    Invalid,
    /// Nothing can be done without a person.
    Blocked,
    /// It passes by itself; the finding says what is waited for.
    Waiting,
    /// Work that this decision does.
    Doing,
    /// Worth knowing; nothing is waited for.
    Note,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Why the operator does what it does, waits, or does nothing. The names are those of conditions, events,
        /// metrics and `docs/reasons.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[doc = $doc])+ $name,)+
            /// A reason of a newer module that this host has no name for; the message says what it is.
            #[serde(other)]
            Other,
        }

        impl Reason {
            /// Every reason, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+ Self::Other];

            /// The name, as conditions show it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ Self::Other => "Other" }
            }

            /// The sentence of its documentation.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+),)+
                    Self::Other => " A reason of a newer module that this host has no name for; the message says what it is.",
                }
            }
        }
    };
}

reasons! {
    /// The cluster is as the spec asks, and all members are healthy.
    AsSpecified,
    /// A quorum of members is healthy.
    QuorumHealthy,
    /// The resource has not been looked at before.
    NotYetObserved,
    /// The first members are being started together.
    Forming,
    /// The first members did not form a quorum in time; they are started over under a fresh token.
    BirthRestarted,
    /// The cluster has formed; its id is recorded.
    Formed,
    /// A living cluster that stood without a record was taken over as it is; its id is recorded.
    Adopted,
    /// Pods or volume claims of the cluster stand without a record, and no quorum of them answers yet.
    AwaitingAdoption,
    /// An EtcdPeer that the archived operator left on its way out waits for the volume claim of a member that left.
    PeerDeparting,
    /// The archived coreos etcd-operator may still be at work here; nothing is done beside it.
    OldOperatorActive,
    /// Members run in pods as the archived operator made them; they stay so until their renewal is asked for.
    OldPodShape,
    /// Pods of the archived operator's shape are made anew, one by one, because that was asked for.
    RenewingPods,
    /// The member list grows by one member at a time.
    ScalingUp,
    /// The member list shrinks by one member at a time.
    ScalingDown,
    /// `spec.size` is 0: all members are stopped and their volume claims stay.
    ScaledToZero,
    /// The size is no longer 0: the members are being started again, each on its own volume claim.
    WakingUp,
    /// A new member receives the log before it gets a vote.
    LearnerCatchingUp,
    /// A learner that did not catch up in time is taken out again.
    LearnerStuck,
    /// etcd changes its member list only after its voters have been connected for five seconds.
    Settling,
    /// Leadership is moved away from a member before it leaves or is restarted.
    MovingLeader,
    /// `spec.pod` changed: the members' pods are made again one at a time, the leader's last.
    Reshaping,
    /// `spec.pod` as it is makes no pod that runs: no further member is touched.
    ReshapeStuck,
    /// A member left etcd's list; its pod and its disk are being deleted.
    MemberDeparting,
    /// A member's pod is gone and is made again on its own disk.
    PodMissing,
    /// A pod of the cluster's birth came when the birth was over; it is deleted.
    LatePod,
    /// A member's pod is being terminated.
    PodTerminating,
    /// A member does not answer; it has time to come back before it is replaced.
    MemberUnhealthy,
    /// A member's disk is gone or empty; it is replaced by a new member.
    DiskLost,
    /// A member was down for too long and is replaced by a new member.
    ReplacingMember,
    /// A member was ended for using more memory than its limit allows. It is not replaced: a new one would end the same way.
    OutOfMemory,
    /// A member's volume grows to the size that the spec asks for.
    VolumeGrowing,
    /// A member's volume cannot grow; it keeps its size.
    VolumeNotGrown,
    /// The scheduler finds no node for a member's pod.
    Unschedulable,
    /// The image of a member's pod cannot be pulled.
    ImagePull,
    /// A member's container does not start or keeps ending.
    CrashLoop,
    /// Fewer voters are healthy than a quorum needs. Nothing is removed or deleted while that is so.
    QuorumLost,
    /// etcd's data reached its quota, so it serves only reads and deletes until there is room again.
    NoSpace,
    /// etcd found that members disagree on their data and serves nobody until that is settled.
    DataCorrupt,
    /// The quorum is lost, a person consented, and the cluster goes on from the one member they named.
    RecoveringQuorum,
    /// `spec.quorumRecovery` is set and does nothing: it is wrong, not needed, or used up.
    ConsentNotUsed,
    /// Some members could not be asked, so nothing that could cost a vote is done.
    MembersUnknown,
    /// The members answer with another cluster's id than the recorded one.
    ClusterIdMismatch,
    /// No member is left and no disk either: the data is gone. Only a restore brings it back.
    DataLost,
    /// The spec cannot be followed as it stands.
    InvalidSpec,
    /// The status holds something that cannot be read; without it nothing is started.
    UnreadableStatus,
    /// The asked version is not one this operator runs.
    UnsupportedVersion,
    /// Members are moved to the asked version or repository, one at a time.
    Upgrading,
    /// The cluster goes back by one minor version, by etcd's own procedure, which comes before the first member is moved.
    Downgrading,
    /// A restarted member receives what it missed before the next one is restarted.
    CatchingUp,
    /// Members are to be moved to another version or repository, and something must pass first.
    UpgradeHeld,
    /// etcd does not allow the way from the running version to the asked one, or not in one step.
    UpgradePath,
    /// A member does not run with the image it was given. The others stay as they are.
    UpgradeStuck,
    /// The spec asks for something that this operator accepts and does not use.
    AcceptedNotUsed,
    /// A Secret that the spec names does not exist.
    SecretMissing,
    /// A Secret that the spec names could not be read.
    SecretUnreadable,
    /// A Secret that the spec names lacks one of the keys it must have.
    SecretIncomplete,
    /// A certificate or key cannot do what it is there for.
    CertificateInvalid,
    /// A certificate's time is over.
    CertificateExpired,
    /// The operator makes certificates for the cluster.
    IssuingCertificates,
    /// A certificate ends soon.
    CertificateExpiring,
    /// A Secret holds other authorities than the members were started with; they trust them after a restart.
    AuthoritiesChanged,
    /// The spec asks for other certificates, or none, than the members were started with.
    TlsNotApplied,
    /// TLS is turned on or off: members are restarted one by one, and each gets its other address before.
    TurningTls,
    /// An even number of members tolerates no more failures than one member less.
    EvenSize,
    /// A backup is being streamed into the store or read back from it.
    BackupUnderWay,
    /// A backup is stored, and what is stored was read back whole.
    BackupStored,
    /// A backup is due and something must pass first.
    BackupWaiting,
    /// A backup was not stored. One that is taken once is not tried again.
    BackupFailed,
    /// Nothing is due; the next backup is taken at its time.
    BackupScheduled,
    /// The spec suspends periodic backups.
    BackupsSuspended,
    /// Backups were due while nobody was there to take them.
    BackupsMissed,
    /// A backup is taken before something that is hard to take back, which waits for it.
    BackupBeforeChange,
    /// Stored backups beyond the number that is kept are deleted.
    BackupsDeleted,
    /// Stored backups that would be deleted stay for now.
    BackupsHeld,
    /// An EtcdBackupSchedule makes an EtcdBackup at its time.
    ScheduledBackupMade,
    /// EtcdBackups of an EtcdBackupSchedule beyond the number that is kept are deleted; what they stored stays, unless their spec says otherwise.
    HistoryLimited,
    /// It is tried in a throw-away member whether the newest backup restores.
    RehearsalUnderWay,
    /// The newest backup was restored into a throw-away member, which holds what was backed up.
    RehearsalSucceeded,
    /// The newest backup could not be restored, or what was restored is not what was backed up.
    RehearsalFailed,
    /// Whether the newest backup restores could not be tried; it is tried again.
    RehearsalWaiting,
    /// A backup that is to be restored is read from its first byte to its last, before anything is touched.
    ProvingSnapshot,
    /// A restore is asked for, and something must pass or be said first. Nothing was touched.
    RestoreWaiting,
    /// The cluster goes on from a backup.
    Restoring,
    /// The cluster has its full size again, with the data of the backup.
    Restored,
    /// A restore was not begun and is not tried again. Nothing was touched.
    RestoreFailed,
    /// `spec.paused` is true: the status is kept up to date, all else is left alone.
    Paused,
    /// The resource is being deleted; Kubernetes collects what it owns.
    Deleting,
    /// An object of somebody else stands under a name the cluster needs.
    ForeignObject,
    /// Kubernetes objects of the cluster could not be read.
    KubernetesUnreadable,
    /// An action of the last decision failed; it is tried again.
    ActionFailed,
    /// The module's answer was refused as a whole or in part.
    DecisionRefused,
    /// A reconciler module is loaded and in its role.
    ModuleInRole,
    /// A reconciler module cannot be used; what decided before goes on deciding.
    ModuleRefused,
    /// An older ReconcilerModule has the role that this one asks for.
    ModuleWaiting,
    /// A module failed more often than its limit allows, and the last good one decides again.
    ModuleFellBack,
    /// Nothing to do; members are looked at again.
    HealthCheck,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else the decisions of a newer module would be refused for a word that bears on no effect.
    #[test]
    fn a_reason_of_a_newer_module_is_taken_as_other() {
        let read: Result<Reason, _> = serde_json::from_str("\"Levitating\"");
        assert!(matches!(read, Ok(Reason::Other)));
    }
}
