//! What must hold of every history, whatever went wrong in it.
//!
//! Judges facts of the simulated world. Shares no code with the reconciler or the envelope, and counts votes anew.

use contract::Reason;
use simulator::{Deed, End, Fact, History, MemberTruth, Release, Truth};

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Which promise: fit for comparing two histories.
    pub(crate) promise: &'static str,
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

/// Whether the world is as the spec asks, down to the objects that nobody needs.
#[must_use]
pub(crate) fn is_goal(truth: &Truth) -> bool {
    if truth.paused {
        return true;
    }
    let Ok(size) = usize::try_from(truth.size) else {
        return false;
    };
    if size == 0 && is_stopped(truth) {
        return true;
    }
    // Members that have their data in their pods are not stopped, and stay as many as they are.
    let is_in_pod = |member: &MemberTruth| !truth.claims.contains(&member.name);
    let size = if size == 0 && truth.members.iter().any(is_in_pod) {
        truth.members.len()
    } else {
        size
    };
    let mut names: Vec<&str> = truth
        .members
        .iter()
        .map(|member| member.name.as_str())
        .collect();
    names.sort_unstable();
    let are_theirs = truth
        .claims
        .iter()
        .all(|claim| names.contains(&claim.as_str()));
    let has_claims = if !truth.wants_claims {
        truth.claims.is_empty()
    } else {
        truth.claims == names || (truth.size == 0 && are_theirs)
    };
    let has_policy = truth
        .members
        .iter()
        .all(|member| member.label == truth.label || (truth.size == 0 && is_in_pod(member)));
    truth.cluster.is_some()
        && truth.confirmed
        && !truth.alarmed
        && truth.members.len() == size
        && truth
            .members
            .iter()
            .all(|member| member.healthy && !member.learner)
        && (!is_reachable(truth) || runs_what_is_asked(truth))
        && truth.pods == names
        && has_claims
        && has_policy
        && truth.services == ["sim", "sim-client"]
        && truth.budget.as_deref() == Some(majority(size).to_string().as_str())
}

fn runs_what_is_asked(truth: &Truth) -> bool {
    let runs = |member: &MemberTruth| truth.asked.is_some() && member.release == truth.asked;
    truth.members.iter().all(runs)
}

/// Whether etcd's rules lead from what the members run to the asked release, and the spec allows so long a way.
fn is_reachable(truth: &Truth) -> bool {
    let lowest = truth
        .members
        .iter()
        .filter_map(|member| member.release)
        .min();
    let taken_on = truth.minor.or_else(|| lowest.map(|lowest| lowest.minor));
    let (Some(asked), Some(minor)) = (truth.asked, taken_on) else {
        return true;
    };
    if asked.minor < minor {
        return false;
    }
    let Some(lowest) = lowest else {
        return truth.through || asked.minor == minor;
    };
    let leaves = |lowest: Release| match lowest.minor {
        5 => lowest.patch >= 26,
        6 => lowest.patch >= 11,
        _ => true,
    };
    match asked.minor.saturating_sub(lowest.minor) {
        0 => true,
        1 => truth.through || leaves(lowest),
        _ => truth.through,
    }
}

/// Whether nothing runs, and nothing is missing but the pods.
fn is_stopped(truth: &Truth) -> bool {
    if truth.cluster.is_none() {
        return truth.pods.is_empty() && truth.claims.is_empty() && truth.services.is_empty();
    }
    let mut names: Vec<&str> = truth
        .members
        .iter()
        .map(|member| member.name.as_str())
        .collect();
    names.sort_unstable();
    // A claim that somebody deletes meanwhile is missed when the members start again.
    let kept = truth.claims.len() >= majority(names.len());
    let are_theirs = truth
        .claims
        .iter()
        .all(|claim| names.contains(&claim.as_str()));
    truth.pods.is_empty()
        && kept
        && are_theirs
        && truth.members.iter().all(|member| !member.learner)
        && truth.budget.as_deref() == Some(majority(names.len()).to_string().as_str())
}

/// Whether so many voters lost their data that no quorum can ever come back.
#[must_use]
pub(crate) fn is_hopeless(truth: &Truth) -> bool {
    let voters: Vec<&MemberTruth> = truth
        .members
        .iter()
        .filter(|member| !member.learner)
        .collect();
    let intact = voters.iter().filter(|member| member.intact).count();
    truth.cluster.is_some() && !voters.is_empty() && intact < majority(voters.len())
}

/// What no module may bring about, however it decides.
pub(crate) fn unsafe_deed(fact: &Fact) -> Option<Violation> {
    match fact {
        Fact::Refused { .. } | Fact::Spun { .. } => None,
        Fact::Elected { .. } | Fact::Deed { .. } => judge(fact),
    }
}

