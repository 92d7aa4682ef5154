//! Judges one action against a fresh read, immediately before its effect.
//!
//! First the preconditions that the module gave, then the envelope's own rules, which hold whatever was given:
//! nobody else's object, no `new` in a living cluster, no disk of a listed member, never fewer healthy voters than a
//! quorum. What could not be read counts against the action.

use contract::{
    Action, Child, Effect, EtcdView, MemberId, ObjectKind, ObjectPrecondition, Observed,
    Preconditions,
};

use crate::arguments::InitialCluster;
use crate::fresh::{Fresh, ObjectHead, ResourceHead, asks_etcd, reads};
use crate::quorum::{Votes, is_unfinished, quorum};
use crate::{Reads, Refusal};

/// Says whether the action may be carried out now.
///
/// # Errors
/// The first rule that it breaks; nothing of the action may happen then.
pub fn check(action: &Action, fresh: &Fresh) -> Result<(), Refusal> {
    let Action { effect, pre } = action;
    if !fresh.lease_held {
        return Err(Refusal::LeaseLost);
    }
    let resource = check_resource(effect, pre, fresh)?;
    let Reads {
        object,
        claim,
        etcd: _,
    } = reads(action);
    let object = match object {
        Some((kind, name)) => check_object(kind, &name, pre, resource, &fresh.object)?,
        None => None,
    };
    if let Some(name) = claim {
        check_claim(&name, pre, resource, &fresh.claim)?;
    }
    check_birth(pre, resource)?;
    check_etcd(action, resource, &fresh.etcd)?;
    match effect {
        Effect::UpdateStatus { .. } | Effect::Event { .. } => Ok(()),
        Effect::Apply { object } => match &**object {
            Child::Pod(pod) => check_start(
                InitialCluster::of_pod(pod),
                object.name(),
                pre,
                resource,
                &fresh.etcd,
            ),
            Child::PersistentVolumeClaim(_) | Child::Service(_) | Child::PodDisruptionBudget(_) => {
                Ok(())
            }
        },
        Effect::AnnotatePod { name, annotations } => check_start(
            InitialCluster::new(name, annotations),
            name,
            pre,
            resource,
            &fresh.etcd,
        ),
        Effect::Delete {
            kind: ObjectKind::Pod,
            name,
            grace_seconds: _,
        } => check_pod_deletion(name, pre, resource, object, &fresh.etcd),
        Effect::Delete {
            kind: ObjectKind::PersistentVolumeClaim,
            name,
            grace_seconds: _,
        } => check_claim_deletion(name, pre, resource, &fresh.etcd),
        Effect::Delete {
            kind: ObjectKind::Service | ObjectKind::PodDisruptionBudget,
            ..
        } => Ok(()),
        Effect::AddLearner { name, peer_urls } => {
            let votes = living(resource, &fresh.etcd)?;
            no_other_change(&votes, None)?;
            let known = peer_urls.iter().any(|url| {
                votes
                    .membership()
                    .members
                    .iter()
                    .any(|member| member.peer_urls.contains(url))
            });
            if known || votes.member_named(name).is_some() {
                return Err(Refusal::StillMember {
                    member: name.clone(),
                });
            }
            enough(votes.healthy_without(None), quorum(votes.voters()))
        }
        Effect::Promote { member } => check_promotion(*member, resource, &fresh.etcd),
        Effect::RemoveMember { member } => check_removal(*member, resource, &fresh.etcd),
        Effect::MoveLeader { to } => {
            let votes = living(resource, &fresh.etcd)?;
            let target = votes.member(*to)?;
            if target.learner || !votes.is_healthy(target) {
                return Err(Refusal::NotHealthyVoter { member: *to });
            }
            enough(votes.healthy_without(None), quorum(votes.voters()))
        }
    }
}

/// The same resource, and neither paused nor being deleted where that matters.
fn check_resource<'a>(
    effect: &Effect,
    pre: &Preconditions,
    fresh: &'a Fresh,
) -> Result<&'a ResourceHead, Refusal> {
    let gone = || Refusal::ResourceGone {
        uid: pre.resource_uid.clone(),
    };
    let resource = seen(&fresh.resource, "the resource")?.ok_or_else(gone)?;
    if resource.uid != pre.resource_uid {
        return Err(gone());
    }
    if let Some(expected) = &pre.resource_version
        && *expected != resource.resource_version
    {
        return Err(Refusal::ResourceChanged {
            expected: expected.clone(),
            found: resource.resource_version.clone(),
        });
    }
    if !matches!(effect, Effect::UpdateStatus { .. } | Effect::Event { .. }) {
        let (effect, target) = (effect.name(), effect.target());
        if resource.deleted {
            return Err(Refusal::Deleting { effect, target });
        }
        if resource.paused {
            return Err(Refusal::Paused { effect, target });
        }
    }
    Ok(resource)
}

