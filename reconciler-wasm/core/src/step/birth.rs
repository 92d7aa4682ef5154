//! The first members: planned, remembered, started together, recorded.
//!
//! # Flow
//! 1. `conceive` writes the plan (names, token, image) to the status and starts every member with the state `new`.
//! 2. `attend` starts what is missing of the plan, until a quorum answers with one cluster id.
//! 3. The cluster id is recorded together with the phase Running; only then the client Service appears.
//!
//! # Guarantees
//! Before the id is recorded nobody was told where to write, so a birth that went wrong starts over under another
//! token. After it, the state `new` is never used again.

use std::collections::BTreeSet;

use contract::{
    Birth, Child, Effect, EventType, FindingKind, Millis, ObjectKind, Observed, Reason, Volume,
    VolumePhase, names,
};

use super::{
    LATER, SOON, Step, furnish, image, issue, last_words, left, seal, storage, strangers, upgrade,
    zero,
};
use crate::assess::{Living, Situation, name_of};
use crate::build::{self, Start};
use crate::clock;
use crate::entropy::Entropy;
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::tls;
use crate::validate::Cluster;

/// How long the first members have to form a quorum before they are started over.
const PATIENCE: Millis = Millis::seconds(300);
/// How long they have when the spec meanwhile asks for something else.
const PATIENCE_AFTER_EDIT: Millis = Millis::seconds(15);

/// Plans the first members and starts them.
pub(super) fn conceive(cluster: &Cluster, situation: &Situation<'_>, step: &mut Step) {
    let Some(size) = cluster.size else { return };
    if size == 0 {
        zero::say_unborn(step);
        return;
    }
    if upgrade::is_inconsistent(&cluster.version) {
        step.find(
            FindingKind::Invalid,
            Reason::UnsupportedVersion,
            format!(
                "spec.version {} can lose data when a member crashes; no member is started. Use 3.5.3 or newer.",
                cluster.version
            ),
        );
        return;
    }
    if issue::issue(cluster, situation, None, step) || !cluster.tls.is_sound() {
        step.look_again(LATER, Reason::Forming);
        return;
    }
    let is_obstructed = furnish::is_obstructed(cluster, situation, step);
    if is_obstructed || left::take_up(cluster, situation, step) {
        return;
    }
    begin(cluster, situation, size, 1, &BTreeSet::new(), step);
}

fn begin(
    cluster: &Cluster,
    situation: &Situation<'_>,
    size: usize,
    attempt: i64,
    taken: &BTreeSet<&str>,
    step: &mut Step,
) {
    let snapshot = situation.snapshot;
    let mut entropy = Entropy::of(snapshot);
    let members = entropy.members(cluster, &left::taken(taken, &snapshot.objects), size);
    let birth = Birth {
        token: entropy.token(),
        members,
        image: cluster.image.clone(),
        started_at: clock::spell(snapshot.now),
        attempt,
    };
    step.find(
        FindingKind::Doing,
        Reason::Forming,
        format!("Starting {}: {}.", together(size), birth.members.join(", ")),
    );
    step.actions.push(pre::event_of(
        &snapshot.resource,
        EventType::Normal,
        Reason::Forming,
        format!("Starting {} with etcd {}", together(size), cluster.version),
    ));
    furnish::furnish(cluster, situation, None, step);
    for name in &birth.members {
        start(cluster, situation, &birth, name, None, step);
    }
    step.look_again(SOON, Reason::Forming);
    step.birth = Some(birth);
}

fn together(size: usize) -> String {
    if size == 1 {
        "1 member".to_owned()
    } else {
        format!("{size} members together")
    }
}

fn start(
    cluster: &Cluster,
    situation: &Situation<'_>,
    birth: &Birth,
    name: &str,
    claim: Option<&Volume>,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    if claim.is_none() {
        start_claim(cluster, situation, birth, name, step);
    }
    let pod = build::pod(
        cluster,
        resource,
        name,
        &birth.image,
        &Start::new_cluster(cluster, birth),
    );
    let mut action = pre::action(resource, apply(Child::Pod(pod))).absent();
    action.pre.birth_token = Some(birth.token.clone());
    action.pre.claim_uid = claim.map(|claim| claim.uid.clone());
    step.actions.push(action);
}

