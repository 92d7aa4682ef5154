//! When a backup is due.
//!
//! The next time stands in the status, so that a restart neither shifts nor repeats anything. What was missed is told
//! and made good by one backup, not by many.

use contract::{EventType, FindingKind, Millis, Reason};

use super::course::Course;
use super::plan::Plan;
use crate::clock;

/// Whether a backup is due. One that is taken once always is; a periodic one for the first time a full interval after its
/// creation.
pub(super) fn is_due(course: &mut Course<'_>, plan: &Plan) -> bool {
    let Some(interval) = plan.interval else {
        return true;
    };
    let now = course.now();
    let planned = course.status.next_backup.as_deref().and_then(clock::read);
    let created = course.snapshot.resource.created;
    let mut next = planned.unwrap_or(Millis(created.0 + interval.0));
    // A shorter interval counts from now on, not after the longer one.
    next = next.min(Millis(now.0 + interval.0));
    course.status.next_backup = Some(clock::spell(next));
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

/// Plans the next backup after one that began now, in the rhythm that was kept so far.
pub(super) fn advance(course: &mut Course<'_>, plan: &Plan) {
    let Some(interval) = plan.interval else {
        return;
    };
    let now = course.now();
    let due = course.status.next_backup.as_deref().and_then(clock::read);
    let due = due.unwrap_or(now);
    let passed = now.since(due).0 / interval.0;
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
    let next = Millis(due.0 + (passed + 1) * interval.0);
    course.status.next_backup = Some(clock::spell(next));
}

/// The same after one that never began: it is not taken again before the next is due.
pub(super) fn advance_if_due(course: &mut Course<'_>, plan: &Plan) {
    let due = course.status.next_backup.as_deref().and_then(clock::read);
    if due.is_some_and(|due| course.now() >= due) {
        advance(course, plan);
    }
}
