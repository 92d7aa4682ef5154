//! `EtcdRestore` of `etcd.improbable.io/v1alpha1`: a cluster that does not exist yet is made from a backup.

use serde::{Deserialize, Serialize};

use super::EtcdClusterSpec;

/// The wish for a cluster that is born from a backup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreSpec {
    /// Where the backup is.
    #[serde(default)]
    pub source: RestoreSource,
    /// The cluster that is made.
    #[serde(default)]
    pub cluster_template: ClusterTemplate,
    /// By how much etcd's revision is raised, so that clients that watch notice that they lost their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bump_revision: Option<i64>,
}

/// Where a backup is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestoreSource {
    /// An s3:// or gs:// URL.
    #[serde(default, rename = "objectURL")]
    pub object_url: String,
    /// A Secret with the store's credentials. Without it those of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

/// The cluster that is made from a backup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterTemplate {
    /// Its name.
    #[serde(default)]
    pub cluster_name: String,
    /// Its spec.
    #[serde(default)]
    pub spec: EtcdClusterSpec,
}

/// What became of the wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreStatus {
    /// How far it is.
    #[serde(default)]
    pub phase: EtcdRestorePhase,
}

/// How far a restore is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EtcdRestorePhase {
    /// Not looked at yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// Under way.
    Pending,
    /// It is not done, and will not be.
    Failed,
    /// The cluster was made.
    Completed,
}
