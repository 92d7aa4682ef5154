//! Size 0 and back: all members are stopped together, and started together again on their own volume claims.
//!
//! # Flow
//! 1. `fall_asleep` waits until the cluster is whole: a healthy quorum, no learner, every voter's claim in its place.
//!    Then the status remembers since when it sleeps, and only then are the pods deleted.
//! 2. `stay_asleep` deletes what pods are left, and repairs nothing.
//! 3. With another size [`super::repair::restore_pods`] makes all pods again. The memory goes when a quorum answers;
//!    from then on the members' patience counts anew.
//!
//! # Guarantees
//! The member list, the claims, the Services and the cluster id stay. A member whose data would go with its pod keeps
//! the whole cluster awake, and wakes it while a quorum is there. Who left before has nothing to keep, and its pod goes
//! as long as the others can return.

use std::collections::BTreeSet;

use contract::{
    ClusterId, Effect, Finding, FindingKind, Millis, ObjectKind, Pod, Reason, RiskyAct, Volume,
};

use super::{DEAD_NODE, LATER, SOON, Step, furnish, guard, lost, recover, repair};
use crate::assess::{Disk, Living, Situation, Stage};
use crate::pre::{self, ActionExt};
use crate::validate::Cluster;

/// What a pass changes in the memory that the members are stopped on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// From now on they are.
    Begins,
    /// A quorum of them answers again.
    Ends,
}

/// Takes a size of 0 as one that cannot be followed where data would go with the pods.
pub(crate) fn refuse_zero(cluster: &mut Cluster, situation: &Situation<'_>) {
    if cluster.size != Some(0) {
        return;
    }
    let why = match &situation.stage {
        Stage::Unreadable { .. } => return,
        Stage::Unborn if cluster.has_volumes() => return,
        Stage::Unborn => {
            "starts no member, and a cluster without volume claims would lose its data with its last pod"
                .to_owned()
        }
        Stage::Unrecorded(living)
        | Stage::Forming { birth: _, living }
        | Stage::Formed {
            cluster_id: _,
            living,
        } => {
            let lossy: Vec<&str> = living
                .voters()
                .filter(|member| member.pod.is_some_and(|pod| pod.claim.is_none()))
                .map(|member| member.name)
                .collect();
            if lossy.is_empty() {
                return;
            }
            format!(
                "cannot be followed: the data of {} is in the pod and would be gone with it. Members that exist are \
                 kept and healed",
                lossy.join(", ")
            )
        }
    };
    cluster.size = None;
    cluster.findings.push(Finding {
        kind: FindingKind::Invalid,
        reason: Reason::InvalidSpec,
        message: format!(
            "spec.size 0 {why}. Only a cluster with spec.pod.persistentVolumeClaimSpec can be stopped and started \
             again. Set it to 1, 3, 5 or 7."
        ),
        member: None,
    });
}

/// Says that a new cluster of size 0 waits for a size.
pub(super) fn say_unborn(step: &mut Step) {
    step.find(
        FindingKind::Note,
        Reason::ScaledToZero,
        "spec.size is 0, so no member is started. Set it to 1, 3, 5 or 7.".to_owned(),
    );
}

/// Stops the members, once nothing would be missing when they start again. Says whether it does.
pub(super) fn fall_asleep(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    // Whether it is whole, only a list that a quorum confirmed can say.
    if cluster.size != Some(0) || living.membership.is_none() {
        return false;
    }
    if let Some(why) = why_not_whole(cluster, situation, living) {
        step.find(
            FindingKind::Waiting,
            Reason::ScaledToZero,
            format!("spec.size is 0, and no member is stopped yet: {why}"),
        );
        step.look_again(SOON, Reason::ScaledToZero);
        return false;
    }
    if let Some((kind, why)) = guard::why_not(situation, RiskyAct::ScaleToZero, "", step) {
        let message = format!("spec.size is 0: the members are stopped once {why}.");
        step.find(kind, Reason::BackupBeforeChange, message);
        return false;
    }
    step.sleep = Some(Sleep::Begins);
    step.find(
        FindingKind::Doing,
        Reason::ScaledToZero,
        format!(
            "spec.size is 0: all {} members are stopped, and their volume claims stay.",
            living.voters().count()
        ),
    );
    stop(situation, living, step);
    step.look_again(SOON, Reason::ScaledToZero);
    true
}

