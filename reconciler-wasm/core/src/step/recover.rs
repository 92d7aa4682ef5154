//! Recovery of a lost quorum: from one member, when a person consented to lose what it does not have.
//!
//! # Flow
//! 1. [`super::consent`] names the member that has the newest data, and what a person types to consent.
//! 2. It holds the consent against what is so, and remembers the recovery before anything is done.
//! 3. `attend` stops every member and waits until no pod is left, so that nobody else can vote.
//! 4. It makes the survivor's pod again with `--force-new-cluster` on its own claim. Once the survivor answers as the
//!    only voter, the flag is taken back before anything else.
//! 5. The pod is made once more without the flag: a kubelet that did not hear of the annotation must not start it alone
//!    again, beside others. From then on it is a cluster of one, and grows.
//!
//! # Guarantees
//! Without a consent that names this cluster and this member nothing happens. A consent counts once: one that is found
//! while a quorum answers is remembered as void. The claims of the others stay until the cluster has its size again.
//!
//! See <https://etcd.io/docs/v3.6/op-guide/recovery/#restarting-a-cluster-from-a-single-member> on the flag.

mod hold;
mod own;

use std::collections::BTreeMap;

use contract::{
    Effect, EventType, FindingKind, Membership, Millis, ObjectKind, Pod, Reason, Recovery,
    RecoveryStage, names,
};

pub(super) use hold::has_lost_its_disk;

use super::{DEAD_NODE, SOON, Sleep, Step, birth::apply, consent::is_of, ended, lost, repair};
use crate::assess::{Living, Member, Situation, has_ended, name_of};
use crate::build::{self, Start};
use crate::pre::{self, ActionExt};
use crate::validate::Cluster;

/// How often a recovery that waits is looked at.
const PACE: Millis = Millis::seconds(1);

/// What a pass changes in the memory of a consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// This is remembered.
    Set(Recovery),
    /// Nothing is.
    Forget,
}

/// Goes on with a recovery that has begun. Says whether there is one.
pub(super) fn attend(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let Some(recovery) = &situation.memory.recovery else {
        return false;
    };
    let consented = cluster
        .consent
        .as_ref()
        .is_some_and(|consent| is_of(recovery, consent));
    match (recovery.stage, living.membership) {
        (RecoveryStage::Done | RecoveryStage::Void, _) => return false,
        (RecoveryStage::Stopping | RecoveryStage::Forcing, Some(list)) => {
            answered(situation, living, recovery, list, step);
        }
        (RecoveryStage::Renewing, _) => renew(cluster, situation, living, recovery, step),
        (RecoveryStage::Stopping, None) if !consented => {
            step.find(
                FindingKind::Doing,
                Reason::RecoveringQuorum,
                "The consent was taken back before anything was lost; the members are started again.".to_owned(),
            );
            step.recovery = Some(Change::Forget);
        }
        (RecoveryStage::Stopping, None) => stop(situation, living, recovery, step),
        (RecoveryStage::Forcing, None) => {
            force(cluster, situation, living, recovery, consented, step)
        }
    }
    step.look_again(PACE, Reason::RecoveringQuorum);
    true
}

/// Deletes every pod; when none is left the survivor may be started.
fn stop(situation: &Situation<'_>, living: &Living<'_>, recovery: &Recovery, step: &mut Step) {
    if hold::has_no_disk(situation, living, recovery, step) {
        return;
    }
    if living.pods.is_empty() {
        if hold::is_beside_strangers(situation, recovery, step) {
            return;
        }
        step.find(
            FindingKind::Doing,
            Reason::RecoveringQuorum,
            format!(
                "All members are stopped; {} is started as the only one.",
                recovery.survivor
            ),
        );
        step.recovery = Some(Change::Set(Recovery {
            stage: RecoveryStage::Forcing,
            ..recovery.clone()
        }));
        step.look_again(SOON, Reason::RecoveringQuorum);
        return;
    }
    // The survivor last, so that what is known of it is known for as long as possible.
    let mut pods: Vec<&Pod> = living.pods.values().copied().collect();
    pods.sort_by_key(|pod| pod.name == recovery.survivor);
    delete(situation, living, recovery, &pods, step);
    let names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
    step.find(
        FindingKind::Waiting,
        Reason::RecoveringQuorum,
        format!(
            "Waiting until the pods {} have ended, because whoever runs could still vote. {DEAD_NODE}",
            names.join(", ")
        ),
    );
}

