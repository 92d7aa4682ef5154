//! Makes pods of the archived operator's shape anew, one by one, where that was asked for.
//!
//! They are valid members, so nobody touches them unasked. On a claim a pod is made again around its member; where the
//! data is in the pod, or where one pod less would cost the quorum, a new member joins as a learner before the old one
//! leaves. The leader is the last.

use contract::{EventType, FindingKind, Membership, Reason, names};

use super::{Step, adopt, leave, repair, scale};
use crate::assess::{Living, Member, Situation};
use crate::pre;
use crate::quorum::quorum;
use crate::validate::Cluster;

/// How a member gets another pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The same member, on its own claim.
    Again,
    /// Another member in its place.
    Replaced,
}

/// How many members may vote at this moment: one more than asked for while one is being replaced.
pub(super) fn wanted(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
) -> Option<usize> {
    let size = cluster.size?;
    let is_replacing =
        is_asked(situation) && old(living).any(|member| way(living, size, member) == Way::Replaced);
    Some(size + usize::from(is_replacing))
}

/// The member of the old shape that is the next to go, where their renewal is asked for.
pub(super) fn leaver<'l, 'a>(
    situation: &Situation<'_>,
    living: &'l Living<'a>,
) -> Option<&'l Member<'a>> {
    if !is_asked(situation) {
        return None;
    }
    next(living)
}

/// Says which pods are of the old shape and what becomes of them.
pub(super) fn tell(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    let asked = &situation.snapshot.resource.annotations;
    if let Some(other) = asked
        .get(names::OLD_PODS_ANNOTATION)
        .filter(|value| *value != names::RENEW)
    {
        step.find(
            FindingKind::Invalid,
            Reason::InvalidSpec,
            format!(
                "The annotation {} is \"{other}\"; its one value is \"{}\". Pods are left as they are. Correct or \
                 remove it.",
                names::OLD_PODS_ANNOTATION,
                names::RENEW
            ),
        );
    }
    let left = old(living).count();
    let Some(member) = next(living) else { return };
    if is_asked(situation) {
        step.find_of(
            FindingKind::Doing,
            Reason::RenewingPods,
            member.name,
            format!(
                "{left} members run in pods as the archived operator made them; {} is next to be made anew.",
                member.name
            ),
        );
    } else {
        step.find(
            FindingKind::Note,
            Reason::OldPodShape,
            format!(
                "{left} members run in pods as the archived operator made them. They are valid and stay so; pods made \
                 from here on have the new shape. To make them anew one by one: kubectl annotate etcdcluster {} {}={}",
                cluster.name,
                names::OLD_PODS_ANNOTATION,
                names::RENEW
            ),
        );
    }
}

/// Renews one member's pod, where that is asked for and nothing else is under way.
pub(super) fn renew(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) {
    let (Some(member), Some(size)) = (leaver(situation, living), cluster.size) else {
        return;
    };
    match way(living, size, member) {
        Way::Replaced => {
            if living.voters().count() > size {
                scale::shrink(situation, membership, living, size, member, step);
            }
        }
        Way::Again => make_again(situation, membership, living, member, step),
    }
}

fn make_again(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    member: &Member<'_>,
    step: &mut Step,
) {
    if scale::settled(situation, living) < living.voters().count() {
        scale::settle(situation, living, Reason::RenewingPods, step);
        return;
    }
    if living.leader() == member.id {
        leave::move_leader(situation, membership, living, member, step);
        return;
    }
    repair::take_down(situation, membership, living, member, step);
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Normal,
        Reason::RenewingPods,
        format!("The pod of {} is made anew on its own disk", member.name),
    ));
}

fn is_asked(situation: &Situation<'_>) -> bool {
    let asked = &situation.snapshot.resource.annotations;
    asked
        .get(names::OLD_PODS_ANNOTATION)
        .is_some_and(|value| value == names::RENEW)
}

fn old<'l, 'a>(living: &'l Living<'a>) -> impl Iterator<Item = &'l Member<'a>> {
    living
        .voters()
        .filter(|member| member.pod.is_some_and(adopt::is_old))
}

/// Whose turn it is: the leader's last.
fn next<'l, 'a>(living: &'l Living<'a>) -> Option<&'l Member<'a>> {
    let leader = living.leader();
    old(living).min_by_key(|member| (member.id == leader, member.name))
}

fn way(living: &Living<'_>, size: usize, member: &Member<'_>) -> Way {
    let voters = living.voters().count().min(size);
    let is_kept = member.volume.is_some() && member.pod.is_some_and(|pod| pod.claim.is_some());
    if is_kept && voters > quorum(voters) {
        Way::Again
    } else {
        Way::Replaced
    }
}
