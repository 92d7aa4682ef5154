//! The cluster of a restore that makes it: only one that does not exist yet, and only where nothing stands in its way.
//!
//! The cluster is born from the backup by its own decisions; here it is merely asked for.

use contract::{
    Effect, FindingKind, Observed, Reason, Resource, RestoreEffect, RestorePhase, RestoreView,
    names,
};

use super::{Course, Plan, fail, wait};
use crate::pre;

/// Asks for the cluster, once it is known that nothing is in its way.
pub(super) fn make(course: &mut Course<'_>, plan: &Plan, view: &RestoreView) {
    let Some(template) = &plan.template else {
        return;
    };
    let name = &plan.cluster;
    if course.status.started_at.is_some() {
        fail(
            course,
            format!("EtcdCluster {name} was deleted before it had its full size"),
        );
        return;
    }
    match &view.in_the_way {
        Observed::Seen(found) if found.is_empty() => {
            let effect = RestoreEffect::CreateCluster {
                name: name.clone(),
                spec: Box::new(template.clone()),
            };
            let action = pre::action(&course.snapshot.resource, Effect::Restore(effect));
            course.actions.push(action);
            course.status.phase = RestorePhase::Restoring;
            wait(
                course,
                FindingKind::Doing,
                Reason::Restoring,
                format!("The backup is whole; EtcdCluster {name} is made from it."),
            );
        }
        Observed::Seen(found) => fail(
            course,
            format!(
                "EtcdCluster {name} would need what is there already and not of this restore: {}. Delete it if its data \
                 is not wanted any more",
                found.join(", ")
            ),
        ),
        Observed::Absent => wait(
            course,
            FindingKind::Waiting,
            Reason::RestoreWaiting,
            format!(
                "The backup is whole. Next it is looked whether anything is in the way of {name}."
            ),
        ),
        Observed::Unknown(why) => wait(
            course,
            FindingKind::Waiting,
            Reason::RestoreWaiting,
            format!("What is in the way of EtcdCluster {name} could not be read: {why}."),
        ),
    }
}

/// Whether the cluster is one that this restore should have made and did not; that ends it.
pub(super) fn is_anothers(course: &mut Course<'_>, plan: &Plan, cluster: &Resource) -> bool {
    let uid = &course.snapshot.resource.uid;
    let is_own = cluster.annotations.get(names::RESTORED_BY_ANNOTATION) == Some(uid);
    if plan.template.is_none() || is_own {
        return false;
    }
    fail(
        course,
        format!(
            "EtcdCluster {} exists already, and a restore makes one that does not. Name another, or delete that one and \
             its volume claims first",
            plan.cluster
        ),
    );
    true
}
