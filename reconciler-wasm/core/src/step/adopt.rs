//! Takes over living clusters that another operator made, as they are.
//!
//! # Flow
//! 1. While the archived operator may hold its lock, nothing is done beside it. Members that it keeps in another shape are
//!    [`super::inherit`]'s.
//! 2. A cluster without a record is known by its pods and by a member list that a quorum confirms; its id is recorded.
//!    What the old operator thought of it (`status.phase`) decides nothing.
//! 3. Where no quorum answers, pods that ended or are gone are made again on the claims that stand, sealed.
//!
//! # Guarantees
//! No member is started that could found a cluster, and no claim is given up, before the id is recorded. Adoption
//! itself restarts nothing.

use contract::{
    EtcdClusterStatus, EventType, FindingKind, Observed, OldLock, Phase, Reason, Volume, names,
};

use super::repair::BEFORE_REPLACEMENT;
use super::{LATER, SOON, Step, birth::apply, ended, furnish, issue, left};
use crate::assess::{Living, Situation, has_ended, name_of, says_no_data};
use crate::build::{self, Start};
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::validate::Cluster;

/// Whether the archived operator may be at work. Two operators would undo each other's work.
pub(super) fn is_held_off(situation: &Situation<'_>, step: &mut Step) -> bool {
    let snapshot = situation.snapshot;
    let Some(lock) = snapshot
        .old_lock
        .seen()
        .filter(|lock| lock.may_be_held(snapshot.now))
    else {
        return false;
    };
    let OldLock {
        namespace, holder, ..
    } = lock;
    let deployment = situation
        .snapshot
        .resource
        .dialect()
        .predecessor()
        .deployment;
    step.find(
        FindingKind::Blocked,
        Reason::OldOperatorActive,
        format!(
            "{holder} holds the lock of the archived operator ({}), so nothing is done: two operators would undo each \
             other's work. Stop it, for example with kubectl scale deployment {deployment} --replicas=0 --namespace \
             {namespace}; this operator goes on once the lock has not been renewed for {} s.",
            lock.object(),
            lock.lasts.0 / 1000
        ),
    );
    step.look_again(LATER, Reason::OldOperatorActive);
    true
}

/// Whether a resource of which nothing stands once had members: then a birth would put an empty cluster in the place of
/// one with data.
pub(super) fn has_vanished(memory: &EtcdClusterStatus, step: &mut Step) -> bool {
    let what = match memory.phase {
        Phase::None | Phase::Creating => return false,
        Phase::Running => "says that this cluster ran".to_owned(),
        Phase::Failed => format!(
            "says that the older operator gave this cluster up ({})",
            if memory.reason.is_empty() {
                "without a reason"
            } else {
                &memory.reason
            }
        ),
    };
    step.find(
        FindingKind::Blocked,
        Reason::DataLost,
        format!(
            "The status {what}, and none of its pods and volume claims is left. Nothing is started, because an empty \
             cluster would take the place of its data. Restore it from a backup; or, if no data is missed, delete \
             this EtcdCluster and create it again."
        ),
    );
    step.look_again(LATER, Reason::DataLost);
    true
}

/// Takes over a cluster that stands without a record.
pub(super) fn take_over(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    if is_lock_unread(situation, step)
        || record(situation, living, step)
        || left::take_up(cluster, situation, step)
    {
        return;
    }
    if living.volumes.values().any(|claim| is_kept(claim)) {
        // What stood around the members may have gone with an earlier cluster.
        if issue::issue(cluster, situation, Some(living), step) || !cluster.tls.is_sound() {
            step.look_again(LATER, Reason::AwaitingAdoption);
            return;
        }
        if furnish::is_obstructed(cluster, situation, step) {
            return;
        }
        furnish::furnish(cluster, situation, None, step);
    }
    let before = step.actions.len();
    bring_back(cluster, situation, living, step);
    let is_making = step.actions.len() > before;
    if are_starting(situation, living, is_making) {
        step.find(
            FindingKind::Waiting,
            Reason::AwaitingAdoption,
            "The members are being started on the volume claims that an earlier cluster of this name left.".to_owned(),
        );
        step.look_again(SOON, Reason::AwaitingAdoption);
        return;
    }
    let mut pods = living.pods.values();
    let found = if !living.pods.is_empty() && pods.all(|pod| says_no_data(Some(pod))) {
        " etcd finds no data on any of them."
    } else {
        ""
    };
    step.find(
        FindingKind::Blocked,
        Reason::AwaitingAdoption,
        format!(
            "Pods or volume claims of this cluster stand, but its status holds neither a cluster id nor a plan, and no \
             quorum of members answers.{found} No cluster is founded in their place, and no claim is given up. Waiting for a \
             quorum; look at the pods, or restore from a backup. If the data is not needed, delete those pods and volume \
             claims."
        ),
    );
    step.look_again(LATER, Reason::AwaitingAdoption);
}

