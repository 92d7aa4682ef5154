//! When a backup is due.
//!
//! The next time stands in the status, so that a restart neither shifts nor repeats anything. What was missed is told
//! and made good by one backup, not by many.

use contract::{EventType, FindingKind, Millis, Reason};

use super::course::Course;
use super::plan::Plan;
use super::rhythm::Rhythm;
use crate::clock;

/// Whether a backup is due. One that is taken once always is; a periodic one for the first time at the first time of its
/// rhythm after its creation.
pub(super) fn is_due(course: &mut Course<'_>, plan: &Plan) -> bool {
    let Some(rhythm) = &plan.rhythm else {
        return true;
    };
    let now = course.now();
    let mut next = planned(course, rhythm);
    if plan.is_suspended && next <= now {
        next = rhythm.after(now);
    }
    course.status.next_backup = Some(clock::spell(next));
    if plan.is_suspended {
        course.find(
            FindingKind::Note,
            Reason::BackupsSuspended,
            "No backup is taken while spec.backupPolicy.suspend is true.",
        );
        return false;
    }
    if now >= next {
        return true;
    }
    course.find(
        FindingKind::Note,
        Reason::BackupScheduled,
        "The next backup is taken at status.nextBackup.",
    );
    course.look_again(Millis(next.0 - now.0), Reason::BackupScheduled);
    false
}

/// The next time that was planned, as far as the rhythm still has it: a new one counts from now on.
fn planned(course: &Course<'_>, rhythm: &Rhythm) -> Millis {
    let from_now_on = rhythm.after(course.now());
    match course.status.next_backup.as_deref().and_then(clock::read) {
        None => rhythm
            .after(course.snapshot.resource.created)
            .min(from_now_on),
        Some(next) if rhythm.has(next) => next.min(from_now_on),
        Some(_edited) => from_now_on,
    }
}

/// Plans the next backup after one that began now, in the rhythm that was kept so far.
pub(super) fn advance(course: &mut Course<'_>, plan: &Plan) {
    let Some(rhythm) = &plan.rhythm else {
        return;
    };
    let now = course.now();
    let due = course.status.next_backup.as_deref().and_then(clock::read);
    let due = due.unwrap_or(now);
    let (passed, next) = rhythm.missed(due, now);
    if passed > 0 {
        course.status.missed += passed;
        course.tell(
            EventType::Warning,
            Reason::BackupsMissed,
            format!(
                "{passed} more backups were due since {} and nobody was there to take them; one is taken now",
                clock::spell(due)
            ),
        );
    }
    course.status.next_backup = Some(clock::spell(next));
}

/// The same after one that never began: it is not taken again before the next is due.
pub(super) fn advance_if_due(course: &mut Course<'_>, plan: &Plan) {
    let due = course.status.next_backup.as_deref().and_then(clock::read);
    if due.is_some_and(|due| course.now() >= due) {
        advance(course, plan);
    }
}
