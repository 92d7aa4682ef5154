//! Restoration: the one way for a cluster to give up what it has and go on from a backup.
//!
//! The EtcdRestore must be proven on this very read. A cluster that lives is given up only by a consent that names it;
//! one that is not known to live loses no disk before the one that comes of it is whole.

use std::collections::BTreeSet;

use contract::{
    EtcdClusterStatus, EtcdView, Observed, Preconditions, Restoration, RestorationStage,
};

use super::membership::living;
use super::zero::unasked;
use crate::quorum::{is_unfinished, quorum};
use crate::restore::RestoreHead;
use crate::{ObjectHead, Refusal, ResourceHead};

/// The status may go from stage to stage only in their order, and begins only with a proof and, where it needs one, with
/// a consent.
pub(super) fn check_restoration(
    status: &EtcdClusterStatus,
    resource: &ResourceHead,
    restore: &Observed<RestoreHead>,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let known = resource.restoration.as_ref();
    let next = status.restoration.as_ref();
    let what = || "the status says that the cluster goes on from a backup".to_owned();
    let same = known.filter(|known| next.is_some_and(|next| next.uid == known.uid));
    let stage = same.map(|known| known.stage);
    let kept = |missing: &str| Err(unasked(&what(), missing));
    if let (Some(known), Some(next)) = (known, next)
        && known.is_under_way()
        && !known
            .given_up
            .iter()
            .all(|name| next.given_up.contains(name))
    {
        return kept("it remembers whose volume claims are kept");
    }
    let Some(next) = next else {
        let is_kept = known
            .is_some_and(|known| known.is_under_way() && known.stage != RestorationStage::Stopping);
        return if is_kept {
            kept("one that is under way stays remembered")
        } else {
            Ok(())
        };
    };
    match (stage, next.stage) {
        (Some(before), after) if before == after => same_plan(same, next, what),
        (Some(RestorationStage::Waiting) | None, RestorationStage::Stopping) => {
            let head = proven(next, restore, what)?;
            given_up_before(resource, next, head, what)?;
            given_up(head, resource, etcd, what)
        }
        (Some(RestorationStage::Stopping), RestorationStage::Filling) => {
            if !etcd.endpoints.is_empty() {
                return kept("no member of before is left that could answer");
            }
            if has_new_founders(next) {
                Ok(())
            } else {
                kept("its members are new ones")
            }
        }
        (Some(RestorationStage::Filling), RestorationStage::Growing) => {
            if status.cluster_id.is_some() {
                same_plan(same, next, what)
            } else {
                kept("the id of the cluster that came of it is recorded")
            }
        }
        (Some(RestorationStage::Growing), RestorationStage::Done) => whole(resource, etcd),
        (None, RestorationStage::Waiting) if known.is_none_or(|known| !known.is_under_way()) => {
            Ok(())
        }
        (Some(RestorationStage::Done), RestorationStage::Waiting | RestorationStage::Stopping)
        | (None | Some(_), _) => kept("its stages come in their order"),
    }
}

/// Whether the plan names members, each once and none of before.
fn has_new_founders(next: &Restoration) -> bool {
    let names: BTreeSet<&String> = next.founders.iter().collect();
    let is_of_before = |name: &&String| next.given_up.contains(name);
    !names.is_empty() && names.len() == next.founders.len() && !names.iter().any(is_of_before)
}

/// The founders and the token of a filling are those of its beginning.
fn same_plan(
    known: Option<&Restoration>,
    next: &Restoration,
    what: impl Fn() -> String,
) -> Result<(), Refusal> {
    let is_same =
        known.is_some_and(|known| known.founders == next.founders && known.token == next.token);
    if is_same {
        return Ok(());
    }
    Err(unasked(&what(), "its members and token stay as they are"))
}

