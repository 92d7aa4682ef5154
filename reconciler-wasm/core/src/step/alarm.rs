//! Ends alarms of etcd.
//!
//! The caller knows that what they warn of is over.

use contract::{AlarmKind, Effect, Membership};

use super::Step;
use crate::assess::{Living, Situation};
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;

/// Disarms every alarm of this kind.
pub(super) fn disarm(
    kind: AlarmKind,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let alarms = situation.snapshot.etcd.alarms.seen().into_iter().flatten();
    for alarm in alarms.filter(|alarm| alarm.kind == kind) {
        let effect = Effect::Disarm {
            kind,
            member: alarm.member,
        };
        let mut action = pre::action(resource, effect).on_members(membership);
        action.pre.healthy_voters = u32::try_from(quorum(living.voters().count())).ok();
        step.actions.push(action);
    }
}
