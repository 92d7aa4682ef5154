//! What may at most be done about a schedule: EtcdBackups of exactly its template come under its own names, one at a time;
//! its own that are over go.
//!
//! What an EtcdBackup does is judged with it: [`crate::backup`].

use contract::{
    Action, BackupScheduleSpec, ObjectPrecondition, Observed, Preconditions, Resource,
    ScheduleEffect, ScheduledBackup, ScheduledState, Snapshot, improbable,
};
use serde::Deserialize;

use crate::{BackupRefusal, Fresh, Refusal, ResourceHead};

/// Digits of a time in a name: year to second, and years are four of them for long.
const DIGITS: std::ops::RangeInclusive<usize> = 14..=16;

/// Judges an action on a schedule by itself.
pub(crate) fn judge_schedule(
    effect: &ScheduleEffect,
    action: &Action,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let resource = &snapshot.resource;
    match effect {
        ScheduleEffect::UpdateStatus { .. } => {}
        ScheduleEffect::CreateBackup { name, spec } => {
            if action.pre.run.as_ref() != Some(name) {
                refusals.push(Refusal::MissingPrecondition {
                    effect: action.effect.name(),
                    target: action.effect.target(),
                    field: "run",
                });
            }
            let wanted = BackupScheduleSpec::deserialize(&resource.spec).unwrap_or_default();
            let known = known(snapshot);
            let why = if !is_name_of(name, resource) {
                "its name is not the schedule's with a time"
            } else if wanted.template.is_null() || wanted.template != **spec {
                "its spec is not the schedule's template"
            } else if wanted.policy.suspend == Some(true) {
                "the schedule is suspended"
            } else if known.is_none_or(|known| known.iter().any(|one| one.name == *name)) {
                "it is there already, or nobody knows"
            } else if own(known, resource).any(|one| !one.is_over() && !one.deleted) {
                "the one before is under way"
            } else {
                return;
            };
            refuse(name, why, refusals);
        }
        ScheduleEffect::DeleteBackup { name } => {
            let mut backups = own(known(snapshot), resource);
            let is_it = |one: &&ScheduledBackup| {
                one.name == *name && one.is_over() && is_meant(one, &action.pre)
            };
            let why = match backups.find(is_it) {
                None => "it is not one of the schedule's that is over",
                Some(one) if !is_beyond_limit(one, snapshot) => "the schedule keeps it",
                Some(_) => return,
            };
            refuse(name, why, refusals);
        }
        ScheduleEffect::Release { finalizer } => {
            let is_old = finalizer == improbable::SCHEDULE_FINALIZER;
            if !is_old || resource.deleted.is_none() {
                refusals.push(BackupRefusal::ForeignFinalizer(finalizer.clone()).into());
            }
        }
    }
}

fn refuse(name: &str, why: &'static str, refusals: &mut Vec<Refusal>) {
    let name = name.to_owned();
    refusals.push(BackupRefusal::NotScheduled { name, why }.into());
}

/// The EtcdBackups that the snapshot shows; none where it does not know them.
fn known(snapshot: &Snapshot) -> Option<&Vec<ScheduledBackup>> {
    snapshot.schedule.as_ref()?.backups.seen()
}

fn own<'a>(
    known: Option<&'a Vec<ScheduledBackup>>,
    schedule: &'a Resource,
) -> impl Iterator<Item = &'a ScheduledBackup> {
    let known = known.into_iter().flatten();
    known.filter(|one| one.owner.as_ref() == Some(&schedule.uid))
}

/// `SCHEDULE-YYYYMMDDhhmmss`.
fn is_name_of(name: &str, schedule: &Resource) -> bool {
    let rest = name.strip_prefix(schedule.name.as_str());
    let time = rest.and_then(|rest| rest.strip_prefix('-'));
    time.is_some_and(|time| {
        DIGITS.contains(&time.len()) && time.bytes().all(|letter| letter.is_ascii_digit())
    })
}

/// Whether as many newer ones that ended alike are there as the schedule keeps, and stay.
fn is_beyond_limit(one: &ScheduledBackup, snapshot: &Snapshot) -> bool {
    let resource = &snapshot.resource;
    let wanted = BackupScheduleSpec::deserialize(&resource.spec).unwrap_or_default();
    let limit = match one.state {
        ScheduledState::Succeeded => wanted.successful_backups_history_limit,
        ScheduledState::Failed => wanted.failed_backups_history_limit,
        ScheduledState::UnderWay => None,
    };
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
        return false;
    };
    let age = |one: &ScheduledBackup| (one.created, one.name.clone());
    let newer = own(known(snapshot), resource)
        .filter(|other| other.state == one.state && !other.deleted && age(other) > age(one));
    newer.count() >= limit
}

/// Whether it is the object that the precondition names.
fn is_meant(one: &ScheduledBackup, pre: &Preconditions) -> bool {
    matches!(&pre.object, Some(ObjectPrecondition::Present { uid }) if *uid == one.uid)
}

/// Judges an effect on a schedule against the world right before it.
pub(crate) fn check_schedule(
    effect: &ScheduleEffect,
    pre: &Preconditions,
    resource: &ResourceHead,
    fresh: &Fresh,
) -> Result<(), Refusal> {
    let not = |name: &str, why| {
        let name = name.to_owned();
        Err(BackupRefusal::NotScheduled { name, why }.into())
    };
    let unread = |why: &String| {
        Err(Refusal::Unread {
            what: "the EtcdBackup",
            why: why.clone(),
        })
    };
    match effect {
        ScheduleEffect::UpdateStatus { .. } | ScheduleEffect::Release { .. } => Ok(()),
        ScheduleEffect::CreateBackup { name, .. } => match &fresh.scheduled {
            _ if fresh.backup.run.as_ref() != Some(name) => {
                Err(BackupRefusal::Unrecorded(name.clone()).into())
            }
            Observed::Absent => Ok(()),
            Observed::Seen(_) => not(name, "it is there already"),
            Observed::Unknown(why) => unread(why),
        },
        ScheduleEffect::DeleteBackup { name } => match &fresh.scheduled {
            Observed::Seen(one) if !is_meant(one, pre) => not(name, "it is another one by now"),
            Observed::Seen(one) if one.owner.as_ref() != Some(&resource.uid) => {
                not(name, "it is not the schedule's")
            }
            Observed::Seen(one) if !one.is_over() => not(name, "it is not over"),
            Observed::Seen(_) => Ok(()),
            Observed::Absent => not(name, "it is gone"),
            Observed::Unknown(why) => unread(why),
        },
    }
}

#[cfg(test)]
mod tests;
