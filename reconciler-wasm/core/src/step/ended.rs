//! Pods that ended and will not run again: those that were evicted, and those of the archived operator, which never
//! restart.
//!
//! On a claim such a pod only stands in the way of the next one; its data is on the claim.

use contract::{Action, Effect, FindingKind, ObjectKind, Pod, Reason, Volume};

use super::{SOON, Step};
use crate::assess::{Disk, Living, Situation, has_ended};
use crate::pre::{self, ActionExt};

/// Deletes the ended pods of members that have their disks, so that each is made again on its own. Needs no quorum.
pub(super) fn take_away(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    for member in &living.members {
        let Some(pod) = member
            .pod
            .filter(|pod| has_ended(pod) && pod.deleted.is_none())
        else {
            continue;
        };
        let Some(claim) = member.volume.filter(|_| pod.claim.is_some()) else {
            continue;
        };
        if member.disk != Disk::Kept {
            continue;
        }
        step.actions.push(deletion_on(situation, pod, claim));
        step.find_of(
            FindingKind::Doing,
            Reason::PodMissing,
            member.name,
            format!(
                "The pod of {} has ended; it is made again on its own disk.",
                member.name
            ),
        );
        step.look_again(SOON, Reason::PodMissing);
    }
}

/// Deletes a pod whose data is on a claim, as long as that stays: with it the last copy would go.
pub(super) fn deletion_on(situation: &Situation<'_>, pod: &Pod, claim: &Volume) -> Action {
    let mut action = deletion(situation, pod);
    action.pre.claim_uid = Some(claim.uid.clone());
    action
}

/// Deletes a pod that nothing is lost with.
pub(super) fn deletion(situation: &Situation<'_>, pod: &Pod) -> Action {
    let effect = Effect::Delete {
        kind: ObjectKind::Pod,
        name: pod.name.clone(),
        grace_seconds: None,
    };
    pre::action(&situation.snapshot.resource, effect).present(&pod.uid)
}
