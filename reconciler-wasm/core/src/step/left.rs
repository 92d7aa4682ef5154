//! What an earlier cluster of the same name left: names that are taken, and claims that hold its data, which are taken up.
//!
//! Members with random names never meet it; those that the dialect numbers would. Once all claims are this cluster's, its
//! members are started on them as those of any cluster that stands without a record: [`super::adopt`].

use std::collections::BTreeSet;

use contract::{Action, Effect, EventType, FindingKind, Objects, Reason, Volume, names};

use super::{LATER, SOON, Step};
use crate::assess::Situation;
use crate::pre::{self, ActionExt};
use crate::validate::Cluster;

/// These names, and those of pods and claims that there are.
pub(super) fn taken<'a>(names: &BTreeSet<&'a str>, objects: &'a Objects) -> BTreeSet<&'a str> {
    let pods = objects.pods.seen().into_iter().flatten();
    let claims = objects.volumes.seen().into_iter().flatten();
    let standing = pods
        .map(|pod| pod.name.as_str())
        .chain(claims.map(|claim| claim.name.as_str()));
    names.iter().copied().chain(standing).collect()
}

/// Takes up the claims that an earlier cluster of this name left, where people expect their data. Says whether there are any:
/// no empty cluster is born beside them, nor is a member started before all of them are this cluster's.
pub(super) fn take_up(cluster: &Cluster, situation: &Situation<'_>, step: &mut Step) -> bool {
    if !cluster.dialect.numbers_members() {
        return false;
    }
    let resource = &situation.snapshot.resource;
    let claims = situation.snapshot.objects.volumes.seen();
    let left: Vec<&Volume> = claims
        .into_iter()
        .flatten()
        .filter(|claim| claim.owner.as_deref() != Some(resource.uid.as_str()))
        .collect();
    let Some(first) = left.first() else {
        return false;
    };
    let names = left.iter().map(|claim| claim.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    if let Some(pod) = others_pod(situation) {
        step.find_of(
            FindingKind::Waiting,
            Reason::AwaitingAdoption,
            pod,
            format!(
                "An earlier cluster {} left the volume claims {names}. They are taken up once its pod {pod} has ended.",
                cluster.name
            ),
        );
        step.look_again(LATER, Reason::AwaitingAdoption);
        return true;
    }
    let before: Option<Vec<&str>> = left.iter().map(|claim| left_by(situation, claim)).collect();
    let mut clusters = before.iter().flatten().filter(|from| !from.is_empty());
    // One that was deleted while it took claims up had the data of the one before it.
    let is_one = clusters.clone().next().is_none()
        || clusters.any(|cluster| {
            let mut owned = left.iter().filter(|claim| claim.owner.is_some());
            owned.all(|claim| claim.has_data_of(cluster))
        });
    let Some(before) = before.filter(|_| is_one) else {
        step.find_of(
            FindingKind::Blocked,
            Reason::ForeignObject,
            &first.name,
            format!(
                "The volume claims {names} may hold the data of an earlier cluster {}. They are not all of one such cluster, or one \
                 is lost or being deleted, so none is taken up, and no empty cluster is born beside them. Delete those that \
                 are not needed, or create this cluster under another name.",
                cluster.name
            ),
        );
        step.look_again(LATER, Reason::ForeignObject);
        return true;
    };
    for (claim, from) in left.iter().zip(before) {
        step.actions.push(taking_up(situation, claim, from));
    }
    let message = format!(
        "The volume claims {names}, which an earlier cluster {} left, are taken up with their data.",
        cluster.name
    );
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::Adopted,
        message.clone(),
    ));
    step.find(FindingKind::Doing, Reason::Adopted, message);
    step.look_again(SOON, Reason::Adopted);
    true
}

/// A pod with this cluster's labels that is not its own.
fn others_pod<'a>(situation: &Situation<'a>) -> Option<&'a str> {
    let own = situation.snapshot.resource.uid.as_str();
    let mut pods = situation.snapshot.objects.pods.seen().into_iter().flatten();
    let other = pods.find(|pod| pod.owner.as_deref() != Some(own));
    other.map(|pod| pod.name.as_str())
}

/// Makes a claim this cluster's that was another's, or the archived operator's where that one is not named.
pub(super) fn taking_up(situation: &Situation<'_>, claim: &Volume, from: &str) -> Action {
    let effect = Effect::TakeUpClaim {
        name: claim.name.clone(),
        from: from.to_owned(),
    };
    pre::action(&situation.snapshot.resource, effect).present(&claim.uid)
}

/// The cluster that a claim which stays belonged to: the one that its annotation names, or nobody where the archived
/// operator made it. None where it cannot be taken up.
fn left_by<'a>(situation: &Situation<'a>, claim: &'a Volume) -> Option<&'a str> {
    if !claim.stays() {
        return None;
    }
    let old = situation.snapshot.old_children();
    let is_old = old.claims.iter().any(|old| old.uid == claim.uid);
    if is_old && claim.owner.is_none() {
        return Some("");
    }
    let from = claim.owner.as_deref()?;
    let mark = claim.annotations.get(names::OWNER_ANNOTATION)?;
    (mark == from).then_some(from)
}