/// The EtcdRestore of this very moment, proven and not over.
fn proven<'a>(
    restoration: &Restoration,
    restore: &'a Observed<RestoreHead>,
    what: impl Fn() -> String,
) -> Result<&'a RestoreHead, Refusal> {
    let head = match restore {
        Observed::Seen(head) => head,
        Observed::Absent => return Err(unasked(&what(), "its EtcdRestore is there")),
        Observed::Unknown(why) => {
            return Err(Refusal::Unread {
                what: "the EtcdRestore",
                why: why.clone(),
            });
        }
    };
    let missing = if head.uid != restoration.uid || head.deleted {
        "its EtcdRestore is there"
    } else if head.over {
        "its EtcdRestore is not over"
    } else if head.proof.is_none() {
        "its backup was read whole"
    } else {
        return Ok(head);
    };
    Err(unasked(&what(), missing))
}

/// Nothing is given up, or the EtcdRestore consents to it.
fn given_up(
    head: &RestoreHead,
    resource: &ResourceHead,
    etcd: &EtcdView,
    what: impl Fn() -> String,
) -> Result<(), Refusal> {
    let named = head
        .spec
        .as_ref()
        .map(|spec| spec.etcd_cluster.name.as_str());
    if named != Some(resource.name.as_str()) {
        return Err(unasked(&what(), "its EtcdRestore names this cluster"));
    }
    if let Observed::Unknown(why) = &resource.cluster_id {
        return Err(Refusal::Unread {
            what: "the recorded cluster id",
            why: why.clone(),
        });
    }
    if consents(head, resource) || !(resource.asleep || lives(resource, etcd)) {
        return Ok(());
    }
    let missing = if resource.asleep {
        "spec.replaces of the EtcdRestore names this cluster, which was only stopped"
    } else {
        "no quorum answers, or spec.replaces of the EtcdRestore names this cluster"
    };
    Err(unasked(&what(), missing))
}

/// What another EtcdRestore gave up, whose filling came to nothing, is given up for this one by its own consent alone.
fn given_up_before(
    resource: &ResourceHead,
    next: &Restoration,
    head: &RestoreHead,
    what: impl Fn() -> String,
) -> Result<(), Refusal> {
    let known = resource
        .restoration
        .as_ref()
        .filter(|_| resource.cluster_id == Observed::Absent);
    let others = known.filter(|known| known.is_first() && known.uid != next.uid);
    let Some(id) = others.and_then(|known| known.replaces) else {
        return Ok(());
    };
    let consent = head.spec.as_ref().and_then(|spec| spec.replaces.as_deref());
    if consent != Some(id.to_string().as_str()) {
        return Err(unasked(
            &what(),
            "spec.replaces of the EtcdRestore names the cluster that another one gave up",
        ));
    }
    if next.replaces != Some(id) {
        return Err(unasked(&what(), "it remembers which cluster is given up"));
    }
    Ok(())
}

fn consents(head: &RestoreHead, resource: &ResourceHead) -> bool {
    let consent = head.spec.as_ref().and_then(|spec| spec.replaces.as_deref());
    let recorded = resource.cluster_id.seen().map(ToString::to_string);
    consent.is_some() && consent == recorded.as_deref()
}

/// Whether somebody leads, a quorum confirms the members, or so many answer that they may only be about to elect.
fn lives(resource: &ResourceHead, etcd: &EtcdView) -> bool {
    let recorded = resource.cluster_id.seen();
    let leads = etcd.endpoints.iter().any(|endpoint| {
        endpoint.status.seen().is_some_and(|status| {
            status.leader.is_some() && recorded.is_none_or(|id| *id == status.cluster_id)
        })
    });
    let confirms = match &etcd.membership {
        Observed::Seen(list) => list.linearizable,
        Observed::Absent | Observed::Unknown(_) => false,
    };
    let answering = etcd.endpoints.iter().filter(|endpoint| {
        let status = endpoint.status.seen();
        status.is_some_and(|status| recorded == Some(&status.cluster_id))
    });
    let voters = u32::try_from(resource.voters.len()).unwrap_or(u32::MAX);
    let could_elect = voters > 0 && answering.count() >= quorum(voters) as usize;
    leads || confirms || could_elect
}

