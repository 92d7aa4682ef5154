//! Judges a whole decision against its resource, before anything happens.
//!
//! Reads nothing of the world; the world is [`crate::check`]'s question.

use contract::{
    Action, BackupEffect, Child, Decision, Effect, EtcdClusterSpec, EventType, ObjectKind,
    RestoreEffect, SCHEMA, ScheduleEffect, Snapshot, names,
};
use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::address::Addresses;
use crate::backup::{is_of_the_end, is_taken_along, judge_backup, judge_kind};
use crate::child::{
    field, judge_child, judge_left_claim, judge_name, judge_set, old_child_in_the_way,
};
use crate::crowd::judge_crowd;
use crate::fresh::is_paused;
use crate::image::judge_new_image;
use crate::issue::judge_order;
use crate::peer::judge_peer;
use crate::pod::{judge_pod_annotations, other_to_turn};
use crate::preconditions::require;
use crate::restore::judge_restore;
use crate::schedule::judge_schedule;
use crate::status::judge_status;

/// How many actions a decision may hold.
pub const MAX_ACTIONS: usize = 64;
const MAX_EVENTS: usize = 16;
const MAX_FINDINGS: usize = 256;
/// An object or a status, as JSON.
const MAX_BYTES: usize = 64 * 1024;
/// Limits of the API server's event validation.
const MAX_REASON: usize = 128;
const MAX_NOTE: usize = 1024;

/// Says whether the decision on `snapshot` may be carried out at all. Of the snapshot it takes the resource, what its own
/// pods run and trust, its Secrets' authorities, and where etcd's list has its members.
///
/// # Errors
/// Every rule it breaks. None of its actions may happen then.
pub fn permit(decision: &Decision, snapshot: &Snapshot) -> Result<(), Vec<Refusal>> {
    let mut refusals = Vec::new();
    judge_counts(decision, &mut refusals);
    if (1..=MAX_ACTIONS).contains(&decision.actions.len()) && decision.schema == SCHEMA {
        judge_crowd(decision, snapshot, &mut refusals);
        let spec = EtcdClusterSpec::deserialize(&snapshot.resource.spec);
        for (position, action) in decision.actions.iter().enumerate() {
            judge(
                action,
                &decision.actions[..position],
                snapshot,
                &spec,
                &mut refusals,
            );
        }
    }
    if refusals.is_empty() {
        Ok(())
    } else {
        Err(refusals)
    }
}

fn judge_counts(decision: &Decision, refusals: &mut Vec<Refusal>) {
    let Decision {
        schema,
        actions,
        requeue: _,
        report,
    } = decision;
    if *schema != SCHEMA {
        refusals.push(Refusal::Schema {
            found: *schema,
            expected: SCHEMA,
        });
    }
    let count = |is: fn(&Action) -> bool| actions.iter().filter(|action| is(action)).count();
    let counts = [
        ("actions", actions.len(), MAX_ACTIONS),
        ("findings", report.findings.len(), MAX_FINDINGS),
        (
            "events",
            count(|action| matches!(action.effect, Effect::Event { .. })),
            MAX_EVENTS,
        ),
        (
            "status updates",
            count(|action| {
                action.effect.is_telling() && !matches!(action.effect, Effect::Event { .. })
            }),
            1,
        ),
        ("transfers", count(is_transfer), 1),
        ("actions that bear on the quorum", count(bears_on_quorum), 1),
    ];
    for (what, found, limit) in counts {
        if found > limit {
            refusals.push(Refusal::TooMany { what, found, limit });
        }
    }
}

/// Whether it begins to move a backup.
fn is_transfer(action: &Action) -> bool {
    matches!(&action.effect, Effect::Backup(effect) if effect.is_transfer())
        || matches!(action.effect, Effect::Restore(RestoreEffect::Prove { .. }))
}

/// A change of members or leader, another image for a member, the deletion of a listed member's pod, or a member's silence
/// while it is defragmented.
fn bears_on_quorum(action: &Action) -> bool {
    action.effect.is_membership_change()
        || matches!(
            action.effect,
            Effect::SetImage { .. } | Effect::Defragment { .. } | Effect::RetireReplicaSet { .. }
        )
        || (matches!(
            action.effect,
            Effect::Delete {
                kind: ObjectKind::Pod,
                ..
            }
        ) && action.pre.touches.is_some())
}

