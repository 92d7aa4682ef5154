//! The disruption budget: how many members an eviction must leave.

use contract::{Resource, names};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::metadata;
use crate::validate::Cluster;

/// A budget that keeps `kept` members available. Which of them is a learner it does not know.
pub(crate) fn disruption_budget(
    cluster: &Cluster,
    resource: &Resource,
    kept: usize,
) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: metadata(resource, names::disruption_budget(&cluster.name)),
        spec: Some(PodDisruptionBudgetSpec {
            min_available: Some(IntOrString::Int(i32::try_from(kept).unwrap_or(i32::MAX))),
            selector: Some(LabelSelector {
                match_labels: Some(cluster.dialect.labels(&cluster.name)),
                ..LabelSelector::default()
            }),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    }
}
