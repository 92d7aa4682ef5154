//! Size 0: the one way to stop a quorum on purpose.
//!
//! The stored spec must ask for it, what is stopped must be whole when that begins, and each pod's data must be on a
//! claim that stays.

use contract::{EtcdClusterStatus, EtcdView, Preconditions};

use super::membership::{enough, living, nothing_under_way};
use crate::quorum::quorum;
use crate::{ObjectHead, Refusal, ResourceHead};

/// The status may begin to say that the cluster sleeps only while a quorum of it is awake and nobody is on the way.
pub(super) fn check_sleep(
    status: &EtcdClusterStatus,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    if status.asleep_since.is_none() || resource.asleep {
        return Ok(());
    }
    asked(resource, || {
        "the status says that members are stopped".to_owned()
    })?;
    let votes = living(resource, etcd)?;
    nothing_under_way(votes.outstanding())?;
    enough(votes.healthy_without(None), quorum(votes.voters()))
}

/// A member's pod is stopped only if its data stays: its claim was read before, and one whose claim is gone has
/// never run.
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
