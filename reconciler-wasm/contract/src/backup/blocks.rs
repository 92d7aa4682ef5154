//! The blocks of a spec that say where backups are, one for each kind of store.
//!
//! Keys are those of the archived operator, which had no `pvc`. Knows no credentials, only the Secrets' names.

use serde::{Deserialize, Serialize};

/// Amazon S3, or a server that speaks its protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct S3Store {
    /// BUCKET/KEY.
    #[serde(default)]
    pub path: String,
    /// A Secret with the keys `credentials` and `config`: AWS's files, of which the profile `default` is used.
    #[serde(default)]
    pub aws_secret: String,
    /// The server, when it is not Amazon's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Its region, instead of the one in the Secret's `config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// True puts the bucket into the URL's path instead of its host name, as most servers other than Amazon's want it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_path_style: Option<bool>,
}

/// Azure Blob Storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AbsStore {
    /// CONTAINER/KEY.
    #[serde(default)]
    pub path: String,
    /// A Secret with the keys `storage-account`, `storage-key` and, where it is not the public one, `cloud`.
    #[serde(default)]
    pub abs_secret: String,
    /// The account's URL, when it is not that of its cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

/// Google Cloud Storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GcsStore {
    /// BUCKET/KEY.
    #[serde(default)]
    pub path: String,
    /// A Secret with the key `access-token` or `credentials.json`.
    #[serde(default)]
    pub gcp_secret: String,
    /// The server, when it is not Google's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

/// Alibaba Cloud OSS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OssStore {
    /// BUCKET/KEY.
    #[serde(default)]
    pub path: String,
    /// A Secret with the keys `accessKeyID` and `accessKeySecret`.
    #[serde(default)]
    pub oss_secret: String,
    /// The region's server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

/// A volume claim of the namespace of the object, which the operator runs in, too, and has mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PvcStore {
    /// CLAIM/KEY: the PersistentVolumeClaim and the file in it.
    #[serde(default)]
    pub path: String,
}
