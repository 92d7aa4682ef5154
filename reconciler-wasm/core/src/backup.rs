//! Every judgement on an `EtcdBackup`: when a backup is taken, from whom, under which name, and when it counts.
//!
//! Moves no byte. A run is written into the status before it begins, so that whoever comes after a crash finds what was
//! meant and looks whether it is there.
//!
//! # Flow
//! 1. `plan` turns the spec into a [`plan::Plan`], or says what is invalid.
//! 2. A run under way is attended; else one that is due begins.
//! 3. Backups beyond the number that is kept are deleted, while no run and no rehearsal is under way. One that an EtcdRestore
//!    or a cluster may still read stays until that is over.
//! 4. Beside that it is tried whether the newest restores, where the spec asks for it.
//! 5. When the resource is deleted, what it stored stays, unless the spec asks for it to go.
//!
//! # Guarantees
//! A backup that is taken once and has succeeded or failed is never run again. Nothing counts as a backup that was not
//! read back whole.

mod course;
mod delete;
mod going;
mod plan;
mod rehearse;
mod retention;
pub(crate) mod rhythm;
mod run;
mod schedule;
mod source;

use contract::{Decision, FindingKind, Reason, Snapshot};

use crate::stored;
use course::Course;
pub(crate) use schedule::began_since;

/// Decides on a backup.
pub(crate) fn decide(snapshot: &Snapshot) -> Decision {
    let resource = &snapshot.resource;
    let memory =
        match stored::remembered(resource, "a backup that was taken from one that is to be") {
            Ok(memory) => memory,
            Err(finding) => return Course::untold(snapshot, finding),
        };
    let mut course = Course::new(snapshot, &memory);
    if resource.deleted.is_some() {
        return going::attend(course);
    }
    if let Some(decision) = going::hold(snapshot) {
        return decision;
    }
    let plan = match plan::plan(snapshot) {
        Ok(plan) => plan,
        Err(mut invalid) => {
            invalid.message = resource.dialect().in_its_words(invalid.message);
            run::refuse(&mut course, invalid);
            return course.end();
        }
    };
    let is_over = plan.rhythm.is_none() && memory.is_over();
    if is_over {
        course.find(
            FindingKind::Note,
            Reason::AsSpecified,
            "It was taken once and is not run again. Create another EtcdBackup for another one.",
        );
        if plan.rehearsals.is_none() && memory.rehearsal_run.is_none() {
            return course.end();
        }
    }
    course.past_failures();
    let Some(view) = snapshot.backup.as_deref() else {
        course.find(
            FindingKind::Blocked,
            Reason::BackupWaiting,
            "This host shows nothing of stores and endpoints; it is older than this module.",
        );
        return course.end();
    };
    match &memory.run {
        _ if is_over => {}
        Some(under_way) => run::attend(&mut course, &plan, view, under_way),
        None if schedule::is_due(&mut course, &plan, view) => run::begin(&mut course, &plan, view),
        // What is being restored must stay until that has ended.
        None if memory.rehearsal_run.is_some() => {}
        None => retention::keep(&mut course, &plan, view),
    }
    rehearse::attend(&mut course, &plan, view);
    course.end()
}
