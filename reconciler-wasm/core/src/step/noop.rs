//! An entry of etcd's log that changes nothing, for members that wait for one.
//!
//! A member that got its data as a snapshot answers nobody before the next entry: etcd counts a snapshot as applied only
//! then. In a cluster that nobody writes to there is none. Says how long silence lasts before that may be its cause,
//! and when a voter may wait for one; when a learner does, is told elsewhere.

use contract::{Effect, Membership, Millis};

use super::Step;
use crate::assess::{Health, Living, Situation};
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;

/// How long a member may be silent while its container runs, before the cause may be that nobody writes.
pub(super) const SILENCE: Millis = Millis::seconds(30);
/// What [`Effect::AppendNoop`] is for.
const IF_NOBODY_WRITES: &str = " In case nobody writes to the cluster, an entry that changes nothing is appended to its log: a \
    member that got its data as a snapshot serves only after the next entry.";

/// Appends one, at most once in a pass. Returns what it is for, in words that follow a sentence.
pub(super) fn append(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> &'static str {
    let votes = living.votes();
    let mut action =
        pre::action(&situation.snapshot.resource, Effect::AppendNoop).on_members(membership);
    action.pre.healthy_voters = u32::try_from(quorum(votes.voters).min(votes.healthy)).ok();
    if !step.actions.contains(&action) {
        step.actions.push(action);
    }
    IF_NOBODY_WRITES
}

/// Appends one where a quorum confirms the list and fewer voters answer: one that is silent votes, and may wait for it.
pub(super) fn wake_the_silent(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) {
    let now = situation.snapshot.now;
    let waits = living.voters().any(|member| {
        let is_silent = matches!(member.health, Health::Unknown(_));
        let runs = member.pod.is_some_and(|pod| pod.running);
        is_silent && runs && member.down_for(now) > SILENCE
    });
    if waits && !living.votes().has_quorum() {
        append(situation, membership, living, step);
    }
}
