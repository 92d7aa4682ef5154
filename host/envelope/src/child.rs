//! What a child may look like: its name, its owner, its labels, and the fields its kind may have.
//!
//! Fields are allowed by list, by comparing the object with a copy that has only those: what Kubernetes adds
//! tomorrow is refused until it is listed here. Pods have a file of their own, [`crate::pod`].

mod left;
mod reach;

use std::collections::BTreeMap;

use contract::{Child, EtcdClusterSpec, KIND, ObjectKind, PodPolicy, Resource, Snapshot, names};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use crate::Refusal;
use crate::issue::is_made_secret;
use crate::pod::judge_pod;
pub(crate) use left::{judge_left_claim, judge_set, old_child_in_the_way};
use reach::{judge_budget, judge_service};

/// Keys of the operator's own annotations begin so.
const OWN_PREFIX: &str = "etcd.database.coreos.com/";
/// Old clients of Services read it; it opens nothing.
const TOLERATE_UNREADY: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/// What a pod is made with; that its image was changed is said of it later.
const OF_PODS: [&str; 8] = [
    names::VERSION_ANNOTATION,
    names::INITIAL_CLUSTER_ANNOTATION,
    names::INITIAL_STATE_ANNOTATION,
    names::FORCE_NEW_CLUSTER_ANNOTATION,
    names::SHAPE_ANNOTATION,
    names::AUTHORITIES_ANNOTATION,
    names::PLAIN_ANNOTATION,
    names::FILLED_ANNOTATION,
];

/// Adds a refusal for everything that a child of the snapshot's resource may not be. The token is that of the birth plan
/// which the action relies on.
pub(crate) fn judge_child(
    object: &Child,
    token: Option<&str>,
    snapshot: &Snapshot,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let resource = &snapshot.resource;
    judge_name(object.kind(), object.name(), resource, refusals);
    judge_metadata(object, resource, spec, refusals);
    match object {
        Child::Pod(pod) => judge_pod(pod, token, snapshot, spec, refusals),
        Child::PersistentVolumeClaim(claim) => judge_claim(claim, spec, refusals),
        Child::Service(service) => judge_service(service, resource, refusals),
        Child::PodDisruptionBudget(budget) => judge_budget(budget, snapshot, refusals),
    }
}

/// A name that the cluster gives to an object of that kind.
pub(crate) fn judge_name(
    kind: ObjectKind,
    name: &str,
    resource: &Resource,
    refusals: &mut Vec<Refusal>,
) {
    let cluster = resource.name.as_str();
    let is_own = match kind {
        ObjectKind::Pod | ObjectKind::PersistentVolumeClaim | ObjectKind::ReplicaSet => {
            let suffix = name
                .strip_prefix(cluster)
                .and_then(|rest| rest.strip_prefix('-'));
            suffix.is_some_and(|suffix| {
                (1..=10).contains(&suffix.len())
                    && suffix
                        .chars()
                        .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
            })
        }
        ObjectKind::Service => {
            name == names::peer_service(cluster) || name == names::client_service(cluster)
        }
        ObjectKind::PodDisruptionBudget => name == names::disruption_budget(cluster),
        ObjectKind::Secret => is_made_secret(cluster, name),
    };
    if !is_own {
        refusals.push(Refusal::ForeignName {
            kind,
            name: name.to_owned(),
            cluster: cluster.to_owned(),
        });
    }
}

fn judge_metadata(
    object: &Child,
    resource: &Resource,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let (kind, metadata) = (object.kind(), object.metadata());
    let name = object.name().to_owned();
    if let Some(namespace) = &metadata.namespace
        && *namespace != resource.namespace
    {
        refusals.push(Refusal::ForeignNamespace {
            kind,
            name: name.clone(),
            namespace: namespace.clone(),
        });
    }
    let may_outlive = kind == ObjectKind::PersistentVolumeClaim
        && spec.pod.as_ref().is_some_and(PodPolicy::retains_claims);
    let is_own =
        is_owned_alone(metadata, resource) || (may_outlive && is_marked(metadata, resource));
    if !is_own {
        refusals.push(Refusal::Owner {
            kind,
            name: name.clone(),
        });
    }
    let allowed = ObjectMeta {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        owner_references: metadata.owner_references.clone(),
        labels: metadata.labels.clone(),
        annotations: metadata.annotations.clone(),
        ..ObjectMeta::default()
    };
    only(kind, &name, "metadata", metadata, &allowed, refusals);
    judge_labels(object, resource, spec, refusals);
    let empty = BTreeMap::new();
    let asked = spec
        .pod
        .as_ref()
        .and_then(|pod| pod.annotations.as_ref())
        .filter(|_| kind == ObjectKind::Pod);
    for (key, value) in metadata.annotations.as_ref().unwrap_or(&empty) {
        let is_own = match kind {
            ObjectKind::Pod => OF_PODS.contains(&key.as_str()),
            ObjectKind::Service => key == TOLERATE_UNREADY || key.starts_with(OWN_PREFIX),
            // Whose data it is and where it lies is said of those that are taken up, and then alone.
            ObjectKind::PersistentVolumeClaim => {
                let of_left = [names::DATA_ANNOTATION, names::PREVIOUS_OWNER_ANNOTATION];
                key.starts_with(OWN_PREFIX) && !of_left.contains(&key.as_str())
            }
            ObjectKind::PodDisruptionBudget | ObjectKind::Secret | ObjectKind::ReplicaSet => {
                key.starts_with(OWN_PREFIX)
            }
        };
        if !is_own && asked.and_then(|asked| asked.get(key)) != Some(value) {
            refusals.push(Refusal::Annotation {
                kind,
                name: name.clone(),
                annotation: key.clone(),
            });
        }
    }
}

