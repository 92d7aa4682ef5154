//! Takes one member out of etcd's list, with what it leaves behind.
//!
//! The caller says why it must go; this file says whether it may.

use contract::{Effect, EventType, FindingKind, MemberId, Membership, Reason};

use super::{SOON, Step, depart};
use crate::assess::{Living, Member, Situation};
use crate::pre::{self, ActionExt};
use crate::quorum::{TooFew, quorum};

/// Why a member cannot be taken out.
pub(super) enum Obstacle {
    /// It leads; leadership must move first.
    Leads,
    /// Too few voters would be left healthy.
    Quorum(TooFew),
    /// etcd does not know it.
    NotListed,
}

/// Says why `member` may not leave, or `None` if it may.
pub(super) fn why_not(living: &Living<'_>, member: &Member<'_>) -> Option<Obstacle> {
    let Some(id) = member.id else {
        return Some(Obstacle::NotListed);
    };
    if member.learner {
        return None;
    }
    if let Some(too_few) = living.votes().why_unsafe_to_remove(member.is_healthy()) {
        return Some(Obstacle::Quorum(too_few));
    }
    (living.leader() == Some(id)).then_some(Obstacle::Leads)
}

/// Removes `member`, then deletes its pod and its volume claim.
pub(super) fn remove(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    member: &Member<'_>,
    id: MemberId,
    (event, note): (&str, String),
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let mut action =
        pre::action(resource, Effect::RemoveMember { member: id }).on_members(membership);
    let voters = membership.voters().count();
    // A learner has no vote: those who vote must still be able to agree on its removal.
    let left = if member.learner { voters } else { voters - 1 };
    action.pre.healthy_voters = u32::try_from(quorum(left)).ok();
    action.pre.touches = Some(id);
    step.actions.push(action);
    step.actions
        .push(pre::event(resource, EventType::Normal, event, note));
    depart::clear(situation, membership, living, member.name, true, step);
    step.look_again(SOON, Reason::MemberDeparting);
}

/// Moves leadership from `from` to the longest-serving healthy voter.
pub(super) fn move_leader(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    from: &Member<'_>,
    step: &mut Step,
) {
    let target = living
        .voters()
        .filter(|member| member.is_healthy() && member.id != from.id)
        .min_by_key(|member| (member.pod.map(|pod| pod.created), member.name));
    let Some((target, to)) = target.and_then(|member| member.id.map(|id| (member, id))) else {
        return;
    };
    let resource = &situation.snapshot.resource;
    let mut action = pre::action(resource, Effect::MoveLeader { to }).on_members(membership);
    action.pre.leader = from.id;
    step.actions.push(action);
    step.find_of(
        FindingKind::Doing,
        Reason::MovingLeader,
        from.name,
        format!(
            "{} leads and is about to leave or restart; leadership moves to {}.",
            from.name, target.name
        ),
    );
    step.look_again(SOON, Reason::MovingLeader);
}
