//! Lets members' volumes grow when the spec asks for more and stay when the cluster goes, and says what of a changed claim
//! does not reach them.
//!
//! Kubernetes grows a volume while it is used, where its StorageClass allows that
//! (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims>). It never shrinks one.

use contract::{
    Child, Condition, FindingKind, Millis, ObjectKind, OutcomeKind, Reason, Volume, VolumePhase,
    names, quantity,
};
use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;

use super::{Step, birth::apply, reshape};
use crate::assess::{Living, Situation};
use crate::build;
use crate::clock;
use crate::pre::{self, ActionExt};
use crate::status::conditions::VOLUMES;
use crate::validate::Cluster;

/// A refused growth is asked for again when as much time has passed as it had been refused for by then: at least so much, and
/// at most so much.
const AGAIN: (Millis, Millis) = (Millis::seconds(15), Millis::seconds(600));

/// Says whose disk cannot be kept: a deletion of a claim waits for its pod, and cannot be taken back.
pub(super) fn tell_going(living: &Living<'_>, step: &mut Step) {
    for member in living
        .voters()
        .filter(|member| reshape::loses_its_disk(member))
    {
        step.find_of(
            FindingKind::Note,
            Reason::DiskLost,
            member.name,
            format!(
                "The volume claim of {} is being deleted, lost or not the cluster's any more, and what it holds goes with its \
                 pod: a new member takes its place before it leaves. Do not delete the pod.",
                member.name
            ),
        );
    }
}

/// Asks for larger volumes where the spec does, and for claims that stay or go.
pub(super) fn grow(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    let Some(template) = &cluster.pod.persistent_volume_claim_spec else {
        return;
    };
    let Some(wanted) = requested(template) else {
        return;
    };
    say_other_kind(template, living, step);
    retain(cluster, situation, template, living, step);
    for volume in staying(living) {
        let has = volume.requested.as_deref().unwrap_or_default();
        match (quantity::bytes(wanted), quantity::bytes(has)) {
            _ if can_grow(template, wanted, volume) => {}
            (Some(less), Some(more)) if more > less => step.find_of(
                FindingKind::Note,
                Reason::AcceptedNotUsed,
                &volume.name,
                format!(
                    "The volume of {} has {has} and the spec asks for {wanted}: a volume does not shrink. New members get \
                     {wanted}.",
                    volume.name
                ),
            ),
            (Some(_) | None, _) => say_under_way(volume, step),
        }
    }
    let too_small = too_small(cluster, living);
    ask(cluster, situation, &too_small, wanted, step);
}

fn staying<'a>(living: &Living<'a>) -> impl Iterator<Item = &'a Volume> {
    let members = living.members.iter();
    let volumes = members.filter_map(|member| member.volume);
    volumes.filter(|volume| volume.deleted.is_none())
}

/// Members' volumes that the spec asks to be larger, and that could be.
pub(crate) fn too_small<'a>(cluster: &Cluster, living: &Living<'a>) -> Vec<&'a Volume> {
    let template = cluster.pod.persistent_volume_claim_spec.as_ref();
    let Some((template, wanted)) = template.and_then(|one| Some((one, requested(one)?))) else {
        return Vec::new();
    };
    let can_grow = |volume: &&Volume| can_grow(template, wanted, volume);
    staying(living).filter(can_grow).collect()
}

fn can_grow(template: &PersistentVolumeClaimSpec, wanted: &str, volume: &Volume) -> bool {
    let has = volume.requested.as_deref().and_then(quantity::bytes);
    let is_small = quantity::bytes(wanted)
        .zip(has)
        .is_some_and(|(more, less)| more > less);
    is_small && differs(template, volume).is_none()
}

/// Whether a claim waits for a volume of a class or size that the spec does not ask for by now. Kubernetes changes neither
/// before there is a volume, so only another claim can get what is asked for.
pub(super) fn waits_in_vain(cluster: &Cluster, volume: &Volume) -> bool {
    let template = cluster.pod.persistent_volume_claim_spec.as_ref();
    template.is_some_and(|template| {
        let is_of_kind = differs(template, volume).is_none();
        volume.phase == VolumePhase::Pending && !(is_of_kind && is_of_size(template, volume))
    })
}

fn is_of_size(template: &PersistentVolumeClaimSpec, volume: &Volume) -> bool {
    let has = volume.requested.as_deref().and_then(quantity::bytes);
    requested(template).and_then(quantity::bytes) == has
}

/// Gives claims to nobody, or back to the cluster, as the spec says whether they stay when it goes. The API server takes a
/// claim only whole, so one of another size or class keeps what it has.
fn retain(
    cluster: &Cluster,
    situation: &Situation<'_>,
    template: &PersistentVolumeClaimSpec,
    living: &Living<'_>,
    step: &mut Step,
) {
    let retains = cluster.pod.retains_claims();
    let resource = &situation.snapshot.resource;
    let others = living
        .members
        .iter()
        .filter_map(|member| member.volume)
        .filter(|volume| volume.deleted.is_none())
        .filter(|volume| volume.annotations.contains_key(names::OWNER_ANNOTATION) != retains);
    for volume in others {
        if !is_of_size(template, volume) || differs(template, volume).is_some() {
            step.find_of(
                FindingKind::Note,
                Reason::AcceptedNotUsed,
                &volume.name,
                format!(
                    "spec.pod.persistentVolumeClaimRetentionPolicy is not in effect for the claim {}, because its size or \
                     class is not that of spec.pod.persistentVolumeClaimSpec.",
                    volume.name
                ),
            );
            continue;
        }
        let claim = build::claim(cluster, resource, &volume.name);
        step.actions.push(
            pre::action(resource, apply(Child::PersistentVolumeClaim(claim))).present(&volume.uid),
        );
    }
}

