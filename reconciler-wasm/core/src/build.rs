//! Builds children, complete: pods, claims, Services, the budget.
//!
//! Knows how things look, not when they are needed. One kind a file.

mod disruption;
mod pod;
mod service;
mod shape;
mod storage;
mod tls;

use contract::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

pub(crate) use disruption::disruption_budget;
pub(crate) use pod::{
    Filling, Start, filled_pod, may_learner_be_ready, pod, pod_again, pod_on_claim, running_image,
};
pub(crate) use service::{client_service, is_service_as_wanted, peer_service};
pub(crate) use shape::shape;
pub(crate) use storage::{access_modes, claim};

/// Metadata every child has: name, namespace, labels, and the resource as its only owner.
fn metadata(resource: &Resource, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: Some(resource.namespace.clone()),
        labels: Some(resource.dialect().labels(&resource.name)),
        owner_references: Some(vec![OwnerReference {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            name: resource.name.clone(),
            uid: resource.uid.clone(),
            controller: Some(true),
            block_owner_deletion: None,
        }]),
        ..ObjectMeta::default()
    }
}
