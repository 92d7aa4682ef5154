//! When an EtcdBackup is made, and which one.
//!
//! The next time stands in the status, so that a restart neither shifts nor repeats anything. What was missed is told and
//! made good by one. One whose time comes while the one before is under way waits for the end of that one, as a `CronJob`
//! with `concurrencyPolicy: Forbid` does: two at once would read the same data twice, and a member serves clients as well.

use contract::{
    Effect, EventType, FindingKind, Millis, ObjectPrecondition, OutcomeKind, Reason,
    ScheduleEffect, ScheduledBackup, ScheduledRun,
};

use super::{Course, Plan};
use crate::{clock, pre};

/// How soon one that could not be made is tried again.
const AGAIN: Millis = Millis::seconds(30);

/// Attends the EtcdBackup that is being made; else begins one that is due. `known` are those of anybody under such names.
pub(super) fn attend(course: &mut Course<'_>, plan: &Plan, known: &[ScheduledBackup]) {
    if let Some(run) = course.status.run.clone() {
        let there = known.iter().find(|backup| backup.name == run.id);
        match there {
            None if plan.is_suspended => {
                course.status.missed += 1;
                course.tell(
                    EventType::Normal,
                    Reason::BackupsSuspended,
                    format!(
                        "EtcdBackup {} was not made before backups were suspended, so the backup of {} is left out",
                        run.id, run.at
                    ),
                );
            }
            None => return make(course, plan, &run),
            Some(made) if made.owner.as_ref() == Some(&course.snapshot.resource.uid) => {
                note_made(course, run);
            }
            Some(_others) => {
                course.status.missed += 1;
                course.tell(
                    EventType::Warning,
                    Reason::ForeignObject,
                    format!(
                        "EtcdBackup {} is there and not of this schedule, so the backup of {} is left out",
                        run.id, run.at
                    ),
                );
            }
        }
        course.status.run = None;
    }
    let now = course.now();
    let before = course.status.next_schedule_time.as_deref();
    let before = before.and_then(clock::read);
    let created = course.snapshot.resource.created;
    let mut next = plan.rhythm.planned(before, created, now);
    if plan.is_suspended {
        if next <= now {
            next = plan.rhythm.after(now);
        }
        course.find(
            FindingKind::Note,
            Reason::BackupsSuspended,
            "No EtcdBackup is made while backupPolicy.suspend of the template is true.",
        );
    }
    course.status.next_schedule_time = Some(clock::spell(next));
    if plan.is_suspended {
        return;
    }
    if now < next {
        course.find(
            FindingKind::Note,
            Reason::BackupScheduled,
            "The next EtcdBackup is made at status.nextScheduleTime.",
        );
        course.look_again(Millis(next.0 - now.0), Reason::BackupScheduled);
        return;
    }
    if let Some(active) = course.status.active.first() {
        let words = format!(
            "An EtcdBackup is due, and {active} of before is still under way. It is made once that one is over."
        );
        course.find(FindingKind::Waiting, Reason::BackupUnderWay, words);
        return;
    }
    begin(course, plan, next);
}

/// Begins the one that is due, and says how many were missed since.
fn begin(course: &mut Course<'_>, plan: &Plan, due: Millis) {
    let now = course.now();
    let (passed, next) = plan.rhythm.missed(due, now);
    // What is made good has the time at which it is.
    let at = clock::spell(if passed > 0 { now } else { due });
    if passed > 0 {
        course.status.missed += passed;
        course.tell(
            EventType::Warning,
            Reason::BackupsMissed,
            format!(
                "{passed} more EtcdBackups were due since {} and could not be made; one is made now",
                clock::spell(due)
            ),
        );
    }
    let digits: String = at.chars().filter(char::is_ascii_digit).collect();
    let run = ScheduledRun {
        id: [&course.snapshot.resource.name, "-", &digits].concat(),
        at,
    };
    course.status.run = Some(run.clone());
    course.status.next_schedule_time = Some(clock::spell(next));
    make(course, plan, &run);
}

/// Asks for the EtcdBackup that stands in the status.
fn make(course: &mut Course<'_>, plan: &Plan, run: &ScheduledRun) {
    let effect = ScheduleEffect::CreateBackup {
        name: run.id.clone(),
        spec: Box::new(plan.template.clone()),
    };
    let name = effect.name();
    let mut past = course.snapshot.outcomes.iter();
    let failed = past.find(|past| past.effect == name && past.outcome == OutcomeKind::Failed);
    match failed {
        Some(failed) => course.find(
            FindingKind::Waiting,
            Reason::ActionFailed,
            format!(
                "EtcdBackup {} could not be made: {}. It is tried again.",
                run.id, failed.message
            ),
        ),
        None => course.find(
            FindingKind::Doing,
            Reason::ScheduledBackupMade,
            format!("EtcdBackup {} is made.", run.id),
        ),
    }
    let mut action = pre::action(&course.snapshot.resource, Effect::Schedule(effect));
    action.pre.object = Some(ObjectPrecondition::Absent);
    action.pre.run = Some(run.id.clone());
    course.actions.push(action);
    course.look_again(AGAIN, Reason::ScheduledBackupMade);
}

/// It is there; what becomes of it is its own decision.
fn note_made(course: &mut Course<'_>, run: ScheduledRun) {
    let words = format!("Made EtcdBackup {} for {}", run.id, run.at);
    course.tell(EventType::Normal, Reason::ScheduledBackupMade, words);
    course.status.last_schedule_time = Some(run.at);
    course.status.last_backup = Some(run.id);
}
