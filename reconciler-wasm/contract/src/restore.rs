//! `EtcdRestore` of `etcd.database.coreos.com/v1beta2`: what people write, and what they read.
//!
//! Spellings such as `etcdCluster` and `backupStorageType` are those of the archived coreos etcd-operator, whose
//! manifests apply unchanged. Whether a restore may begin is the cluster's decision; what it remembers of one is in
//! [`Restoration`].

mod being_restored;
mod effect;
mod restoration;
mod view;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AbsStore, ClusterRef, Condition, EtcdBackupSpec, GcsStore, OssStore, PvcStore, S3Store,
};
pub use being_restored::BeingRestored;
pub use effect::RestoreEffect;
pub use restoration::{Restoration, RestorationStage};
pub use view::RestoreView;

/// By how much the revision is raised where the spec says nothing: more than a cluster writes between two backups
/// (<https://etcd.io/docs/v3.6/op-guide/recovery/#restoring-with-revision-bump>).
pub const REVISION_BUMP: i64 = 1_000_000_000;

/// The wish for a cluster to go on from a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreSpec {
    /// The EtcdCluster of this namespace that goes on from the backup. It may be created later: then it is born from it.
    #[serde(default)]
    pub etcd_cluster: ClusterRef,
    /// Which of the blocks below says where the backup is: S3, ABS, GCS, OSS or PVC.
    #[serde(default)]
    pub backup_storage_type: String,
    /// Consent to give up what a living cluster has: its id (`status.clusterId`), as the condition of this object
    /// names it. Not needed where no data can be lost by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// By how much etcd's revision is raised, so that clients that watch notice that they lost their place. 0 leaves it
    /// as it was at the time of the backup. Default: 1000000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bump_revision: Option<i64>,
    /// The spec of the cluster that is made once the backup is proven, as it is stored: of dialects whose restores make
    /// their cluster. In the first one there is no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub cluster_template: Option<Value>,
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

impl EtcdRestoreSpec {
    /// Where the backup is, said as an [`EtcdBackupSpec`] says it: stores are opened from that.
    #[must_use]
    pub fn source(&self) -> EtcdBackupSpec {
        let Self {
            etcd_cluster: _,
            backup_storage_type,
            replaces: _,
            bump_revision: _,
            cluster_template: _,
            s3,
            abs,
            gcs,
            oss,
            pvc,
        } = self.clone();
        EtcdBackupSpec {
            storage_type: backup_storage_type,
            s3,
            abs,
            gcs,
            oss,
            pvc,
            ..EtcdBackupSpec::default()
        }
    }
}

/// What became of the wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreStatus {
    /// The cluster has its full size again and is healthy, with the data of the backup.
    #[serde(default)]
    pub succeeded: bool,
    /// Why it failed. Nothing of the cluster was touched then.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How far it is, for people.
    #[serde(default)]
    pub phase: RestorePhase,
    /// The reading of the backup under way. Written before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ProofRun>,
    /// What the backup is, read from its first byte to its last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<SnapshotProof>,
    /// When the cluster began to go on from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Seconds from then until the cluster had its full size and was healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<i64>,
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

impl EtcdRestoreStatus {
    /// Whether it has succeeded or failed: it is never run again.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.succeeded || !self.reason.is_empty()
    }
}

/// How far a restore is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RestorePhase {
    /// Not looked at yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// The backup is read whole before anything is touched.
    Proving,
    /// The backup is good, and something must pass or be said first.
    Waiting,
    /// The cluster goes on from the backup.
    Restoring,
    /// It is done.
    Succeeded,
    /// It was not begun and is not tried again.
    Failed,
}

/// One reading of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProofRun {
    /// Tells it from all others.
    #[serde(default)]
    pub id: String,
    /// When it began.
    #[serde(default)]
    pub started_at: String,
    /// When it came to nothing for a reason that may pass; it is read again after a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<String>,
}

/// What a backup is, read from its first byte to its last. Members take nothing but these very bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotProof {
    /// Where it is: BUCKET/KEY.
    #[serde(default)]
    pub path: String,
    /// Its size.
    #[serde(default)]
    pub size_bytes: i64,
    /// The sha-256 of all its bytes.
    #[serde(default)]
    pub sha256: String,
    /// The revision of the newest key in it.
    #[serde(default)]
    pub etcd_revision: i64,
    /// The etcd version it was taken from, MAJOR.MINOR.0; empty where the cluster was too young to have noted it.
    #[serde(default)]
    pub etcd_version: String,
    /// When it was read.
    #[serde(default)]
    pub proven_at: String,
    /// The generation of the spec that named it.
    #[serde(default)]
    pub generation: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    #[test]
    fn a_manifest_of_old_says_where_its_backup_is() {
        let spec: EtcdRestoreSpec = serde_json::from_value(serde_json::json!({
            "etcdCluster": {"name": "example-etcd-cluster"}, "backupStorageType": "S3",
            "s3": {"path": "bucket/dir/etcd.backup", "awsSecret": "aws"},
        }))
        .expect("a spec");
        let place = Place::of(&spec.source()).expect("a place");
        assert_eq!(
            (
                place.bucket.as_str(),
                place.key.as_str(),
                place.secret.as_str()
            ),
            ("bucket", "dir/etcd.backup", "aws")
        );
    }
}
