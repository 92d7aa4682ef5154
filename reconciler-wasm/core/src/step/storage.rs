//! Lets members' volumes grow when the spec asks for more and stay when the cluster goes, and says what of a changed claim
//! does not reach them.
//!
//! Kubernetes grows a volume while it is used, where its StorageClass allows that
//! (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims>). It never shrinks one.

use contract::{
    Child, FindingKind, Millis, ObjectKind, OutcomeKind, PastOutcome, Reason, Volume, VolumePhase,
    names, quantity,
};
use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;

use super::{Step, birth::apply, reshape};
use crate::assess::{Living, Situation};
use crate::build;
use crate::pre::{self, ActionExt};
use crate::status::conditions::BLOCKED;
use crate::validate::Cluster;

/// How often a refused growth is asked for again, and in how long a part of that time.
const AGAIN: (Millis, Millis) = (Millis::seconds(600), Millis::seconds(15));

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
    let mut too_small = Vec::new();
    let members = living.members.iter().filter_map(|member| member.volume);
    for volume in members.filter(|volume| volume.deleted.is_none()) {
        let has = volume.requested.as_deref().unwrap_or_default();
        match (quantity::bytes(wanted), quantity::bytes(has)) {
            (Some(more), Some(less)) if more > less && differs(template, volume).is_none() => {
                too_small.push(volume);
            }
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
    ask(cluster, situation, &too_small, wanted, step);
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
    let refused = refusal(situation, too_small);
    if let Some(message) = &refused {
        step.find(
            FindingKind::Blocked,
            Reason::VolumeNotGrown,
            message.clone(),
        );
    }
    let (span, part) = AGAIN;
    let is_due = situation.snapshot.now.0.rem_euclid(span.0) < part.0;
    if refused.is_some() && !is_due {
        return;
    }
    let resource = &situation.snapshot.resource;
    for volume in too_small {
        let claim = build::claim(cluster, resource, &volume.name);
        step.actions.push(
            pre::action(resource, apply(Child::PersistentVolumeClaim(claim))).present(&volume.uid),
        );
        if refused.is_none() {
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

/// Why these volumes could not grow: as the last pass was told, or as it is remembered for this very spec.
fn refusal(situation: &Situation<'_>, too_small: &[&Volume]) -> Option<String> {
    let first = too_small.first()?;
    let is_theirs = |past: &&PastOutcome| {
        past.kind == Some(ObjectKind::PersistentVolumeClaim)
            && past.outcome == OutcomeKind::Failed
            && too_small.iter().any(|volume| volume.name == past.target)
    };
    let memory = situation.memory;
    let is_told = memory.observed_generation == Some(situation.snapshot.resource.generation);
    let told = memory
        .conditions
        .iter()
        .find(|told| told.kind == BLOCKED && told.reason == Reason::VolumeNotGrown.name())
        .filter(|_| is_told)
        .map(|told| told.message.clone());
    told.or_else(|| {
        let past = situation.snapshot.outcomes.iter().find(is_theirs)?;
        Some(format!(
            "The volume of {} cannot grow: {}. Let its StorageClass {} allow it (allowVolumeExpansion), or set the size in \
             spec.pod.persistentVolumeClaimSpec back.",
            past.target,
            past.message,
            first.storage_class.as_deref().unwrap_or("(none)")
        ))
    })
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