fn judge(fact: &Fact) -> Option<Violation> {
    match fact {
        Fact::Refused { at, why } => violation(
            "every decision stays within the envelope",
            *at,
            format!("refused: {}", why.join("; ")),
        ),
        Fact::Spun { at, effects } => violation(
            "nothing is done again and again",
            *at,
            format!("{effects:?} in each pass, and nothing changes"),
        ),
        Fact::Elected {
            at,
            cluster,
            leader,
            missing,
        } if !missing.is_empty() => violation(
            "no acknowledged write is lost",
            *at,
            format!("{leader} leads {cluster} without the writes {missing:?}"),
        ),
        Fact::Elected { .. } => None,
        Fact::Deed {
            at,
            deed,
            before,
            lost,
            late: _,
        } if !lost.is_empty() => {
            let words = format!(
                "{deed:?} destroyed the last copy of the writes {lost:?}, before: {before:?}"
            );
            violation("no acknowledged write is lost", *at, words)
        }
        // Nobody can call back a request that is on its way: of a late one only the outcome counts.
        Fact::Deed { late: true, .. } => None,
        Fact::Deed {
            at,
            deed,
            before,
            lost: _,
            late: false,
        } => judge_deed(*at, deed, before),
    }
}

fn judge_deed(at: i64, deed: &Deed, before: &Truth) -> Option<Violation> {
    if before.paused {
        return violation("paused means no effect", at, format!("{deed:?}"));
    }
    let listed = |name: &str| before.members.iter().find(|member| member.name == name);
    match deed {
        Deed::StartedAlone(name) => starts_alone(at, name, before),
        Deed::StartedNew(name) if before.cluster.is_some() => violation(
            "the state `new` is never used after birth",
            at,
            name.clone(),
        ),
        Deed::Added(name) => {
            let under_way = before
                .members
                .iter()
                .find(|member| member.learner || !member.started)?;
            let words = format!("{name} was added while {} is under way", under_way.name);
            violation("one membership change at a time", at, words)
        }
        Deed::Promoted(id) => keeps_quorum(
            at,
            deed,
            &after(before, |member| {
                if member.id == *id {
                    member.learner = false;
                }
                true
            }),
        ),
        Deed::Removed(id) if before.leader == Some(*id) => {
            violation("the leader is moved before it leaves", at, format!("{id}"))
        }
        Deed::Removed(id) => keeps_quorum(at, deed, &after(before, |member| member.id != *id)),
        Deed::Restarted(name) => {
            one_at_a_time(at, before, name).or_else(|| leaves_enough(at, deed, name, before))
        }
        Deed::DeletedPod(name) => {
            // Who asks for size 0 gets it, as long as the data stays.
            if before.size == 0 && before.claims.contains(name) {
                return None;
            }
            if before.consent.is_some() && !before.confirmed {
                return None;
            }
            let is_alone = before.members.iter().filter(|one| !one.learner).count() == 1;
            if before.recovering.as_ref() == Some(name) && is_alone {
                return None;
            }
            // Whose member is down anyway loses nothing by it, as long as the disk stays, which `lost` watches.
            listed(name).filter(|member| member.healthy && !member.learner)?;
            if before.claims.contains(name) {
                return leaves_enough(at, deed, name, before);
            }
            keeps_quorum(
                at,
                deed,
                &after(before, |member| {
                    member.healthy &= member.name != *name;
                    true
                }),
            )
        }
        Deed::DeletedClaim(name) if listed(name).is_some() => {
            violation("no disk of a listed member is deleted", at, name.clone())
        }
        Deed::Compacted(_) | Deed::Defragmented(_) if !before.alarmed => violation(
            "history is given up and members are stopped only for lack of space",
            at,
            format!("{deed:?}"),
        ),
        // One or two members have no quorum without one of them.
        Deed::Defragmented(id) if before.members.len() > 2 => keeps_quorum(
            at,
            deed,
            &after(before, |member| {
                member.healthy &= member.id != *id;
                true
            }),
        ),
        Deed::Disarmed(_) => {
            let full = before.members.iter().find(|member| member.full)?;
            let words = format!("{deed:?} while {} is full", full.name);
            violation("the alarm stays while a member is full", at, words)
        }
        Deed::StartedNew(_)
        | Deed::Moved(_)
        | Deed::DeletedClaim(_)
        | Deed::Compacted(_)
        | Deed::Defragmented(_)
        | Deed::Wrote(_) => None,
    }
}

/// A voter that is down for a while, on its disk, leaves a quorum, or all the others where one or two vote.
fn leaves_enough(at: i64, deed: &Deed, name: &str, before: &Truth) -> Option<Violation> {
    let mut voters = before.members.iter().filter(|member| !member.learner);
    let count = voters.clone().count();
    voters.find(|member| member.name == name && member.healthy)?;
    let left = before
        .members
        .iter()
        .filter(|member| !member.learner && member.healthy && member.name != name)
        .count();
    let needed = majority(count).min(count - 1);
    (left < needed).then_some(())?;
    violation(
        "no deed leaves fewer healthy voters than a quorum",
        at,
        format!("{deed:?} left {left} healthy voters where {needed} are needed"),
    )
}

