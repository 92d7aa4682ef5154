//! The one vocabulary of both sides of the boundary: what the host observes, what the module answers.
//!
//! Owns the types of the custom resource, the snapshot, the actions and the report, and the names of
//! children. It decides nothing, reads no clock and talks to nobody.
#![deny(missing_docs)]

mod action;
mod backup;
mod cluster;
mod decision;
mod departing;
mod describe;
mod dialect;
mod etcd;
mod ids;
pub mod improbable;
mod issue;
mod kind;
mod kubernetes;
mod module;
pub mod names;
mod precondition;
mod predecessor;
mod probes;
mod quantities;
pub mod quantity;
mod report;
mod restore;
mod schedule;
mod settings;
mod snapshot;
mod status;
mod tls;

pub use action::{Action, Child, Effect, EventType, ObjectKind};
pub use backup::{
    AbsStore, BackupBefore, BackupEffect, BackupKey, BackupPolicy, BackupRun, BackupView,
    ClusterRef, Contents, EtcdBackupSpec, EtcdBackupStatus, GcsStore, KeepPolicy, OLD_FINALIZER,
    OssStore, Place, PvcStore, Rehearsal, RehearsalPod, RehearsalRun, RehearsalState,
    RehearsalVerdict, Rehearse, RiskyAct, S3Store, STORED_FINALIZER, SnapshotContent,
    SourceEndpoint, StoreKind, Stored, StoredObject, Take, Transfer, TransferState,
    VERIFY_BY_RESTORE,
};
pub use cluster::{
    AutoTls, ClaimRetention, DEFAULT_REQUESTS, DEFAULT_USER, EtcdClusterSpec, GROUP, KIND,
    MemberSecrets, PLURAL, PodPolicy, QuorumRecovery, StaticTls, TlsPolicy, UpgradePolicy, VERSION,
    WhenDeleted,
};
pub use decision::{Decision, Requeue};
pub use departing::{DepartingPeer, PeerEffect};
pub use describe::Description;
pub use dialect::Dialect;
pub use etcd::{Alarm, AlarmKind, Endpoint, EndpointStatus, EtcdView, HashKv, Member, Membership};
pub use ids::{ClusterId, Fingerprint, MemberId, Millis};
pub use issue::{MADE_FILES, Order, authority_keys};
pub use kind::ResourceKind;
pub use kubernetes::{
    DisruptionBudget, ForeignObject, LastExit, Objects, Pod, PodPhase, Secret, Service,
    ServicePort, Volume, VolumePhase,
};
pub use module::{
    BuiltIn, ConfigMapSource, FileSource, FirstDifference, FuelUsed, MODULE_KEY, MODULE_KIND,
    MODULE_PLURAL, MODULE_VERSION, ModuleIdentity, ModulePhase, ModuleRole, ModuleSignature,
    ModuleSource, OciSource, PUBLIC_KEY_KEY, PublicKeySource, ReconcilerModuleSpec,
    ReconcilerModuleStatus, SelfTest,
};
pub use precondition::{
    LEARNER_UNHEARD, ObjectPrecondition, Preconditions, RestoreRef, SUCCESSOR_REFUSED,
};
pub use predecessor::{LockKind, OLD_LOCK_ANNOTATION, OldChildren, OldLock, OldSet, Predecessor};
pub use probes::ProbePolicy;
pub use report::{Finding, FindingKind, Reason, Report};
pub use restore::{
    BeingRestored, EtcdRestoreSpec, EtcdRestoreStatus, ProofRun, REVISION_BUMP, Restoration,
    RestorationStage, RestoreEffect, RestorePhase, RestoreView, SnapshotProof,
};
pub use schedule::{
    BackupScheduleSpec, BackupScheduleStatus, ScheduleEffect, ScheduleView, ScheduledBackup,
    ScheduledRun, ScheduledState,
};
pub use settings::{
    BadSetting, CompactionMode, EtcdSettings, QUOTA_VARIABLE, SNAPSHOT_COUNT_VARIABLE,
};
pub use snapshot::{Backup, Observed, OutcomeKind, PastOutcome, Resource, Snapshot};
pub use status::{
    Birth, CertificateRecord, Condition, ConditionStatus, EtcdClusterStatus, MemberHealth,
    MemberNames, MemberRecord, MemberRole, Phase, Recovery, RecoveryStage, SpaceCure,
};
pub use tls::{TlsFiles, TlsRole, TlsSecrets, certificate_covers};

/// The schema number of [`Snapshot`] and [`Decision`]. It grows with breaking changes only; additions keep it.
pub const SCHEMA: u32 = 1;
