//! Brings a listed member to life: its pod, its catching up, its vote.
//!
//! At most one member is on its way at a time. A learner costs no vote, so one that gets stuck is taken out again.

mod hearing;

use contract::{
    AlarmKind, Child, Effect, EndpointStatus, EventType, FindingKind, MemberId, Membership, Millis,
    Reason, VolumePhase,
};

use super::{
    LATER, SOON, Step, birth::apply, budget, leave, noop, repair, reshape, scale, space, storage,
    strangers,
};
use crate::assess::{Disk, Health, Living, Member, Situation};
use crate::build::{self, Start};
use crate::pre::{self, ActionExt};
use crate::quorum::Votes;
use crate::validate::Cluster;

/// How long a learner may be down before it is taken out again.
const LEARNER_PATIENCE: Millis = Millis::seconds(180);
/// Percentage of the leader's log from which etcd lets a learner be promoted.
const CAUGHT_UP_PERCENT: u64 = 90;

/// Looks after the member on its way, if there is one. Says whether this pass may change the member list no further.
pub(super) fn attend(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let Some((learner, id)) = living
        .learner()
        .and_then(|learner| Some((learner, learner.id?)))
    else {
        create(cluster, situation, membership, living, step);
        return false;
    };
    if scale::is_full(cluster, living) {
        let note = format!("{} is not needed any more", learner.name);
        let why = (Reason::ScalingDown, "Member Removed", note);
        take_out(situation, membership, living, (learner, id), why, step);
        return true;
    }
    // The alarm may last until that voter is gone, and the learner gets no vote before the alarm has ended.
    if situation.snapshot.etcd.is_alarmed(AlarmKind::Corrupt)
        && repair::is_replacement_due(cluster, situation, living)
    {
        let note = format!(
            "Members disagree on their data, and nobody can tell what learner {} has; it makes room for a voter that is to be \
             replaced",
            learner.name
        );
        let why = (Reason::DataCorrupt, Reason::DataCorrupt.name(), note);
        take_out(situation, membership, living, (learner, id), why, step);
        return true;
    }
    let loses_its_disk = reshape::loses_its_disk(learner);
    if learner.disk == Disk::Lost
        || loses_its_disk
        || is_stuck(cluster, situation, living, learner, id)
    {
        let complaint = match learner.health {
            _ if loses_its_disk => {
                "its volume claim is being deleted, lost or not the cluster's any more"
            }
            Health::Healthy(_) => hearing::COMPLAINT,
            Health::Unhealthy(_) | Health::Unknown(_) => learner.complaint(),
        };
        let note = format!(
            "Learner {} did not catch up ({complaint}); another one takes its place",
            learner.name
        );
        let why = (Reason::LearnerStuck, Reason::LearnerStuck.name(), note);
        take_out(situation, membership, living, (learner, id), why, step);
        return true;
    }
    create(cluster, situation, membership, living, step);
    match &learner.health {
        Health::Healthy(status) => {
            let learner = (learner, id, *status);
            promote_or_wait(cluster, situation, membership, living, learner, step);
        }
        Health::Unhealthy(why) | Health::Unknown(why) => {
            wait_for_answer(situation, membership, living, (learner, why), step);
        }
    }
    true
}

