//! Every judgement on an `EtcdBackupSchedule`: when an EtcdBackup is made, and which of those that are over are kept.
//!
//! Takes no backup: each EtcdBackup is decided on by itself ([`crate::backup`]).
//!
//! # Flow
//! 1. `plan` turns the spec into a [`Plan`], or says what is invalid.
//! 2. An EtcdBackup that is being made is attended; else one that is due begins.
//! 3. Those that are over and beyond the number that is kept are deleted.
//!
//! # Guarantees
//! One is written into the status before it is made, under a name that follows from its time: a crash between the two
//! neither loses it nor makes another. None is made while the one before is under way.

mod due;
mod history;

use contract::{
    BackupScheduleSpec, BackupScheduleStatus, Condition, Decision, Effect, EventType, Finding,
    FindingKind, Millis, Observed, OldLock, Reason, Resource, ScheduleEffect, ScheduledBackup,
    Snapshot, improbable,
};
use serde_json::Value;

use crate::backup::rhythm::Rhythm;
use crate::course::{self, Told};
use crate::{clock, stored};

type Course<'a> = course::Course<'a, BackupScheduleStatus>;

/// How soon to look again for what nobody tells of.
const LATER: Millis = Millis::seconds(10);
/// The longest name of an object is 253 letters, and a time follows the schedule's.
const LONGEST_NAME: usize = 253 - 15;

impl Told for BackupScheduleStatus {
    fn conditions(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }

    fn answer(&mut self, generation: i64) {
        self.observed_generation = Some(generation);
    }

    fn update(self) -> Effect {
        let status = Box::new(self);
        Effect::Schedule(ScheduleEffect::UpdateStatus { status })
    }
}

/// A schedule that can be followed.
struct Plan {
    rhythm: Rhythm,
    is_suspended: bool,
    /// The spec of each EtcdBackup.
    template: Value,
    /// How many that succeeded are kept; none where all are.
    succeeded: Option<usize>,
    /// How many that failed.
    failed: Option<usize>,
}

/// Decides on a schedule.
pub(crate) fn decide(snapshot: &Snapshot) -> Decision {
    let resource = &snapshot.resource;
    if resource.deleted.is_some() {
        return going(snapshot);
    }
    let memory = match stored::remembered(resource, "a backup that was made from one that is due") {
        Ok(memory) => memory,
        Err(finding) => return Course::untold(snapshot, finding),
    };
    let mut course = Course::new(snapshot, &memory);
    let plan = match plan(resource) {
        Ok(plan) => plan,
        Err(why) => {
            refuse(&mut course, &memory, why);
            return course.end();
        }
    };
    if is_held_off(&mut course) {
        return course.end();
    }
    let Some(view) = snapshot.schedule.as_deref() else {
        course.find(
            FindingKind::Blocked,
            Reason::BackupWaiting,
            "This host shows nothing of a schedule's EtcdBackups; it is older than this module.",
        );
        return course.end();
    };
    let known = match &view.backups {
        Observed::Seen(known) => known,
        Observed::Absent => {
            wait_for_list(&mut course, "the caches do not show them");
            return course.end();
        }
        Observed::Unknown(why) => {
            wait_for_list(&mut course, why);
            return course.end();
        }
    };
    let own: Vec<&ScheduledBackup> = known
        .iter()
        .filter(|backup| backup.owner.as_ref() == Some(&resource.uid) && !backup.deleted)
        .collect();
    let under_way = own.iter().filter(|backup| !backup.is_over());
    course.status.active = under_way.map(|backup| backup.name.clone()).collect();
    let before = course.status.last_successful_time.as_ref();
    let stored = own.iter().filter_map(|backup| backup.stored.as_ref());
    let last = stored.chain(before).max_by_key(|time| clock::read(time));
    course.status.last_successful_time = last.cloned();
    due::attend(&mut course, &plan, known);
    history::keep(&mut course, &plan, &own);
    course.end()
}

