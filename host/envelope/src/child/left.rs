//! What an earlier cluster of the same name left, or the archived operator, and who may take it over.

use contract::{
    Child, Effect, ObjectKind, ObjectPrecondition, OldSet, Preconditions, Resource, Snapshot,
    Volume, names,
};
use serde_json::Value;

use crate::Refusal;

/// One of the archived operator's children beside which the effect may not happen. While its members are taken over they
/// come over one after the other, those who have are replaced where they must be, and nothing else happens; claims without
/// pods are taken up as those of an earlier cluster.
pub(crate) fn old_child_in_the_way<'a>(effect: &Effect, snapshot: &'a Snapshot) -> Option<&'a str> {
    let old = snapshot.old_children();
    let is_under_way = snapshot.resource.is_being_taken_over();
    let is_at_rest = old.pods.is_empty() && old.sets.is_empty();
    let is_over = !listed(&snapshot.resource).any(|member| old.may_run(member));
    let may_be = match effect {
        Effect::RetireReplicaSet { .. }
        | Effect::MoveLeader { .. }
        | Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::AppendNoop
        | Effect::Peer(_)
        | Effect::Delete {
            kind: ObjectKind::Pod | ObjectKind::PersistentVolumeClaim,
            ..
        } => is_under_way,
        Effect::AddLearner { name, .. } => is_under_way && !old.may_run(name),
        Effect::Apply { object } => match &**object {
            Child::Pod(_) | Child::PersistentVolumeClaim(_) => {
                is_under_way && !old.may_run(object.name())
            }
            // What they select until then is what the archived operator labelled.
            Child::Service(_) | Child::PodDisruptionBudget(_) => is_under_way && is_over,
        },
        Effect::TakeUpClaim { name, .. } => (is_under_way || is_at_rest) && !old.may_run(name),
        Effect::UpdateStatus { .. }
        | Effect::Event { .. }
        | Effect::AnnotatePod { .. }
        | Effect::SetImage { .. }
        | Effect::Delete { .. }
        | Effect::Issue { .. }
        | Effect::UpdateMember { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. }
        | Effect::Backup(_)
        | Effect::Restore(_)
        | Effect::Schedule(_) => false,
    };
    old.names().next().filter(|_| !may_be)
}

/// A claim that is taken up carries the cluster's labels, and its owner is known by the annotation alone: that of another
/// object of this name, of which there is one at a time. One of the archived operator's has neither, and nobody who could
/// start a member on it is left.
pub(crate) fn judge_left_claim(
    name: &str,
    from: &str,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let resource = &snapshot.resource;
    let labels = resource.dialect().labels(&resource.name);
    let is_left = |claim: &&Volume| {
        let mark = claim.annotations.get(names::OWNER_ANNOTATION);
        claim.owner.as_deref() == Some(from)
            && mark.map(String::as_str) == Some(from)
            && labels
                .iter()
                .all(|(key, value)| claim.labels.get(key) == Some(value))
    };
    let is_its = if from.is_empty() {
        let old = snapshot.old_children();
        let mut claims = old.claims.iter().filter(|claim| claim.name == name);
        claims.any(|claim| claim.owner.is_none())
            && snapshot.old_sets.seen().is_some()
            && !old.may_run(name)
    } else {
        let mut claims = snapshot.objects.volumes.seen().into_iter().flatten();
        let found = claims.find(|claim| claim.name == name);
        found.filter(is_left).is_some() && from != resource.uid
    };
    if !is_its {
        refusals.push(foreign(ObjectKind::PersistentVolumeClaim, name));
    }
}

/// A ReplicaSet that is retired is one that the archived operator made, while its members are being taken over.
pub(crate) fn judge_set(
    name: &str,
    owner: &str,
    pre: &Preconditions,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let uid = match &pre.object {
        Some(ObjectPrecondition::Present { uid }) => uid.as_str(),
        Some(ObjectPrecondition::Absent) | None => "",
    };
    let is_it = |set: &&OldSet| {
        set.name == name && set.uid == uid && set.owner.as_deref().unwrap_or_default() == owner
    };
    let mut sets = snapshot.old_sets.seen().into_iter().flatten();
    if sets.find(is_it).is_none() || !snapshot.resource.is_being_taken_over() {
        refusals.push(foreign(ObjectKind::ReplicaSet, name));
    }
}

