//! `EtcdCluster` of `etcd.database.coreos.com/v1beta2`, the part people write.
//!
//! Spellings such as `TLS`, `DNSTimeoutInSecond` and `ClusterDomain` are those of the archived coreos
//! etcd-operator, whose manifests apply unchanged. Validation is the reconciler's.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, EnvVar, LocalObjectReference, PersistentVolumeClaimSpec, PodSecurityContext,
    ResourceRequirements, Toleration, TopologySpreadConstraint,
};
use serde::{Deserialize, Serialize};

use crate::{EtcdSettings, ProbePolicy};

/// The API group.
pub const GROUP: &str = "etcd.database.coreos.com";
/// The version of the cluster's API.
pub const VERSION: &str = "v1beta2";
/// The kind of a cluster.
pub const KIND: &str = "EtcdCluster";
/// The resource name of clusters in URLs.
pub const PLURAL: &str = "etcdclusters";

/// The user and group that members run as where `spec.pod.securityContext` is not set.
pub const DEFAULT_USER: i64 = 65532;
/// What the etcd container asks for where `spec.pod.resources` is not set: as much as kubeadm's pods of etcd do.
pub const DEFAULT_REQUESTS: [(&str, &str); 2] = [("cpu", "100m"), ("memory", "100Mi")];

/// The wanted state of an etcd cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterSpec {
    /// Number of members, 1 to 7; or 0, which stops all members and keeps their volume claims until the size is set again.
    /// Odd numbers are best: an even one tolerates no more failures than one less.
    #[serde(default)]
    pub size: i64,
    /// Image repository; the image is `<repository>:v<version>`. Default: quay.io/coreos/etcd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// etcd version as MAJOR.MINOR.PATCH, with or without a leading v. Default: 3.6.16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How the members get from one version to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<UpgradePolicy>,
    /// While true the operator keeps the status up to date and leaves all else alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Consent to go on from one member when the quorum is lost for good. Writes that this member does not have are lost.
    /// Set it to what the condition Blocked names, and to nothing else; remove it afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum_recovery: Option<QuorumRecovery>,
    /// How the members' pods look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodPolicy>,
    /// Settings of etcd. Others are set by `pod.etcdEnv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdSettings>,
    /// Certificates for peers and clients.
    #[serde(default, rename = "TLS", skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPolicy>,
}

/// How the members get from one version to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UpgradePolicy {
    /// etcd moves by one minor version at a time. True lets the operator walk through all that lie between the running
    /// version and the asked one, by the newest patch it knows of each. Default: false; it then says the way and waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub through_minors: bool,
}

/// Consent to go on from one member when the quorum is lost for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QuorumRecovery {
    /// The id of the cluster that lost its quorum, as the condition spells it (`status.clusterId`).
    #[serde(default, rename = "clusterID")]
    pub cluster_id: String,
    /// The name of the member whose data the cluster goes on from.
    #[serde(default)]
    pub survivor: String,
}

/// How the members' pods look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PodPolicy {
    /// Labels added to the pods. The key `app` and keys that begin with `etcd_` are reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations added to the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Labels a node must have to run a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Scheduling constraints of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Old short form: true, without `affinity`, keeps two members off one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anti_affinity: Option<bool>,
    /// Taints the pods tolerate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Toleration>>,
    /// How the pods are spread over nodes, zones and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// The PriorityClass of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Secrets with which the image of etcd is pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// CPU and memory of the etcd container. Where this is not set, pods ask for 100m and 100Mi and have no limits; {} is
    /// for pods that ask for nothing.
    #[serde(
        default,
        deserialize_with = "crate::quantities::with_numbers",
        skip_serializing_if = "Option::is_none"
    )]
    pub resources: Option<ResourceRequirements>,
    /// How long the kubelet is patient with a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbePolicy>,
    /// Environment of the etcd container: etcd's own settings as ETCD_… variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_env: Option<Vec<EnvVar>>,
    /// A volume claim for each member. Without it members keep their data in the pod (emptyDir) and lose it with the pod.
    #[serde(
        default,
        deserialize_with = "crate::quantities::with_numbers",
        skip_serializing_if = "Option::is_none"
    )]
    pub persistent_volume_claim_spec: Option<PersistentVolumeClaimSpec>,
    /// What becomes of the members' volume claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim_retention_policy: Option<ClaimRetention>,
    /// Accepted and not used: pods need no init container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busybox_image: Option<String>,
    /// Security context of the pods. Default: the `restricted` Pod Security Standard as user 65532.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
    /// Accepted and not used: pods need no init container.
    #[serde(
        default,
        rename = "DNSTimeoutInSecond",
        skip_serializing_if = "Option::is_none"
    )]
    pub dns_timeout_in_second: Option<i64>,
    /// Appended to `<member>.<cluster>.<namespace>.svc` in member URLs, for example `.cluster.local`.
    #[serde(
        default,
        rename = "ClusterDomain",
        skip_serializing_if = "Option::is_none"
    )]
    pub cluster_domain: Option<String>,
}

/// What becomes of the members' volume claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClaimRetention {
    /// Delete: they go with the EtcdCluster. Retain: they stay when it is deleted, and belong to nobody then. The claim of a
    /// member that leaves goes in either case. Default: Delete.
    #[serde(default)]
    pub when_deleted: WhenDeleted,
}

/// Whether something goes with what it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WhenDeleted {
    /// It goes, too.
    #[default]
    Delete,
    /// It stays.
    Retain,
}

impl PodPolicy {
    /// Whether volume claims stay when the cluster is deleted.
    #[must_use]
    pub fn retains_claims(&self) -> bool {
        let policy = self.persistent_volume_claim_retention_policy.as_ref();
        policy.is_some_and(|policy| policy.when_deleted == WhenDeleted::Retain)
    }
}

/// Certificates for peers and clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TlsPolicy {
    /// Certificates that somebody else makes and renews, in Secrets of the cluster's namespace.
    #[serde(default, rename = "static", skip_serializing_if = "Option::is_none")]
    pub fixed: Option<StaticTls>,
    /// Certificates that the operator makes and renews, with authorities of the cluster's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoTls>,
    /// Members take clients without TLS, too, at the same port: while clients move to TLS or away from it. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_clients: bool,
}

/// Certificates that the operator makes and renews.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AutoTls {
    /// Raise it to have other authorities, for example when a key became known. Members trust both during the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
}

/// Secrets with certificates made by somebody else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StaticTls {
    /// Secrets of the members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberSecrets>,
    /// Secret with `etcd-client.crt`, `etcd-client.key`, `etcd-client-ca.crt`, with which the operator is a client. A
    /// Secret of the type kubernetes.io/tls does as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_secret: Option<String>,
}

/// Secrets of the members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemberSecrets {
    /// Secret with `peer.crt`, `peer.key`, `peer-ca.crt`, for the traffic between members. A Secret of the type
    /// kubernetes.io/tls does as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_secret: Option<String>,
    /// Secret with `server.crt`, `server.key`, `server-ca.crt`, for the traffic with clients. A Secret of the type
    /// kubernetes.io/tls does as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_secret: Option<String>,
}