/// Why something would be missing if all members were stopped now; none when nothing would.
fn why_not_whole(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
) -> Option<String> {
    if let Some(learner) = living.learner() {
        return Some(format!(
            "{} is on its way into the cluster; it gets its vote or leaves first.",
            learner.name
        ));
    }
    if let Some(fresh) = living.voters().find(|member| !member.started) {
        return Some(format!("{} has not run yet.", fresh.name));
    }
    let votes = living.votes();
    if !votes.has_quorum() {
        return Some(format!(
            "{} of {} voters are healthy, and a quorum must be.",
            votes.healthy, votes.voters
        ));
    }
    if let Some(lost) = living.voters().find(|member| member.disk != Disk::Kept) {
        return Some(format!("{} has no disk and is replaced first.", lost.name));
    }
    let listed: BTreeSet<&str> = living.members.iter().map(|member| member.name).collect();
    // Who is on the way out already needs nobody; on a node that is gone that may take for ever.
    let pods = living.pods.values().filter(|pod| pod.deleted.is_none());
    // What a recovery gave up is kept, asleep as well.
    let is_kept = |name: &str| recover::keeps_claim(cluster, situation, living, name);
    let claims = living
        .volumes
        .values()
        .filter(|claim| claim.deleted.is_none() && !is_kept(&claim.name));
    let pods = pods.map(|pod| pod.name.as_str());
    let mut objects = pods.chain(claims.map(|claim| claim.name.as_str()));
    if let Some(left) = objects.find(|name| !listed.contains(name)) {
        return Some(format!(
            "{left} left the cluster and is cleared away first."
        ));
    }
    let going = living
        .voters()
        .find(|member| !member.volume.is_some_and(Volume::stays));
    going.map(|member| {
        format!(
            "the volume claim of {} is being deleted, lost or not the cluster's any more, and what it holds would be gone \
             with the pod. It leaves first, a sole member once another one has its data.",
            member.name
        )
    })
}

/// Keeps the members stopped while the size is 0, or while it cannot be followed. Says whether they sleep.
pub(super) fn stay_asleep(
    cluster: &Cluster,
    situation: &Situation<'_>,
    cluster_id: ClusterId,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    if situation.memory.asleep_since.is_none() || cluster.size.is_some_and(|size| size > 0) {
        return false;
    }
    furnish::furnish(cluster, situation, Some(living), step);
    furnish::furnish_clients(cluster, situation, false, step);
    let is_held =
        |pod: &Pod| pod.deleted.is_none() && why_harmless(situation, living, pod).is_none();
    if cluster.size == Some(0) {
        // With a quorum it is replaced as in any other cluster, and all are stopped after that.
        let is_up = living.membership.is_some() && living.votes().has_quorum();
        if is_up && living.pods.values().any(|pod| is_held(pod)) {
            return is_up_again(situation, step);
        }
        stop(situation, living, step);
    }
    if !repair::can_return(living) {
        lost::say(situation, cluster_id, living, step);
        return true;
    }
    for member in living.voters().filter(|member| member.disk == Disk::Lost) {
        step.find_of(
            FindingKind::Note,
            Reason::DiskLost,
            member.name,
            format!(
                "{} lost its volume claim while it was stopped; a new member takes its place once the others run again.",
                member.name
            ),
        );
    }
    let (held, left): (Vec<&Pod>, Vec<&Pod>) =
        living.pods.values().copied().partition(|pod| is_held(pod));
    for pod in &held {
        step.find_of(
            FindingKind::Blocked,
            Reason::ScaledToZero,
            &pod.name,
            format!(
                "spec.size is 0, and {0} is not stopped: it has no volume claim that stays, so what it holds would be gone with the \
                 pod. Set spec.size to 1, 3, 5 or 7; a new member takes its place once the members answer again, and then the \
                 size can be 0.",
                pod.name
            ),
        );
        step.look_again(LATER, Reason::ScaledToZero);
    }
    let left: Vec<&str> = left.iter().map(|pod| pod.name.as_str()).collect();
    if left.is_empty() && held.is_empty() {
        step.find(
            FindingKind::Note,
            Reason::ScaledToZero,
            format!(
                "All {} members are stopped, as spec.size 0 asks; their volume claims stay. Set spec.size to 1, 3, 5 \
                 or 7 to start them again.",
                living.voters().count()
            ),
        );
    } else if !left.is_empty() {
        step.find(
            FindingKind::Waiting,
            Reason::ScaledToZero,
            format!(
                "spec.size is 0: waiting for the pods {} to end; the members' volume claims stay. {DEAD_NODE}",
                left.join(", ")
            ),
        );
        step.look_again(SOON, Reason::ScaledToZero);
    }
    true
}

