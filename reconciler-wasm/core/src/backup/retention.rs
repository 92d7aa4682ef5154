//! Which stored backups go: the oldest beyond the number that is kept.
//!
//! Only objects whose names this backup made are counted or deleted, revisions are compared as numbers, and the newest
//! stays whatever is asked for.

use contract::{
    BackupEffect, BackupKey, BackupView, Effect, EventType, FindingKind, Observed, Reason,
};

use super::course::Course;
use super::plan::Plan;
use crate::pre;

/// Deletions of one pass.
const AT_ONCE: usize = 16;

/// Counts what is stored and deletes what is too much.
pub(super) fn keep(course: &mut Course<'_>, plan: &Plan, view: &BackupView) {
    let stored = match &view.stored {
        Observed::Seen(stored) => stored,
        Observed::Absent => return,
        Observed::Unknown(why) => {
            course.find(
                FindingKind::Waiting,
                Reason::BackupWaiting,
                format!("The store could not be listed: {why}."),
            );
            return;
        }
    };
    let prefix = plan.place.key.as_str();
    let mut own: Vec<(BackupKey, &str)> = stored
        .iter()
        .filter_map(|object| Some((BackupKey::of(&object.key, prefix)?, object.key.as_str())))
        .collect();
    own.sort();
    course.status.stored_backups = i64::try_from(own.len()).ok();
    let Some(keep) = plan.keep else { return };
    let surplus = own.len().saturating_sub(keep.max(1)).min(AT_ONCE);
    if surplus == 0 {
        return;
    }
    let resource = &course.snapshot.resource;
    for (_, key) in &own[..surplus] {
        let effect = BackupEffect::Delete {
            key: (*key).to_owned(),
        };
        course
            .actions
            .push(pre::action(resource, Effect::Backup(effect)));
    }
    let words = format!(
        "Deleting {surplus} of {} stored backups, the oldest; {keep} are kept",
        own.len()
    );
    course.tell(EventType::Normal, Reason::BackupsDeleted, words.clone());
    course.find(FindingKind::Doing, Reason::BackupsDeleted, words);
    course.look_again(super::run::LATER, Reason::BackupsDeleted);
}