fn delete(
    situation: &Situation<'_>,
    living: &Living<'_>,
    recovery: &Recovery,
    pods: &[&Pod],
    step: &mut Step,
) {
    for pod in pods.iter().filter(|pod| pod.deleted.is_none()) {
        let effect = Effect::Delete {
            kind: ObjectKind::Pod,
            name: pod.name.clone(),
            grace_seconds: None,
        };
        let mut action = pre::action(&situation.snapshot.resource, effect).present(&pod.uid);
        // What the others have is given up: a claim of theirs that goes, too, is no reason to let them vote.
        let survivor = living.volumes.get(recovery.survivor.as_str());
        action.pre.claim_uid = survivor
            .filter(|volume| volume.name == pod.name)
            .map(|volume| volume.uid.clone());
        action.pre.recovery = true;
        step.actions.push(action);
    }
}

/// Starts the survivor as the only member of its cluster, and waits for its answer.
fn force(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    recovery: &Recovery,
    consented: bool,
    step: &mut Step,
) {
    own::furnish(cluster, situation, living, step);
    let survivor = recovery.survivor.as_str();
    let (own, others): (Vec<&Pod>, Vec<&Pod>) = living.pods.values().copied().partition(|pod| {
        let flag = names::FORCE_NEW_CLUSTER_ANNOTATION;
        pod.name == survivor && pod.annotations.contains_key(flag)
    });
    let will_start = own.first().is_some_and(|pod| !has_ended(pod));
    if !will_start && hold::has_no_disk(situation, living, recovery, step) {
        return;
    }
    if !consented && !will_start {
        step.find(
            FindingKind::Blocked,
            Reason::RecoveringQuorum,
            format!(
                "{survivor} was to be started as the only member: spec.quorumRecovery no longer names it. It may have \
                 gone on alone already, so set it again to end this."
            ),
        );
        return;
    }
    if let Some(pod) = own.first() {
        delete(situation, living, recovery, &others, step);
        if consented && others.is_empty() {
            ended::take_away(situation, living, step);
            own::correct(cluster, situation, living, step);
        }
        let why = own::complaint(living, survivor);
        step.find_of(
            FindingKind::Waiting,
            Reason::RecoveringQuorum,
            survivor,
            format!(
                "{} starts as the only member: {why}.{}",
                pod.name,
                lost::way_of_held_up(situation, living.pods.values().copied())
            ),
        );
        return;
    }
    if others.is_empty() && hold::is_beside_strangers(situation, recovery, step) {
        return;
    }
    delete(situation, living, recovery, &others, step);
    if !own::has_files(cluster, survivor, step) {
        return;
    }
    step.find_of(
        FindingKind::Doing,
        Reason::RecoveringQuorum,
        survivor,
        format!(
            "{survivor} is started as the only member of the cluster.{}",
            lost::way_of_held_up(situation, living.pods.values().copied())
        ),
    );
    if others.is_empty() {
        // Never an older version than the survivor ran: its data may be of the newer one.
        let record = living.members.iter().find(|member| member.name == survivor);
        let image = record
            .and_then(|member| member.record?.image.as_deref())
            .or_else(|| build::running_image(living))
            .unwrap_or(&cluster.image);
        let start = Start::alone(cluster, survivor);
        let pod = build::pod_on_claim(
            cluster,
            &situation.snapshot.resource,
            survivor,
            image,
            &start,
        );
        let mut action = pre::action(
            &situation.snapshot.resource,
            apply(contract::Child::Pod(pod)),
        )
        .absent();
        let volume = living.volumes.get(survivor);
        action.pre.claim_uid = volume.map(|volume| volume.uid.clone());
        action.pre.recovery = true;
        step.actions.push(action);
    }
}