fn one_at_a_time(at: i64, before: &Truth, name: &str) -> Option<Violation> {
    let other = before
        .members
        .iter()
        .find(|member| member.swaps && member.name != name)?;
    let words = format!("{name} was restarted while {} is about to be", other.name);
    violation("members are restarted one at a time", at, words)
}

/// Only a person can give up what the others have, and while the others run they could still vote.
fn starts_alone(at: i64, name: &str, before: &Truth) -> Option<Violation> {
    let promise = "nobody goes on alone without a consent";
    if before.consent.as_deref() != Some(name) {
        return violation(promise, at, format!("{name}, {before:?}"));
    }
    if before.confirmed || !before.pods.is_empty() {
        return violation(promise, at, format!("{name} beside others, {before:?}"));
    }
    None
}

/// The members after a deed; `change` says whether one stays.
fn after(before: &Truth, mut change: impl FnMut(&mut MemberTruth) -> bool) -> Vec<MemberTruth> {
    let mut members = before.members.clone();
    members.retain_mut(&mut change);
    members
}

fn keeps_quorum(at: i64, deed: &Deed, members: &[MemberTruth]) -> Option<Violation> {
    let voters = members.iter().filter(|member| !member.learner);
    let healthy = voters.clone().filter(|member| member.healthy).count();
    let needed = majority(voters.count());
    if healthy >= needed {
        return None;
    }
    let words = format!("{deed:?} left {healthy} healthy voters where {needed} are needed");
    violation(
        "no deed leaves fewer healthy voters than a quorum",
        at,
        words,
    )
}

fn judge_end(history: &History) -> Option<Violation> {
    let End {
        at,
        calm,
        truth,
        rested,
        reasons,
        passes,
        last_words,
    } = &history.end;
    // Nobody can know what became of disks that nobody uses.
    if is_hopeless(truth) && truth.size == 0 && truth.pods.is_empty() {
        return None;
    }
    if is_hopeless(truth) {
        let said = reasons.iter().any(|reason| {
            matches!(
                reason,
                Reason::QuorumLost | Reason::DataLost | Reason::RecoveringQuorum
            )
        });
        return if said {
            busy_while_hopeless(history)
        } else {
            violation(
                "a cluster that lost its quorum says so",
                *at,
                format!("{reasons:?}: {last_words:?}, {truth:?}"),
            )
        };
    }
    if *rested {
        return None;
    }
    let promise = if is_goal(truth) {
        "a cluster at its goal rests"
    } else {
        "every cluster that can reach its goal does"
    };
    let since = at - calm;
    let words =
        format!("{since} ms and {passes} passes after the last fault: {last_words:?}, {truth:?}");
    violation(promise, *at, words)
}

/// Nothing is destroyed once the quorum is lost for good.
fn busy_while_hopeless(history: &History) -> Option<Violation> {
    history.facts.iter().find_map(|fact| match fact {
        Fact::Deed {
            at,
            deed,
            before,
            lost: _,
            late: false,
        } if is_hopeless(before) && !before.confirmed => match deed {
            // A pod that is down anyway, on a claim that stays.
            Deed::DeletedPod(name)
                if before.claims.contains(name)
                    && before
                        .members
                        .iter()
                        .all(|member| member.name != *name || !member.healthy) =>
            {
                None
            }
            Deed::DeletedPod(name) if before.size == 0 && before.claims.contains(name) => None,
            Deed::DeletedPod(_) if before.consent.is_some() => None,
            Deed::Removed(_)
            | Deed::Promoted(_)
            | Deed::Added(_)
            | Deed::DeletedClaim(_)
            | Deed::DeletedPod(_) => violation(
                "without a quorum nothing is destroyed",
                *at,
                format!("{deed:?}, {before:?}"),
            ),
            Deed::StartedNew(_)
            | Deed::StartedAlone(_)
            | Deed::Restarted(_)
            | Deed::Moved(_)
            | Deed::Compacted(_)
            | Deed::Defragmented(_)
            | Deed::Disarmed(_)
            | Deed::Wrote(_) => None,
        },
        Fact::Deed { .. } | Fact::Refused { .. } | Fact::Spun { .. } | Fact::Elected { .. } => None,
    })
}

const fn majority(voters: usize) -> usize {
    voters / 2 + 1
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "reads as a verdict where it is used"
)]
fn violation(promise: &'static str, at: i64, what: String) -> Option<Violation> {
    Some(Violation {
        promise,
        what: format!("at {at} ms: {what}"),
    })
}
