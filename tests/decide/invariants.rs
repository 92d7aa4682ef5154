//! What must hold of every history, whatever went wrong in it.
//!
//! Judges facts of the simulated world. Shares no code with the reconciler or the envelope. What one deed may do is
//! [`deed`]'s, how a history may end is [`end`]'s, and what a status may say then [`told`]'s.

#[cfg(test)]
mod armed;
mod deed;
mod end;
mod promise;
mod told;

use simulator::{Deed, Fact, History, Truth};

pub(crate) use self::armed::can_break;
use self::deed::{is_given_up, judge_deed, judge_late, weakly_guarded};
pub(crate) use self::end::busy_while_hopeless;
use self::end::judge_end;
pub(crate) use self::promise::Promise;
use crate::goal::is_goal;

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Which promise: fit for comparing two histories.
    pub(crate) promise: Promise,
    /// What happened, with its time.
    pub(crate) what: String,
}

/// Judges a history.
#[must_use]
pub(crate) fn violations(history: &History) -> Vec<Violation> {
    let mut violations: Vec<Violation> = history.facts.iter().filter_map(judge).collect();
    violations.extend(judge_end(history));
    violations
}

/// What no module may bring about, however it decides. How many members evictions leave is up to the module, within bounds; so
/// is whether it waits, for a backup or for who may come back.
pub(crate) fn unsafe_deed(fact: &Fact) -> Option<Violation> {
    let forgive = |truth: &mut Truth| truth.unsaved.clear();
    match fact {
        Fact::Refused { .. } | Fact::Spun { .. } | Fact::Stirred { .. } | Fact::Said { .. } => None,
        Fact::Elected { .. } | Fact::Deed { .. } | Fact::Trespassed { .. } => {
            let mut fact = fact.clone();
            if let Fact::Deed { before, late, .. } = &mut fact {
                forgive(before);
                late.as_deref_mut().into_iter().for_each(forgive);
            }
            judge_safety(&fact).filter(|found| found.promise != Promise::PassingAreAwaited)
        }
    }
}

pub(crate) fn judge(fact: &Fact) -> Option<Violation> {
    judge_safety(fact).or_else(|| judge_said(fact)).or_else(|| {
        let Fact::Deed {
            at,
            deed,
            before,
            lost: _,
            late,
        } = fact
        else {
            return None;
        };
        // A late one by what was so when it was sent.
        weakly_guarded(*at, deed, late.as_ref().unwrap_or(before))
    })
}

fn judge_safety(fact: &Fact) -> Option<Violation> {
    match fact {
        Fact::Refused { at, why } => violation(
            Promise::DecisionsAreWithinTheEnvelope,
            *at,
            format!("refused: {}", why.join("; ")),
        ),
        Fact::Spun { at, effects } => violation(
            Promise::NothingSpins,
            *at,
            format!("{effects:?} in each pass, and nothing changes"),
        ),
        Fact::Stirred {
            at,
            effects,
            before,
        } if is_resting(before) && !is_upkeep(effects) => violation(
            Promise::GoalsAreRest,
            *at,
            format!("{effects:?} at the goal, and nothing had moved"),
        ),
        Fact::Stirred { .. } => None,
        Fact::Trespassed { at, what } => violation(Promise::OthersKeepTheirs, *at, what.clone()),
        Fact::Elected {
            at,
            cluster,
            leader,
            missing,
        } if !missing.is_empty() => violation(
            Promise::NoWriteIsLost,
            *at,
            format!("{leader} leads {cluster} without the writes {missing:?}"),
        ),
        Fact::Elected { .. } | Fact::Said { .. } => None,
        Fact::Deed {
            at,
            deed,
            before,
            lost,
            late,
        } if !(lost.is_empty()
            || is_consented(deed, before)
            || late
                .as_ref()
                .is_some_and(|sent| is_of_one_who_left(deed, sent))) =>
        {
            let words = format!(
                "{deed:?} destroyed the last copy of the writes {lost:?}, before: {before:?}"
            );
            violation(Promise::NoWriteIsLost, *at, words)
        }
        Fact::Deed {
            at,
            deed,
            before,
            lost: _,
            late,
        } => match late {
            Some(sent) => judge_deed(*at, deed, sent).or_else(|| judge_late(*at, deed, before)),
            None => judge_deed(*at, deed, before),
        },
    }
}

/// Nobody is called available without a quorum, nor ready who does not serve.
fn judge_said(fact: &Fact) -> Option<Violation> {
    let Fact::Said {
        at,
        available,
        ready,
        confirmed,
        serving,
    } = fact
    else {
        return None;
    };
    let is_so = (*confirmed || !available) && ready.iter().all(|name| serving.contains(name));
    if is_so {
        return None;
    }
    let words = format!(
        "available {available}, ready {ready:?}: a quorum {confirmed}, serving {serving:?}"
    );
    violation(Promise::StatusesAreTrue, *at, words)
}

/// Whether there is nothing to do and nothing to wait for. A cluster that is paused is left as it is, and is at no goal; where
/// members are being stopped, how that goes on is told.
fn is_resting(before: &Truth) -> bool {
    is_goal(before) && !before.paused && before.size > 0
}

/// What time alone makes due: certificates, and what is told of them.
fn is_upkeep(effects: &[&str]) -> bool {
    let told = ["Issue", "UpdateStatus", "Event"];
    effects.contains(&"Issue") && effects.iter().all(|effect| told.contains(effect))
}

/// Whose member had left when the request was sent: that the disks of all who stayed went meanwhile, nobody could know.
fn is_of_one_who_left(deed: &Deed, sent: &Truth) -> bool {
    let (Deed::DeletedPod(name) | Deed::DeletedClaim(name)) = deed else {
        return false;
    };
    sent.members.iter().all(|member| member.name != *name)
}

/// Whose member is stopped because a person consented to go on from another one, and to lose what that one does not have.
fn is_consented(deed: &Deed, before: &Truth) -> bool {
    let Deed::DeletedPod(name) = deed else {
        return false;
    };
    is_given_up(name, before) && before.consent == before.recovering
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "reads as a verdict where it is used"
)]
fn violation(promise: Promise, at: i64, what: String) -> Option<Violation> {
    Some(Violation {
        promise,
        what: format!("at {at} ms: {what}"),
    })
}
