//! Pods that the cluster's labels and its owner reference disagree about: the Services lead to whatever has the labels,
//! and the operator takes care of what it owns.
//!
//! Tells people of them and touches none.

use std::collections::BTreeMap;

use contract::{FindingKind, ObjectKind, Pod, Reason, Resource};

use super::{DEAD_NODE, LATER, Step};
use crate::assess::Situation;
use crate::validate::Cluster;

/// Tells of them. Says whether the Services would lead clients to none but the cluster's own members.
pub(super) fn tell(cluster: &Cluster, situation: &Situation<'_>, step: &mut Step) -> bool {
    let resource = &situation.snapshot.resource;
    let pods = situation.snapshot.objects.pods.seen();
    let wanted = cluster.dialect.labels(&cluster.name);
    let mut is_alone = true;
    for pod in pods.into_iter().flatten() {
        let is_owned = pod.owner.as_deref() == Some(resource.uid.as_str());
        let is_labelled = is_selected(pod, &wanted);
        if is_owned == is_labelled {
            continue;
        }
        is_alone &= is_owned;
        let (kind, message) = if is_owned {
            (FindingKind::Blocked, unlabelled(pod, resource))
        } else {
            unowned(situation, pod, resource)
        };
        step.find_of(kind, Reason::ForeignObject, &pod.name, message);
        step.look_again(LATER, Reason::ForeignObject);
    }
    is_alone
}

/// Whether Services that select these labels lead to the pod.
fn is_selected(pod: &Pod, wanted: &BTreeMap<String, String>) -> bool {
    wanted
        .iter()
        .all(|(label, value)| pod.labels.get(label) == Some(value))
}

fn unlabelled(pod: &Pod, resource: &Resource) -> String {
    let labels = resource.dialect().labels(&resource.name);
    let labels: Vec<String> = labels
        .into_iter()
        .map(|(label, value)| format!("{label}={value}"))
        .collect();
    format!(
        "Pod {} is of this cluster and has lost its labels, so no Service leads to it. Put them back: kubectl --namespace \
         {} label --overwrite pod {} {}",
        pod.name,
        resource.namespace,
        pod.name,
        labels.join(" ")
    )
}

/// Pods that are not the cluster's and have an address under its labels, where none of its own is left: whoever runs there
/// may be one of its members. What is to be done about them; none where there are none.
pub(super) fn in_the_way(situation: &Situation<'_>) -> Option<(FindingKind, String)> {
    let snapshot = situation.snapshot;
    let endpoints = &snapshot.etcd.endpoints;
    if endpoints.is_empty() {
        return None;
    }
    let is_asked = |pod: &&Pod| endpoints.iter().any(|one| one.pod_uid == pod.uid);
    let pods = snapshot.objects.pods.seen();
    let told: Vec<(FindingKind, String)> = pods
        .into_iter()
        .flatten()
        .filter(is_asked)
        .map(|pod| unowned(situation, pod, &snapshot.resource))
        .collect();
    let is_for_people = told.iter().any(|(kind, _)| *kind != FindingKind::Waiting);
    let words: Vec<String> = told.into_iter().map(|(_, words)| words).collect();
    let words = words.join(" ");
    Some(if is_for_people {
        (FindingKind::Blocked, words)
    } else {
        (FindingKind::Waiting, format!("{words} {DEAD_NODE}"))
    })
}

/// Tells of a pod that is not the cluster's and has the name of a member's. Says whether there is one, so that none can be
/// made.
pub(super) fn tell_of_namesake(situation: &Situation<'_>, name: &str, step: &mut Step) -> bool {
    let Some((kind, message)) = namesake(situation, name) else {
        return false;
    };
    step.find_of(kind, Reason::ForeignObject, name, message);
    step.look_again(LATER, Reason::ForeignObject);
    true
}

/// What is to be done about such a pod; none where none is known.
pub(super) fn namesake(situation: &Situation<'_>, name: &str) -> Option<(FindingKind, String)> {
    let resource = &situation.snapshot.resource;
    let objects = &situation.snapshot.objects;
    let mut pods = objects.pods.seen().into_iter().flatten();
    let pod =
        pods.find(|pod| pod.name == name && pod.owner.as_deref() != Some(resource.uid.as_str()));
    if let Some(pod) = pod.filter(|pod| is_going(pod, resource)) {
        return Some(unowned(situation, pod, resource));
    }
    let mut refused = objects.foreign.iter();
    let refused = refused.find(|foreign| foreign.is(ObjectKind::Pod, name));
    let owner = match (refused, pod) {
        (Some(foreign), _) => foreign.owner.clone(),
        (None, Some(pod)) => pod.owner.as_ref().map_or_else(
            || "nobody".to_owned(),
            |uid| format!("an object with UID {uid}"),
        ),
        (None, None) => return None,
    };
    let message = format!(
        "Pod {name} has the name of a member's pod and belongs to {owner}, so it is left alone and the member gets none. Delete \
         it if nobody needs it: kubectl --namespace {} delete pod {name}",
        resource.namespace
    );
    Some((FindingKind::Blocked, message))
}

/// Whether the pod ends by itself: it is being deleted, or what it belongs to was there before the cluster.
fn is_going(pod: &Pod, resource: &Resource) -> bool {
    pod.deleted.is_some() || (pod.owner.is_some() && pod.created < resource.created)
}

/// What is to be done about a pod under the cluster's labels that is not its own.
fn unowned(situation: &Situation<'_>, pod: &Pod, resource: &Resource) -> (FindingKind, String) {
    let Resource {
        namespace,
        name,
        uid,
        ..
    } = resource;
    let is_member = situation.is_estranged(pod);
    if is_member {
        let owner = format!(
            r#"{{"metadata":{{"ownerReferences":[{{"apiVersion":"{}","kind":"{}","name":"{name}","uid":"{uid}","controller":true,"blockOwnerDeletion":true}}]}}}}"#,
            resource.api_version, resource.kind
        );
        let message = format!(
            "Pod {} is of a member of this cluster and does not belong to it any more, so it is left alone. Put its owner \
             back: kubectl --namespace {namespace} patch pod {} --type merge --patch '{owner}'",
            pod.name, pod.name
        );
        (FindingKind::Blocked, message)
    } else if is_going(pod, resource) {
        let message = format!(
            "Pod {} is of a cluster {name} that was deleted, and the Services lead to it until it has ended.",
            pod.name
        );
        (FindingKind::Waiting, message)
    } else {
        let message = format!(
            "Pod {} has the labels of this cluster and does not belong to it, so the Services lead clients to it as well. \
             Take the label off: kubectl --namespace {namespace} label pod {} {}-",
            pod.name,
            pod.name,
            resource.dialect().cluster_label()
        );
        (FindingKind::Blocked, message)
    }
}
