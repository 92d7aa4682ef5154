//! The first member of a cluster that goes on from a backup: its claim, its pod that fills it, its first answer.
//!
//! What the pod's first containers do is [`crate::build`]'s.

use std::collections::BTreeMap;

use contract::{
    Child, Effect, EventType, FindingKind, ObjectKind, Place, Reason, Restoration,
    RestorationStage, names,
};

use super::{Change, Wish, living};
use crate::assess::{Living, Situation, name_of};
use crate::build::{self, Filling};
use crate::pre::{self, ActionExt};
use crate::step::{LATER, SOON, Step, birth::apply, furnish, issue};
use crate::validate::Cluster;

/// Starts the first member and waits for its answer.
pub(super) fn fill(
    cluster: &Cluster,
    situation: &Situation<'_>,
    memory: &Restoration,
    wish: &Wish<'_>,
    step: &mut Step,
) {
    let living = living(situation);
    if issue::issue(cluster, situation, living, step) || !cluster.tls.can_build() {
        step.find(
            FindingKind::Waiting,
            Reason::Restoring,
            "The certificates of the members come first.".to_owned(),
        );
        step.look_again(LATER, Reason::Restoring);
        return;
    }
    if furnish::is_obstructed(cluster, situation, step) {
        return;
    }
    let Some(seed) = memory.seed.as_deref() else {
        return;
    };
    if let Some(living) = living
        && record(situation, living, memory, seed, step)
    {
        return;
    }
    furnish::furnish(cluster, situation, living, step);
    let pod = living.and_then(|living| living.pods.get(seed).copied());
    let Some(pod) = pod else {
        start(cluster, situation, memory, seed, wish, step);
        return;
    };
    // What its disk may hold is the backup's alone, so it is made again as the spec says now.
    if pod.deleted.is_none() && !pod.running && pod.image != cluster.image {
        let effect = Effect::Delete {
            kind: ObjectKind::Pod,
            name: pod.name.clone(),
            grace_seconds: None,
        };
        let mut action = pre::action(&situation.snapshot.resource, effect).present(&pod.uid);
        action.pre.restore = Some(wish.reference());
        step.actions.push(action);
        step.find_of(
            FindingKind::Doing,
            Reason::Restoring,
            seed,
            format!(
                "{seed} does not run with {}, and the spec asks for {}: its pod is made again.",
                pod.image, cluster.image
            ),
        );
        step.look_again(SOON, Reason::Restoring);
        return;
    }
    let why = pod.waiting.as_deref().or(pod.unschedulable.as_deref());
    let ended = pod
        .last_exit
        .as_ref()
        .filter(|exit| !pod.running && exit.code != 0 && !exit.message.is_empty())
        .map(|exit| format!(" It ended with: {}", last_line(&exit.message)));
    step.find_of(
        FindingKind::Waiting,
        Reason::Restoring,
        seed,
        format!(
            "{seed} takes the backup of EtcdRestore {} onto its disk and starts from it{}.{}",
            memory.restore,
            why.map_or_else(String::new, |why| format!(" ({why})")),
            ended.unwrap_or_default()
        ),
    );
    step.look_again(SOON, Reason::Restoring);
}

/// The end of what a container said, which is where it says why.
fn last_line(message: &str) -> String {
    const LONGEST: usize = 300;
    let line = message.trim().lines().next_back().unwrap_or_default();
    line.chars().take(LONGEST).collect()
}

fn start(
    cluster: &Cluster,
    situation: &Situation<'_>,
    memory: &Restoration,
    seed: &str,
    wish: &Wish<'_>,
    step: &mut Step,
) {
    let snapshot = situation.snapshot;
    let (Some(image), Some(proof), Some(token)) = (
        snapshot.operator_image.as_deref(),
        wish.status.proof.as_ref(),
        memory.token.as_deref(),
    ) else {
        step.find(
            FindingKind::Blocked,
            Reason::RestoreWaiting,
            format!(
                "{seed} cannot be started: the operator does not know its own image, or EtcdRestore {} has lost its \
                 proof.",
                memory.restore
            ),
        );
        return;
    };
    let source = wish.spec.source();
    let Some(place) = Place::of(&source) else {
        step.find(
            FindingKind::Blocked,
            Reason::RestoreWaiting,
            format!(
                "The spec of EtcdRestore {} names no store any more.",
                memory.restore
            ),
        );
        return;
    };
    let resource = &snapshot.resource;
    let claim = living(situation).and_then(|living| living.volumes.get(seed).copied());
    if cluster.has_volumes() && claim.is_none() {
        let claim = build::claim(cluster, resource, seed);
        let action = pre::action(resource, apply(Child::PersistentVolumeClaim(claim)));
        step.actions.push(action.absent());
    }
    let filling = Filling {
        image,
        source: &source,
        place: &place,
        sha256: &proof.sha256,
        token,
        bump: wish.spec.bump_revision.unwrap_or(contract::REVISION_BUMP),
    };
    let pod = build::filled_pod(cluster, resource, seed, &filling);
    let mut action = pre::action(resource, apply(Child::Pod(pod))).absent();
    action.pre.restore = Some(wish.reference());
    action.pre.claim_uid = claim.map(|claim| claim.uid.clone());
    step.actions.push(action);
    step.find_of(
        FindingKind::Doing,
        Reason::Restoring,
        seed,
        format!(
            "{seed} is started from the backup of EtcdRestore {}.",
            memory.restore
        ),
    );
    step.look_again(SOON, Reason::Restoring);
}

/// Records the new cluster id once the first member answers as the only voter. Says whether it did.
fn record(
    situation: &Situation<'_>,
    living: &Living<'_>,
    memory: &Restoration,
    seed: &str,
    step: &mut Step,
) -> bool {
    let Some(list) = living.membership else {
        return false;
    };
    let mut members = list.members.iter().map(name_of);
    let is_alone = members.next() == Some(seed) && members.next().is_none();
    let is_other = memory.replaces != Some(list.cluster_id);
    if !is_alone || !is_other || !living.votes().has_quorum() {
        return false;
    }
    let words = format!(
        "{seed} answers with the data of the backup, as cluster {}; others join it.",
        list.cluster_id
    );
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Normal,
        Reason::Restoring,
        words.clone(),
    ));
    step.find(FindingKind::Doing, Reason::Restoring, words);
    note_filled(situation, living, step);
    step.cluster_id = Some(list.cluster_id);
    step.restoration = Some(Change::Set(Restoration {
        stage: RestorationStage::Growing,
        ..memory.clone()
    }));
    step.look_again(SOON, Reason::Restoring);
    true
}

/// Lets the first containers of a member that answers do nothing when they run again.
pub(super) fn note_filled(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    let unnoted = living.members.iter().filter(|member| member.answers());
    let pods = unnoted.filter_map(|member| member.pod).filter(|pod| {
        pod.annotations
            .get(names::FILLED_ANNOTATION)
            .is_some_and(|filled| filled != "true")
    });
    for pod in pods {
        let effect = Effect::AnnotatePod {
            name: pod.name.clone(),
            annotations: BTreeMap::from([(names::FILLED_ANNOTATION.to_owned(), "true".to_owned())]),
        };
        let action = pre::action(&situation.snapshot.resource, effect);
        step.actions.push(action.present(&pod.uid));
    }
}
