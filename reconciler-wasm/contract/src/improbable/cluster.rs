//! `EtcdCluster` of `etcd.improbable.io/v1alpha1`.
//!
//! What must hold of its values is in the file of the rules.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, EnvVar, LocalObjectReference, PersistentVolumeClaimSpec, PodSecurityContext,
    ResourceRequirements, Toleration, TopologySpreadConstraint,
};
use serde::{Deserialize, Serialize};

use crate::{EtcdSettings, ProbePolicy, QuorumRecovery, TlsPolicy, UpgradePolicy, WhenDeleted};

/// The wanted state of an etcd cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterSpec {
    /// Number of members, 1 to 7. Odd numbers are best: an even one tolerates no more failures than one less.
    #[serde(default)]
    pub replicas: i64,
    /// etcd version as MAJOR.MINOR.PATCH, without a leading v.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The disk of each member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// How the members' pods look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_template: Option<PodTemplate>,
    /// Image repository; the image is `<repository>:v<version>`. Default: quay.io/coreos/etcd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// How the members get from one version to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<UpgradePolicy>,
    /// While true the operator keeps the status up to date and leaves all else alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Consent to go on from one member when the quorum is lost for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum_recovery: Option<QuorumRecovery>,
    /// Settings of etcd. Others are set by `podTemplate.etcdEnv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdSettings>,
    /// Certificates for peers and clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPolicy>,
}

/// The disk of each member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// The volume claim of each member. It must name its class and its size.
    #[serde(
        default,
        deserialize_with = "crate::quantities::with_numbers",
        skip_serializing_if = "Option::is_none"
    )]
    pub volume_claim_template: Option<PersistentVolumeClaimSpec>,
    /// What becomes of the claims when the EtcdCluster is deleted. Default: Retain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_deleted: Option<WhenDeleted>,
}

/// How the members' pods look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodTemplate {
    /// Their annotations and labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PodTemplateMetadata>,
    /// CPU and memory of the etcd container. A limit of CPU also sets GOMAXPROCS to its whole cores.
    #[serde(
        default,
        deserialize_with = "crate::quantities::with_numbers",
        skip_serializing_if = "Option::is_none"
    )]
    pub resources: Option<ResourceRequirements>,
    /// How long the kubelet is patient with a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbePolicy>,
    /// Scheduling constraints of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Short form: true, without `affinity`, keeps two members off one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anti_affinity: Option<bool>,
    /// Labels a node must have to run a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Taints the pods tolerate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Toleration>>,
    /// Environment of the etcd container: etcd's own settings as ETCD_… variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_env: Option<Vec<EnvVar>>,
    /// Security context of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
    /// How the pods are spread over nodes, zones and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// The PriorityClass of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Secrets with which the image of etcd is pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Appended to `<member>.<cluster>.<namespace>.svc` in member URLs, for example `.cluster.local`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_domain: Option<String>,
}

/// Annotations and labels of the members' pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodTemplateMetadata {
    /// Annotations added to the pods. Keys that begin with `etcd.improbable.io/` are reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Labels added to the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// How a cluster is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterStatus {
    /// Members that there are, started or not.
    #[serde(default)]
    pub replicas: i64,
    /// etcd's own member list, as it was last heard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<EtcdMember>,
    /// etcd's cluster version, which has no patch: 3.6.16 shows 3.6.0.
    #[serde(default)]
    pub cluster_version: String,
}

/// A member of etcd's own list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdMember {
    /// Its name; empty until it has started for the first time.
    #[serde(default)]
    pub name: String,
    /// Its id, hexadecimal.
    #[serde(default)]
    pub id: String,
}
