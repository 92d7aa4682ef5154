//! The founders of a cluster that goes on from a backup: their claims, their pods that fill them, their first answers.
//!
//! All are filled from the same bytes, so none waits for another. What a pod's first containers do is [`crate::build`]'s.

use std::collections::{BTreeMap, BTreeSet};

use contract::{
    Child, Effect, EventType, FindingKind, ObjectKind, Place, Pod, Reason, Restoration,
    RestorationStage, names,
};

use super::{Change, Wish, again, living};
use crate::assess::{Living, Situation, name_of};
use crate::build::{self, Filling};
use crate::pre::{self, ActionExt};
use crate::step::{DEAD_NODE, LATER, SOON, Step, birth::apply, furnish, issue, lost};
use crate::validate::Cluster;

/// Starts the founders and waits for a quorum of them.
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
    if let Some(living) = living
        && record(situation, living, memory, step)
    {
        return;
    }
    furnish::furnish(cluster, situation, living, step);
    for name in &memory.founders {
        match living.and_then(|living| living.pods.get(name.as_str()).copied()) {
            None => start(cluster, situation, memory, name, wish, step),
            Some(pod) => wait(cluster, situation, pod, wish, step),
        }
    }
    // Users are part of what is restored.
    if let Some(words) = lost::wants_a_user(situation) {
        step.find(FindingKind::Blocked, Reason::MembersUnknown, words);
    }
    step.look_again(SOON, Reason::Restoring);
}

/// Members of one list have the same bytes: those of a spec that was edited since may be others.
fn edited(name: &str, wish: &Wish<'_>, step: &mut Step) {
    let words = format!(
        "{name} is not made: EtcdRestore {0} was edited after the first members were filled. Delete it and create another \
         one; the volume claims of before are kept: kubectl --namespace {1} delete etcdrestore {0}",
        wish.resource.name, wish.resource.namespace
    );
    step.find_of(FindingKind::Blocked, Reason::RestoreWaiting, name, words);
}

/// Says what a founder is at, or has its pod made again as the spec says now.
fn wait(cluster: &Cluster, situation: &Situation<'_>, pod: &Pod, wish: &Wish<'_>, step: &mut Step) {
    let name = &pod.name;
    if pod.deleted.is_some() {
        let words = format!(
            "The pod of {name} is being terminated; it is made again once it has ended. {DEAD_NODE}"
        );
        step.find_of(FindingKind::Waiting, Reason::Restoring, name, words);
        return;
    }
    let again = again::why(cluster, pod);
    if again.is_some() && !wish.is_proven() {
        edited(name, wish, step);
        return;
    }
    if let Some(words) = again {
        let effect = Effect::Delete {
            kind: ObjectKind::Pod,
            name: name.clone(),
            grace_seconds: None,
        };
        let mut action = pre::action(&situation.snapshot.resource, effect).present(&pod.uid);
        action.pre.restore = Some(wish.reference());
        step.actions.push(action);
        step.find_of(FindingKind::Doing, Reason::Restoring, name, words);
        return;
    }
    let namespace = &situation.snapshot.resource.namespace;
    if let Some(words) = again::why_not(cluster, living(situation), pod, namespace) {
        step.find_of(FindingKind::Blocked, Reason::Restoring, name, words);
        return;
    }
    let why = pod.waiting.as_deref().or(pod.unschedulable.as_deref());
    let ended = pod
        .last_exit
        .as_ref()
        .filter(|exit| !pod.running && exit.code != 0 && !exit.message.is_empty())
        .map(|exit| {
            format!(
                " It ended with: {}",
                last_line(&exit.message).trim_end_matches('.')
            )
        });
    let what = format!(
        "{name} takes the backup of EtcdRestore {0} onto its disk and starts from it{1}.",
        wish.resource.name,
        why.map_or_else(String::new, |why| format!(" ({why})")),
    );
    let (kind, words) = match ended {
        None => (FindingKind::Waiting, what),
        // It is tried again; what is wrong may be for a person to mend.
        Some(ended) => (
            FindingKind::Blocked,
            format!(
                "{what}{ended}. If that does not pass, delete EtcdRestore {0} and create one of another backup: \
                 kubectl --namespace {1} delete etcdrestore {0}. The volume claims of before are kept.",
                wish.resource.name, wish.resource.namespace
            ),
        ),
    };
    step.find_of(kind, Reason::Restoring, name, words);
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
    name: &str,
    wish: &Wish<'_>,
    step: &mut Step,
) {
    let snapshot = situation.snapshot;
    if !wish.is_proven() {
        edited(name, wish, step);
        return;
    }
    let (Some(image), Some(proof), Some(token)) = (
        snapshot.operator_image.as_deref(),
        wish.status.proof.as_ref(),
        memory.token.as_deref(),
    ) else {
        step.find(
            FindingKind::Blocked,
            Reason::RestoreWaiting,
            format!(
                "{name} cannot be started: the operator does not know its own image, or EtcdRestore {} has lost its \
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
    let claim = living(situation).and_then(|living| living.volumes.get(name).copied());
    if cluster.has_volumes() && claim.is_none() {
        let claim = build::claim(cluster, resource, name);
        let action = pre::action(resource, apply(Child::PersistentVolumeClaim(claim)));
        step.actions.push(action.absent());
    }
    let filling = Filling {
        image,
        source: &source,
        place: &place,
        sha256: &proof.sha256,
        founders: &memory.founders,
        token,
        bump: wish.spec.bump_revision.unwrap_or(contract::REVISION_BUMP),
    };
    let pod = build::filled_pod(cluster, resource, name, &filling);
    let mut action = pre::action(resource, apply(Child::Pod(pod))).absent();
    action.pre.restore = Some(wish.reference());
    action.pre.claim_uid = claim.map(|claim| claim.uid.clone());
    step.actions.push(action);
    step.find_of(
        FindingKind::Doing,
        Reason::Restoring,
        name,
        format!(
            "{name} is started from the backup of EtcdRestore {}.",
            memory.restore
        ),
    );
}

/// Records the new cluster id once a quorum of the founders, and of nobody else, answers. Says whether it did.
fn record(
    situation: &Situation<'_>,
    living: &Living<'_>,
    memory: &Restoration,
    step: &mut Step,
) -> bool {
    let Some(list) = living.membership else {
        return false;
    };
    let listed: BTreeSet<&str> = list.members.iter().map(name_of).collect();
    let planned: BTreeSet<&str> = memory.founders.iter().map(String::as_str).collect();
    let is_other = memory.replaces != Some(list.cluster_id);
    if listed != planned || !is_other || !living.votes().has_quorum() {
        return false;
    }
    let words = format!(
        "{} of {} members answer with the data of the backup, as cluster {}.",
        living.votes().healthy,
        planned.len(),
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

/// Lets the first containers of a member that was started do nothing when they run again: from then on its disk may hold
/// more than the backup has, whether it answers or not.
pub(super) fn note_filled(situation: &Situation<'_>, living: &Living<'_>, step: &mut Step) {
    let started = living.members.iter().filter_map(|member| member.pod);
    let pods = started.filter(|pod| pod.ran || pod.running).filter(|pod| {
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