/// What is unknown is not an empty list: an EtcdBackup may be under way.
fn wait_for_list(course: &mut Course<'_>, why: &str) {
    course.find(
        FindingKind::Waiting,
        Reason::BackupWaiting,
        format!(
            "The EtcdBackups of this schedule could not be listed: {why}. Nothing is done meanwhile."
        ),
    );
    course.look_again(LATER, Reason::BackupWaiting);
}

/// Says why a spec cannot be followed: once by an event, and by a condition as long as it is so.
fn refuse(course: &mut Course<'_>, memory: &BackupScheduleStatus, why: String) {
    let mut conditions = memory.conditions.iter();
    if !conditions.any(|condition| condition.message == why) {
        course.tell(EventType::Warning, Reason::InvalidSpec, why.clone());
    }
    course.status.next_schedule_time = None;
    course.find(FindingKind::Invalid, Reason::InvalidSpec, why);
}

/// Whether the archived operator may be at work, which makes EtcdBackups by itself.
fn is_held_off(course: &mut Course<'_>) -> bool {
    let snapshot = course.snapshot;
    let lock = snapshot.old_lock.seen();
    let Some(lock) = lock.filter(|lock| lock.may_be_held(snapshot.now)) else {
        return false;
    };
    let OldLock {
        namespace, holder, ..
    } = lock;
    let deployment = snapshot.resource.dialect().predecessor().deployment;
    course.find(
        FindingKind::Blocked,
        Reason::OldOperatorActive,
        format!(
            "{holder} holds the lock of the archived operator ({}), which makes EtcdBackups by itself, so none is made here. \
             Stop it, for example with kubectl scale deployment {deployment} --replicas=0 --namespace {namespace}.",
            lock.object(),
        ),
    );
    course.look_again(LATER, Reason::OldOperatorActive);
    true
}

/// Decides on a schedule that is being deleted. Kubernetes collects its EtcdBackups; what they stored stays, unless their
/// own spec says otherwise.
fn going(snapshot: &Snapshot) -> Decision {
    let words = "The resource is being deleted; Kubernetes collects its EtcdBackups.";
    let finding = Finding {
        kind: FindingKind::Note,
        reason: Reason::Deleting,
        message: words.to_owned(),
        member: None,
    };
    let finalizers = &snapshot.resource.finalizers;
    let old = improbable::SCHEDULE_FINALIZER;
    if finalizers.iter().any(|name| name == old) {
        let finalizer = old.to_owned();
        let effect = Effect::Schedule(ScheduleEffect::Release { finalizer });
        return Course::alone(snapshot, effect, finding);
    }
    let memory = BackupScheduleStatus::default();
    let mut course = Course::new(snapshot, &memory);
    course.find(finding.kind, finding.reason, finding.message);
    course.end()
}

/// Plans what is stored.
///
/// # Errors
/// The first thing that makes the spec impossible to follow, in words.
fn plan(resource: &Resource) -> Result<Plan, String> {
    let spec: BackupScheduleSpec = stored::spec(&resource.spec)?;
    if resource.name.len() > LONGEST_NAME {
        return Err(format!(
            "The name has {} letters, and no EtcdBackup could be called after it with its time: {LONGEST_NAME} are the most.",
            resource.name.len()
        ));
    }
    let rhythm = Rhythm::of(&spec.policy, &resource.uid);
    let rhythm = rhythm
        .map_err(|why| format!("spec.schedule: {why}."))?
        .ok_or("spec.schedule is missing. Say when backups are taken.")?;
    Ok(Plan {
        rhythm,
        is_suspended: spec.policy.suspend == Some(true),
        template: spec.template,
        succeeded: limit(
            "successfulBackupsHistoryLimit",
            spec.successful_backups_history_limit,
        )?,
        failed: limit(
            "failedBackupsHistoryLimit",
            spec.failed_backups_history_limit,
        )?,
    })
}

fn limit(field: &str, limit: Option<i64>) -> Result<Option<usize>, String> {
    let Some(limit) = limit else {
        return Ok(None);
    };
    let counted = usize::try_from(limit);
    counted.map(Some).map_err(|_| {
        format!(
            "spec.{field} {limit} is negative. Leave it out to keep all, or set it to 0 or more."
        )
    })
}
