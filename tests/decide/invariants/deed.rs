//! What one deed may do to the members that were there before it.
//!
//! Judges a deed by the truth before it alone. It does not know the history around it.

use contract::{MemberId, RestorationStage, RiskyAct};
use simulator::{Deed, MemberTruth, Truth};

use super::{Promise, Violation, violation};
use crate::goal::majority;

pub(super) fn judge_deed(at: i64, deed: &Deed, before: &Truth) -> Option<Violation> {
    if before.paused {
        return violation(Promise::PausedIsStill, at, format!("{deed:?}"));
    }
    if goes_ahead(deed, before) {
        return violation(
            Promise::RiskWaitsForItsBackup,
            at,
            format!("{deed:?}, {before:?}"),
        );
    }
    let listed = |name: &str| before.members.iter().find(|member| member.name == name);
    match deed {
        Deed::StartedAlone(name) => starts_alone(at, name, before),
        Deed::StartedNew(name) => starts_anew(at, name, before),
        Deed::Added(name) => {
            let under_way = before
                .members
                .iter()
                .find(|member| member.learner || !member.started)?;
            let words = format!("{name} was added while {} is under way", under_way.name);
            violation(Promise::ChangesTakeTurns, at, words)
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
            violation(Promise::LeadersMoveFirst, at, format!("{id}"))
        }
        Deed::Removed(id) => beside_a_learner(at, *id, before)
            .or_else(|| keeps_quorum(at, deed, &after(before, |member| member.id != *id))),
        Deed::Restarted(name) => {
            one_at_a_time(at, before, name).or_else(|| leaves_enough(at, deed, name, before))
        }
        // What is given up is judged when it is; from then on everybody is stopped.
        Deed::GaveUp if !before.replaced => gives_up(at, before),
        Deed::DeletedPod(_) if stops_all(before) => None,
        Deed::DeletedClaim(name) if before.given_up.contains(name) => {
            whole(at, name, before).or_else(|| takes_a_listed_disk(at, deed, before))
        }
        Deed::DeletedPod(name) => {
            if let Some(taken) = takes_a_listed_disk(at, deed, before) {
                return Some(taken);
            }
            // Who asks for size 0 gets it, as long as the data stays.
            if before.size == 0 && before.claims.contains(name) {
                return None;
            }
            // Whose member is down anyway loses nothing by it, as long as the disk stays.
            listed(name).filter(|member| member.healthy && !member.learner)?;
            leaves_enough(at, deed, name, before)
        }
        Deed::DeletedClaim(_) => takes_a_listed_disk(at, deed, before),
        Deed::Compacted(_) | Deed::Defragmented(_) if !before.alarmed => {
            violation(Promise::SpaceIsTheReason, at, format!("{deed:?}"))
        }
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
            violation(Promise::AlarmsStay, at, words)
        }
        Deed::Moved(_)
        | Deed::GaveUp
        | Deed::Compacted(_)
        | Deed::Defragmented(_)
        | Deed::Guarded { .. }
        | Deed::Wrote(_) => None,
    }
}

/// Nobody can call back a request that is on its way. The API server holds it against the uid it names, or against the name
/// being free, and etcd holds it against nothing: quorums, turns, leaders, alarms and pauses may have changed meanwhile. What it
/// may never do, whenever it comes, is take a member's disk or start somebody alone. What it was when it was sent is judged beside
/// this.
pub(super) fn judge_late(at: i64, deed: &Deed, before: &Truth) -> Option<Violation> {
    match deed {
        Deed::StartedAlone(name) => starts_alone(at, name, before),
        Deed::DeletedPod(_) if stops_all(before) => None,
        Deed::DeletedPod(_) | Deed::DeletedClaim(_) => takes_a_listed_disk(at, deed, before),
        // A request of the birth may come after it: the API server asks only whether the name is free.
        Deed::StartedNew(_)
        | Deed::Added(_)
        | Deed::Promoted(_)
        | Deed::Removed(_)
        | Deed::Moved(_)
        | Deed::Compacted(_)
        | Deed::Defragmented(_)
        | Deed::Disarmed(_)
        | Deed::Restarted(_)
        | Deed::GaveUp
        | Deed::Guarded { .. }
        | Deed::Wrote(_) => None,
    }
}

