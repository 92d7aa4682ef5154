//! The preconditions that the module gave, held against a fresh read, and whose objects they are about.
//!
//! What could not be read counts against the action.

use contract::{
    Action, BackupEffect, Effect, EtcdView, ObjectKind, ObjectPrecondition, Observed, Preconditions,
};

use super::membership::enough;
use crate::Refusal;
use crate::backup::is_of_the_end;
use crate::fresh::{Fresh, ObjectHead, ResourceHead, asks_etcd};
use crate::quorum::Votes;

/// The same resource, and neither paused nor being deleted where that matters.
pub(super) fn check_resource<'a>(
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
    let is_last = matches!(effect, Effect::Backup(BackupEffect::Release { .. }));
    if !effect.is_telling() && !is_last {
        let is_of_the_end = is_of_the_end(effect, fresh.backup.taken_along);
        let (effect, target) = (effect.name(), effect.target());
        if resource.deleted && !is_of_the_end {
            return Err(Refusal::Deleting { effect, target });
        }
        if resource.paused {
            return Err(Refusal::Paused { effect, target });
        }
    }
    Ok(resource)
}

/// The child is the one of the snapshot, or absent as in the snapshot, and is one of these owners'.
pub(super) fn check_object<'a>(
    kind: ObjectKind,
    name: &str,
    pre: &Preconditions,
    owners: &[Option<&str>],
    object: &'a Observed<ObjectHead>,
) -> Result<Option<&'a ObjectHead>, Refusal> {
    let found = seen(object, "the object")?;
    if found.is_some_and(|head| !owners.contains(&head.owner.as_deref())) {
        return Err(Refusal::ForeignOwner {
            kind,
            name: name.to_owned(),
        });
    }
    if let (Some(expected), Some(head)) = (&pre.object_version, found)
        && *expected != head.resource_version
    {
        let version = |version: &str| format!("resourceVersion {version}");
        return Err(Refusal::ObjectChanged {
            kind,
            name: name.to_owned(),
            expected: version(expected),
            found: version(&head.resource_version),
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

/// The claim under a pod is the cluster's, stays, and is the one of the snapshot. A pod may be stopped for having none.
pub(super) fn check_claim(
    name: &str,
    pre: &Preconditions,
    resource: &ResourceHead,
    claim: &Observed<ObjectHead>,
) -> Result<(), Refusal> {
    let kind = ObjectKind::PersistentVolumeClaim;
    let expected = pre.claim_uid.as_ref();
    let is_to_be_gone = pre.scaled_to_zero && expected.is_none();
    let Some(found) = seen(claim, "the claim")? else {
        return if is_to_be_gone {
            Ok(())
        } else {
            Err(changed(kind, name, expected, None))
        };
    };
    if is_to_be_gone {
        return Err(changed(kind, name, None, Some(&found.uid)));
    }
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
pub(super) fn check_birth(pre: &Preconditions, resource: &ResourceHead) -> Result<(), Refusal> {
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
pub(super) fn check_etcd(
    action: &Action,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
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

/// A read's answer; no answer is a refusal.
pub(super) fn seen<'a, T>(
    read: &'a Observed<T>,
    what: &'static str,
) -> Result<Option<&'a T>, Refusal> {
    match read {
        Observed::Seen(value) => Ok(Some(value)),
        Observed::Absent => Ok(None),
        Observed::Unknown(why) => Err(Refusal::Unread {
            what,
            why: why.clone(),
        }),
    }
}