/// Makes the claim of a planned member, where the spec has claims.
fn start_claim(
    cluster: &Cluster,
    situation: &Situation<'_>,
    birth: &Birth,
    name: &str,
    step: &mut Step,
) {
    if !cluster.has_volumes() {
        return;
    }
    let resource = &situation.snapshot.resource;
    let claim = build::claim(cluster, resource, name);
    let mut action = pre::action(resource, apply(Child::PersistentVolumeClaim(claim))).absent();
    action.pre.birth_token = Some(birth.token.clone());
    step.actions.push(action);
}

pub(super) fn apply(object: Child) -> Effect {
    Effect::Apply {
        object: Box::new(object),
    }
}

/// Looks after the first members until a quorum answers.
pub(super) fn attend(
    cluster: &Cluster,
    situation: &Situation<'_>,
    birth: &Birth,
    living: &Living<'_>,
    step: &mut Step,
) {
    if record(cluster, situation, birth, living, step) {
        return;
    }
    discard_unplanned(situation, birth, living, step);
    if furnish::is_obstructed(cluster, situation, step) {
        return;
    }
    let age = clock::passed(&birth.started_at, situation.snapshot.now);
    let mut newborn = cluster.clone();
    newborn.tls = tls::of_newborn(cluster, situation.snapshot);
    // A cluster is born whole before it is stopped.
    let asked = cluster.size.filter(|size| *size > 0);
    let edited = asked.is_some_and(|size| size != birth.members.len())
        || cluster.image != birth.image
        || cluster.tls.in_use != newborn.tls.in_use
        || is_unplaced_of_another_spec(cluster, living);
    let has_no_node = waits_for_a_node(living);
    let overdue = age >= PATIENCE && !has_no_node;
    let is_time = overdue || (edited && age >= PATIENCE_AFTER_EDIT);
    if is_time && nobody_leads(situation) {
        if newborn.tls.is_sound() {
            start_over(&newborn, situation, birth, step);
            return;
        }
        // Certificates that the spec has asked for since the cluster was planned.
        issue::issue(cluster, situation, Some(living), step);
    }
    furnish::furnish(cluster, situation, Some(living), step);
    for name in birth.members.iter().filter(|_| cluster.tls.can_build()) {
        let claim = living.volumes.get(name.as_str()).copied();
        match living.pods.get(name.as_str()) {
            None if strangers::tell_of_namesake(situation, name, step) => {}
            None => start(cluster, situation, birth, name, claim, step),
            // A pod that keeps its data within has no use for one.
            Some(pod) if claim.is_none() && pod.claim.is_some() => {
                start_claim(cluster, situation, birth, name, step);
            }
            Some(_) => {}
        }
    }
    image::say_at_birth(living, step);
    let waiting: Vec<String> = living
        .members
        .iter()
        .filter(|member| !member.is_healthy())
        .map(|member| {
            let (name, complaint) = (member.name, member.complaint());
            match member.pod.map(last_words::of) {
                Some(words) if !words.is_empty() => {
                    // One of a list, which has its own marks between.
                    format!("{name}: {complaint}.{}", words.trim_end_matches('.'))
                }
                Some(_) | None => format!("{name}: {complaint}"),
            }
        })
        .collect();
    // The members are those of the list that answers, which may be an earlier attempt's.
    let answering = living
        .members
        .iter()
        .filter(|member| {
            member.is_healthy() && birth.members.iter().any(|name| name == member.name)
        })
        .count();
    step.find(
        FindingKind::Waiting,
        if has_no_node {
            Reason::Unschedulable
        } else {
            Reason::Forming
        },
        format!(
            "{answering} of {} members answer, {} are needed to form the cluster. {}",
            birth.members.len(),
            quorum(birth.members.len()),
            waiting.join("; ")
        ),
    );
    step.look_again(
        if age < Millis::seconds(60) {
            SOON
        } else {
            LATER
        },
        Reason::Forming,
    );
}

/// Whether a pod finds no node and another one in its place would fare no better. A claim that is bound or being deleted, or
/// whose volume is gone, ties its pod to where it was; a new claim is free.
fn waits_for_a_node(living: &Living<'_>) -> bool {
    living.pods.values().any(|pod| {
        let claim = living.volumes.get(pod.name.as_str());
        let is_free =
            claim.is_none_or(|claim| claim.phase == VolumePhase::Pending && claim.stays());
        pod.unschedulable.is_some() && is_free
    })
}