/// Evictions go by the budget alone: nobody gets a vote before it keeps so many, and it is never written to keep fewer.
pub(super) fn weakly_guarded(at: i64, deed: &Deed, before: &Truth) -> Option<Violation> {
    let voters = before.members.iter().filter(|member| !member.learner);
    let (kept, needed) = match deed {
        Deed::Promoted(_) if !before.unguardable => (&before.budget, majority(voters.count() + 1)),
        // Whom a restore has given up has no vote in what comes of it.
        Deed::Guarded { kept }
            if before.cluster.is_some() && before.restoring != Some(RestorationStage::Filling) =>
        {
            (kept, majority(voters.count()))
        }
        Deed::Promoted(_)
        | Deed::Guarded { .. }
        | Deed::Added(_)
        | Deed::Moved(_)
        | Deed::Restarted(_)
        | Deed::Defragmented(_)
        | Deed::Removed(_)
        | Deed::StartedNew(_)
        | Deed::StartedAlone(_)
        | Deed::Compacted(_)
        | Deed::Disarmed(_)
        | Deed::DeletedPod(_)
        | Deed::DeletedClaim(_)
        | Deed::GaveUp
        | Deed::Wrote(_) => return None,
    };
    // What is no number is not known to keep anybody.
    let kept = kept.as_deref().and_then(|kept| kept.parse::<usize>().ok());
    let kept = kept.unwrap_or_default();
    (kept < needed).then_some(())?;
    violation(
        Promise::BudgetsGuard,
        at,
        format!("{deed:?} where {kept} are kept and {needed} are needed, {before:?}"),
    )
}

/// Nobody consented to give up what the cluster has. One without a quorum has it, too, and may go on from it, where enough of
/// its voters have their disks.
fn gives_up(at: i64, before: &Truth) -> Option<Violation> {
    before.cluster?;
    let voters = before.members.iter().filter(|member| !member.learner);
    let needed = majority(voters.clone().count());
    let kept = voters.filter(|one| one.intact && !one.condemned).count() >= needed;
    let promise = if before.confirmed || (before.asleep && kept) {
        Promise::LivingAreKept
    } else if kept {
        Promise::PassingAreAwaited
    } else {
        return None;
    };
    violation(promise, at, format!("{before:?}"))
}

/// Whether a deed is the beginning of an act that waits for a backup which was not taken.
fn goes_ahead(deed: &Deed, before: &Truth) -> bool {
    let waits = |act: RiskyAct| before.confirmed && before.unsaved.contains(&act);
    let all_well = before.members.iter().all(|member| member.healthy);
    match deed {
        Deed::GaveUp => waits(RiskyAct::Restore),
        Deed::Restarted(_) => all_well && waits(RiskyAct::Upgrade),
        Deed::DeletedPod(name) => {
            // A pod whose policy changed is made again, whatever the size.
            let is_as_asked = |one: &MemberTruth| !one.old && one.label == before.label;
            let mut members = before.members.iter();
            let is_kept = members.any(|one| one.name == *name && is_as_asked(one));
            // Nor is the survivor's, which goes on as the only member.
            let is_rescue = before.restoring.is_some() || before.recovering.is_some();
            let is_stop = before.size == 0 && !is_rescue && all_well;
            let stays = before.claims.contains(name);
            is_stop && is_kept && stays && waits(RiskyAct::ScaleToZero)
        }
        Deed::StartedNew(_)
        | Deed::StartedAlone(_)
        | Deed::Added(_)
        | Deed::Promoted(_)
        | Deed::Removed(_)
        | Deed::Moved(_)
        | Deed::Compacted(_)
        | Deed::Defragmented(_)
        | Deed::Disarmed(_)
        | Deed::DeletedClaim(_)
        | Deed::Guarded { .. }
        | Deed::Wrote(_) => false,
    }
}

