//! Recovery of a lost quorum: the one way to start a member as its whole cluster.
//!
//! The stored spec must name this cluster and this member, the consent must not be used up, and the fresh read must
//! find no quorum: at the beginning by the survivor's own word, at the end because no member is left that could answer.

use contract::{
    EtcdClusterStatus, EtcdView, Observed, Preconditions, QuorumRecovery, Recovery, RecoveryStage,
};

use super::membership::living;
use super::restoration::whole;
use super::zero::unasked;
use crate::{ObjectHead, Refusal, ResourceHead};

/// The status may begin to say that a quorum is being recovered only with a fresh consent.
pub(super) fn check_recovery(
    status: &EtcdClusterStatus,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let Some(recovery) = status.recovery.as_ref().filter(|one| one.is_under_way()) else {
        return Ok(());
    };
    let what = || "the status says that a quorum is being recovered".to_owned();
    let known = resource.recovery.as_ref().filter(|known| {
        known.cluster_id == recovery.cluster_id && known.survivor == recovery.survivor
    });
    if known.is_some_and(Recovery::is_under_way) {
        return Ok(());
    }
    if known.is_some() {
        return Err(unasked(&what(), "the consent is not used up"));
    }
    consented(recovery, resource, what)?;
    without_quorum(resource, etcd, what)?;
    let says_so = etcd.endpoints.iter().any(|endpoint| {
        endpoint.pod == recovery.survivor
            && endpoint.status.seen().is_some_and(|status| {
                let has_entries = status.raft_index > 0;
                let is_of_it = Some(&status.cluster_id) == resource.cluster_id.seen();
                status.leader.is_none() && is_of_it && has_entries
            })
    });
    if says_so {
        return Ok(());
    }
    Err(unasked(
        &what(),
        "the survivor answers that it knows of no leader, and has entries of the log",
    ))
}

/// A pod is stopped for a recovery if its data is on a claim; the survivor's claim is there and stays.
pub(super) fn check_recovery_stop(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    pod: Option<&ObjectHead>,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let what = || format!("pod {name} is stopped for a recovery");
    let recovery = under_way(resource, what)?;
    if recovery.stage == RecoveryStage::Renewing {
        renews(name, recovery, resource, etcd)?;
    } else {
        consented(recovery, resource, what)?;
        without_quorum(resource, etcd, what)?;
    }
    let keeps_disk = pod.is_some_and(|pod| pod.claim.as_deref() == Some(name));
    if keeps_disk && (recovery.survivor != name || pre.claim_uid.is_some()) {
        return Ok(());
    }
    Err(Refusal::StillRunning {
        pod: name.to_owned(),
    })
}

/// The survivor is taken down once more while it is the only voter: nobody is there who would miss it.
fn renews(
    name: &str,
    recovery: &Recovery,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let is_shared = match living(resource, etcd) {
        Ok(votes) => votes.voters() > 1,
        Err(_) => may_be_shared(name, resource, etcd),
    };
    if recovery.survivor == name && !is_shared {
        return Ok(());
    }
    Err(unasked(
        &format!("pod {name} is stopped for a recovery"),
        "it is the survivor and the only voter",
    ))
}

/// Whether others may vote whom no confirmed list shows. The status knows only of those whom a module wrote down, so
/// beside that no other pod may have an address, for whoever votes has one.
fn may_be_shared(name: &str, resource: &ResourceHead, etcd: &EtcdView) -> bool {
    let is_alone = match &etcd.membership {
        Observed::Absent => true,
        Observed::Seen(list) => list.voters().count() <= 1,
        // Without a single pod nobody was asked, because the pods themselves could not be read.
        Observed::Unknown(_) => !etcd.endpoints.is_empty(),
    };
    let is_beside = etcd.endpoints.iter().any(|endpoint| endpoint.pod != name);
    !is_alone || is_beside || resource.voters.len() != 1
}

/// The survivor is started alone when nobody else is left who could vote.
pub(super) fn check_alone(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let what = || format!("pod {name} starts as the only member");
    let recovery = under_way(resource, what)?;
    consented(recovery, resource, what)?;
    without_quorum(resource, etcd, what)?;
    let missing = if recovery.stage != RecoveryStage::Forcing {
        "the members were stopped"
    } else if recovery.survivor != name {
        "it is the survivor"
    } else if pre.claim_uid.is_none() {
        "its claim is known"
    } else if !etcd.endpoints.is_empty() {
        "no member is left that could vote"
    } else {
        return Ok(());
    };
    Err(unasked(&what(), missing))
}

/// The claim of one who was given up goes only once the cluster has its size again, and at size 0 it has none: people are told
/// to copy it away until then.
pub(super) fn check_kept(
    name: &str,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let mut given_up = resource.recovery.iter().flat_map(|one| &one.given_up);
    if !given_up.any(|one| one == name) {
        return Ok(());
    }
    if resource.size == Some(0) {
        return Err(unasked(
            &format!("the volume claim of {name}, which a recovery gave up, is deleted"),
            "spec.size asks for members",
        ));
    }
    whole(resource, etcd)
}

fn under_way(resource: &ResourceHead, what: impl FnOnce() -> String) -> Result<&Recovery, Refusal> {
    let recovery = resource.recovery.as_ref().filter(|one| one.is_under_way());
    recovery.ok_or_else(|| unasked(&what(), "the status says that a quorum is being recovered"))
}

/// The spec names the recorded cluster and the survivor of this recovery.
fn consented(
    recovery: &Recovery,
    resource: &ResourceHead,
    what: impl FnOnce() -> String,
) -> Result<(), Refusal> {
    let recorded = resource.cluster_id.seen().map(ToString::to_string);
    let holds = |consent: &QuorumRecovery| {
        Some(&consent.cluster_id) == recorded.as_ref()
            && consent.cluster_id == recovery.cluster_id
            && consent.survivor == recovery.survivor
    };
    if resource.consent.as_ref().is_some_and(holds) {
        return Ok(());
    }
    Err(unasked(
        &what(),
        "spec.quorumRecovery names this cluster and this survivor",
    ))
}

fn without_quorum(
    resource: &ResourceHead,
    etcd: &EtcdView,
    what: impl FnOnce() -> String,
) -> Result<(), Refusal> {
    let leads = etcd.endpoints.iter().any(|endpoint| {
        endpoint.status.seen().is_some_and(|status| {
            status.leader.is_some() && Some(&status.cluster_id) == resource.cluster_id.seen()
        })
    });
    let confirmed = match &etcd.membership {
        Observed::Seen(list) => list.linearizable,
        Observed::Absent | Observed::Unknown(_) => false,
    };
    if leads || confirmed {
        return Err(unasked(&what(), "no quorum answers"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
