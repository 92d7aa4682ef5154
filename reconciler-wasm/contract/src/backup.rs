//! `EtcdBackup` of `etcd.database.coreos.com/v1beta2`: what people write, and what they read.
//!
//! Spellings such as `Reason`, `clientTLSSecret` and `timeoutInSecond` are those of the archived coreos etcd-operator,
//! whose manifests apply unchanged. Validation is the reconciler's.

mod before;
mod blocks;
mod effect;
mod place;
mod rehearsal;
mod view;

use serde::{Deserialize, Serialize};

use crate::{Condition, WhenDeleted};
pub use before::{BackupBefore, RiskyAct};
pub use blocks::{AbsStore, GcsStore, OssStore, PvcStore, S3Store};
pub use effect::{BackupEffect, Take};
pub use place::{BackupKey, Place, StoreKind};
pub use rehearsal::{
    Contents, Rehearsal, RehearsalPod, RehearsalRun, RehearsalState, RehearsalVerdict, Rehearse,
};
pub use view::{
    BackupView, SnapshotContent, SourceEndpoint, Stored, StoredObject, Transfer, TransferState,
};

/// The finalizer that the archived operator left on periodic backups.
pub const OLD_FINALIZER: &str = "backup-operator-periodic";
/// The finalizer under which a backup is not gone before what it stored is, where its spec asks for that.
pub const STORED_FINALIZER: &str = "etcd.database.coreos.com/stored-backups";
/// The one value of `spec.backupPolicy.verify`.
pub const VERIFY_BY_RESTORE: &str = "restore";

/// The wish for a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupSpec {
    /// URLs of members or of a Service in front of them, such as http://example-client:2379. The one with the highest
    /// revision is used; one that answers is enough. Or name a cluster in `clusterRef`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_endpoints: Option<Vec<String>>,
    /// The cluster of this namespace that is backed up, instead of `etcdEndpoints`: any healthy member serves, followers
    /// before the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<ClusterRef>,
    /// Which of the blocks below says where the backup goes: S3, ABS, GCS, OSS or PVC.
    #[serde(default)]
    pub storage_type: String,
    /// A Secret with the keys etcd-client.crt, etcd-client.key and etcd-client-ca.crt, for endpoints that speak TLS.
    #[serde(
        default,
        rename = "clientTLSSecret",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_tls_secret: Option<String>,
    /// How long it may take, how often it is taken, how many are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_policy: Option<BackupPolicy>,
    /// Amazon S3, or a server that speaks its protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Store>,
    /// Azure Blob Storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abs: Option<AbsStore>,
    /// Google Cloud Storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gcs: Option<GcsStore>,
    /// Alibaba Cloud OSS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oss: Option<OssStore>,
    /// A volume claim of this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pvc: Option<PvcStore>,
}

/// The name of an EtcdCluster in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterRef {
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// How long a backup may take, how often it is taken, how many are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackupPolicy {
    /// Seconds that one backup may take. Default: a minute to begin and an hour to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_in_second: Option<i64>,
    /// Seconds from one backup to the next; 0 or nothing takes it once. Later ones get the revision and the time appended
    /// to their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_interval_in_second: Option<i64>,
    /// When backups are taken, instead of `backupIntervalInSecond`: minute, hour, day of month, month and day of week as
    /// crontab has them, such as "30 3 * * *", or one of @hourly, @daily, @weekly, @monthly and @yearly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The time zone of `schedule` by its IANA name, such as Europe/Berlin. Default: UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Spreads the backups of many objects with one `schedule`: each is taken up to so many seconds later, this object's
    /// always by the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_in_second: Option<i64>,
    /// True takes no more periodic backups until it is false again. One under way goes on; nothing counts as missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// How many backups of this object are kept; 0 or nothing keeps all, unless one of the two below is set. A backup stays
    /// that any of the three keeps, and the newest always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_backups: Option<i64>,
    /// Backups that are younger than so many seconds are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_in_second: Option<i64>,
    /// Of so many last hours, days and so on that have a backup, the newest one of each is kept. Counted in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeepPolicy>,
    /// Retain: what is stored stays when this object is deleted. Delete: all backups in the store that have its names are
    /// deleted first, the newest too. Default: Retain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_deleted: Option<WhenDeleted>,
    /// Before which acts on the cluster of `clusterRef` one is taken, besides: they wait for it, and are not begun without
    /// it. Without a schedule these are the only ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Vec<RiskyAct>>,
    /// `restore` proves that the newest backup restores: it is restored into a throw-away member that nobody reaches, and
    /// what that one holds is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// When that is done, as `schedule` has it and in its `timeZone`. Default: for each backup, once it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_schedule: Option<String>,
}

