//! What may at most be done about a schedule: EtcdBackups of exactly its template come under its own names, one at a time and
//! none before its time; its own that are over go.
//!
//! What an EtcdBackup does is judged with it: [`crate::backup`].

use contract::{
    Action, BackupScheduleSpec, ObjectPrecondition, Observed, Preconditions, Resource,
    ScheduleEffect, ScheduledBackup, ScheduledState, Snapshot, improbable,
};
use jiff::Timestamp;
use serde::Deserialize;

use crate::{BackupRefusal, Fresh, Refusal, ResourceHead};

/// Digits of a time in a name: year to second, and years are four of them for long.
const DIGITS: std::ops::RangeInclusive<usize> = 14..=16;

const AHEAD: &str = "its time has not come";

/// Judges an action on a schedule by itself.
pub(crate) fn judge_schedule(
    effect: &ScheduleEffect,
    action: &Action,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let resource = &snapshot.resource;
    match effect {
        ScheduleEffect::UpdateStatus { status } => {
            let run = status.run.as_ref().map(|run| run.id.as_str());
            if let Some(name) = run.filter(|name| is_ahead(name, snapshot)) {
                refuse(name, AHEAD, refusals);
            }
        }
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
            } else if is_ahead(name, snapshot) {
                AHEAD
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

fn is_name_of(name: &str, schedule: &Resource) -> bool {
    time_of(name, schedule).is_some()
}

/// The digits of `SCHEDULE-YYYYMMDDhhmmss`, which sort as the times do.
fn time_of(name: &str, schedule: &Resource) -> Option<u64> {
    let rest = name.strip_prefix(schedule.name.as_str())?;
    let time = rest.strip_prefix('-')?;
    let is_time =
        DIGITS.contains(&time.len()) && time.bytes().all(|letter| letter.is_ascii_digit());
    time.parse().ok().filter(|_| is_time)
}

/// Whether the name says a time that is still to come. One that the status holds already was due by the clock of then, which
/// may have been set back since.
fn is_ahead(name: &str, snapshot: &Snapshot) -> bool {
    let resource = &snapshot.resource;
    let known = resource.status.pointer("/run/id");
    if known.and_then(serde_json::Value::as_str) == Some(name) {
        return false;
    }
    let now = Timestamp::from_second(snapshot.now.0.div_euclid(1_000)).ok();
    let now = now.and_then(|now| now.strftime("%Y%m%d%H%M%S").to_string().parse().ok());
    time_of(name, resource)
        .zip(now)
        .is_some_and(|(time, now): (u64, u64)| time > now)
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
