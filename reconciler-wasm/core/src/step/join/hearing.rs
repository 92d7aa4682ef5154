//! A learner that names a leader and hears nothing of it.
//!
//! It asks for no votes, so it does not notice that it is cut off, and etcd would promote it for what the leader once heard
//! of it. Says how long one may stay like that. That it hears its leader is found out by whoever asks for its vote.

use contract::{
    EndpointStatus, FindingKind, LEARNER_UNHEARD, MemberId, Millis, OutcomeKind, Reason,
};

use super::super::{LATER, Step};
use super::{LEARNER_PATIENCE, is_behind};
use crate::assess::{Living, Member, Situation};

/// What is wrong with it, as [`Member::complaint`] says of others.
pub(super) const COMPLAINT: &str = "it names a leader and receives nothing from it";
/// How long the log may take to a learner: 8 GiB, the most that etcd is meant for, at 5 MB/s.
const LOG_PATIENCE: Millis = Millis::seconds(30 * 60);

/// Whether its vote was asked for in the last pass, and it did not receive what the leader appended for it.
pub(super) fn is_unheard(situation: &Situation<'_>, learner: MemberId) -> bool {
    situation.snapshot.outcomes.iter().any(|past| {
        past.outcome == OutcomeKind::Failed
            && past.target == learner.to_string()
            && past.message.starts_with(LEARNER_UNHEARD)
    })
}

/// Whether it has been like that for too long.
pub(super) fn is_given_up(
    situation: &Situation<'_>,
    living: &Living<'_>,
    (learner, id, status): (&Member<'_>, MemberId, &EndpointStatus),
) -> bool {
    let waited = learner.in_role_for(situation.snapshot.now);
    let is_cut_off = is_unheard(situation, id) && waited >= LEARNER_PATIENCE;
    is_cut_off || (is_behind(living, status) && waited >= LOG_PATIENCE)
}

pub(super) fn tell(name: &str, step: &mut Step) {
    step.find_of(
        FindingKind::Waiting,
        Reason::LearnerCatchingUp,
        name,
        format!(
            "New member {name} gets no vote yet: {COMPLAINT}. It is tried again, and {} s after it was added another one \
             takes its place. Look for a network policy or a node that keeps members from each other's peer port.",
            LEARNER_PATIENCE.0 / 1000
        ),
    );
    step.look_again(LATER, Reason::LearnerCatchingUp);
}
