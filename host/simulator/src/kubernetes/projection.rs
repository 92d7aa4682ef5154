//! Claims, Services and budgets that were applied, as the operator reads them again.
//!
//! Owns which fields a projection takes, and what the API server fills in. It does not know which objects there are.

use std::collections::BTreeMap;

use contract::{DisruptionBudget, Millis, Service, ServicePort, Volume, VolumePhase, names};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// What every projection takes of the metadata.
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) owner: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
}

impl Metadata {
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let owner = metadata
            .owner_references
            .iter()
            .flatten()
            .find(|owner| owner.controller == Some(true));
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            owner: owner.map(|owner| owner.uid.clone()),
            labels: metadata.labels.clone().unwrap_or_default(),
            annotations: metadata.annotations.clone().unwrap_or_default(),
        }
    }
}

pub(super) fn volume(claim: &core::PersistentVolumeClaim, uid: String, now: i64) -> Volume {
    let metadata = Metadata::of(&claim.metadata);
    let spec = claim.spec.as_ref();
    let requests = spec
        .and_then(|spec| spec.resources.as_ref())
        .and_then(|resources| resources.requests.as_ref());
    Volume {
        name: metadata.name,
        resource_version: uid.clone(),
        uid,
        owner: metadata
            .owner
            .or_else(|| metadata.annotations.get(names::OWNER_ANNOTATION).cloned()),
        labels: metadata.labels,
        annotations: metadata.annotations,
        created: Millis(now),
        deleted: None,
        phase: VolumePhase::Pending,
        storage_class: spec.and_then(|spec| spec.storage_class_name.clone()),
        access_modes: spec
            .and_then(|spec| spec.access_modes.clone())
            .unwrap_or_default(),
        requested: requests
            .and_then(|requests| requests.get("storage"))
            .map(|quantity| quantity.0.clone()),
        capacity: None,
        resize: None,
    }
}

pub(super) fn service(object: &core::Service, uid: String, version: u32) -> Service {
    let metadata = Metadata::of(&object.metadata);
    let spec = object.spec.as_ref();
    let mut ports: Vec<ServicePort> = spec
        .and_then(|spec| spec.ports.as_ref())
        .into_iter()
        .flatten()
        .map(|port| ServicePort {
            name: port.name.clone().unwrap_or_default(),
            port: port.port,
        })
        .collect();
    ports.sort();
    let address = spec
        .and_then(|spec| spec.cluster_ip.clone())
        .unwrap_or_else(|| "10.96.0.7".to_owned());
    Service {
        name: metadata.name,
        uid,
        resource_version: version.to_string(),
        owner: metadata.owner,
        labels: metadata.labels,
        deleted: None,
        cluster_ip: Some(address),
        selector: spec
            .and_then(|spec| spec.selector.clone())
            .unwrap_or_default(),
        ports,
        publish_not_ready: spec
            .and_then(|spec| spec.publish_not_ready_addresses)
            .unwrap_or_default(),
    }
}

pub(super) fn budget(object: &PodDisruptionBudget, uid: String, version: u32) -> DisruptionBudget {
    let metadata = Metadata::of(&object.metadata);
    let spec = object.spec.as_ref();
    let selector = spec
        .and_then(|spec| spec.selector.as_ref())
        .and_then(|selector| selector.match_labels.clone());
    let min_available =
        spec.and_then(|spec| spec.min_available.as_ref())
            .map(|least| match least {
                IntOrString::Int(number) => number.to_string(),
                IntOrString::String(text) => text.clone(),
            });
    DisruptionBudget {
        name: metadata.name,
        uid,
        resource_version: version.to_string(),
        owner: metadata.owner,
        deleted: None,
        min_available,
        selector: selector.unwrap_or_default(),
    }
}
