//! `EtcdBackup` and `EtcdBackupSchedule` of `etcd.improbable.io/v1alpha1`.
//!
//! Release v0.2.0 and the final state wrote different fields under the same version; both are read.

use serde::{Deserialize, Serialize};

use crate::{BackupPolicy, ClusterRef};

/// The wish for one backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupSpec {
    /// Whose data is backed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<EtcdBackupSource>,
    /// The same as v0.2.0 wrote it: where members answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_endpoints: Option<Vec<ClusterEndpoint>>,
    /// Where the backup goes.
    #[serde(default)]
    pub destination: EtcdBackupDestination,
    /// How long it may take, and of a schedule: how many are kept and whether they are tried. When backups are taken is
    /// said by the EtcdBackupSchedule alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_policy: Option<BackupPolicy>,
}

/// Whose data is backed up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupSource {
    /// URL of a member or of a Service in front of members.
    #[serde(
        default,
        rename = "clusterURL",
        skip_serializing_if = "Option::is_none"
    )]
    pub cluster_url: Option<String>,
    /// The cluster of this namespace, instead of `clusterURL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<ClusterRef>,
    /// A Secret with a client's certificate, for a URL that speaks TLS.
    #[serde(
        default,
        rename = "clientTLSSecret",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_tls_secret: Option<String>,
}

/// Where members answer, as v0.2.0 wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterEndpoint {
    /// http or https.
    #[serde(default)]
    pub scheme: String,
    /// A host.
    #[serde(default)]
    pub host: String,
    /// A port.
    #[serde(default)]
    pub port: i64,
}

/// Where a backup goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupDestination {
    /// An s3:// or gs:// URL, in which .Name, .Namespace, .UID and .CreationTimestamp, each in two pairs of braces, stand for
    /// what they are of the EtcdBackup.
    #[serde(
        default,
        rename = "objectURLTemplate",
        skip_serializing_if = "Option::is_none"
    )]
    pub object_url_template: Option<String>,
    /// A Secret with the store's credentials. Without it those of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// A folder of the operator's pod, as v0.2.0 wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalFolder>,
    /// A bucket of Google's, as v0.2.0 wrote it. It counts where `local` is set, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gcs_bucket: Option<GcsBucket>,
}

/// A folder of the operator's pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LocalFolder {
    /// Its path.
    #[serde(default)]
    pub path: String,
}

/// A bucket of Google's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GcsBucket {
    /// Its name.
    #[serde(default)]
    pub bucket_name: String,
    /// How it is opened. v0.2.0 accepted it and never read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<BucketCredentials>,
}

/// How a bucket is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BucketCredentials {
    /// The Secret, and the key in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_selector: Option<BucketSecret>,
}

/// A key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BucketSecret {
    /// The Secret's name.
    #[serde(default)]
    pub name: String,
    /// The key.
    #[serde(default)]
    pub key: String,
}

/// What became of the wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupStatus {
    /// How far it is.
    #[serde(default)]
    pub phase: EtcdBackupPhase,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<String>,
    /// Where v0.2.0 put it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_path: Option<String>,
}

/// How far a backup is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EtcdBackupPhase {
    /// Not looked at yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// It is taken.
    BackingUp,
    /// It is stored, as v0.2.0 said.
    Uploading,
    /// It is stored.
    Completed,
    /// It is not, and will not be.
    Failed,
}

/// Backups that are taken again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupScheduleSpec {
    /// When: five fields as crontab has them, a name such as @hourly, or @every and a span such as 1h30m; before it
    /// perhaps CRON_TZ= and a time zone.
    #[serde(default)]
    pub schedule: String,
    /// What each backup looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_template: Option<EtcdBackupSpec>,
    /// The same as v0.2.0 wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_spec: Option<EtcdBackupSpec>,
    /// How many EtcdBackups that succeeded are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successful_backups_history_limit: Option<i64>,
    /// How many EtcdBackups that failed are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_backups_history_limit: Option<i64>,
}
