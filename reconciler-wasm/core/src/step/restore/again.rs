//! Founders whose pods are made again while their disks are filled, and those that a person has to see to.
//!
//! What is on a claim stays there, for nothing is ever put over data; and who never ran has nothing but the backup. One that
//! ran with its data in its pod may have voted on more than the backup has.

use contract::{Pod, names};

use crate::assess::{Living, has_ended};
use crate::step::storage;
use crate::validate::Cluster;

/// Why a founder's pod is made again, in words; none while it is waited for.
pub(super) fn why(cluster: &Cluster, pod: &Pod) -> Option<String> {
    if pod.deleted.is_some() || pod.running {
        return None;
    }
    let name = &pod.name;
    let shape = pod.annotations.get(names::SHAPE_ANNOTATION);
    if pod.image != cluster.image && has_nothing_to_lose(pod) {
        Some(format!(
            "{name} does not run with {}, and the spec asks for {}: its pod is made again.",
            pod.image, cluster.image
        ))
    } else if has_ended(pod) && has_nothing_to_lose(pod) {
        Some(format!("The pod of {name} has ended: it is made again."))
    } else if !pod.ran && shape.is_some_and(|shape| *shape != cluster.shape) {
        Some(format!(
            "{name} has not run yet, and spec.pod changed: its pod is made again."
        ))
    } else {
        None
    }
}

/// Why a founder does not come up by itself, and what a person can do about it.
pub(super) fn why_not(
    cluster: &Cluster,
    living: Option<&Living<'_>>,
    pod: &Pod,
    namespace: &str,
) -> Option<String> {
    if pod.deleted.is_some() {
        return None;
    }
    let name = &pod.name;
    let state = if has_ended(pod) {
        "its pod has ended, with all that it had".to_owned()
    } else if pod.image != cluster.image && !pod.running {
        format!(
            "does not run with {}, the spec asks for {}, and what it had is in its pod",
            pod.image, cluster.image
        )
    } else {
        String::new()
    };
    if !state.is_empty() && !has_nothing_to_lose(pod) {
        return Some(format!(
            "{name} ran and {state}. To have it filled from the backup once more: kubectl --namespace {namespace} delete pod \
             {name}"
        ));
    }
    let claim = living.and_then(|living| living.volumes.get(name.as_str()));
    let is_in_vain = claim.is_some_and(|claim| storage::waits_in_vain(cluster, claim));
    (is_in_vain && !pod.ran).then(|| {
        format!(
            "The volume claim of {name} waits for a volume of a class or size that the spec does not ask for by now, and \
             Kubernetes does not change it. To have it made again: kubectl --namespace {namespace} delete \
             persistentvolumeclaim/{name} pod/{name}"
        )
    })
}

const fn has_nothing_to_lose(pod: &Pod) -> bool {
    pod.claim.is_some() || !pod.ran
}
