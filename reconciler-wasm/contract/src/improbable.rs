//! The second dialect, `etcd.improbable.io/v1alpha1`: the types of the archived improbable etcd-cluster-operator, in its
//! last release (v0.2.0) and in its final state, and how they are said in the types of the first dialect.
//!
//! The types of [`crate::EtcdClusterSpec`] and its like are the domain; this is an edge of it and decides nothing. Fields
//! that the archived operator did not have are optional.

mod backup;
mod backups;
mod cluster;
mod convert;
mod live;
mod living;
mod peer;
mod peers;
mod restore;
mod restores;
mod rules;
mod schedules;

pub use backup::{
    BucketCredentials, BucketSecret, ClusterEndpoint, EtcdBackupDestination, EtcdBackupPhase,
    EtcdBackupScheduleSpec, EtcdBackupSource, EtcdBackupSpec, EtcdBackupStatus, GcsBucket,
    LocalFolder,
};
pub use backups::{backup_of_domain, stored_backup_status};
pub use cluster::{
    EtcdClusterSpec, EtcdClusterStatus, EtcdMember, PodTemplate, PodTemplateMetadata, Storage,
};
pub use convert::{
    Carried, NotCarried, Subject, backup_from, backup_to, cluster_from, cluster_to, restore_from,
    restore_to, schedule_from, schedule_to,
};
pub use live::{spec_of_domain, status_of_domain, stored_status, written_spec};
pub use peer::{
    Bootstrap, EtcdPeerSpec, EtcdPeerStatus, InitialCluster, InitialClusterState, InitialMember,
};
pub use peers::{PEER_KIND, PEER_PLURAL, Peer, peers};
pub use restore::{
    ClusterTemplate, EtcdRestorePhase, EtcdRestoreSpec, EtcdRestoreStatus, RestoreSource,
};
pub use restores::{restore_of_domain, stored_restore_status};
pub use rules::{Rule, why_refused};
pub use schedules::schedule_of_domain;

/// The API group.
pub const GROUP: &str = "etcd.improbable.io";
/// The version of all its kinds.
pub const VERSION: &str = "v1alpha1";
/// What annotations and labels of the operator begin with.
pub const RESERVED_PREFIX: &str = "etcd.improbable.io/";
/// Label of every child, whose value is [`crate::names::APP`].
pub const APP_LABEL: &str = "app.kubernetes.io/name";
/// Label with the cluster's name, on every child.
pub const CLUSTER_LABEL: &str = "etcd.improbable.io/cluster-name";
/// Label with the member's name.
pub const PEER_LABEL: &str = "etcd.improbable.io/peer-name";
/// Label of a cluster that was made by an EtcdRestore: its name.
pub const RESTORED_FROM_LABEL: &str = "etcd.improbable.io/restored-from";
/// Label of an EtcdBackup that was made by an EtcdBackupSchedule: its name.
pub const SCHEDULE_LABEL: &str = "etcd.improbable.io/backup-schedule-name";
/// Finalizer of an EtcdPeer whose volume claim goes with it.
pub const CLAIM_FINALIZER: &str = "etcdpeer.etcd.improbable.io/pvc-cleanup";
/// Finalizer that the archived operator left on schedules.
pub const SCHEDULE_FINALIZER: &str = "finalizers.etcd.improbable.io/backup-schedule-cancel";