/// A pod is stopped for a restoration if its data is on a claim, or nothing of it is missed.
pub(super) fn check_restoration_stop(
    name: &str,
    resource: &ResourceHead,
    restore: &Observed<RestoreHead>,
    pod: Option<&ObjectHead>,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let stage = resource.restoration.as_ref().map(|one| one.stage);
    if stage == Some(RestorationStage::Filling) {
        return check_refilling(name, resource, restore, pod);
    }
    let what = || format!("pod {name} is stopped for a restoration");
    let restoration = at(resource, RestorationStage::Stopping, what)?;
    let head = proven(restoration, restore, what)?;
    given_up(head, resource, etcd, what)?;
    let keeps_disk = pod.is_some_and(|pod| pod.claim.as_deref() == Some(name));
    let is_nothing = pod
        .is_some_and(|pod| pod.ended || (!pod.running && resource.cluster_id == Observed::Absent));
    if keeps_disk || is_nothing || consents(head, resource) {
        return Ok(());
    }
    Err(Refusal::StillRunning {
        pod: name.to_owned(),
    })
}

/// A pod of the plan is made again as long as it does not run and nothing came of it: what goes with it is the backup's alone,
/// or was never voted on.
fn check_refilling(
    name: &str,
    resource: &ResourceHead,
    restore: &Observed<RestoreHead>,
    pod: Option<&ObjectHead>,
) -> Result<(), Refusal> {
    let what = || format!("pod {name} is made again to fill its disk from a backup");
    let restoration = at(resource, RestorationStage::Filling, what)?;
    proven(restoration, restore, what)?;
    if !is_founder(name, restoration) {
        return Err(unasked(&what(), "it is a member of the plan"));
    }
    if resource.cluster_id != Observed::Absent {
        return Err(unasked(&what(), "no cluster id is recorded"));
    }
    if pod.is_some_and(|pod| pod.running || (pod.ran && pod.claim.is_none())) {
        let pod = name.to_owned();
        return Err(Refusal::StillRunning { pod });
    }
    Ok(())
}

/// The pods that fill their disks are those of the plan, and no cluster has come of it yet.
pub(super) fn check_filling(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    restore: &Observed<RestoreHead>,
) -> Result<(), Refusal> {
    let what = || format!("pod {name} fills its disk from a backup");
    let restoration = at(resource, RestorationStage::Filling, what)?;
    let asked = pre.restore.as_ref().map(|reference| &reference.uid);
    proven(restoration, restore, what)?;
    let missing = if asked != Some(&restoration.uid) {
        "the status is with that EtcdRestore"
    } else if !is_founder(name, restoration) {
        "it is a member of the plan"
    } else if resource.cluster_id != Observed::Absent {
        "no cluster id is recorded"
    } else {
        return Ok(());
    };
    Err(unasked(&what(), missing))
}

fn is_founder(name: &str, restoration: &Restoration) -> bool {
    restoration.founders.iter().any(|founder| founder == name)
}

/// The claim of one who was there before goes only once the cluster is whole again.
pub(super) fn check_given_up(
    name: &str,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let restoration = resource
        .restoration
        .as_ref()
        .filter(|restoration| restoration.is_under_way());
    let is_given_up = restoration
        .is_some_and(|restoration| restoration.given_up.iter().any(|given_up| given_up == name));
    if is_given_up {
        return whole(resource, etcd);
    }
    Ok(())
}

/// As many members as the spec asks for vote, all of them healthy, and nobody is on the way.
pub(super) fn whole(resource: &ResourceHead, etcd: &EtcdView) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let wanted = resource
        .size
        .and_then(|size| u32::try_from(size).ok())
        .unwrap_or_default()
        .max(1);
    let unfinished = votes.membership().members.iter();
    if let Some(member) = unfinished.into_iter().find(|member| is_unfinished(member)) {
        return Err(Refusal::Outstanding { member: member.id });
    }
    let needed = votes.voters().max(wanted);
    super::membership::enough(votes.healthy_without(None), needed)
}

fn at(
    resource: &ResourceHead,
    stage: RestorationStage,
    what: impl Fn() -> String,
) -> Result<&Restoration, Refusal> {
    let restoration = resource.restoration.as_ref();
    restoration
        .filter(|restoration| restoration.stage == stage)
        .ok_or_else(|| unasked(&what(), "status.restoration says so"))
}

#[cfg(test)]
mod tests;
