//! What can be done for lack of space, each as an action with its preconditions: compact, defragment, disarm.
//!
//! Does not know which of them is due.

use contract::{AlarmKind, Effect, EventType, FindingKind, Membership, Reason, SpaceCure};

use super::Sized;
use crate::assess::{Living, Member, Situation};
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::step::{LATER, SOON, Step, alarm};

pub(super) fn compact(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    revision: i64,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let mut action = pre::action(resource, Effect::Compact { revision }).on_members(membership);
    action.pre.healthy_voters = u32::try_from(quorum(living.voters().count())).ok();
    step.actions.push(action);
    step.find(FindingKind::Doing, Reason::NoSpace, "etcd has no space left and serves only reads and deletes. Old revisions are given up to make room; no key is deleted.".to_owned());
    step.look_again(SOON, Reason::NoSpace);
}

pub(super) fn defragment(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    member: &Sized<'_>,
    record: &mut SpaceCure,
    step: &mut Step,
) -> bool {
    let voters = living.voters().count();
    let others = living
        .voters()
        .filter(|other| other.is_healthy() && other.id != Some(member.id));
    let left = others.count();
    // One or two members have no quorum without one of them, and would never be cured.
    let needed = quorum(voters).min(voters - 1);
    let down: Vec<&str> = living
        .voters()
        .filter(|other| !other.is_healthy())
        .map(|other: &Member<'_>| other.name)
        .collect();
    let before = record
        .defragmented
        .iter()
        .any(|name| down.contains(&name.as_str()));
    // Whoever serves from a pod on its way out is about to be silent as well.
    let ends = living
        .voters()
        .any(|other| other.answer.is_some() && other.pod.is_some_and(|pod| pod.deleted.is_some()));
    if left < needed || before || ends {
        step.find(
            FindingKind::Waiting,
            Reason::NoSpace,
            format!(
                "etcd has no space left and serves only reads and deletes. A member answers nobody while its file is \
                 defragmented, so that waits for {}.",
                down.join(", ")
            ),
        );
        step.look_again(LATER, Reason::NoSpace);
        return false;
    }
    let resource = &situation.snapshot.resource;
    let effect = Effect::Defragment { member: member.id };
    let mut action = pre::action(resource, effect).on_members(membership);
    action.pre.touches = Some(member.id);
    action.pre.healthy_voters = u32::try_from(needed).ok();
    step.actions.push(action);
    record.defragmented.push(member.name.to_owned());
    step.find_of(
        FindingKind::Doing,
        Reason::NoSpace,
        member.name,
        format!("etcd has no space left and serves only reads and deletes. {} is defragmented to make room.", member.name),
    );
    step.look_again(SOON, Reason::NoSpace);
    true
}

pub(super) fn disarm(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    alarm::disarm(AlarmKind::Nospace, situation, membership, living, step);
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::NoSpace,
        "There is room again; etcd takes writes again".to_owned(),
    ));
    step.find(
        FindingKind::Doing,
        Reason::NoSpace,
        "Every member has room again; the alarm is ended, and etcd takes writes again.".to_owned(),
    );
    step.look_again(SOON, Reason::NoSpace);
}