fn is_owned_alone(metadata: &ObjectMeta, resource: &Resource) -> bool {
    match metadata.owner_references.as_deref() {
        Some([owner]) => {
            owner.uid == resource.uid
                && owner.name == resource.name
                && owner.kind == resource.kind
                && owner.kind == KIND
                && owner.api_version == resource.api_version
                && owner.controller == Some(true)
        }
        Some(_) | None => false,
    }
}

/// Whether only an annotation says whose it is.
fn is_marked(metadata: &ObjectMeta, resource: &Resource) -> bool {
    let annotations = metadata.annotations.as_ref();
    metadata.owner_references.as_ref().is_none_or(Vec::is_empty)
        && annotations.and_then(|all| all.get(names::OWNER_ANNOTATION)) == Some(&resource.uid)
}

fn judge_labels(
    object: &Child,
    resource: &Resource,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let (kind, name) = (object.kind(), object.name());
    let empty = BTreeMap::new();
    let found = object.metadata().labels.as_ref().unwrap_or(&empty);
    let own = resource.dialect().labels(&resource.name);
    let asked = spec
        .pod
        .as_ref()
        .and_then(|pod| pod.labels.as_ref())
        .filter(|_| kind == ObjectKind::Pod);
    let mut wrong = |label: &String| {
        refusals.push(Refusal::Label {
            kind,
            name: name.to_owned(),
            label: label.clone(),
        });
    };
    own.iter()
        .filter(|(key, value)| found.get(*key) != Some(value))
        .for_each(|(key, _)| wrong(key));
    for (key, value) in found {
        let is_known = own.contains_key(key)
            || key.starts_with(OWN_PREFIX)
            || (key == resource.dialect().member_label() && value == name)
            || asked.and_then(|asked| asked.get(key)) == Some(value);
        if !is_known {
            wrong(key);
        }
    }
}

fn judge_claim(claim: &PersistentVolumeClaim, spec: &EtcdClusterSpec, refusals: &mut Vec<Refusal>) {
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    let asked = spec
        .pod
        .as_ref()
        .and_then(|pod| pod.persistent_volume_claim_spec.clone());
    let is_asked = match (asked, &claim.spec) {
        (Some(mut asked), Some(found)) => {
            // The one field that every claim must have and that people leave out.
            asked.access_modes = asked.access_modes.or_else(|| found.access_modes.clone());
            asked == *found
        }
        (Some(_) | None, _) => false,
    };
    if !is_asked {
        refusals.push(Refusal::Claim {
            name: name.to_owned(),
        });
    }
}

pub(crate) fn field(kind: ObjectKind, name: &str, field: impl Into<String>) -> Refusal {
    Refusal::Field {
        kind,
        name: name.to_owned(),
        field: field.into(),
    }
}

/// Refuses `found` where it differs from `allowed`, the copy that has only fields of the list.
pub(crate) fn only<T: PartialEq + Serialize>(
    kind: ObjectKind,
    name: &str,
    path: &str,
    found: &T,
    allowed: &T,
    refusals: &mut Vec<Refusal>,
) {
    if found == allowed {
        return;
    }
    let (found, allowed) = (serde_json::json!(found), serde_json::json!(allowed));
    let fields = found
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| allowed.get(key) != Some(value));
    let before = refusals.len();
    refusals.extend(fields.map(|(key, _)| field(kind, name, format!("{path}.{key}"))));
    // Two values that differ and are equal as JSON would otherwise pass.
    if refusals.len() == before {
        refusals.push(field(kind, name, path));
    }
}

#[cfg(test)]
mod tests;
