//! Seals a member that has its data: from then on it can start from its own disk only.
//!
//! etcd reads `--initial-cluster` and its state only when the disk is empty. A sealed pod names nobody but itself
//! with the state `existing`, so that a member whose disk was emptied ends at once instead of joining, or founding,
//! a cluster without the writes it had acknowledged. The pod takes both values from its annotations at each start
//! of the container (<https://kubernetes.io/docs/tasks/inject-data-application/environment-variable-expose-pod-information/>).

use std::collections::BTreeMap;

use contract::{Effect, FindingKind, Pod, Reason, names};

use super::{Step, furnish, image};
use crate::assess::{Disk, Living, Member, Situation};
use crate::build::Start;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::validate::Cluster;

/// Seals every member that answers and is not sealed; without a quorum too, because then it matters most. Says whether
/// clients may be told then: a majority of the voters is sealed, so that the others can never found a cluster of their
/// own, and none of the others may hold another log or is starting.
pub(super) fn seal(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let resource = &situation.snapshot.resource;
    let mut sealed_voters = 0;
    for member in &living.members {
        let Some(pod) = member.pod else { continue };
        if let Some(start) = unsealed(cluster, member.name, pod) {
            // That it founded the cluster anew must stay visible until it follows a leader.
            if !member.answers() || member.has_founded_anew() {
                continue;
            }
            let annotations = BTreeMap::from([
                (
                    names::INITIAL_CLUSTER_ANNOTATION.to_owned(),
                    start.initial_cluster,
                ),
                (
                    names::INITIAL_STATE_ANNOTATION.to_owned(),
                    start.state.to_owned(),
                ),
            ]);
            let effect = Effect::AnnotatePod {
                name: pod.name.clone(),
                annotations,
            };
            step.actions
                .push(pre::action(resource, effect).present(&pod.uid));
        }
        // Until that is noted, what filled its disk from a backup could do so again.
        let filled = pod.annotations.get(names::FILLED_ANNOTATION);
        let is_noted = filled.is_none_or(|filled| filled == "true");
        sealed_voters += usize::from(!member.learner && is_noted);
    }
    let other = living.voters().find(|member| may_differ(member));
    if let Some(member) = other
        && furnish::is_without_clients(cluster, situation)
    {
        let words = format!(
            "{} does not answer and may hold other data than the members that formed the cluster, or found it anew on an emptied \
             disk; the Service for clients is made once it follows their leader or is replaced.",
            member.name
        );
        step.find(FindingKind::Waiting, Reason::Forming, words);
    }
    other.is_none() && sealed_voters >= quorum(living.voters().count())
}

/// Whether the voter may hold a log that the others do not know of: where their disks were emptied before they were
/// sealed, they founded the cluster anew without it, and its log may win the next election. Or whether it may hold what a
/// client writes before it is sealed: one that is starting. What keeps it from starting keeps it from that, too.
fn may_differ(member: &Member<'_>) -> bool {
    let is_kept_away = |pod: &Pod| {
        let has_run = pod.running || pod.restarts > 0 || pod.last_exit.is_some();
        let state = pod.annotations.get(names::INITIAL_STATE_ANNOTATION);
        let is_held = pod.unschedulable.is_some() || image::problem(pod).is_some();
        !has_run && is_held && state.is_some_and(|state| state == "new")
    };
    !member.is_healthy() && member.disk == Disk::Kept && !member.pod.is_some_and(is_kept_away)
}

/// How the pod would have to start to be sealed; none when it is. A pod of the archived operator has its start in its
/// arguments: there is nothing to seal.
fn unsealed(cluster: &Cluster, member: &str, pod: &Pod) -> Option<Start> {
    let found = |key: &str| pod.annotations.get(key).map(String::as_str);
    let sealed = Start::sealed(cluster, member);
    let initial_cluster = found(names::INITIAL_CLUSTER_ANNOTATION)?;
    let state = found(names::INITIAL_STATE_ANNOTATION);
    (initial_cluster != sealed.initial_cluster || state != Some(sealed.state)).then_some(sealed)
}
