//! Members on their way from one operator to the other: who is, who is next, and who must be mended meanwhile.
//!
//! Whether a cluster is taken over at all, and when that has ended, is [`super`]'s.

use contract::{
    AlarmKind, ClusterId, Effect, EventType, FindingKind, Membership, OldChildren, OldSet, Pod,
    Reason, Volume,
};

use super::{finish, leave_alone, obstacle};
use crate::assess::{Living, Member, Situation, has_ended};
use crate::build;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::step::birth::apply;
use crate::step::repair::BEFORE_RECREATION;
use crate::step::{
    LATER, SOON, Step, depart, ended, failures, furnish, join, leave, left, lost, repair, reshape,
    scale,
};
use crate::validate::Cluster;

/// How far a member is on its way from one operator to the other.
enum Turn<'a> {
    /// The archived operator keeps its pod.
    Kept(&'a OldSet),
    /// Its pod has nobody to keep it, and goes.
    Ending(&'a Pod),
    /// Nobody can start it on its claim, which is nobody's.
    Free(&'a Volume),
    /// Its claim is this cluster's, and it has no pod.
    Down(&'a Volume),
    /// It has come over, and its pod has ended for good.
    Ended(&'a Pod, &'a Volume),
    /// It has come over, or has no disk to come over on.
    Over,
}

fn turn<'a>(situation: &Situation<'_>, old: &OldChildren<'a>, member: &Member<'a>) -> Turn<'a> {
    let own = Some(situation.snapshot.resource.uid.as_str());
    if let Some(set) = old.sets.iter().find(|set| set.name == member.name) {
        return Turn::Kept(set);
    }
    let usable = |claim: &&Volume| claim.stays();
    match (member.pod, member.volume.filter(usable)) {
        (Some(pod), _) if pod.owner.as_deref() != own => Turn::Ending(pod),
        (Some(pod), Some(claim)) if has_ended(pod) && pod.deleted.is_none() => {
            Turn::Ended(pod, claim)
        }
        (Some(_), _) | (None, None) => Turn::Over,
        (None, Some(claim)) if claim.owner.as_deref() == own => Turn::Down(claim),
        (None, Some(claim)) if claim.owner.is_none() => Turn::Free(claim),
        // It was given to somebody meanwhile.
        (None, Some(_)) => Turn::Over,
    }
}

/// Takes the next step of a take-over: finishes with who is on the way, else begins with the next one.
pub(super) fn go_on(
    cluster: &Cluster,
    situation: &Situation<'_>,
    (cluster_id, living): (ClusterId, &Living<'_>),
    old: &OldChildren<'_>,
    step: &mut Step,
) {
    if situation.snapshot.old_sets.seen().is_none() {
        let why = obstacle(cluster, situation, old).unwrap_or_default();
        leave_alone(old, &why, step);
        return;
    }
    let mut kept = Vec::new();
    let mut is_on_the_way = false;
    for member in &living.members {
        match turn(situation, old, member) {
            Turn::Kept(set) => kept.push((member, set)),
            Turn::Over => {}
            turn @ (Turn::Ending(_) | Turn::Free(_) | Turn::Down(_) | Turn::Ended(..)) => {
                is_on_the_way = true;
                bring_over(cluster, situation, living, (member, &turn), step);
            }
        }
    }
    if is_on_the_way {
        step.look_again(SOON, Reason::Adopted);
    } else if kept.is_empty() {
        // The Service is known by its new labels afterwards.
        let before = step.actions.len();
        furnish::furnish(cluster, situation, Some(living), step);
        if step.actions.len() == before {
            finish(situation, old, step);
        } else {
            let words = "All members run in pods of this operator; their Service selects these from now on.";
            step.find(FindingKind::Doing, Reason::Adopted, words.to_owned());
            step.look_again(SOON, Reason::Adopted);
        }
    } else if let Some(why) = obstacle(cluster, situation, old) {
        leave_alone(old, &why, step);
    } else if let Some(membership) = living.membership {
        take_next(cluster, situation, membership, living, &kept, step);
    } else {
        lost::say(situation, cluster_id, living, step);
    }
}

fn bring_over(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    (member, turn): (&Member<'_>, &Turn<'_>),
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let words = match turn {
        Turn::Free(claim) => {
            step.actions.push(left::taking_up(situation, claim, ""));
            "its volume claim becomes this cluster's"
        }
        Turn::Down(claim) => {
            let pod = build::pod_again(cluster, resource, living, member);
            let mut action = pre::action(resource, apply(contract::Child::Pod(pod))).absent();
            action.pre.claim_uid = Some(claim.uid.clone());
            step.actions.push(action);
            "its pod is made on its own disk"
        }
        Turn::Ended(pod, claim) => {
            step.actions.push(ended::deletion_on(situation, pod, claim));
            "its pod has ended, and is made again"
        }
        Turn::Ending(pod) if pod.deleted.is_none() => {
            let words = format!(
                "{} is taken over: its pod {} is of a ReplicaSet that is gone, so Kubernetes deletes it. If it stays, delete it.",
                member.name, pod.name
            );
            step.find_of(FindingKind::Waiting, Reason::Adopted, member.name, words);
            return;
        }
        Turn::Ending(_) | Turn::Kept(_) | Turn::Over => "the pod that its ReplicaSet made ends",
    };
    step.find_of(
        FindingKind::Doing,
        Reason::Adopted,
        member.name,
        format!("{} is taken over: {words}.", member.name),
    );
}

/// Goes on with the next member: one that has been down for long, else one that does not lead, else the leader.
fn take_next(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    kept: &[(&Member<'_>, &OldSet)],
    step: &mut Step,
) {
    let leads = living.leader();
    let next = kept
        .iter()
        .min_by_key(|(member, _)| (member.is_healthy(), member.id == leads, member.name));
    let Some((member, set)) = next else { return };
    tell_corrupt(situation, living, step);
    if !member.is_healthy() {
        let down = living.down_for(member, situation.snapshot.now);
        if down < BEFORE_RECREATION {
            let words = format!(
                "{} is not healthy ({}), and is taken over when that lasts for {} s; the others wait for it.",
                member.name,
                member.complaint(),
                BEFORE_RECREATION.0 / 1000
            );
            step.find_of(
                FindingKind::Waiting,
                Reason::MemberUnhealthy,
                member.name,
                words,
            );
            step.look_again(LATER, Reason::MemberUnhealthy);
            return;
        }
    } else if mend(cluster, situation, membership, living, step) || is_corrupt(situation) {
        return;
    } else if reshape::waits_for_the_late(living, "the next member", step) {
        tell_full(situation, living, step);
        return;
    } else if member.id == leads && living.voters().count() > 1 {
        leave::move_leader(situation, membership, living, member, step);
        return;
    }
    if member.volume.is_some_and(|claim| !claim.stays()) {
        let words = format!(
            "The volume claim of {name} is being deleted or lost, and what it holds would go with its pod, so {name} is not taken \
             over. Raise spec.size where fewer than three members vote; once a new one does, delete the ReplicaSet {set}, and \
             another member takes the place of {name}.",
            name = member.name,
            set = set.name
        );
        step.find_of(FindingKind::Blocked, Reason::DiskLost, member.name, words);
        return;
    }
    retire(cluster, situation, membership, living, (member, set), step);
}

/// Under an alarm no member is Ready before etcd 3.4.29 and 3.5.12, and room is made only when all have come over.
fn tell_full(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    if !situation.snapshot.etcd.is_alarmed(AlarmKind::Nospace) {
        return;
    }
    let Some(pod) = pod_of_leader(living) else {
        return;
    };
    let words = format!(
        "etcd has no space left and serves only reads and deletes, and with etcd before 3.4.29 and 3.5.12 no member is Ready \
         meanwhile, so no other one is taken over. The operator makes room once all are; until then it is for you to do, \
         one command after the other, each after \"kubectl --namespace {} exec {} -- \": \"etcdctl endpoint status \
         --write-out=json\", which tells the revision; \"etcdctl compact REVISION\"; \"etcdctl defrag --cluster\"; \
         \"etcdctl alarm disarm\".",
        situation.snapshot.resource.namespace, pod.name
    );
    step.find(FindingKind::Blocked, Reason::NoSpace, words);
}

fn is_corrupt(situation: &Situation<'_>) -> bool {
    situation.snapshot.etcd.is_alarmed(AlarmKind::Corrupt)
}

/// Under this alarm no member is Ready with any etcd, and whose data is right is found out only when all have come over.
fn tell_corrupt(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    let Some(pod) = pod_of_leader(living).filter(|_| is_corrupt(situation)) else {
        return;
    };
    let words = format!(
        "etcd found that members disagree on their data, and serves nobody, so no other member is taken over. Until all are it \
         is for you to settle, one command after the other, each after \"kubectl --namespace {} exec {} -- \": \"etcdctl \
         endpoint hashkv --cluster\", which tells the hash of each member; \"etcdctl member remove ID\" for one that a quorum \
         with equal hashes outvotes; \"etcdctl alarm disarm\" once all hashes are equal. Without such a quorum nobody knows \
         whose data is right: save a snapshot of each member (etcdctl snapshot save), choose one, and restore it into a cluster \
         of another name.",
        situation.snapshot.resource.namespace, pod.name
    );
    step.find(FindingKind::Blocked, Reason::DataCorrupt, words);
    step.look_again(LATER, Reason::DataCorrupt);
}

fn pod_of_leader<'a>(living: &Living<'a>) -> Option<&'a Pod> {
    let leads = living.leader();
    let mut voters = living.voters();
    voters.find(|member| member.id == leads)?.pod
}

/// Sees to those who have come over and are not well, to members that join, and to the number of members. Says whether there
/// was anything to do or to wait for.
fn mend(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    depart::finish(cluster, situation, living, step);
    let is_small = !is_corrupt(situation)
        && cluster
            .size
            .is_some_and(|size| living.voters().count() < size);
    repair::replace(cluster, situation, membership, living, step)
        || join::attend(cluster, situation, membership, living, step)
        || repair::is_waiting(living)
        || (is_small && scale::scale(cluster, situation, membership, living, step))
}

/// Deletes the ReplicaSet of a member, with which its pod goes.
fn retire(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    (member, set): (&Member<'_>, &OldSet),
    step: &mut Step,
) {
    let voters = living.voters().count();
    let resource = &situation.snapshot.resource;
    let effect = Effect::RetireReplicaSet {
        name: set.name.clone(),
        owner: set.owner.clone().unwrap_or_default(),
    };
    let mut action = pre::action(resource, effect)
        .present(&set.uid)
        .on_members(membership)
        .followed_by(build::pod_again(cluster, resource, living, member));
    action.pre.touches = member.id;
    action.pre.healthy_voters = u32::try_from(quorum(voters).min(voters.saturating_sub(1))).ok();
    step.actions.push(action);
    let note = format!(
        "{} is taken over: its ReplicaSet is deleted, and its pod made anew on its own disk",
        member.name
    );
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::Adopted,
        note.clone(),
    ));
    if !failures::tell_refused_successor(&situation.snapshot.outcomes, &set.name, step) {
        step.find_of(
            FindingKind::Doing,
            Reason::Adopted,
            member.name,
            format!("{note}."),
        );
        step.look_again(SOON, Reason::Adopted);
    }
}