/// Of how many periods the newest backup is kept. Periods without a backup are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct KeepPolicy {
    /// Hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hourly: Option<i64>,
    /// Days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily: Option<i64>,
    /// Weeks, from Monday on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weekly: Option<i64>,
    /// Months.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monthly: Option<i64>,
    /// Years.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yearly: Option<i64>,
}

impl EtcdBackupSpec {
    /// Seconds from one backup to the next, where the spec gives them.
    #[must_use]
    pub fn interval(&self) -> Option<i64> {
        let policy = self.backup_policy.as_ref()?;
        policy
            .backup_interval_in_second
            .filter(|seconds| *seconds > 0)
    }

    /// When backups are taken as crontab has it, where the spec says so.
    #[must_use]
    pub fn schedule(&self) -> Option<&str> {
        let policy = self.backup_policy.as_ref()?;
        policy.schedule.as_deref().filter(|text| !text.is_empty())
    }

    /// Whether it is tried whether the newest backup restores.
    #[must_use]
    pub fn rehearses(&self) -> bool {
        let policy = self.backup_policy.as_ref();
        policy.is_some_and(|policy| policy.verify.as_deref() == Some(VERIFY_BY_RESTORE))
    }

    /// Whether backups are taken again and again, each under a name of its own.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        self.interval().is_some() || self.schedule().is_some() || !self.before().is_empty()
    }

    /// Whether another one is due at some time, by a rhythm that is not suspended.
    #[must_use]
    pub fn is_due_again(&self) -> bool {
        let policy = self.backup_policy.as_ref();
        let is_suspended = policy.is_some_and(|policy| policy.suspend == Some(true));
        (self.interval().is_some() || self.schedule().is_some()) && !is_suspended
    }

    /// Whether all that is stored goes when the object is deleted.
    #[must_use]
    pub fn takes_stored_along(&self) -> bool {
        let policy = self.backup_policy.as_ref();
        policy.is_some_and(|policy| policy.when_deleted == Some(WhenDeleted::Delete))
    }

    /// Before which acts one is taken.
    #[must_use]
    pub fn before(&self) -> &[RiskyAct] {
        let policy = self.backup_policy.as_ref();
        policy
            .and_then(|policy| policy.before.as_deref())
            .unwrap_or_default()
    }
}

/// What became of the wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupStatus {
    /// The last backup is stored and was read back whole.
    #[serde(default)]
    pub succeeded: bool,
    /// Why the last one failed.
    #[serde(default, rename = "Reason", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Version of the etcd that the last backup is of.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub etcd_version: String,
    /// Revision that the last backup holds at least.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub etcd_revision: i64,
    /// When the last one succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_success_date: Option<String>,
    /// When one last failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure_date: Option<String>,
    /// Where the last backup is: BUCKET/KEY.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    /// The sha-256 of all its bytes, as they were read back from the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// How long it took to stream and to read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_milliseconds: Option<i64>,
    /// What the member that it was taken from said of its keys at the backup's revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// Whether the newest backup that was tried restores, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<String>,
    /// The last time that this was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<Rehearsal>,
    /// The try under way. Written before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal_run: Option<RehearsalRun>,
    /// When it is tried next, where that has a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_rehearsal: Option<String>,
    /// The run under way. Written before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<BackupRun>,
    /// Since when the run that is due cannot begin or end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<String>,
    /// When the next backup is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_backup: Option<String>,
    /// Backups in the store that this object made, as they were last listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_backups: Option<i64>,
    /// Backups that were due and not taken since the last success, because nobody was there to take them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: i64,
    /// What holds, and since when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// `metadata.generation` this status answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// sha-256 of the reconciler module that decided this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

impl EtcdBackupStatus {
    /// Whether a backup that is taken once has been, or has failed: it is never run again.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.succeeded || !self.reason.is_empty()
    }
}

/// One run of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackupRun {
    /// Tells it from all others; it is stored with the backup.
    #[serde(default)]
    pub id: String,
    /// The object's name in the bucket.
    #[serde(default)]
    pub key: String,
    /// Who is asked for the data.
    #[serde(default)]
    pub endpoint: String,
    /// The version and revision that this one told of itself right before.
    #[serde(default)]
    pub etcd_version: String,
    /// See `etcdVersion`.
    #[serde(default)]
    pub etcd_revision: i64,
    /// When it began.
    #[serde(default)]
    pub started_at: String,
    /// When the two below were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_at: Option<String>,
    /// Bytes streamed when this was last written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: i64,
    /// Bytes a second when this was last written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_per_second: i64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}