/// Takes the learner out of the list, which those who vote have to agree on.
fn take_out(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    (learner, id): (&Member<'_>, MemberId),
    (reason, event, note): (Reason, &str, String),
    step: &mut Step,
) {
    let Votes { voters, healthy } = living.votes();
    if !living.votes().has_quorum() {
        let words = format!(
            "{note}. It is taken out once more than half of the voters answer: {healthy} of {voters} do."
        );
        step.find_of(FindingKind::Waiting, reason, learner.name, words);
        step.look_again(LATER, reason);
        return;
    }
    step.find_of(
        FindingKind::Doing,
        reason,
        learner.name,
        format!("{note}; it is taken out."),
    );
    leave::remove(
        situation,
        membership,
        living,
        learner,
        id,
        (event, note),
        step,
    );
}

/// Makes what a listed member that never started lacks: its volume claim, then its pod.
fn create(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) {
    if !cluster.tls.can_build() || !budget::is_ready_for_learner(cluster, situation, living) {
        return;
    }
    let resource = &situation.snapshot.resource;
    let own = format!("{}-", cluster.name);
    let unmade = living.members.iter().find(|member| {
        !member.started
            && member.pod.is_none()
            && member.name.starts_with(&own)
            && member.volume.is_none_or(|volume| volume.deleted.is_none())
    });
    let Some(member) = unmade else { return };
    if strangers::tell_of_namesake(situation, member.name, step) {
        return;
    }
    if cluster.has_volumes() && member.volume.is_none() {
        let claim = build::claim(cluster, resource, member.name);
        step.actions.push(
            pre::action(resource, apply(Child::PersistentVolumeClaim(claim)))
                .absent()
                .on_members(membership),
        );
    }
    step.actions
        .push(join_pod(cluster, situation, membership, living, member));
}

fn join_pod(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    member: &Member<'_>,
) -> contract::Action {
    let resource = &situation.snapshot.resource;
    let image = build::running_image(living).unwrap_or(&cluster.image);
    let pod = build::pod(
        cluster,
        resource,
        member.name,
        image,
        &Start::join(membership, member.name),
    );
    let mut action = pre::action(resource, apply(Child::Pod(pod)))
        .absent()
        .on_members(membership);
    action.pre.claim_uid = member.volume.map(|volume| volume.uid.clone());
    action
}

/// Whether a learner is to make room for another one. Where a new one would fare no better, it is not: without an
/// image or a budget, or while no node has room for a claim that is still free. But it holds up no voter's replacement,
/// and no room that is to be made.
fn is_stuck(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    learner: &Member<'_>,
    id: MemberId,
) -> bool {
    if let Health::Healthy(status) = &learner.health {
        return hearing::is_given_up(situation, living, (learner, id, status));
    }
    // Another one is made from the spec as it is now.
    let is_running = learner.pod.is_some_and(|pod| pod.running);
    let waits_in_vain = learner
        .volume
        .is_some_and(|claim| storage::waits_in_vain(cluster, claim));
    if (reshape::is_outdated(cluster, learner) || waits_in_vain) && !is_running {
        return true;
    }
    let is_free = learner
        .volume
        .is_none_or(|volume| volume.phase == VolumePhase::Pending);
    let has_no_budget =
        learner.pod.is_none() && !budget::is_ready_for_learner(cluster, situation, living);
    let is_hopeless = has_no_budget
        || learner.pod.is_some_and(|pod| {
            let no_image = build::running_image(living) == Some(pod.image.as_str())
                && pod
                    .waiting
                    .as_deref()
                    .is_some_and(|why| why.contains("Image"));
            no_image || (pod.unschedulable.is_some() && is_free)
        });
    learner.in_role_for(situation.snapshot.now) >= LEARNER_PATIENCE
        && (!is_hopeless
            || repair::is_replacement_due(cluster, situation, living)
            || space::is_held_up(situation, living))
}

fn wait_for_answer(
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    (learner, why): (&Member<'_>, &str),
    step: &mut Step,
) {
    let name = learner.name;
    let slow = learner.in_role_for(situation.snapshot.now) > noop::SILENCE;
    let is_silent = learner.pod.is_some_and(|pod| pod.running);
    let way = if slow && is_silent && living.votes().has_quorum() {
        noop::append(situation, membership, living, step)
    } else {
        ""
    };
    step.find_of(
        FindingKind::Waiting,
        Reason::LearnerCatchingUp,
        name,
        format!("New member {name} is not up yet: {why}.{way}"),
    );
    step.look_again(if slow { LATER } else { SOON }, Reason::LearnerCatchingUp);
}

fn promote_or_wait(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    (learner, id, status): (&Member<'_>, MemberId, &EndpointStatus),
    step: &mut Step,
) {
    let name = learner.name;
    // Whoever leads may be the one in the wrong, and a learner has what its leader has.
    if situation.snapshot.etcd.is_alarmed(AlarmKind::Corrupt) {
        step.find_of(
            FindingKind::Waiting,
            Reason::DataCorrupt,
            name,
            format!(
                "New member {name} gets no vote while members disagree on their data: what it has may be of one that is in \
                 the wrong. It votes once the alarm CORRUPT has ended."
            ),
        );
        step.look_again(LATER, Reason::DataCorrupt);
        return;
    }
    if leading(living).is_none() {
        step.find_of(
            FindingKind::Waiting,
            Reason::LearnerCatchingUp,
            name,
            "Voters do not agree on a leader yet.".to_owned(),
        );
        step.look_again(SOON, Reason::LearnerCatchingUp);
        return;
    }
    if is_behind(living, status) {
        step.find_of(
            FindingKind::Waiting,
            Reason::LearnerCatchingUp,
            name,
            format!("New member {name} receives the leader's log before it gets a vote."),
        );
        step.look_again(SOON, Reason::LearnerCatchingUp);
        return;
    }
    let Votes { voters, healthy } = living.votes();
    if let Some(too_few) = living.votes().why_unsafe_to_promote() {
        step.find_of(
            FindingKind::Waiting,
            Reason::LearnerCatchingUp,
            name,
            format!("{name} has caught up, but {healthy} of {voters} voters are healthy and {} are needed for its vote.", too_few.needed),
        );
        step.look_again(LATER, Reason::LearnerCatchingUp);
        return;
    }
    if !budget::raise(cluster, situation, living, step) {
        step.look_again(LATER, Reason::LearnerCatchingUp);
        return;
    }
    let resource = &situation.snapshot.resource;
    let mut action = pre::action(resource, Effect::Promote { member: id }).on_members(membership);
    action.pre.healthy_voters = u32::try_from(crate::quorum::quorum(voters + 1)).ok();
    step.actions.push(action);
    step.actions.push(pre::event(
        resource,
        EventType::Normal,
        "New Member Added",
        format!("New member {name} got its vote"),
    ));
    if hearing::is_unheard(situation, id) {
        hearing::tell(name, step);
        return;
    }
    step.find_of(
        FindingKind::Doing,
        Reason::ScalingUp,
        name,
        format!("New member {name} has caught up and gets its vote."),
    );
    step.look_again(SOON, Reason::LearnerCatchingUp);
}

/// What the voter says of itself that voters agree on as their leader.
fn leading<'a>(living: &'a Living<'_>) -> Option<&'a EndpointStatus> {
    let id = living.leader()?;
    let mut voters = living.voters();
    voters
        .find(|member| member.id == Some(id))
        .and_then(Member::status)
}

/// Whether etcd would not promote it yet, by the log of whoever leads.
fn is_behind(living: &Living<'_>, learner: &EndpointStatus) -> bool {
    leading(living).is_some_and(|leader| {
        let least = leader.raft_index.saturating_mul(CAUGHT_UP_PERCENT);
        learner.raft_index.saturating_mul(100) < least
    })
}
