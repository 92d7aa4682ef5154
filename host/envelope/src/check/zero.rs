//! Size 0: the one way to stop a quorum on purpose.
//!
//! The stored spec must ask for it, what is stopped must be whole when that begins, and each member's data must be on a
//! claim that stays. Who is a member, the status remembers from then on.

use contract::{EtcdClusterStatus, EtcdView, MemberRole, Preconditions};

use super::membership::{enough, living, nothing_under_way};
use crate::quorum::{Votes, quorum};
use crate::{ObjectHead, Refusal, ResourceHead};

/// The status may begin to say that the cluster sleeps only while a quorum of it is awake and nobody is on the way, and
/// if it remembers everybody who votes: nobody else's pod keeps anything.
pub(super) fn check_sleep(
    status: &EtcdClusterStatus,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    if status.asleep_since.is_none() {
        return Ok(());
    }
    if status.cluster_id.as_ref() != resource.cluster_id.seen() {
        return Err(unasked(
            "members are stopped",
            "they are of the recorded cluster",
        ));
    }
    if resource.asleep {
        return Ok(());
    }
    asked(resource, || {
        "the status says that members are stopped".to_owned()
    })?;
    let votes = living(resource, etcd)?;
    nothing_under_way(votes.outstanding())?;
    enough(votes.healthy_without(None), quorum(votes.voters()))?;
    all_remembered(status, &votes)
}

fn all_remembered(status: &EtcdClusterStatus, votes: &Votes<'_>) -> Result<(), Refusal> {
    let is_remembered = |id| {
        let mut records = status.member_records.iter();
        records.any(|record| {
            let listed = votes.member_named(&record.name);
            record.role == MemberRole::Voter && listed.is_some_and(|listed| listed.id == id)
        })
    };
    let mut voters = votes.membership().voters();
    match voters.find(|member| !is_remembered(member.id)) {
        None => Ok(()),
        Some(voter) => Err(Refusal::FalseStatus(format!(
            "members are stopped, and voter {} is not among those that are remembered",
            voter.name
        ))),
    }
}

/// A member's pod is stopped only if its data stays: its claim was read before, and one whose claim is gone has
/// never run. Who left the cluster before it slept has nothing that counts.
pub(super) fn check_stop(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    pod: Option<&ObjectHead>,
) -> Result<(), Refusal> {
    asked(resource, || format!("pod {name} is stopped"))?;
    if !resource.asleep {
        return Err(unasked(
            &format!("pod {name} is stopped"),
            "the status says so",
        ));
    }
    if pre.departed.is_some() {
        return if resource.voters.contains(name) {
            Err(Refusal::StillMember {
                member: name.to_owned(),
            })
        } else {
            Ok(())
        };
    }
    let is_harmless = |pod: &ObjectHead| {
        pod.claim.as_deref() == Some(name) && (pre.claim_uid.is_some() || !pod.ran)
    };
    if !pod.is_some_and(is_harmless) {
        return Err(Refusal::StillRunning {
            pod: name.to_owned(),
        });
    }
    Ok(())
}

/// What was to be done, and what does not hold.
pub(super) fn unasked(what: &str, missing: &str) -> Refusal {
    Refusal::Unasked(format!("{what} only while {missing}"))
}

fn asked(resource: &ResourceHead, what: impl FnOnce() -> String) -> Result<(), Refusal> {
    if resource.zero {
        return Ok(());
    }
    Err(unasked(&what(), "spec.size is 0"))
}

#[cfg(test)]
mod tests;