/// Deletes the pods that no data goes with, the leader's last.
fn stop(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    let leader = living.leader();
    let leads = |name: &str| {
        let member = living.members.iter().find(|member| member.name == name);
        leader.is_some() && member.and_then(|member| member.id) == leader
    };
    let mut pods: Vec<(&Pod, Harmless)> = living
        .pods
        .values()
        .copied()
        .filter(|pod| pod.deleted.is_none())
        .filter_map(|pod| Some((pod, why_harmless(situation, living, pod)?)))
        .collect();
    pods.sort_by_key(|(pod, _)| leads(&pod.name));
    for (pod, why) in pods {
        let volume = living.volumes.get(pod.name.as_str());
        let effect = Effect::Delete {
            kind: ObjectKind::Pod,
            name: pod.name.clone(),
            grace_seconds: None,
        };
        let mut action = pre::action(&situation.snapshot.resource, effect).present(&pod.uid);
        match why {
            Harmless::OnClaim => action.pre.claim_uid = volume.map(|volume| volume.uid.clone()),
            Harmless::Departed => action.pre.departed = Some(pod.name.clone()),
        }
        action.pre.scaled_to_zero = true;
        step.actions.push(action);
    }
}

/// Why no data that counts goes with a pod.
#[derive(Clone, Copy, Debug)]
enum Harmless {
    /// It is on a claim that stays, or the pod has never run and its claim is gone or lost.
    OnClaim,
    /// Its member left before the others were stopped, and a quorum of them has its disks.
    Departed,
}

fn why_harmless(situation: &Situation<'_>, living: &Living<'_>, pod: &Pod) -> Option<Harmless> {
    let volume = living.volumes.get(pod.name.as_str());
    let is_kept = volume.is_some_and(|volume| volume.stays());
    let is_going = volume.is_some_and(|volume| volume.deleted.is_some());
    if pod.claim.as_deref() == Some(pod.name.as_str()) && (is_kept || (!pod.ran && !is_going)) {
        return Some(Harmless::OnClaim);
    }
    let is_own = pod.owner.as_deref() == Some(situation.snapshot.resource.uid.as_str());
    let is_member = living.members.iter().any(|member| member.name == pod.name);
    (is_own && !is_member && repair::can_return(living)).then_some(Harmless::Departed)
}

/// Says that members which were stopped on purpose are starting. Says whether that is so.
pub(super) fn say_waking(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) -> bool {
    let memory = situation.memory;
    let answers_as_other = situation
        .snapshot
        .etcd
        .membership
        .seen()
        .is_some_and(|list| Some(list.cluster_id) != memory.cluster_id);
    let made = living
        .voters()
        .filter_map(|member| member.pod)
        .map(|pod| situation.snapshot.now.since(pod.created));
    let is_overdue = made
        .min()
        .is_some_and(|youngest| youngest >= repair::BEFORE_REPLACEMENT);
    let is_waking = memory.asleep_since.is_some() && !answers_as_other && !is_overdue;
    if !is_waking || !repair::can_return(living) {
        return false;
    }
    let down: Vec<String> = living
        .voters()
        .filter(|member| !member.is_healthy())
        .map(|member| format!("{}: {}", member.name, member.complaint()))
        .collect();
    step.find(
        FindingKind::Waiting,
        Reason::WakingUp,
        format!(
            "The members are being started again on their own volume claims. {}",
            down.join("; ")
        ),
    );
    step.look_again(Millis::seconds(1), Reason::WakingUp);
    true
}

/// Forgets that the members were stopped, once a quorum answers. Says whether it does: how long they were down then
/// counts from now on, and nothing else is decided on the old times.
pub(super) fn is_up_again(situation: &Situation<'_>, step: &mut Step) -> bool {
    if situation.memory.asleep_since.is_none() {
        return false;
    }
    step.sleep = Some(Sleep::Ends);
    step.find(
        FindingKind::Doing,
        Reason::WakingUp,
        "A quorum of the members that were stopped answers again.".to_owned(),
    );
    step.look_again(SOON, Reason::WakingUp);
    true
}