fn judge(
    action: &Action,
    before: &[Action],
    snapshot: &Snapshot,
    spec: &Result<EtcdClusterSpec, serde_json::Error>,
    refusals: &mut Vec<Refusal>,
) {
    let Action { effect, pre } = action;
    let resource = &snapshot.resource;
    if pre.resource_uid != resource.uid {
        let (expected, found) = (resource.uid.clone(), pre.resource_uid.clone());
        refusals.push(Refusal::OtherResource { expected, found });
    }
    judge_kind(effect, resource, refusals);
    let is_last = matches!(
        effect,
        Effect::Backup(BackupEffect::Release { .. })
            | Effect::Schedule(ScheduleEffect::Release { .. })
    );
    if !effect.is_telling() && !is_last {
        let is_of_the_end = is_of_the_end(effect, is_taken_along(resource));
        let (effect, target) = (effect.name(), effect.target());
        if resource.deleted.is_some() && !is_of_the_end {
            refusals.push(Refusal::Deleting { effect, target });
        } else if is_paused(resource) {
            refusals.push(Refusal::Paused { effect, target });
        } else if let Some(lock) = snapshot
            .old_lock
            .seen()
            .filter(|lock| lock.may_be_held(snapshot.now))
        {
            refusals.push(Refusal::OldOperator(lock.holder.clone()));
        } else if let Some(child) = old_child_in_the_way(&action.effect, snapshot) {
            refusals.push(Refusal::OldChild(child.to_owned()));
        }
    }
    require(action, before, refusals);
    judge_departed(action, refusals);
    let addresses = Addresses::new(snapshot, spec.as_ref().ok());
    match effect {
        Effect::UpdateStatus { status } => {
            judge_size(status, || "the status".to_owned(), refusals);
            judge_status(status, snapshot, spec, refusals);
        }
        Effect::Event { kind, reason, note } => judge_event(*kind, reason, note, refusals),
        Effect::Apply { object } => match spec {
            Ok(spec) => {
                judge_size(
                    object,
                    || format!("{} {}", object.kind().name(), object.name()),
                    refusals,
                );
                judge_child(object, pre.birth_token.as_deref(), snapshot, spec, refusals);
            }
            Err(error) => refusals.push(Refusal::UnreadableSpec {
                why: error.to_string(),
            }),
        },
        Effect::Issue { secret, order } => {
            judge_name(ObjectKind::Secret, secret, resource, refusals);
            match spec {
                Ok(spec) => judge_order(secret, order, before, snapshot, spec, refusals),
                Err(error) => refusals.push(Refusal::UnreadableSpec {
                    why: error.to_string(),
                }),
            }
        }
        // Keys that are gone come back as others, which nobody trusts; a ReplicaSet goes by an effect of its own.
        Effect::Delete {
            kind: kind @ (ObjectKind::Secret | ObjectKind::ReplicaSet),
            name,
            ..
        } => refusals.push(Refusal::ForeignName {
            kind: *kind,
            name: name.clone(),
            cluster: resource.name.clone(),
        }),
        Effect::AnnotatePod { name, annotations } => {
            judge_name(ObjectKind::Pod, name, resource, refusals);
            judge_pod_annotations(name, annotations, addresses, refusals);
        }
        Effect::SetImage {
            name,
            image,
            annotations,
        } => {
            judge_name(ObjectKind::Pod, name, resource, refusals);
            match spec {
                Ok(spec) => judge_new_image(name, image, annotations, snapshot, spec, refusals),
                Err(error) => refusals.push(Refusal::UnreadableSpec {
                    why: error.to_string(),
                }),
            }
        }
        Effect::TakeUpClaim { name, from } => {
            judge_name(ObjectKind::PersistentVolumeClaim, name, resource, refusals);
            judge_left_claim(name, from, snapshot, refusals);
        }
        Effect::RetireReplicaSet { name, owner } => {
            judge_name(ObjectKind::ReplicaSet, name, resource, refusals);
            judge_set(name, owner, pre, snapshot, refusals);
            if let Some(pod) = &pre.successor {
                judge_successor(pod, snapshot, spec, refusals);
            }
        }
        Effect::Peer(effect) => judge_peer(effect, pre, before, snapshot, refusals),
        Effect::Delete {
            kind,
            name,
            grace_seconds,
        } => {
            judge_name(*kind, name, resource, refusals);
            // Without the time that it has by its spec, an object may be gone while its process runs on.
            if grace_seconds.is_some() {
                refusals.push(field(*kind, name, "deleteOptions.gracePeriodSeconds"));
            }
            if matches!(kind, ObjectKind::Service | ObjectKind::PodDisruptionBudget) {
                let what = format!("{} {name}", kind.name());
                refusals.push(Refusal::Needed(what));
            }
            if let Some(pod) = &pre.successor {
                judge_successor(pod, snapshot, spec, refusals);
            }
        }
        Effect::AddLearner { name, peer_urls } => {
            judge_name(ObjectKind::Pod, name, resource, refusals);
            addresses.judge_peers(name, peer_urls, refusals);
        }
        Effect::UpdateMember { member, peer_urls } => {
            refusals.extend(
                other_to_turn(*member, snapshot).map(|member| Refusal::Outstanding { member }),
            );
            let url = peer_urls.first().map_or("", String::as_str);
            let name = names::member_of_url(url).unwrap_or_default();
            judge_name(ObjectKind::Pod, name, resource, refusals);
            addresses.judge_peers(name, peer_urls, refusals);
        }
        Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::MoveLeader { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. } => {}
        Effect::Backup(effect) => {
            if let BackupEffect::UpdateStatus { status } = effect {
                judge_size(status, || "the status".to_owned(), refusals);
            }
            judge_backup(effect, action, snapshot, refusals);
        }
        Effect::Restore(effect) => {
            if let RestoreEffect::UpdateStatus { status } = effect {
                judge_size(status, || "the status".to_owned(), refusals);
            }
            judge_restore(effect, action, snapshot, refusals);
        }
        Effect::Schedule(effect) => {
            if let ScheduleEffect::UpdateStatus { status } = effect {
                judge_size(status, || "the status".to_owned(), refusals);
            }
            judge_schedule(effect, action, snapshot, refusals);
        }
    }
}