/// The disks of before a restore go only when the cluster that came of it is whole.
fn whole(at: i64, name: &str, before: &Truth) -> Option<Violation> {
    let wanted = usize::try_from(before.size).unwrap_or_default().max(1);
    let is_whole = before.confirmed
        && before.members.len() >= wanted
        && before
            .members
            .iter()
            .all(|member| member.healthy && !member.learner);
    if is_whole {
        return None;
    }
    violation(
        Promise::DisksOfBeforeStay,
        at,
        format!("{name}, {before:?}"),
    )
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
        Promise::QuorumsStay,
        at,
        format!("{deed:?} left {left} healthy voters where {needed} are needed"),
    )
}

/// A voter goes once nobody is on its way in; who is on its way may be taken back.
fn beside_a_learner(at: i64, id: MemberId, before: &Truth) -> Option<Violation> {
    let voter = |member: &&MemberTruth| member.id == id && !member.learner && member.started;
    let voter = before.members.iter().find(voter)?;
    let mut members = before.members.iter();
    let other = members.find(|member| member.learner && member.id != id)?;
    let words = format!(
        "{} was removed while {} is under way",
        voter.name, other.name
    );
    violation(Promise::ChangesTakeTurns, at, words)
}

/// Another image restarts what runs, and nothing else.
fn one_at_a_time(at: i64, before: &Truth, name: &str) -> Option<Violation> {
    let runs = |member: &&MemberTruth| member.name == name && member.release.is_some();
    before.members.iter().find(runs)?;
    let other = before
        .members
        .iter()
        .find(|member| member.swaps && member.name != name)?;
    let words = format!("{name} was restarted while {} is about to be", other.name);
    violation(Promise::RestartsTakeTurns, at, words)
}

/// Whether a late request of the birth founds the cluster anew in this pod: the disk that the member had went before.
fn founds_anew(name: &String, before: &Truth) -> bool {
    !before.confirmed && before.blank.contains(name) && before.unled.contains(name)
}

/// With its data in the pod, or on a claim that goes with it, that is a member's disk, and else its claim.
fn takes_a_listed_disk(at: i64, deed: &Deed, before: &Truth) -> Option<Violation> {
    let (name, is_pod) = match deed {
        Deed::DeletedPod(name) => (name, true),
        Deed::DeletedClaim(name) => (name, false),
        Deed::StartedNew(_)
        | Deed::StartedAlone(_)
        | Deed::Added(_)
        | Deed::Promoted(_)
        | Deed::Removed(_)
        | Deed::Moved(_)
        | Deed::Compacted(_)
        | Deed::Defragmented(_)
        | Deed::Disarmed(_)
        | Deed::Restarted(_)
        | Deed::GaveUp
        | Deed::Guarded { .. }
        | Deed::Wrote(_) => return None,
    };
    let mut members = before.members.iter();
    let owner = members.find(|member| member.name == *name)?;
    let goes_with_it = owner.in_pod || (owner.condemned && owner.intact);
    (!is_pod || goes_with_it).then_some(())?;
    if is_pod && (is_given_up(name, before) || founds_anew(name, before)) {
        return None;
    }
    violation(
        Promise::ListedDisksStay,
        at,
        format!("{deed:?}, {before:?}"),
    )
}

/// Whether a restore stops whoever there is: what they have was given up before.
fn stops_all(before: &Truth) -> bool {
    before.restoring == Some(RestorationStage::Stopping)
}

/// Who consented to go on from one member gave up what the others have, once that is under way and as long as it is needed.
pub(super) fn is_given_up(name: &str, before: &Truth) -> bool {
    let survivor = before.recovering.as_deref();
    !before.confirmed && survivor.is_some_and(|survivor| survivor != name)
}

fn starts_anew(at: i64, name: &str, before: &Truth) -> Option<Violation> {
    before.cluster?;
    violation(Promise::NewIsForBirth, at, format!("{name}, {before:?}"))
}

/// Only a person can give up what the others have, and while the others run they could still vote.
fn starts_alone(at: i64, name: &str, before: &Truth) -> Option<Violation> {
    let promise = Promise::NobodyIsAlone;
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
    violation(Promise::QuorumsStay, at, words)
}