/// Whether a pod finds no node, and it or its claim is not what the spec asks for by now: another one may find one.
fn is_unplaced_of_another_spec(cluster: &Cluster, living: &Living<'_>) -> bool {
    living.pods.values().any(|pod| {
        let shape = pod.annotations.get(names::SHAPE_ANNOTATION);
        let claim = living.volumes.get(pod.name.as_str());
        pod.unschedulable.is_some()
            && (shape.is_some_and(|shape| *shape != cluster.shape)
                || claim.is_some_and(|claim| storage::waits_in_vain(cluster, claim)))
    })
}

/// Records the cluster id once a quorum of the planned members answers. Says whether it did.
fn record(
    cluster: &Cluster,
    situation: &Situation<'_>,
    birth: &Birth,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let Some(list) = living.membership else {
        return false;
    };
    let listed: BTreeSet<&str> = list.members.iter().map(name_of).collect();
    let planned: BTreeSet<&str> = birth.members.iter().map(String::as_str).collect();
    if listed != planned || !living.votes().has_quorum() {
        return false;
    }
    step.find(
        FindingKind::Doing,
        Reason::Formed,
        format!(
            "The members formed cluster {}; clients reach it through {}.",
            list.cluster_id,
            names::client_service(&cluster.name)
        ),
    );
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Normal,
        Reason::Formed,
        format!(
            "{} members formed cluster {}",
            list.members.len(),
            list.cluster_id
        ),
    ));
    step.cluster_id = Some(list.cluster_id);
    let is_sealed = seal::seal(cluster, situation, living, step);
    let is_alone = strangers::tell(cluster, situation, step);
    furnish::furnish_clients(cluster, situation, is_sealed && is_alone, step);
    step.look_again(SOON, Reason::Formed);
    true
}

/// Whether every member was asked or cannot run, and none follows a leader. Unknown is no.
fn nobody_leads(situation: &Situation<'_>) -> bool {
    situation
        .snapshot
        .etcd
        .endpoints
        .iter()
        .all(|endpoint| match &endpoint.status {
            Observed::Seen(status) => status.leader.is_none(),
            Observed::Absent => true,
            Observed::Unknown(_) => situation
                .snapshot
                .objects
                .pods
                .seen()
                .and_then(|pods| pods.iter().find(|pod| pod.uid == endpoint.pod_uid))
                .is_none_or(|pod| !pod.running),
        })
}

fn start_over(cluster: &Cluster, situation: &Situation<'_>, birth: &Birth, step: &mut Step) {
    // A number that cannot be followed changes nothing of the one that was planned.
    let size = cluster
        .size
        .filter(|size| *size > 0)
        .unwrap_or(birth.members.len());
    let taken: BTreeSet<&str> = birth.members.iter().map(String::as_str).collect();
    step.find(
        FindingKind::Doing,
        Reason::BirthRestarted,
        format!("Attempt {} formed no quorum; its members are replaced by new ones under a fresh token. No client was told of them.", birth.attempt),
    );
    step.actions.push(pre::event_of(
        &situation.snapshot.resource,
        EventType::Warning,
        Reason::BirthRestarted,
        format!("Attempt {} formed no quorum; starting over", birth.attempt),
    ));
    begin(cluster, situation, size, birth.attempt + 1, &taken, step);
}

/// Deletes what an earlier attempt left.
fn discard_unplanned(
    situation: &Situation<'_>,
    birth: &Birth,
    living: &Living<'_>,
    step: &mut Step,
) {
    let resource = &situation.snapshot.resource;
    let planned = |name: &str| birth.members.iter().any(|member| member == name);
    let pods = living
        .pods
        .values()
        .map(|pod| (ObjectKind::Pod, &pod.name, &pod.uid, pod.deleted));
    let volumes = living.volumes.values().map(|volume| {
        (
            ObjectKind::PersistentVolumeClaim,
            &volume.name,
            &volume.uid,
            volume.deleted,
        )
    });
    for (kind, name, uid, deleted) in pods.chain(volumes) {
        if planned(name) || deleted.is_some() {
            continue;
        }
        let effect = Effect::Delete {
            kind,
            name: name.clone(),
            grace_seconds: None,
        };
        let mut action = pre::action(resource, effect).present(uid);
        action.pre.birth_token = Some(birth.token.clone());
        action.pre.departed = Some(name.clone());
        step.actions.push(action);
    }
}
