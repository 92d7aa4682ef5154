//! What holds a recovery up that has begun: the survivor's data would be gone with its pod, or pods of somebody else could
//! answer beside it.
//!
//! Says the cause and the way out; [`super`] does nothing meanwhile.

use contract::{FindingKind, Reason, Recovery, RecoveryStage};

use crate::assess::{Living, Situation, has_ended};
use crate::step::{Step, consent, strangers};

/// Whether nothing is left that the cluster could go on from: the survivor's claim does not stay, and no pod keeps it.
pub(in crate::step) fn has_lost_its_disk(living: &Living<'_>, recovery: &Recovery) -> bool {
    let survivor = recovery.survivor.as_str();
    let claim = living.volumes.get(survivor);
    let is_there = claim.is_some_and(|claim| claim.deleted.is_none());
    !is_there && !is_kept_by_its_pod(living, recovery)
}

/// One that has ended keeps nothing: Kubernetes takes the claim from under it, and it cannot be started again.
fn is_kept_by_its_pod(living: &Living<'_>, recovery: &Recovery) -> bool {
    let pod = living.pods.get(recovery.survivor.as_str());
    pod.is_some_and(|pod| pod.deleted.is_none() && !has_ended(pod))
}

/// Whether the survivor's claim does not stay, so that neither its pod may go nor another one be made. Tells of it.
pub(super) fn has_no_disk(
    situation: &Situation<'_>,
    living: &Living<'_>,
    recovery: &Recovery,
    step: &mut Step,
) -> bool {
    let survivor = recovery.survivor.as_str();
    let claim = living.volumes.get(survivor);
    if claim.is_some_and(|claim| claim.deleted.is_none()) {
        return false;
    }
    let namespace = &situation.snapshot.resource.namespace;
    let (cause, restore) = if is_kept_by_its_pod(living, recovery) {
        let cause = format!(
            "the volume claim of {survivor} is being deleted, and goes with its pod. Save its data while it runs \
             (kubectl --namespace {namespace} port-forward {survivor} 2379, then etcdctl snapshot save FILE)."
        );
        (cause, "a new cluster from what was saved")
    } else {
        let cause = format!("the volume claim of {survivor} is gone or being deleted.");
        (cause, "it from a backup, by an EtcdRestore")
    };
    let way = match recovery.stage {
        RecoveryStage::Stopping => format!(
            "Nobody is stopped meanwhile. Take the consent back ({}) and name another member, or restore {restore}.",
            consent::command(situation, None)
        ),
        RecoveryStage::Forcing
        | RecoveryStage::Renewing
        | RecoveryStage::Done
        | RecoveryStage::Void => format!("Restore {restore}."),
    };
    step.find(
        FindingKind::Blocked,
        Reason::RecoveringQuorum,
        format!("The recovery cannot go on: {cause} {way}"),
    );
    true
}

/// Whether pods that are not the cluster's have an address under its labels: whoever runs there may be one of its members.
/// Called when none of its own is left. Tells of them.
pub(super) fn is_beside_strangers(
    situation: &Situation<'_>,
    recovery: &Recovery,
    step: &mut Step,
) -> bool {
    let Some((kind, who)) = strangers::in_the_way(situation) else {
        return false;
    };
    step.find(
        kind,
        Reason::RecoveringQuorum,
        format!(
            "{} is started as the only member once no other pod is under the cluster's labels, because whoever runs there \
             could vote. {who}",
            recovery.survivor,
        ),
    );
    true
}
