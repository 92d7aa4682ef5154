//! The growth of a cluster that goes on from a backup: what of before is kept, until it is whole.
//!
//! Members that are missing are seen to by other files, as always.

use contract::{EventType, FindingKind, Reason, Restoration, RestorationStage};

use super::{Change, PACE, fill};
use crate::assess::{Living, Member, Situation};
use crate::step::{SOON, Step, furnish};
use crate::validate::Cluster;
use crate::{clock, pre};

/// Says how far the others are, and ends the restoration when the cluster is whole and nothing of before is left.
pub(super) fn grow(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    memory: &Restoration,
    step: &mut Step,
) {
    fill::note_filled(situation, living, step);
    let voters = living.voters().count();
    if !is_whole(cluster, living) {
        step.find(
            FindingKind::Waiting,
            Reason::Restoring,
            format!(
                "EtcdRestore {}: {voters} of {} members vote, with the data of the backup.",
                memory.restore,
                cluster.size.unwrap_or(voters)
            ),
        );
        return;
    }
    let left = memory.given_up.iter().filter(|name| {
        living.volumes.contains_key(name.as_str()) || living.pods.contains_key(name.as_str())
    });
    let left: Vec<&str> = left.map(String::as_str).collect();
    if !left.is_empty() {
        step.find(
            FindingKind::Waiting,
            Reason::Restoring,
            format!(
                "The cluster is whole; the volume claims of before are being deleted: {}.",
                left.join(", ")
            ),
        );
        step.look_again(PACE, Reason::Restoring);
        return;
    }
    // Who waits for its end connects next, and is led to pods alone that are ready.
    let unready = living
        .voters()
        .filter_map(|member| member.pod)
        .find(|pod| !pod.ready);
    if let Some(pod) = unready {
        step.find_of(
            FindingKind::Waiting,
            Reason::Restoring,
            &pod.name,
            format!(
                "The cluster is whole; the pod of {} is not ready yet.",
                pod.name
            ),
        );
        step.look_again(SOON, Reason::Restoring);
        return;
    }
    if furnish::is_without_clients(cluster, situation) {
        step.find(
            FindingKind::Waiting,
            Reason::Restoring,
            "The cluster is whole; the Service for its clients is being made.".to_owned(),
        );
        step.look_again(SOON, Reason::Restoring);
        return;
    }
    let words = format!(
        "The cluster has its full size again, with the data of EtcdRestore {}.",
        memory.restore
    );
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Normal,
        Reason::Restored,
        words.clone(),
    ));
    step.find(FindingKind::Doing, Reason::Restored, words);
    step.restoration = Some(Change::Set(Restoration {
        stage: RestorationStage::Done,
        ended_at: Some(clock::spell(situation.snapshot.now)),
        ..memory.clone()
    }));
    step.look_again(SOON, Reason::Restored);
}

/// Whether the cluster has its size, confirmed and healthy.
fn is_whole(cluster: &Cluster, living: &Living<'_>) -> bool {
    let voters = living.voters().count();
    let is_grown = cluster.size.is_none_or(|size| voters >= size);
    let is_healthy = living.voters().all(Member::is_healthy) && living.learner().is_none();
    living.membership.is_some() && voters > 0 && is_grown && is_healthy
}

/// Whether the claim of one who is not in the list is kept, because the cluster went on from a backup and is not whole yet.
pub(in crate::step) fn keeps_claim(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    name: &str,
) -> bool {
    let memory = situation.memory.restoration.as_ref();
    let is_given_up = memory.is_some_and(|memory| {
        memory.stage == RestorationStage::Growing
            && memory.given_up.iter().any(|given_up| given_up == name)
    });
    is_given_up && !is_whole(cluster, living)
}
