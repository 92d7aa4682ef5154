//! What `spec.pod` alone decides of a member's pod: where it runs, beside whom, and with how much.
//!
//! A memory limit that nobody asked for kills as surely as a deletion, and a node selector keeps a pod from ever starting.

use std::collections::BTreeMap;

use contract::{DEFAULT_REQUESTS, EtcdClusterSpec, PodPolicy, Resource};
use k8s_openapi::api::core::v1::{
    Affinity, Container, PodAffinityTerm, PodAntiAffinity, PodSpec, ResourceRequirements,
    WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::Refusal;

/// Seconds that a member has to end.
const GRACE: std::ops::RangeInclusive<i64> = 30..=300;

/// Adds a refusal for each field that is not as the spec asks for.
pub(super) fn judge_policy(
    pod: &str,
    found: &PodSpec,
    cluster: &Resource,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let none = PodPolicy::default();
    let asked = spec.pod.as_ref().unwrap_or(&none);
    let mut refuse = |field: &'static str| {
        refusals.push(Refusal::PodPolicy(format!(
            "pod {pod} has other {field} than spec.pod asks for"
        )));
    };
    if found.node_selector != asked.node_selector {
        refuse("nodeSelector");
    }
    if found.tolerations != asked.tolerations {
        refuse("tolerations");
    }
    if found.topology_spread_constraints != asked.topology_spread_constraints {
        refuse("topologySpreadConstraints");
    }
    if !is_affinity(found.affinity.as_ref(), cluster, asked) {
        refuse("affinity");
    }
    let is_asked = |container: &Container| are_resources(container.resources.as_ref(), asked);
    if !found.containers.iter().all(is_asked) {
        refuse("resources");
    }
    let grace = found.termination_grace_period_seconds;
    if grace.is_some_and(|seconds| !GRACE.contains(&seconds)) {
        refuse("terminationGracePeriodSeconds");
    }
}

/// The spec's; where it has none, none or the requests that pods have then.
fn are_resources(found: Option<&ResourceRequirements>, asked: &PodPolicy) -> bool {
    if asked.resources.is_some() {
        return found == asked.resources.as_ref();
    }
    let quantity = |(name, amount): (&str, &str)| (name.to_owned(), Quantity(amount.to_owned()));
    let default = ResourceRequirements {
        requests: Some(DEFAULT_REQUESTS.map(quantity).into()),
        ..ResourceRequirements::default()
    };
    found.is_none_or(|found| *found == default)
}

/// The spec's; else members keep off one another's nodes, strictly where `antiAffinity` asks for it and only then.
fn is_affinity(found: Option<&Affinity>, cluster: &Resource, asked: &PodPolicy) -> bool {
    if asked.affinity.is_some() {
        return found == asked.affinity.as_ref();
    }
    let term = PodAffinityTerm {
        label_selector: Some(LabelSelector {
            match_labels: Some(BTreeMap::from([(
                cluster.dialect().cluster_label().to_owned(),
                cluster.name.clone(),
            )])),
            ..LabelSelector::default()
        }),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    let is_strict = asked.anti_affinity == Some(true);
    let apart = if is_strict {
        PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![term]),
            ..PodAntiAffinity::default()
        }
    } else {
        PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![
                WeightedPodAffinityTerm {
                    pod_affinity_term: term,
                    weight: 100,
                },
            ]),
            ..PodAntiAffinity::default()
        }
    };
    match found {
        None => !is_strict,
        Some(found) => {
            *found
                == Affinity {
                    pod_anti_affinity: Some(apart),
                    ..Affinity::default()
                }
        }
    }
}
