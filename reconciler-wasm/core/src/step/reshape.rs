//! Makes members' pods anew when `spec.pod` or `spec.TLS` changed: one at a time, when everybody is healthy, the leader last.
//!
//! A member on a claim keeps its disk, its id and its name: its pod is deleted and made again. One with its data in the
//! pod, on a claim that the spec no longer asks for, or on one that is being deleted, is replaced by a new member that
//! joins first; this file says which, `scale` does it. Pods as the archived operator made them are left as they are until
//! their renewal is asked for.

mod turn;

use contract::{Effect, EventType, FindingKind, Membership, ObjectKind, Pod, Reason, names};

use super::{SOON, Step, adopt, ended, failures, leave};
use crate::assess::{Disk, Living, Member, Situation};
use crate::build;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::validate::Cluster;

/// How far a member's log may be behind the leader's before the next member is touched.
const LAG: u64 = 1_000;

/// Whether the member's pod was made from another `spec.pod`.
pub(super) fn is_outdated(cluster: &Cluster, member: &Member<'_>) -> bool {
    let recorded = member
        .pod
        .and_then(|pod| pod.annotations.get(names::SHAPE_ANNOTATION));
    recorded.is_some_and(|shape| *shape != cluster.shape)
        || is_turned(cluster, member)
        || is_elsewhere(cluster, member)
        || (cluster.renews_old_pods && member.pod.is_some_and(adopt::is_old))
}

/// Whether a new member must take the place of this one, because its data cannot move to another pod: it is in the pod, and
/// that is outdated, or nobody can keep its claim.
pub(super) fn is_to_be_replaced(cluster: &Cluster, member: &Member<'_>) -> bool {
    loses_its_disk(member)
        || is_outdated(cluster, member)
            && (is_elsewhere(cluster, member) || member.pod.is_some_and(|pod| pod.claim.is_none()))
}

/// Whether its disk goes with its pod: the claim is being deleted, which Kubernetes does once no pod uses it, and which
/// cannot be undone, or its volume is gone
/// (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection>); or the claim that it
/// was remembered on is nobody's or somebody else's by now, so that no other pod may be made on it.
pub(super) fn loses_its_disk(member: &Member<'_>) -> bool {
    let was_on_one = member.record.is_some_and(|record| record.disk.is_some());
    member.pod.is_some_and(|pod| pod.claim.is_some())
        && member.volume.map_or(was_on_one, |volume| !volume.stays())
}

/// Whether the pod was started with other certificates than members are started with now; or, where the data cannot move
/// to another pod, has an address that is to become another one.
fn is_turned(cluster: &Cluster, member: &Member<'_>) -> bool {
    member.pod.is_some_and(|pod| {
        !adopt::is_old(pod)
            && (!cluster.tls.fits(member.name, pod)
                || (pod.claim.is_none() && cluster.tls.is_misplaced(member.name)))
    })
}

/// Whether the data is in the pod and a claim is asked for, or the other way round.
fn is_elsewhere(cluster: &Cluster, member: &Member<'_>) -> bool {
    member.pod.is_some_and(|pod| {
        pod.annotations.contains_key(names::SHAPE_ANNOTATION)
            && pod.claim.is_some() != cluster.has_volumes()
    })
}

/// Makes the pod of a voter that is down anew, when its spec was the wrong one: it has nothing to lose by it. Says
/// whether it did.
pub(super) fn rescue(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    // A pod that came late waits for a claim that is gone: its member is replaced.
    let is_stuck = |pod: &Pod, member: &Member<'_>| {
        !pod.running && pod.deleted.is_none() && (pod.claim.is_none() || member.volume.is_some())
    };
    let stuck = living.voters().find(|member| {
        !member.is_healthy()
            && is_outdated(cluster, member)
            && !is_to_be_replaced(cluster, member)
            && member.pod.is_some_and(|pod| is_stuck(pod, member))
    });
    stuck.is_some_and(|member| make_anew(cluster, situation, membership, living, member, step))
}

