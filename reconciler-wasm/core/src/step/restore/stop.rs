//! The stop of every member of before: whoever runs could still take writes.
//!
//! Touches no claim. Why members are not stopped any more is [`super::hold`]'s.

use std::collections::BTreeMap;

use contract::{Effect, FindingKind, ObjectKind, Reason, Restoration, RestorationStage};

use super::{Change, Wish, hold, living};
use crate::assess::Situation;
use crate::entropy::Entropy;
use crate::pre::{self, ActionExt};
use crate::step::{DEAD_NODE, SOON, Step, strangers};
use crate::validate::Cluster;

/// Deletes every pod; when none is left, fresh members are planned.
pub(super) fn stop(
    cluster: &Cluster,
    situation: &Situation<'_>,
    memory: &Restoration,
    wish: &Wish<'_>,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    if !wish.is_proven() {
        step.find(
            FindingKind::Waiting,
            Reason::RestoreWaiting,
            format!(
                "EtcdRestore {} was edited, so the backup that it names now is read first.",
                wish.resource.name
            ),
        );
        return;
    }
    let none = BTreeMap::new();
    let pods = living(situation).map_or(&none, |living| &living.pods);
    if pods.is_empty()
        && let Some((kind, who)) = strangers::in_the_way(situation)
    {
        let words = format!(
            "The members of before are stopped, and no disk is filled while another pod is under the cluster's labels, \
             because whoever runs there could take writes. {who}"
        );
        step.find(kind, Reason::ForeignObject, words);
        return;
    }
    if pods.is_empty() {
        let mut entropy = Entropy::of(situation.snapshot);
        let taken = memory.given_up.iter().map(String::as_str).collect();
        // A size that cannot be followed any more is no reason to stay stopped.
        let size = cluster.size.unwrap_or(1).max(1);
        let founders = entropy.members(cluster, &taken, size);
        step.find(
            FindingKind::Doing,
            Reason::Restoring,
            format!(
                "All members of before are stopped; {} start from the backup.",
                founders.join(", ")
            ),
        );
        step.restoration = Some(Change::Set(Restoration {
            stage: RestorationStage::Filling,
            token: Some(entropy.token()),
            founders,
            ..memory.clone()
        }));
        step.look_again(SOON, Reason::Restoring);
        return;
    }
    let is_left = pods.values().any(|pod| pod.deleted.is_none());
    if is_left && let Some(why) = hold::why_not_stopped(situation, wish) {
        step.find(
            FindingKind::Blocked,
            Reason::RestoreWaiting,
            format!("EtcdRestore {} waits: {why}", wish.resource.name),
        );
        return;
    }
    for pod in pods.values().filter(|pod| pod.deleted.is_none()) {
        let effect = Effect::Delete {
            kind: ObjectKind::Pod,
            name: pod.name.clone(),
            grace_seconds: None,
        };
        let mut action = pre::action(resource, effect).present(&pod.uid);
        action.pre.restore = Some(wish.reference());
        step.actions.push(action);
    }
    let names: Vec<&str> = pods.keys().copied().collect();
    step.find(
        FindingKind::Waiting,
        Reason::Restoring,
        format!(
            "Waiting until the pods {} have ended, because whoever runs could still take writes. {DEAD_NODE}",
            names.join(", ")
        ),
    );
}
