//! A member's volume claim.
//!
//! One per member, named like it, owned by the cluster: it goes when the member goes, and with the cluster unless the spec
//! says that it stays.

use std::collections::BTreeMap;

use contract::{Resource, names};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use super::metadata;
use crate::validate::Cluster;

/// The claim of `member`, as the spec's template says; one node reads and writes it unless the template says otherwise.
pub(crate) fn claim(cluster: &Cluster, resource: &Resource, member: &str) -> PersistentVolumeClaim {
    let mut spec = cluster
        .pod
        .persistent_volume_claim_spec
        .clone()
        .unwrap_or_default();
    spec.access_modes
        .get_or_insert_with(|| vec!["ReadWriteOnce".to_owned()]);
    let mut metadata = metadata(resource, member.to_owned());
    metadata
        .labels
        .get_or_insert_default()
        .insert(names::NODE_LABEL.to_owned(), member.to_owned());
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
