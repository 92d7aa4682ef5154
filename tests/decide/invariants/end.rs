//! How a history may end: at its goal and at rest, or without a quorum, saying so and destroying nothing.
//!
//! Judges where a history came to. What it did on the way is for [`super::deed`], except after the quorum was lost.

use contract::Reason;
use simulator::{Deed, End, Fact, History, MemberTruth, Truth};

use super::told::untold;
use super::{Promise, Violation, violation};
use crate::goal::{is_goal, is_hopeless};

pub(super) fn judge_end(history: &History) -> Option<Violation> {
    let End {
        at,
        calm,
        truth,
        rested,
        still: _,
        reasons,
        passes,
        last_words,
        status,
        generation,
    } = &history.end;
    if is_hopeless(truth) {
        return judge_hopeless(history);
    }
    let untold = untold(truth, status, *generation);
    if *rested && is_told(truth) && untold.is_empty() {
        return None;
    }
    // Whoever takes an EtcdRestore back in the middle has to say what else is to become of the cluster.
    if !rested && truth.restoring.is_some() && reasons.contains(&Reason::RestoreWaiting) {
        return None;
    }
    // And so has whoever takes a consent back when the survivor may have gone on alone already.
    if !rested && is_taken_back(truth) && reasons.contains(&Reason::RecoveringQuorum) {
        return None;
    }
    // And so has whoever is told which pod and disk keep the others from being started.
    let names = |words: &String| truth.unled.iter().any(|pod| words.contains(pod));
    let mut told = last_words.iter();
    let is_named = told.any(|words| words.starts_with(Reason::DiskLost.name()) && names(words));
    if !rested && is_held_apart(truth) && is_told(truth) && untold.is_empty() && is_named {
        return None;
    }
    if *rested {
        return violation(
            Promise::StatusesAreTrue,
            *at,
            format!("{untold:?}: {last_words:?}, {truth:?}, {status:?}"),
        );
    }
    let promise = if is_goal(truth) {
        Promise::GoalsAreRest
    } else {
        Promise::GoalsAreReached
    };
    let since = at - calm;
    let words =
        format!("{since} ms and {passes} passes after the last fault: {last_words:?}, {truth:?}");
    violation(promise, *at, words)
}

/// Whether the consent that a recovery goes by is gone, or names another survivor by now.
fn is_taken_back(truth: &Truth) -> bool {
    truth.recovering.is_some() && truth.consent != truth.recovering && !truth.confirmed
}

/// Whether somebody with data is not started beside a member that founded the cluster anew on an emptied disk: with that one
/// it could be a quorum without what was written.
fn is_held_apart(truth: &Truth) -> bool {
    let is_missing = |member: &MemberTruth| member.intact && !truth.pods.contains(&member.name);
    !truth.confirmed && !truth.unled.is_empty() && truth.members.iter().any(is_missing)
}

/// Who can have no quorum says so, destroys nothing, and comes to rest.
fn judge_hopeless(history: &History) -> Option<Violation> {
    let End {
        at,
        calm,
        truth,
        rested,
        still,
        reasons,
        passes,
        last_words,
        status,
        generation,
    } = &history.end;
    let is_asleep = is_asleep(truth);
    let said = reasons.iter().any(|reason| {
        matches!(
            reason,
            Reason::QuorumLost
                | Reason::DataLost
                | Reason::RecoveringQuorum
                | Reason::Restoring
                | Reason::RestoreWaiting
                | Reason::AwaitingAdoption
        )
    });
    let is_untrue = truth.said_available == Some(true) && !truth.confirmed;
    if !is_asleep && (!said || is_untrue) {
        return violation(
            Promise::LossIsSaid,
            *at,
            format!("{reasons:?}: {last_words:?}, {truth:?}"),
        );
    }
    if let Some(busy) = history.facts.iter().find_map(busy_while_hopeless) {
        return Some(busy);
    }
    if let Some(survivor) = survivor_of(truth) {
        return violation(
            Promise::GoalsAreReached,
            *at,
            format!("{survivor} could go on alone: {last_words:?}, {truth:?}"),
        );
    }
    if !rested && !still {
        let since = at - calm;
        return violation(
            Promise::LossIsRest,
            *at,
            format!(
                "{since} ms and {passes} passes after the last fault: {last_words:?}, {truth:?}"
            ),
        );
    }
    let untold = untold(truth, status, *generation);
    if untold.is_empty() {
        return None;
    }
    violation(
        Promise::StatusesAreTrue,
        *at,
        format!("{untold:?}: {last_words:?}, {truth:?}, {status:?}"),
    )
}

/// Whom a person consented to go on from, while that is under way and its data is on a claim that stays: nobody else is
/// needed for it.
fn survivor_of(truth: &Truth) -> Option<&str> {
    let named = truth.recovering.as_ref().filter(|_| !truth.paused)?;
    let mut members = truth.members.iter();
    let survivor = members.find(|member| member.name == *named)?;
    let is_whole = survivor.intact && !survivor.in_pod && !survivor.condemned;
    let is_consented = truth.consent.as_ref() == Some(named) && truth.restoring.is_none();
    (is_whole && is_consented).then_some(named)
}

/// Whether `Available` says what is so. Who is being stopped, or has no space left, is not available either way.
fn is_told(truth: &Truth) -> bool {
    let serves = truth.confirmed && truth.size > 0 && !truth.alarmed;
    match truth.said_available {
        Some(true) => truth.confirmed,
        Some(false) | None => !serves,
    }
}

/// Nobody can know what became of disks that nobody uses.
fn is_asleep(truth: &Truth) -> bool {
    truth.size == 0 && truth.pods.is_empty()
}

/// Nothing is destroyed once the quorum is lost for good, and nothing is asked of etcd that only a leader can grant.
pub(crate) fn busy_while_hopeless(fact: &Fact) -> Option<Violation> {
    match fact {
        Fact::Deed {
            at,
            deed,
            before,
            lost: _,
            late: None,
        } if is_hopeless(before) && !before.confirmed && !is_asleep(before) => match deed {
            // A pod that does not run, on a claim that stays.
            Deed::DeletedPod(name)
                if before.claims.contains(name)
                    && before.members.iter().all(|member| {
                        member.name != *name || (member.release.is_none() && !member.condemned)
                    }) =>
            {
                None
            }
            Deed::DeletedPod(name) if before.size == 0 && before.claims.contains(name) => None,
            Deed::DeletedPod(name) if before.blank.contains(name) => None,
            Deed::DeletedPod(_) if before.recovering.is_some() || before.restoring.is_some() => {
                None
            }
            Deed::Removed(_)
            | Deed::Promoted(_)
            | Deed::Added(_)
            | Deed::Moved(_)
            | Deed::Compacted(_)
            | Deed::Defragmented(_)
            | Deed::Disarmed(_)
            | Deed::DeletedClaim(_)
            | Deed::DeletedPod(_) => violation(
                Promise::LossDestroysNothing,
                *at,
                format!("{deed:?}, {before:?}"),
            ),
            Deed::StartedNew(_)
            | Deed::StartedAlone(_)
            | Deed::Restarted(_)
            | Deed::GaveUp
            | Deed::Guarded { .. }
            | Deed::Wrote(_) => None,
        },
        Fact::Deed { .. }
        | Fact::Refused { .. }
        | Fact::Spun { .. }
        | Fact::Stirred { .. }
        | Fact::Trespassed { .. }
        | Fact::Said { .. }
        | Fact::Elected { .. } => None,
    }
}