/// The members that the status remembers.
fn listed(resource: &Resource) -> impl Iterator<Item = &str> {
    let records = resource.status.get("memberRecords");
    let records = records.and_then(Value::as_array).into_iter().flatten();
    records.filter_map(|record| record.get("name")?.as_str())
}

fn foreign(kind: ObjectKind, name: &str) -> Refusal {
    Refusal::ForeignOwner {
        kind,
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod kept;

#[cfg(test)]
mod tests {
    use contract::{Action, Effect, Observed, Resource};
    use serde_json::json;

    use super::*;
    use crate::fixtures::{action, decision, fresh_of, present, resource, snapshot_of};
    use crate::{Fresh, check, permit};

    const BEFORE: &str = "uid-before";

    fn take_up(from: &str) -> Action {
        let mut action = action(Effect::TakeUpClaim {
            name: "a-3".to_owned(),
            from: from.to_owned(),
        });
        action.pre.object = present("uid-3");
        action
    }

    fn without_record() -> Resource {
        Resource {
            status: json!(null),
            ..resource()
        }
    }

    fn left(change: impl FnOnce(&mut Volume)) -> Snapshot {
        let resource = without_record();
        let mut claim: Volume = serde_json::from_value(json!({
            "name": "a-3", "uid": "uid-3", "resourceVersion": "1", "owner": BEFORE,
            "labels": resource.dialect().labels(&resource.name),
            "annotations": {names::OWNER_ANNOTATION: BEFORE},
            "created": 0, "phase": "Bound",
        }))
        .expect("a claim");
        change(&mut claim);
        let mut snapshot = snapshot_of(resource);
        snapshot.objects.volumes = Observed::Seen(vec![claim]);
        snapshot
    }

    fn fresh(owner: &str) -> Fresh {
        let mut fresh = fresh_of(&without_record());
        if let Observed::Seen(head) = &mut fresh.object {
            head.owner = Some(owner.to_owned());
        }
        fresh
    }

    fn is_permitted(action: Action, snapshot: &Snapshot) -> bool {
        permit(&decision(vec![action]), snapshot).is_ok()
    }

    #[test]
    fn a_claim_is_taken_up_from_an_earlier_cluster_of_the_name_alone() {
        let as_it_was = left(|_| ());
        assert!(is_permitted(take_up(BEFORE), &as_it_was));
        assert!(check(&take_up(BEFORE), &fresh(BEFORE)).is_ok());
        for changed in [
            left(|claim| claim.owner = Some("uid-other".to_owned())),
            left(|claim| claim.annotations.clear()),
            left(|claim| drop(claim.labels.pop_last())),
        ] {
            assert!(!is_permitted(take_up(BEFORE), &changed));
        }
        assert!(!is_permitted(take_up("uid-other"), &as_it_was));
        assert!(!is_permitted(take_up(&as_it_was.resource.uid), &as_it_was));
        let mut careless = take_up(BEFORE);
        careless.pre.object = None;
        assert!(!is_permitted(careless, &as_it_was));
        let refused = |fresh: &Fresh| check(&take_up(BEFORE), fresh).map_err(|why| why.rule());
        assert_eq!(refused(&fresh("uid-other")), Err("ForeignOwner"));
    }

    /// Its members are on disks of their own.
    #[test]
    fn a_cluster_that_was_planned_or_has_formed_takes_up_nothing() {
        let mut formed = fresh_of(&resource());
        if let Observed::Seen(head) = &mut formed.object {
            head.owner = Some(BEFORE.to_owned());
        }
        let refused = check(&take_up(BEFORE), &formed).map_err(|why| why.rule());
        assert_eq!(refused, Err("StillMember"));
        let mut planned = fresh_of(&crate::fixtures::unborn());
        planned.object = formed.object;
        let refused = check(&take_up(BEFORE), &planned).map_err(|why| why.rule());
        assert_eq!(refused, Err("StillMember"));
    }
}
