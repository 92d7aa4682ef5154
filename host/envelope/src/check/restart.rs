//! What a restart of a member on its own disk may cost: one vote for a while, and never that of a quorum.
//!
//! The disk stays where it is, so a cluster of one or two, which has no quorum to spare, may be restarted when all others
//! are healthy.

use contract::{EtcdView, MemberId, ObjectKind, Preconditions};

use super::membership::{enough, living};
use super::precondition::seen;
use crate::quorum::{Votes, quorum};
use crate::{Fresh, ObjectHead, Refusal, ResourceHead};

pub(super) fn check_restart(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    object: Option<&ObjectHead>,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    // A container that does not run has no vote to lose.
    if object.is_some_and(|head| !head.running && !head.deleted) {
        return Ok(());
    }
    let Some(touched) = pre.touches else {
        return Err(Refusal::Running {
            pod: name.to_owned(),
        });
    };
    let votes = living(resource, etcd)?;
    if votes.member_named(name).map(|member| member.id) != Some(touched) {
        return Err(Refusal::OtherMember {
            pod: name.to_owned(),
        });
    }
    others_suffice(&votes, touched)
}

/// Whether the archived operator may lose the pod of this member, which is down until its claim has another one.
pub(super) fn check_hand_over(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    fresh: &Fresh,
) -> Result<(), Refusal> {
    let other = || Refusal::OtherMember {
        pod: name.to_owned(),
    };
    let touched = pre.touches.ok_or_else(other)?;
    if !resource.taking_over {
        return Err(Refusal::ForeignOwner {
            kind: ObjectKind::ReplicaSet,
            name: name.to_owned(),
        });
    }
    let votes = living(resource, &fresh.etcd)?;
    if votes.member_named(name).map(|member| member.id) != Some(touched) {
        return Err(other());
    }
    // Its data would go with its pod.
    if seen(&fresh.claim, "the claim")?.is_none_or(|claim| claim.deleted) {
        return Err(Refusal::StillMember {
            member: name.to_owned(),
        });
    }
    if votes.serves_nobody(votes.member(touched)?) {
        Ok(())
    } else {
        others_suffice(&votes, touched)
    }
}

/// Whether one voter may be down for a while: the others are a quorum or, where one or two vote, all healthy; and none of
/// them is about to be down as well, which no snapshot of before its restart shows.
pub(super) fn others_suffice(votes: &Votes<'_>, touched: MemberId) -> Result<(), Refusal> {
    let voters = votes.voters();
    let needed = quorum(voters).min(voters.saturating_sub(1));
    enough(votes.healthy_without(Some(touched)), needed)?;
    match votes.about_to_end(touched) {
        Some(pod) => Err(Refusal::RestartPending(pod.to_owned())),
        None => Ok(()),
    }
}
