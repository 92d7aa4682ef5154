//! `EtcdPeer` of `etcd.improbable.io/v1alpha1`: one member, made by the operator and seen by people.
//!
//! Nobody writes one by hand, so it is not converted.

use serde::{Deserialize, Serialize};

use super::{PodTemplate, Storage};

/// One member of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdPeerSpec {
    /// Its cluster.
    #[serde(default)]
    pub cluster_name: String,
    /// etcd version as MAJOR.MINOR.PATCH. Objects of v0.1.0 have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// How its pod looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PodTemplate>,
    /// How its first start went about joining the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Bootstrap>,
}

/// The first start of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// The members that it knows from the beginning.
    #[serde(default, rename = "static", skip_serializing_if = "Option::is_none")]
    pub fixed: Option<InitialCluster>,
    /// Whether the cluster lived already.
    #[serde(default)]
    pub initial_cluster_state: InitialClusterState,
}

/// The members that a member knows from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InitialCluster {
    /// All of them.
    #[serde(default)]
    pub initial_cluster: Vec<InitialMember>,
}

/// A member that another one knows from the beginning. Scheme and port are fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InitialMember {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Where it is reached.
    #[serde(default)]
    pub host: String,
}

/// Whether the cluster lived when a member was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum InitialClusterState {
    /// It is born with it.
    #[default]
    New,
    /// It lived already.
    Existing,
}

/// How a member is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdPeerStatus {
    /// The version that it answers; empty while it does not.
    #[serde(default)]
    pub server_version: String,
}
