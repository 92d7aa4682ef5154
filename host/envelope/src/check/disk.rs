//! What an effect may do to a member's disk: start on it, take its pod, delete it.
//!
//! A member that has voted keeps its memory or its id, never one without the other.

use contract::{EtcdView, Observed, Preconditions};

use super::alarm::check_loss;
use super::membership::living;
use super::recovery::{check_kept, check_recovery_stop};
use super::restart::others_suffice;
use super::restoration::{check_given_up, check_restoration_stop};
use super::zero::check_stop;
use crate::arguments::InitialCluster;
use crate::quorum::{Votes, is_unfinished};
use crate::{Fresh, ObjectHead, Refusal, ResourceHead};

/// A member starts as `new` only at birth, and joins only while it has not voted.
pub(super) fn check_start(
    initial: InitialCluster,
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    match initial {
        InitialCluster::Untouched | InitialCluster::Sealed => Ok(()),
        InitialCluster::New => {
            let planned = resource
                .birth
                .as_ref()
                .is_some_and(|birth| birth.members.iter().any(|member| member == name));
            if pre.birth_token.is_none() || !planned {
                return Err(Refusal::NotBirth {
                    why: format!("{name} is not in the birth plan of the status"),
                });
            }
            Ok(())
        }
        InitialCluster::Joining => {
            let votes = living(resource, etcd)?;
            let missing = || Refusal::NotMember(name.to_owned());
            let member = votes.member_named(name).ok_or_else(missing)?;
            if !is_unfinished(member) {
                return Err(Refusal::ForgetfulVoter {
                    member: name.to_owned(),
                });
            }
            Ok(())
        }
        InitialCluster::Malformed => Err(Refusal::Start {
            name: name.to_owned(),
            what: "malformed annotations".to_owned(),
        }),
    }
}

/// A claim is taken up before the cluster has members of its own: none was planned, and no id is recorded.
pub(super) fn check_unborn(name: &str, resource: &ResourceHead) -> Result<(), Refusal> {
    if resource.cluster_id == Observed::Absent && resource.birth.is_none() {
        return Ok(());
    }
    Err(Refusal::StillMember {
        member: name.to_owned(),
    })
}

pub(super) fn check_pod_deletion(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    object: Option<&ObjectHead>,
    fresh: &Fresh,
) -> Result<(), Refusal> {
    let etcd = &fresh.etcd;
    // Both were checked above: no cluster is recorded, or the member is no longer in the list.
    if pre.birth_token.is_some() {
        return check_unformed(name, pre, etcd);
    }
    if pre.scaled_to_zero {
        return check_stop(name, pre, resource, object);
    }
    if pre.departed.is_some() {
        return check_loss(None, living(resource, etcd)?, etcd);
    }
    if pre.recovery {
        return check_recovery_stop(name, pre, resource, object, etcd);
    }
    if pre.restore.is_some() {
        return check_restoration_stop(name, resource, &fresh.restore, object, etcd);
    }
    let keeps_disk = object.is_some_and(|head| head.claim.is_some());
    let Some(touched) = pre.touches else {
        // On a claim that was seen to stay, one that does not run has no vote and nothing to lose.
        let stays = keeps_disk && pre.claim_uid.is_some();
        let is_down = |head: &ObjectHead| head.ended || (!head.running && !head.deleted);
        let is_harmless = object
            .is_some_and(|head| (stays && is_down(head)) || founds_anew(name, head, resource));
        if is_harmless {
            return Ok(());
        }
        return Err(Refusal::StillRunning {
            pod: name.to_owned(),
        });
    };
    let votes = living(resource, etcd)?;
    if votes.member_named(name).map(|member| member.id) != Some(touched) {
        return Err(Refusal::OtherMember {
            pod: name.to_owned(),
        });
    }
    // Its data would go with it, so its member leaves the list first.
    if !keeps_disk {
        return Err(Refusal::StillMember {
            member: name.to_owned(),
        });
    }
    // Whom nobody hears may serve clients and vote all the same, as long as it runs.
    let member = votes.member(touched)?;
    let may_serve = votes.serves(member)
        || object.is_none_or(|head| head.running) && !votes.serves_nobody(member);
    if may_serve {
        others_suffice(&votes, touched)
    } else {
        Ok(())
    }
}

/// Whoever a quorum counts as a member may hold what clients wrote, whether a module recorded the cluster or not. Those of
/// an attempt that was given up were never anybody's, for clients get their Service later.
fn check_unformed(name: &str, pre: &Preconditions, etcd: &EtcdView) -> Result<(), Refusal> {
    let formed = Votes::confirmed(etcd).ok();
    match formed.and_then(|votes| votes.member_named(name)) {
        Some(_) if pre.departed.is_none() => Err(Refusal::StillMember {
            member: name.to_owned(),
        }),
        Some(_) | None => Ok(()),
    }
}

/// A pod of the birth that came when the birth was over: its member is remembered on a disk, and the pod has another
/// one of its own, or a claim on which it has never run.
fn founds_anew(name: &str, head: &ObjectHead, resource: &ResourceHead) -> bool {
    let is_late = resource
        .disks
        .get(name)
        .is_some_and(|disk| match head.claim {
            Some(_) => !head.ran,
            None => *disk != head.uid,
        });
    head.founds && is_late && resource.cluster_id.seen().is_some()
}

pub(super) fn check_claim_deletion(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    if pre.birth_token.is_some() {
        return check_unformed(name, pre, etcd);
    }
    check_given_up(name, resource, etcd)?;
    check_kept(name, resource, etcd)?;
    let votes = living(resource, etcd)?;
    match votes.member_named(name) {
        Some(_) => Err(Refusal::StillMember {
            member: name.to_owned(),
        }),
        None => check_loss(None, votes, etcd),
    }
}
