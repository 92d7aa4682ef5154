//! When a backup is due.
//!
//! The next time stands in the status, so that a restart neither shifts nor repeats anything. What was missed is told
//! and made good by one backup, not by many. What the cluster waits for is due at once, whatever the rhythm.

use contract::{BackupView, EtcdBackupStatus, EventType, FindingKind, Millis, Reason};

use super::course::Course;
use super::plan::Plan;
use super::rhythm::Rhythm;
use crate::clock;

/// How long after it is asked for a backup begins that surely counts, both times being of whole seconds.
const UNMISTAKABLE: Millis = Millis::seconds(2);
/// How soon one that the cluster waits for is taken again after it failed or did not count.
const AGAIN: Millis = Millis::seconds(60);

/// Whether a backup is due. One that is taken once always is; a periodic one for the first time at the first time of its
/// rhythm after its creation.
pub(super) fn is_due(course: &mut Course<'_>, plan: &Plan, view: &BackupView) -> bool {
    let Some(rhythm) = &plan.rhythm else {
        return true;
    };
    let is_wanted = is_wanted(course, plan, view);
    if matches!(rhythm, Rhythm::OnDemand) {
        course.status.next_backup = None;
        if !is_wanted {
            course.find(
                FindingKind::Note,
                Reason::BackupScheduled,
                "A backup is taken before what spec.backupPolicy.before names.",
            );
        }
        return is_wanted;
    }
    let now = course.now();
    let before = course.status.next_backup.as_deref().and_then(clock::read);
    let mut next = rhythm.planned(before, course.snapshot.resource.created, now);
    if plan.is_suspended && next <= now {
        next = rhythm.after(now);
    }
    course.status.next_backup = Some(clock::spell(next));
    if is_wanted {
        return true;
    }
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

/// Whether the cluster waits for one, and none was taken since.
fn is_wanted(course: &mut Course<'_>, plan: &Plan, view: &BackupView) -> bool {
    let now = course.now();
    let wanted = view.wanted.as_ref();
    let Some(since) = wanted
        .filter(|wanted| plan.before.contains(&wanted.act))
        .and_then(|wanted| clock::read(&wanted.since))
    else {
        return false;
    };
    if began_since(&course.status, since) {
        return false;
    }
    let from = Millis(since.0 + UNMISTAKABLE.0);
    if now < from && now >= since {
        course.look_again(Millis(from.0 - now.0), Reason::BackupBeforeChange);
        return false;
    }
    let status = &course.status;
    let failed = status.last_failure_date.as_deref();
    // By a clock that fell behind none counts until the cluster has seen one of them and asks anew.
    let stored = status.last_success_date.as_deref();
    let stored = stored.filter(|_| now < since);
    // What a wrong clock told does not count.
    let tried = [failed, stored].into_iter().flatten();
    let tried = tried.filter_map(clock::read).filter(|tried| *tried <= now);
    match tried.max().map(|tried| now.since(tried)) {
        Some(passed) if passed < AGAIN => {
            course.look_again(Millis(AGAIN.0 - passed.0), Reason::BackupBeforeChange);
            false
        }
        Some(_) | None => true,
    }
}

/// Whether the last backup that succeeded surely began after this instant. Times in a status are of whole seconds, so
/// what was asked for may be a second younger than it says, and a backup may have ended a second later.
pub(crate) fn began_since(status: &EtcdBackupStatus, since: Millis) -> bool {
    let ended = status.last_success_date.as_deref().and_then(clock::read);
    let took = status.duration_milliseconds.unwrap_or_default();
    ended.is_some_and(|ended| ended.0 - took >= since.0 + 1000)
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