/// A quorum answers while a recovery is under way: the survivor alone, or those who were thought lost.
fn answered(
    situation: &Situation<'_>,
    living: &Living<'_>,
    recovery: &Recovery,
    list: &Membership,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let flagged = living.pods.values().find(|pod| {
        let flag = pod.annotations.get(names::FORCE_NEW_CLUSTER_ANNOTATION);
        flag.is_some_and(|flag| !flag.is_empty()) && pod.deleted.is_none()
    });
    if let Some(pod) = flagged {
        let effect = Effect::AnnotatePod {
            name: pod.name.clone(),
            annotations: BTreeMap::from([(
                names::FORCE_NEW_CLUSTER_ANNOTATION.to_owned(),
                String::new(),
            )]),
        };
        step.actions
            .push(pre::action(resource, effect).present(&pod.uid));
        step.look_again(SOON, Reason::RecoveringQuorum);
    }
    let mut voters = list.voters().map(name_of);
    let is_alone = voters.next() == Some(recovery.survivor.as_str()) && voters.next().is_none();
    if !is_alone {
        // Nobody takes the flag back once the recovery is void, and whoever has it starts alone beside the others.
        if flagged.is_some() {
            return;
        }
        step.find(
            FindingKind::Doing,
            Reason::ConsentNotUsed,
            "The quorum came back by itself; the consent is not needed.".to_owned(),
        );
        step.recovery = Some(Change::Set(Recovery {
            stage: RecoveryStage::Void,
            given_up: Vec::new(),
            ..recovery.clone()
        }));
        return;
    }
    step.find(
        FindingKind::Doing,
        Reason::RecoveringQuorum,
        format!(
            "{} answers as the only voter of cluster {}.",
            recovery.survivor, list.cluster_id
        ),
    );
    if flagged.is_some() {
        return;
    }
    // etcd before 3.5.25 and 3.6.6 keeps learners in the list.
    if let Some(learner) = list.members.iter().find(|member| member.learner) {
        let mut action =
            pre::action(resource, Effect::RemoveMember { member: learner.id }).on_members(list);
        action.pre.healthy_voters = Some(1);
        action.pre.touches = Some(learner.id);
        step.actions.push(action);
        return;
    }
    step.recovery = Some(Change::Set(Recovery {
        stage: RecoveryStage::Renewing,
        ..recovery.clone()
    }));
    step.look_again(SOON, Reason::RecoveringQuorum);
}

/// Makes the survivor's pod once more, as an ordinary one.
fn renew(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    recovery: &Recovery,
    step: &mut Step,
) {
    own::furnish(cluster, situation, living, step);
    let survivor = recovery.survivor.as_str();
    let flagged: Vec<&Pod> = living
        .pods
        .values()
        .copied()
        .filter(|pod| {
            pod.annotations
                .contains_key(names::FORCE_NEW_CLUSTER_ANNOTATION)
        })
        .collect();
    let own = living.pods.get(survivor);
    let is_made = flagged.is_empty() && own.is_some_and(|pod| !has_ended(pod));
    if !is_made && hold::has_no_disk(situation, living, recovery, step) {
        return;
    }
    step.find_of(
        FindingKind::Doing,
        Reason::RecoveringQuorum,
        survivor,
        format!(
            "{survivor} is the only member now and is started once more as any other: {}.{}",
            own::complaint(living, survivor),
            lost::way_of_held_up(situation, living.pods.values().copied())
        ),
    );
    if !flagged.is_empty() {
        delete(situation, living, recovery, &flagged, step);
        return;
    }
    repair::restore_pods(cluster, situation, living, step);
    let Some(list) = living.membership else {
        own::correct(cluster, situation, living, step);
        return;
    };
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Normal,
        Reason::RecoveringQuorum,
        format!(
            "{survivor} is the only member of cluster {} now; others join it",
            list.cluster_id
        ),
    ));
    step.recovery = Some(Change::Set(Recovery {
        stage: RecoveryStage::Done,
        ..recovery.clone()
    }));
    if situation.memory.asleep_since.is_some() {
        step.sleep = Some(Sleep::Ends);
    }
    step.look_again(SOON, Reason::RecoveringQuorum);
}

/// Whether the claim of one who is not in the list is kept: of those given up, until the cluster has its size again. At size 0
/// it has none, and people were told that they can copy the claims away.
pub(super) fn keeps_claim(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    name: &str,
) -> bool {
    let given_up = situation
        .memory
        .recovery
        .as_ref()
        .is_some_and(|recovery| recovery.given_up.iter().any(|one| one == name));
    let is_whole = living.learner().is_none()
        && living.voters().all(Member::is_healthy)
        && cluster
            .size
            .is_some_and(|size| size > 0 && living.voters().count() >= size);
    given_up && !is_whole
}
