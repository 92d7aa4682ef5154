//! What a simulated cluster is to come to, and when it never can.
//!
//! Looks at one truth and judges nobody. Shares no code with the reconciler or the envelope, and counts votes anew.

use simulator::{MemberTruth, Release, Truth};

/// Whether the world is as the spec asks, down to the objects that nobody needs.
#[must_use]
pub(crate) fn is_goal(truth: &Truth) -> bool {
    if truth.paused {
        return true;
    }
    let Ok(size) = usize::try_from(truth.size) else {
        return false;
    };
    if size == 0 && truth.recovering.is_none() && is_stopped(truth) {
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
            .all(|member| member.healthy && !member.learner && !member.condemned)
        && (!is_reachable(truth) || runs_what_is_asked(truth) || is_held(truth))
        && truth.pods == names
        && has_claims
        && has_policy
        && (truth.small.is_empty() || truth.size == 0)
        && is_secured(truth)
        && is_renewed(truth)
        && truth.services == ["sim", "sim-client"]
        && truth.budget.as_deref() == Some(majority(size).to_string().as_str())
}

/// Whether members have certificates, and are reached by TLS, where the spec asks for it, and nowhere else. Members that are
/// stopped are not turned, and neither are pods of the archived operator.
fn is_secured(truth: &Truth) -> bool {
    truth.size == 0
        || truth.members.iter().any(|member| member.old)
        || truth
            .members
            .iter()
            .all(|member| [member.secure, member.reached_by_tls] == [truth.wants_tls; 2])
}

/// Whether nobody runs in a pod of the archived operator where they are asked to be made anew. Where the asked size cannot
/// be followed none is.
fn is_renewed(truth: &Truth) -> bool {
    let mut members = truth.members.iter();
    truth.size == 0 || !truth.renews || members.all(|member| !member.old)
}

/// Whether the asked version waits for a person: pods of the archived operator get no other image, what another pod policy
/// says of logs counts for no pod from before it, and neither are made anew while the asked size cannot be followed.
fn is_held(truth: &Truth) -> bool {
    let is_from_before = |member: &MemberTruth| member.old || member.label != truth.label;
    let is_held =
        |member: &MemberTruth| is_from_before(member) && !truth.claims.contains(&member.name);
    truth.size == 0 && truth.members.iter().any(is_held)
}

fn runs_what_is_asked(truth: &Truth) -> bool {
    let runs = |member: &MemberTruth| {
        let is_of_there = member.repository == Some(truth.repository);
        truth.asked.is_some() && member.release == truth.asked && is_of_there
    };
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
        return leads_back(truth, asked, minor);
    }
    let Some(lowest) = lowest else {
        return truth.through || asked.minor == minor;
    };
    if asked.minor < lowest.minor {
        return reads(asked);
    }
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

/// Whether etcd's own way back leads there: one minor version down from what all members run, to a patch that is not too
/// old.
fn leads_back(truth: &Truth, asked: Release, minor: u64) -> bool {
    let all_run_it = truth
        .members
        .iter()
        .all(|member| member.release.is_some_and(|release| release.minor == minor));
    all_run_it && reads(asked) && asked.minor + 1 == minor
}

/// Whether the release is new enough to read what the next minor version leaves.
fn reads(asked: Release) -> bool {
    match asked.minor {
        5 => asked.patch >= 26,
        6 => asked.patch >= 11,
        _ => false,
    }
}

/// Whether nothing runs that can be stopped, and nothing is missing but the pods.
fn is_stopped(truth: &Truth) -> bool {
    if truth.cluster.is_none() {
        return truth.pods.is_empty() && truth.claims.is_empty() && truth.services.is_empty();
    }
    // Whom a late request added while the others stopped never started, and leaves when they start again.
    let members = truth.members.iter();
    let members = members.filter(|member| !member.learner || member.started);
    let names: Vec<&str> = members.clone().map(|member| member.name.as_str()).collect();
    // A claim that somebody deletes meanwhile is missed when the members start again, and one that a late request made
    // is cleared away then.
    let is_theirs = |claim: &&String| names.contains(&claim.as_str());
    let kept = truth.claims.iter().filter(is_theirs).count() >= majority(names.len());
    // One whose disk goes with its pod is left to a person once too few others run to replace it.
    let is_left = |pod: &String| {
        truth
            .members
            .iter()
            .any(|one| one.name == *pod && one.condemned)
    };
    (truth.pods.is_empty() || !truth.confirmed && truth.pods.iter().all(is_left))
        && kept
        && members.clone().all(|member| !member.learner)
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
    // At size 0 a member whose claim goes is left to a person, and has its data as long as it runs.
    let is_held =
        |member: &MemberTruth| truth.size == 0 && member.condemned && member.release.is_some();
    let has_data = |member: &&&MemberTruth| member.intact || is_held(member);
    let intact = voters.iter().filter(has_data).count();
    truth.cluster.is_some() && !voters.is_empty() && intact < majority(voters.len())
}

pub(crate) const fn majority(voters: usize) -> usize {
    voters / 2 + 1
}
