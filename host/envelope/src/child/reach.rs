//! What leads to members and what protects them: the Services and the disruption budget.
//!
//! Each selects exactly the cluster's pods, and the budget keeps a quorum of them. Neither is ever deleted alone.

use std::collections::BTreeMap;

use contract::{ClusterId, ObjectKind, Resource, Snapshot, names};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{field, only};
use crate::quorum::{LARGEST, quorum};
use crate::{Refusal, ResourceHead};

pub(super) fn judge_service(service: &Service, resource: &Resource, refusals: &mut Vec<Refusal>) {
    let kind = ObjectKind::Service;
    let name = service.metadata.name.as_deref().unwrap_or_default();
    let empty = ServiceSpec::default();
    let spec = service.spec.as_ref().unwrap_or(&empty);
    judge_selector(kind, name, spec.selector.as_ref(), resource, refusals);
    if spec
        .type_
        .as_deref()
        .is_some_and(|kind| kind != "ClusterIP")
    {
        refusals.push(field(kind, name, "spec.type"));
    }
    if spec
        .cluster_ip
        .as_deref()
        .is_some_and(|address| address != "None")
    {
        refusals.push(field(kind, name, "spec.clusterIP"));
    }
    // Members find one another before they are ready; clients find only those that are.
    let is_peers = name == names::peer_service(&resource.name);
    let needed: &[i32] = if is_peers {
        &[names::CLIENT_PORT, names::PEER_PORT]
    } else {
        &[names::CLIENT_PORT]
    };
    let ports = spec.ports.as_deref().unwrap_or_default();
    if ports
        .iter()
        .map(|port| port.port)
        .ne(needed.iter().copied())
    {
        refusals.push(field(kind, name, "spec.ports"));
    }
    if spec.publish_not_ready_addresses.unwrap_or_default() != is_peers {
        refusals.push(field(kind, name, "spec.publishNotReadyAddresses"));
    }
    let ports = spec
        .ports
        .as_ref()
        .map(|ports| ports.iter().map(own_port).collect());
    let allowed = ServiceSpec {
        selector: spec.selector.clone(),
        type_: spec.type_.clone(),
        cluster_ip: spec.cluster_ip.clone(),
        ports,
        publish_not_ready_addresses: spec.publish_not_ready_addresses,
        ip_family_policy: spec.ip_family_policy.clone(),
        ..ServiceSpec::default()
    };
    only(kind, name, "spec", spec, &allowed, refusals);
}

/// The port as it may be: it leads to the port of the same number, and no node opens it.
fn own_port(port: &ServicePort) -> ServicePort {
    ServicePort {
        node_port: None,
        protocol: port.protocol.as_ref().map(|_| "TCP".to_owned()),
        target_port: port
            .target_port
            .as_ref()
            .map(|_| IntOrString::Int(port.port)),
        ..port.clone()
    }
}

pub(super) fn judge_budget(
    budget: &PodDisruptionBudget,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let kind = ObjectKind::PodDisruptionBudget;
    let name = budget.metadata.name.as_deref().unwrap_or_default();
    let empty = PodDisruptionBudgetSpec::default();
    let spec = budget.spec.as_ref().unwrap_or(&empty);
    let labels = spec
        .selector
        .as_ref()
        .and_then(|selector| selector.match_labels.as_ref());
    judge_selector(kind, name, labels, &snapshot.resource, refusals);
    let (least, most) = bounds(snapshot);
    let kept = match spec.min_available {
        Some(IntOrString::Int(kept)) => u32::try_from(kept).ok(),
        Some(IntOrString::String(_)) | None => None,
    };
    if kept.is_none_or(|kept| !(least..=most).contains(&kept)) {
        refusals.push(Refusal::Budget(format!(
            "the disruption budget {name} must keep from {least} to {most} members available"
        )));
    }
    let allowed = PodDisruptionBudgetSpec {
        min_available: spec.min_available.clone(),
        selector: Some(LabelSelector {
            match_labels: labels.cloned(),
            ..LabelSelector::default()
        }),
        ..PodDisruptionBudgetSpec::default()
    };
    only(kind, name, "spec", spec, &allowed, refusals);
}

/// A quorum of who votes and of who is asked for, at least; at most one of all that are known of, or one more than that of
/// those who vote beside a learner, which older versions of etcd let be Ready.
fn bounds(snapshot: &Snapshot) -> (u32, u32) {
    let head = ResourceHead::of(&snapshot.resource);
    let confirmed = snapshot
        .etcd
        .membership
        .seen()
        .filter(|list| list.linearizable);
    let count = |number: usize| u32::try_from(number).unwrap_or(LARGEST);
    let of = |id: Option<&ClusterId>| {
        confirmed.filter(|list| id.is_none_or(|id| *id == list.cluster_id))
    };
    let recorded = head.cluster_id.seen();
    let voters = recorded.and_then(|id| of(Some(id)));
    let voters = match (recorded, voters) {
        (_, Some(list)) => count(list.voters().count()),
        (Some(_), None) => count(head.voters.len()),
        (None, None) => 0,
    };
    // Those of an attempt at a birth that was given up may still answer, and learners are about to vote.
    let answering = of(recorded).map_or(0, |list| count(list.members.len()));
    let with_learner = of(recorded).filter(|list| list.members.iter().any(|member| member.learner));
    let beside = with_learner.map_or(0, |list| quorum(count(list.voters().count())) + 1);
    let asked = head.size.and_then(|size| u32::try_from(size).ok());
    let asked = asked.filter(|size| *size <= LARGEST).unwrap_or_default();
    let planned = head.birth.map_or(0, |plan| count(plan.members.len()));
    let known = voters.max(asked);
    let remembered = known
        .max(count(head.voters.len()))
        .max(planned)
        .max(answering);
    let most = quorum(remembered).min(quorum(LARGEST)).max(beside);
    (quorum(known), most)
}

fn judge_selector(
    kind: ObjectKind,
    name: &str,
    found: Option<&BTreeMap<String, String>>,
    resource: &Resource,
    refusals: &mut Vec<Refusal>,
) {
    // A further label would make it narrower: it could select nobody.
    if found != Some(&resource.dialect().labels(&resource.name)) {
        refusals.push(Refusal::Selector {
            kind,
            name: name.to_owned(),
        });
    }
}