fn requested(template: &PersistentVolumeClaimSpec) -> Option<&str> {
    let requests = template.resources.as_ref()?.requests.as_ref()?;
    Some(requests.get("storage")?.0.as_str())
}

fn ask(
    cluster: &Cluster,
    situation: &Situation<'_>,
    too_small: &[&Volume],
    wanted: &str,
    step: &mut Step,
) {
    let told = told(situation).filter(|_| !too_small.is_empty());
    let refused = refusal(situation, too_small);
    let has_just_asked = refused.is_some();
    let message = refused.or_else(|| told.map(|told| told.message.clone()));
    let is_refused = message.is_some();
    if let Some(message) = message {
        step.find(FindingKind::Blocked, Reason::VolumeNotGrown, message);
        let wait = if has_just_asked {
            AGAIN.0
        } else {
            told.map_or(Millis(0), |told| wait(told, situation.snapshot.now))
        };
        if wait.0 > 0 {
            step.look_again(wait, Reason::VolumeNotGrown);
            return;
        }
    }
    let resource = &situation.snapshot.resource;
    for volume in too_small {
        let claim = build::claim(cluster, resource, &volume.name);
        step.actions.push(
            pre::action(resource, apply(Child::PersistentVolumeClaim(claim))).present(&volume.uid),
        );
        if !is_refused {
            step.find_of(
                FindingKind::Doing,
                Reason::VolumeGrowing,
                &volume.name,
                format!(
                    "The volume of {} is asked to grow to {wanted}.",
                    volume.name
                ),
            );
        }
    }
}

/// How long what was refused is not asked for again: as long as it had been refused when it was asked for last. A time that
/// cannot be read, or is still to come by a clock that was wrong, holds nothing up.
fn wait(told: &Condition, now: Millis) -> Millis {
    let read = |time: &Option<String>| clock::read(time.as_deref()?).filter(|at| *at <= now);
    let Some(asked) = read(&told.last_update_time) else {
        return Millis(0);
    };
    let since = read(&told.last_transition_time).unwrap_or(asked);
    let (least, most) = AGAIN;
    let wait = asked.since(since).clamp(least, most);
    Millis(wait.0 - now.since(asked).0)
}

/// That volumes could not grow, as it is remembered for this very spec.
fn told<'a>(situation: &Situation<'a>) -> Option<&'a Condition> {
    let mut told = situation.memory.conditions.iter();
    told.find(|told| told.kind == VOLUMES)
        .filter(|_| is_of_this_spec(situation))
}

/// Whether what is remembered is of the spec as it is now.
pub(crate) fn is_of_this_spec(situation: &Situation<'_>) -> bool {
    situation.memory.observed_generation == Some(situation.snapshot.resource.generation)
}

/// Why these volumes could not grow, as the last pass was told.
pub(crate) fn refusal(situation: &Situation<'_>, too_small: &[&Volume]) -> Option<String> {
    let outcomes = situation.snapshot.outcomes.iter();
    let claims = outcomes.filter(|past| {
        past.kind == Some(ObjectKind::PersistentVolumeClaim) && past.outcome == OutcomeKind::Failed
    });
    let mut refused = claims.filter_map(|past| {
        let volume = too_small.iter().find(|volume| volume.name == past.target)?;
        Some((volume, &past.message))
    });
    let (volume, why) = refused.next()?;
    Some(format!(
        "The volume of {} cannot grow: {why}. Let its StorageClass {} allow it (allowVolumeExpansion), or set the size in \
         spec.pod.persistentVolumeClaimSpec back.",
        volume.name,
        volume.storage_class.as_deref().unwrap_or("(none)")
    ))
}

fn say_under_way(volume: &Volume, step: &mut Step) {
    let (Some(asked), Some(has)) = (&volume.requested, &volume.capacity) else {
        return;
    };
    let is_under_way = quantity::bytes(asked) > quantity::bytes(has);
    if is_under_way {
        let why = volume.resize.as_deref().unwrap_or("its driver is at it");
        step.find_of(
            FindingKind::Waiting,
            Reason::VolumeGrowing,
            &volume.name,
            format!(
                "The volume of {} grows from {has} to {asked} ({why}).",
                volume.name
            ),
        );
    }
}

/// What of the template a volume cannot be given any more, in the spec's words.
fn differs(template: &PersistentVolumeClaimSpec, volume: &Volume) -> Option<String> {
    let class = template.storage_class_name.as_ref();
    if let Some(class) = class.filter(|class| volume.storage_class.as_ref() != Some(class)) {
        return Some(format!("storageClassName {class}"));
    }
    let modes = build::access_modes(template);
    let differ = !volume.access_modes.is_empty() && volume.access_modes != modes;
    differ.then(|| format!("accessModes {}", modes.join(", ")))
}

fn say_other_kind(template: &PersistentVolumeClaimSpec, living: &Living<'_>, step: &mut Step) {
    let volumes = living.members.iter().filter_map(|member| member.volume);
    let mut others = volumes.filter_map(|volume| Some((volume, differs(template, volume)?)));
    if let Some((volume, what)) = others.next() {
        step.find(
            FindingKind::Note,
            Reason::AcceptedNotUsed,
            format!(
                "spec.pod.persistentVolumeClaimSpec.{what} is for new members; the volume of {} stays what and as large as \
                 it is, because Kubernetes changes no claim so.",
                volume.name
            ),
        );
    }
}