/// The child is the one of the snapshot, or absent as in the snapshot, and is not somebody else's.
fn check_object<'a>(
    kind: ObjectKind,
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    object: &'a Observed<ObjectHead>,
) -> Result<Option<&'a ObjectHead>, Refusal> {
    let found = seen(object, "the object")?;
    if found.is_some_and(|head| head.owner.as_deref() != Some(&resource.uid)) {
        return Err(Refusal::ForeignOwner {
            kind,
            name: name.to_owned(),
        });
    }
    let expected = match &pre.object {
        None => return Ok(found),
        Some(ObjectPrecondition::Absent) => None,
        Some(ObjectPrecondition::Present { uid }) => Some(uid),
    };
    let found_uid = found.map(|head| &head.uid);
    if expected == found_uid {
        return Ok(found);
    }
    Err(changed(kind, name, expected, found_uid))
}

/// The claim under a pod is the cluster's, stays, and is the one of the snapshot.
fn check_claim(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    claim: &Observed<ObjectHead>,
) -> Result<(), Refusal> {
    let kind = ObjectKind::PersistentVolumeClaim;
    let expected = pre.claim_uid.as_ref();
    let Some(found) = seen(claim, "the claim")? else {
        return Err(changed(kind, name, expected, None));
    };
    if found.owner.as_deref() != Some(&resource.uid) {
        return Err(Refusal::ForeignOwner {
            kind,
            name: name.to_owned(),
        });
    }
    if found.deleted || expected.is_some_and(|uid| *uid != found.uid) {
        return Err(changed(
            kind,
            name,
            expected,
            Some(&found.uid).filter(|_| !found.deleted),
        ));
    }
    Ok(())
}

fn changed(
    kind: ObjectKind,
    name: &str,
    expected: Option<&String>,
    found: Option<&String>,
) -> Refusal {
    let words = |uid: Option<&String>| uid.map_or_else(|| "none".to_owned(), Clone::clone);
    Refusal::ObjectChanged {
        kind,
        name: name.to_owned(),
        expected: words(expected),
        found: words(found),
    }
}

/// A birth token is that of the plan in the status, and no cluster has come of it yet.
fn check_birth(pre: &Preconditions, resource: &ResourceHead) -> Result<(), Refusal> {
    let Some(token) = &pre.birth_token else {
        return Ok(());
    };
    let not_birth = |why: String| Err(Refusal::NotBirth { why });
    match &resource.cluster_id {
        Observed::Absent => {}
        Observed::Seen(id) => return not_birth(format!("the status records the cluster id {id}")),
        Observed::Unknown(why) => {
            return not_birth(format!("the recorded cluster id is unreadable: {why}"));
        }
    }
    match &resource.birth {
        Some(birth) if birth.token == *token => match &pre.departed {
            Some(name) if birth.members.contains(name) => Err(Refusal::StillMember {
                member: name.clone(),
            }),
            Some(_) | None => Ok(()),
        },
        Some(birth) => not_birth(format!(
            "the plan in the status has the token {}, not {token}",
            birth.token
        )),
        None => not_birth("the status holds no plan".to_owned()),
    }
}

/// What the module wants to find in etcd.
fn check_etcd(action: &Action, resource: &ResourceHead, etcd: &EtcdView) -> Result<(), Refusal> {
    let Action { effect, pre } = action;
    if !asks_etcd(pre) {
        return Ok(());
    }
    let Preconditions {
        cluster_id,
        members,
        leader,
        touches,
        healthy_voters,
        departed,
        ..
    } = pre;
    let votes = Votes::confirmed(etcd)?;
    let found = votes.cluster_id();
    let recorded = resource.cluster_id.seen().copied();
    if let Some(expected) = [*cluster_id, recorded]
        .into_iter()
        .flatten()
        .find(|expected| *expected != found)
    {
        return Err(Refusal::OtherCluster { expected, found });
    }
    if let Some(expected) = members {
        let found = votes.membership().fingerprint();
        if *expected != found {
            return Err(Refusal::MembersChanged {
                expected: expected.clone(),
                found,
            });
        }
    }
    if let Some(expected) = *leader {
        let found = votes.leader();
        if found != Some(expected) {
            let found = found.map_or_else(|| "none is known".to_owned(), |id| id.to_string());
            return Err(Refusal::LeaderChanged { expected, found });
        }
    }
    if let Some(member) = *touches {
        votes.member(member)?;
    }
    if let Some(needed) = *healthy_voters {
        enough(votes.healthy_after(effect, *touches), needed)?;
    }
    match departed {
        // At birth the plan is the list, and check_birth has looked there.
        Some(name) if pre.birth_token.is_none() && votes.member_named(name).is_some() => {
            Err(Refusal::StillMember {
                member: name.clone(),
            })
        }
        Some(_) | None => Ok(()),
    }
}