/// A pod that is only asked about is judged as one that is made.
fn judge_successor(
    pod: &Pod,
    snapshot: &Snapshot,
    spec: &Result<EtcdClusterSpec, serde_json::Error>,
    refusals: &mut Vec<Refusal>,
) {
    let object = Child::Pod(pod.clone());
    judge_size(
        &object,
        || format!("the pod {} that is to follow", object.name()),
        refusals,
    );
    if let Ok(spec) = spec {
        judge_child(&object, None, snapshot, spec, refusals);
    }
}

/// That somebody else departed is no reason to delete this object.
fn judge_departed(action: &Action, refusals: &mut Vec<Refusal>) {
    if let (Effect::Delete { name, .. }, Some(departed)) = (&action.effect, &action.pre.departed)
        && name != departed
    {
        refusals.push(Refusal::OtherMember { pod: name.clone() });
    }
}

fn judge_event(kind: EventType, reason: &str, note: &str, refusals: &mut Vec<Refusal>) {
    let why = match kind {
        EventType::Normal | EventType::Warning
            if reason.is_empty() || reason.len() > MAX_REASON =>
        {
            "the reason must have 1 to 128 characters"
        }
        EventType::Normal | EventType::Warning
            if !reason
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == ' ') =>
        {
            "the reason must be of letters, digits and spaces"
        }
        EventType::Normal | EventType::Warning if note.is_empty() || note.len() > MAX_NOTE => {
            "the note must have 1 to 1,024 bytes"
        }
        EventType::Normal | EventType::Warning => return,
    };
    let reason = reason.chars().take(MAX_REASON).collect();
    refusals.push(Refusal::MalformedEvent { reason, why });
}

fn judge_size<T: Serialize>(value: &T, what: impl Fn() -> String, refusals: &mut Vec<Refusal>) {
    let mut count = ByteCount(0);
    // Counting cannot fail; a value that cannot be written as JSON is as good as too large.
    let found = serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0);
    if found > MAX_BYTES {
        refusals.push(Refusal::TooLarge {
            what: what(),
            found,
            limit: MAX_BYTES,
        });
    }
}

/// Counts what is written to it.
struct ByteCount(usize);

impl std::io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
