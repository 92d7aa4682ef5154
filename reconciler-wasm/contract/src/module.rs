//! `ReconcilerModule` of `etcd.database.coreos.com/v1alpha1`: which module decides, and how it does.
//!
//! Read and written by the host alone; no decision sees it. Loading, judging and swapping are the host's business.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use crate::Condition;

/// The version of the modules' API.
pub const MODULE_VERSION: &str = "v1alpha1";
/// The kind of a module.
pub const MODULE_KIND: &str = "ReconcilerModule";
/// The resource name of modules in URLs.
pub const MODULE_PLURAL: &str = "reconcilermodules";
/// The key of a ConfigMap that a module is looked for under, unless the source names another.
pub const MODULE_KEY: &str = "reconciler.wasm.zst";
/// The key of a ConfigMap or Secret that a public key is looked for under, unless the signature names another.
pub const PUBLIC_KEY_KEY: &str = "cosign.pub";

/// A reconciler module that shall decide, or shall be compared with the one that does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReconcilerModuleSpec {
    /// Where its bytes are: exactly one of the fields.
    pub source: ModuleSource,
    /// sha-256 of the module in hex, with or without `sha256:` before it. Required for what acts; other bytes are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Whose signature it must have, besides the one that the operator may want of every module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<ModuleSignature>,
    /// What it decides on.
    pub role: ModuleRole,
    /// Which EtcdClusters a Canary decides on, by their labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<LabelSelector>,
    /// How often within ten minutes it may fail to decide, or decide what the envelope refuses, before the last good
    /// module takes its place. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_limit: Option<i64>,
}

/// Where a module's bytes are: exactly one of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModuleSource {
    /// The module that the operator was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_in: Option<BuiltIn>,
    /// A ConfigMap of the operator's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
    /// A file in the operator's pod, for example on a volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileSource>,
    /// An artifact in an OCI registry, as `binnacle module push` puts it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciSource>,
}

/// The module that the operator was started with. It has nothing to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuiltIn {}

/// A module in a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapSource {
    /// Its name.
    pub name: String,
    /// The key under `binaryData`. What begins as a zstd frame does is unpacked. Default: reconciler.wasm.zst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A module in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileSource {
    /// Its absolute path; it ends in `.wasm`.
    pub path: String,
}

/// A module in an OCI registry: an artifact of one layer, `application/wasm`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OciSource {
    /// Registry, repository, and a tag or a digest: `ghcr.io/team/module:1.2` or `ghcr.io/team/module@sha256:...`.
    pub reference: String,
    /// A Secret of the operator's namespace, of the type kubernetes.io/dockerconfigjson, with a login for the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<String>,
    /// Whether the registry is asked without TLS. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_http: Option<bool>,
}

/// Who must have signed a module: a key, as `cosign generate-key-pair` makes it, or an identity. Exactly one of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModuleSignature {
    /// The public key in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// A ConfigMap of the operator's namespace that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<PublicKeySource>,
    /// A Secret of the operator's namespace that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<PublicKeySource>,
    /// Whom an authority of Sigstore certified. The operator needs a file that says whom to trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<ModuleIdentity>,
}

/// An identity that signs without a key of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModuleIdentity {
    /// Who vouches for it: the address of an OpenID Connect provider, letter by letter.
    pub issuer: String,
    /// Who it is: an e-mail address, or the address of a workflow, letter by letter.
    pub subject: String,
}

/// Where a public key is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PublicKeySource {
    /// The object's name.
    pub name: String,
    /// The key of its data. Default: cosign.pub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What a module decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ModuleRole {
    /// Every cluster that no Canary decides on. Of two such objects the older one stays.
    Active,
    /// Nothing: it is asked beside the one that decides, and the differences are counted.
    Shadow,
    /// The clusters that `clusters` selects.
    Canary,
}

impl ModuleRole {
    /// The name, as the API spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Shadow => "Shadow",
            Self::Canary => "Canary",
        }
    }
}

/// What became of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReconcilerModuleStatus {
    /// Whether it is in its role.
    #[serde(default)]
    pub phase: ModulePhase,
    /// `metadata.generation` this status answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What holds, and since when.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The role it is in, or waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ModuleRole>,
    /// `sha256:` and the hex digest of the module that is in this role, or waits for it. After a failure that is not the one
    /// that the spec asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Of an OCI source: the artifact that it was fetched from, by the digest that its tag led to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// Whose signature was asked for and found: public keys by their sha-256, identities as subject and issuer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signed_by: Vec<String>,
    /// The module that failed beyond its limit. It is not tried again before the spec changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fell_back_from: Option<String>,
    /// Its own name and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// The world it implements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abi: Option<String>,
    /// The snapshot schemas it reads, such as `1` or `1-3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schemas: Option<String>,
    /// What it made of the last recorded snapshots before it came into its role, or was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// Since when it has been in its role in the operator that leads; the counts are since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Snapshots it was asked about.
    #[serde(default)]
    pub decisions: i64,
    /// Snapshots it gave no answer to, or one that the envelope refuses.
    #[serde(default)]
    pub failures: i64,
    /// Of a Shadow: answers that differ from those that were followed.
    #[serde(default)]
    pub differences: i64,
    /// The same by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub differences_by_kind: BTreeMap<String, i64>,
    /// The first of each kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_differences: Vec<FirstDifference>,
    /// Fuel of its last decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<FuelUsed>,
}

/// Whether a module is in its role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ModulePhase {
    /// It is being fetched, checked and compiled.
    #[default]
    Loading,
    /// It is in its role.
    InRole,
    /// An older object has the role.
    Waiting,
    /// It cannot be used. What decided before goes on deciding.
    Refused,
    /// It failed beyond its limit, and the last good module decides again.
    FellBack,
}

/// A module's answers to recorded snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SelfTest {
    /// Snapshots it was asked about.
    pub snapshots: i64,
    /// Answers that differ from the recorded ones.
    pub differing: i64,
    /// Snapshots it gave no answer to, or one that the envelope refuses. One is enough to refuse what would act.
    pub failures: i64,
}

/// One difference between a Shadow and the module that decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FirstDifference {
    /// Its kind.
    pub kind: String,
    /// Namespace and name of the cluster.
    pub cluster: String,
    /// The snapshot's time.
    pub at: String,
    /// What the module that decides said, and what the Shadow said.
    pub what: Vec<String>,
}

/// Fuel of a module's last decisions, at most 512 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FuelUsed {
    /// Half of the decisions used at most this much.
    pub p50: i64,
    /// 99 of 100 used at most this much.
    pub p99: i64,
}