/// A member starts as `new` only at birth, and joins only while it has not voted.
fn check_start(
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
            let member = votes.member_named(name).ok_or_else(|| Refusal::NotMember {
                member: name.to_owned(),
            })?;
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

fn check_pod_deletion(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    object: Option<&ObjectHead>,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    // Both were checked above: nothing was acknowledged yet, or the member is no longer in the list.
    if pre.birth_token.is_some() {
        return Ok(());
    }
    if pre.departed.is_some() {
        return living(resource, etcd).map(|_| ());
    }
    let keeps_disk = object.is_some_and(|head| head.claim.is_some());
    let Some(touched) = pre.touches else {
        if keeps_disk && object.is_some_and(|head| head.ended) {
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
    let member = votes.member(touched)?;
    if keeps_disk && !votes.is_healthy(member) {
        return Ok(());
    }
    enough(votes.healthy_without(Some(touched)), quorum(votes.voters()))
}

fn check_claim_deletion(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    if pre.birth_token.is_some() {
        return Ok(());
    }
    let votes = living(resource, etcd)?;
    match votes.member_named(name) {
        Some(_) => Err(Refusal::StillMember {
            member: name.to_owned(),
        }),
        None => Ok(()),
    }
}

fn check_promotion(id: MemberId, resource: &ResourceHead, etcd: &EtcdView) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let member = votes.member(id)?;
    if !member.learner || !votes.is_healthy(member) {
        return Err(Refusal::NotHealthyLearner { member: id });
    }
    no_other_change(&votes, Some(id))?;
    enough(votes.healthy_without(None), quorum(votes.voters()))?;
    enough(votes.healthy_without(None) + 1, quorum(votes.voters() + 1))
}

fn check_removal(id: MemberId, resource: &ResourceHead, etcd: &EtcdView) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let member = votes.member(id)?;
    // etcd commits the removal with the votes of today.
    enough(votes.healthy_without(None), quorum(votes.voters()))?;
    if !is_unfinished(member) {
        no_other_change(&votes, Some(id))?;
    }
    if member.learner {
        return Ok(());
    }
    if votes.voters() <= 1 {
        return Err(Refusal::LastVoter { member: id });
    }
    if votes.leader().is_none_or(|leader| leader == id) {
        return Err(Refusal::IsLeader { member: id });
    }
    enough(votes.healthy_without(Some(id)), quorum(votes.voters() - 1))
}

/// The confirmed list of the very cluster that the status records.
fn living<'a>(resource: &ResourceHead, etcd: &'a EtcdView) -> Result<Votes<'a>, Refusal> {
    let expected = match &resource.cluster_id {
        Observed::Seen(id) => *id,
        Observed::Absent => return Err(Refusal::Unborn),
        Observed::Unknown(why) => {
            return Err(Refusal::Unread {
                what: "the recorded cluster id",
                why: why.clone(),
            });
        }
    };
    let votes = Votes::confirmed(etcd)?;
    let found = votes.cluster_id();
    if expected != found {
        return Err(Refusal::OtherCluster { expected, found });
    }
    Ok(votes)
}

fn no_other_change(votes: &Votes<'_>, except: Option<MemberId>) -> Result<(), Refusal> {
    match votes.outstanding(except) {
        Some(member) => Err(Refusal::Outstanding { member }),
        None => Ok(()),
    }
}

fn enough(healthy: u32, needed: u32) -> Result<(), Refusal> {
    if healthy < needed {
        return Err(Refusal::TooFewHealthy { healthy, needed });
    }
    Ok(())
}

/// A read's answer; no answer is a refusal.
fn seen<'a, T>(read: &'a Observed<T>, what: &'static str) -> Result<Option<&'a T>, Refusal> {
    match read {
        Observed::Seen(value) => Ok(Some(value)),
        Observed::Absent => Ok(None),
        Observed::Unknown(why) => Err(Refusal::Unread {
            what,
            why: why.clone(),
        }),
    }
}

#[cfg(test)]
mod tests;