/// A claim that stays when its cluster goes.
fn is_kept(claim: &Volume) -> bool {
    claim.annotations.contains_key(names::OWNER_ANNOTATION)
}

/// Whether pods on claims that were taken up have not had their time yet.
fn are_starting(situation: &Situation<'_>, living: &Living<'_>, is_making: bool) -> bool {
    let ages = living
        .pods
        .values()
        .map(|pod| situation.snapshot.now.since(pod.created));
    living.volumes.values().any(|claim| is_kept(claim))
        && ages
            .min()
            .map_or(is_making, |youngest| youngest < BEFORE_REPLACEMENT)
}

/// Whether nobody knows if somebody else is at work, which must be known before another's cluster becomes this operator's.
pub(super) fn is_lock_unread(situation: &Situation<'_>, step: &mut Step) -> bool {
    let Observed::Unknown(why) = &situation.snapshot.old_lock else {
        return false;
    };
    step.find(
        FindingKind::Blocked,
        Reason::AwaitingAdoption,
        format!(
            "The lock of the archived operator could not be read ({why}), so it is not known whether that one is still \
             at work on this cluster. Nothing is done. Give this operator the right to get it; the manifests do."
        ),
    );
    step.look_again(LATER, Reason::AwaitingAdoption);
    true
}

/// Records the id that a quorum of this resource's own pods confirms. Says whether it did.
pub(super) fn record(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) -> bool {
    let Some(list) = living.membership.filter(|_| living.votes().has_quorum()) else {
        return false;
    };
    let own = list
        .voters()
        .filter(|row| living.pods.contains_key(name_of(row)))
        .count();
    if own < quorum(list.voters().count()) {
        return false;
    }
    let given_up = match (situation.memory.phase, situation.memory.reason.as_str()) {
        (Phase::Failed, "") => " The older operator had given it up.".to_owned(),
        (Phase::Failed, reason) => format!(" The older operator had given it up: {reason}."),
        (Phase::None | Phase::Creating | Phase::Running, _) => String::new(),
    };
    let message = format!(
        "Cluster {} runs with {} members on this resource's pods; it is taken over as it is.{given_up}",
        list.cluster_id,
        list.members.len()
    );
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Normal,
        Reason::Adopted,
        message.clone(),
    ));
    step.find(FindingKind::Doing, Reason::Adopted, message);
    step.cluster_id = Some(list.cluster_id);
    step.look_again(SOON, Reason::Adopted);
    true
}

/// Makes pods again on the claims of members that nobody lists. A member that finds its data goes on; a sealed one that
/// finds none ends by itself.
fn bring_back(cluster: &Cluster, situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    if living.membership.is_some() {
        return;
    }
    let resource = &situation.snapshot.resource;
    let own = format!("{}-", cluster.name);
    let image = last_image(cluster, situation, living);
    let is_usable = Volume::stays;
    for (name, volume) in living
        .volumes
        .iter()
        .filter(|(name, volume)| name.starts_with(&own) && is_usable(volume))
    {
        match living.pods.get(name) {
            None => {
                let start = Start::sealed(cluster, name);
                let pod = build::pod_on_claim(cluster, resource, name, &image, &start);
                let mut action = pre::action(resource, apply(contract::Child::Pod(pod))).absent();
                action.pre.claim_uid = Some(volume.uid.clone());
                step.actions.push(action);
            }
            Some(pod) if has_ended(pod) && pod.deleted.is_none() => {
                step.actions
                    .push(ended::deletion_on(situation, pod, volume));
            }
            Some(_) => continue,
        }
        step.find_of(
            FindingKind::Doing,
            Reason::PodMissing,
            name,
            format!("The pod of {name} is gone or has ended; it is made again on its own disk."),
        );
    }
}

/// The image that the members ran last: what is on the disks may be older than what the spec asks for.
fn last_image(cluster: &Cluster, situation: &Situation<'_>, living: &Living<'_>) -> String {
    let stands = living
        .pods
        .values()
        .map(|pod| pod.image.as_str())
        .find(|image| !image.is_empty());
    if let Some(image) = stands {
        return image.to_owned();
    }
    let version = situation.memory.current_version.trim_start_matches('v');
    match cluster.image.rsplit_once(":v") {
        Some((repository, _)) if !version.is_empty() => format!("{repository}:v{version}"),
        Some(_) | None => cluster.image.clone(),
    }
}

/// Whether a pod was made by the archived operator: it has its start in its arguments and restarts never.
pub(super) fn is_old(pod: &contract::Pod) -> bool {
    !pod.annotations
        .contains_key(names::INITIAL_CLUSTER_ANNOTATION)
}
