//! A member's volume claim.
//!
//! One per member, named like it, owned by the cluster: it goes when the member goes, and with the cluster unless the spec
//! says that it stays.

use std::collections::BTreeMap;

use contract::{Resource, names};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec};

use super::metadata;
use crate::validate::Cluster;

/// One node reads and writes a volume unless the template says otherwise.
pub(crate) fn access_modes(template: &PersistentVolumeClaimSpec) -> Vec<String> {
    let modes = template.access_modes.clone();
    modes.unwrap_or_else(|| vec!["ReadWriteOnce".to_owned()])
}

/// The claim of `member`, as the spec's template says.
pub(crate) fn claim(cluster: &Cluster, resource: &Resource, member: &str) -> PersistentVolumeClaim {
    let mut spec = cluster
        .pod
        .persistent_volume_claim_spec
        .clone()
        .unwrap_or_default();
    spec.access_modes = Some(access_modes(&spec));
    let mut metadata = metadata(resource, member.to_owned());
    metadata
        .labels
        .get_or_insert_default()
        .insert(cluster.dialect.member_label().to_owned(), member.to_owned());
    if cluster.pod.retains_claims() {
        // Kubernetes collects what has an owner.
        metadata.owner_references = None;
        let owner = (names::OWNER_ANNOTATION.to_owned(), resource.uid.clone());
        metadata.annotations = Some(BTreeMap::from([owner]));
    }
    PersistentVolumeClaim {
        metadata,
        spec: Some(spec),
        status: None,
    }
}
