//! Finishes departures: what a member leaves behind once it is out of etcd's list.
//!
//! Acts only on a list that a quorum confirmed.

use std::collections::BTreeSet;

use contract::{Effect, FindingKind, Membership, ObjectKind, Reason};

use super::{Step, recover, restore};
use crate::assess::{Living, Situation, name_of};
use crate::pre::{self, ActionExt};
use crate::validate::Cluster;

/// Deletes pods and volume claims of members that are not in the list.
pub(super) fn finish(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    let Some(membership) = living.membership else {
        return;
    };
    let listed: BTreeSet<&str> = membership.members.iter().map(name_of).collect();
    // What the archived operator made is nobody's to delete.
    let own = Some(situation.snapshot.resource.uid.as_str());
    let pods = living.pods.iter();
    let pods = pods.filter(|(_, pod)| pod.owner.as_deref() == own);
    let claims = living.volumes.iter();
    let claims = claims.filter(|(_, claim)| claim.owner.as_deref() == own);
    let names: BTreeSet<&str> = pods
        .map(|(name, _)| *name)
        .chain(claims.map(|(name, _)| *name))
        .collect();
    for name in names.difference(&listed) {
        if restore::keeps_claim(cluster, situation, living, name) {
            clear(situation, membership, living, name, false, step);
            continue;
        }
        if recover::keeps_claim(cluster, situation, living, name) {
            clear(situation, membership, living, name, false, step);
            step.find_of(
                FindingKind::Note,
                Reason::RecoveringQuorum,
                name,
                format!("The volume claim of {name} is kept until the cluster has its size again."),
            );
            continue;
        }
        let left = match (
            living.pods.contains_key(name),
            living.volumes.contains_key(name),
        ) {
            (_, false) => "its pod is",
            (false, true) => "its volume claim is",
            (true, true) => "its pod and its volume claim are",
        };
        step.find_of(
            FindingKind::Waiting,
            Reason::MemberDeparting,
            name,
            format!("{name} is not in etcd's member list; {left} being deleted."),
        );
        clear(situation, membership, living, name, true, step);
    }
}

/// Deletes the pod and, where `and_claim` says so, the volume claim of `name`, on the condition that it is not in the list any more.
pub(super) fn clear(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    name: &str,
    and_claim: bool,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let pod = living.pods.get(name).filter(|pod| pod.deleted.is_none());
    let volume = living
        .volumes
        .get(name)
        .filter(|volume| and_claim && volume.deleted.is_none());
    let objects = pod
        .map(|pod| (ObjectKind::Pod, &pod.uid))
        .into_iter()
        .chain(volume.map(|volume| (ObjectKind::PersistentVolumeClaim, &volume.uid)));
    for (kind, uid) in objects {
        let effect = Effect::Delete {
            kind,
            name: name.to_owned(),
            grace_seconds: None,
        };
        let mut action = pre::action(resource, effect).present(uid);
        action.pre.cluster_id = Some(membership.cluster_id);
        action.pre.departed = Some(name.to_owned());
        step.actions.push(action);
    }
}