/// The same where nobody confirms who is a member: a spec that was corrected must reach those who make the quorum. Nobody votes
/// from a pod that does not run, and its disk stays.
pub(super) fn rescue_unlisted(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let stuck = living.members.iter().find_map(|member| {
        let pod = member.pod?;
        let volume = member.volume?;
        let is_stuck = !pod.running
            && pod.deleted.is_none()
            && pod.claim.is_some()
            && volume.stays()
            && member.disk == Disk::Kept
            && is_outdated(cluster, member)
            && !is_to_be_replaced(cluster, member);
        is_stuck.then_some((member, pod, volume))
    });
    let Some((member, pod, volume)) = stuck.filter(|_| cluster.tls.can_build()) else {
        return false;
    };
    let resource = &situation.snapshot.resource;
    let action = ended::deletion_on(situation, pod, volume)
        .followed_by(build::pod_again(cluster, resource, living, member));
    step.actions.push(action);
    tell_anew(cluster, situation, (member, pod), step);
    true
}

/// Takes one step towards pods of the asked shape. Says whether it did, or waits for the step before.
pub(super) fn reshape(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let leads = living.leader();
    let mut outdated: Vec<&Member<'_>> = living
        .voters()
        .filter(|member| is_outdated(cluster, member) && !is_to_be_replaced(cluster, member))
        .collect();
    // Whom peers cannot dial comes before all others: two of them could be too many.
    let is_reached = |member: &Member<'_>| {
        member
            .pod
            .is_none_or(|pod| cluster.tls.is_reached(member.name, pod))
    };
    outdated.sort_by_key(|member| (is_reached(member), member.id == leads, member.name));
    let Some(member) = outdated.first() else {
        return turn::turn(cluster, situation, membership, living, step);
    };
    if waits_for_the_late(living, "the next pod", step) {
        return true;
    }
    let is_alone = living.voters().count() == 1;
    if member.id == leads && !is_alone {
        leave::move_leader(situation, membership, living, member, step);
        return true;
    }
    make_anew(cluster, situation, membership, living, member, step)
}

/// Waits before `next` for a voter that is behind, and says whether there is one.
pub(super) fn waits_for_the_late(living: &Living<'_>, next: &str, step: &mut Step) -> bool {
    let late = living
        .voters()
        .find(|member| !has_caught_up(member, living));
    let Some(late) = late else { return false };
    let words = format!(
        "{} is not Ready, or receives what it missed; {next} waits for it.",
        late.name
    );
    step.find_of(FindingKind::Waiting, Reason::CatchingUp, late.name, words);
    step.look_again(SOON, Reason::CatchingUp);
    true
}

fn has_caught_up(member: &Member<'_>, living: &Living<'_>) -> bool {
    let leads = living.leader();
    let leader = living
        .voters()
        .find(|member| member.id == leads)
        .and_then(Member::status);
    let (Some(leader), Some(status)) = (leader, member.status()) else {
        return false;
    };
    member.pod.is_some_and(|pod| pod.ready)
        && status.raft_applied_index.saturating_add(LAG) >= leader.raft_index
}

fn make_anew(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    member: &Member<'_>,
    step: &mut Step,
) -> bool {
    let Some(pod) = member.pod else { return false };
    let resource = &situation.snapshot.resource;
    let effect = Effect::Delete {
        kind: ObjectKind::Pod,
        name: pod.name.clone(),
        grace_seconds: None,
    };
    let voters = living.voters().count();
    let mut action = pre::action(resource, effect)
        .present(&pod.uid)
        .on_members(membership)
        .followed_by(build::pod_again(cluster, resource, living, member));
    action.pre.touches = member.id;
    action.pre.healthy_voters = u32::try_from(quorum(voters).min(voters - 1)).ok();
    step.actions.push(action);
    tell_anew(cluster, situation, (member, pod), step);
    true
}

/// Says why a pod goes whose deletion was asked for just now, or that the API server would not have the next one.
fn tell_anew(
    cluster: &Cluster,
    situation: &Situation<'_>,
    (member, pod): (&Member<'_>, &Pod),
    step: &mut Step,
) {
    let (reason, cause) = if adopt::is_old(pod) {
        (Reason::RenewingPods, "its renewal was asked for")
    } else if !cluster.tls.fits(member.name, pod) {
        (Reason::TurningTls, "spec.TLS changed")
    } else {
        (Reason::Reshaping, "spec.pod changed")
    };
    let note = format!(
        "The pod of {} is made again on its own disk, because {cause}",
        member.name
    );
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Normal,
        reason,
        note.clone(),
    ));
    if !failures::tell_refused_successor(&situation.snapshot.outcomes, &pod.name, step) {
        step.find_of(FindingKind::Doing, reason, member.name, format!("{note}."));
        step.look_again(SOON, Reason::PodTerminating);
    }
}
