//! Deletes stored backups, a handful in one pass: none that may be being restored.
//!
//! A restore reads its backup until its last founder has started, and the living cluster that it was asked for is down by
//! then. Which backups go is not judged here.

use contract::{
    BackupEffect, BackupView, Effect, EventType, FindingKind, Millis, Observed, OutcomeKind, Reason,
};

use super::course::Course;
use super::run;
use crate::pre;

/// Deletions of one pass.
const AT_ONCE: usize = 16;
/// How soon to look again whether what is held may go.
const AGAIN: Millis = Millis::seconds(30);

/// Deletes these but for what is held, which is told. `why` they go follows their number; `way_out` is what a person can do
/// besides.
pub(super) fn delete(
    course: &mut Course<'_>,
    view: &BackupView,
    keys: &[&str],
    why: &str,
    way_out: &str,
) {
    let free = free(course, view, keys, way_out);
    if free.is_empty() {
        return;
    }
    let resource = &course.snapshot.resource;
    for key in free.iter().take(AT_ONCE) {
        let effect = BackupEffect::Delete {
            key: (*key).to_owned(),
        };
        course
            .actions
            .push(pre::action(resource, Effect::Backup(effect)));
    }
    let count = free.len();
    if let Some(refusal) = refusal(course) {
        let words =
            format!("What shall go from the store stays: {refusal}. It is tried again.{way_out}");
        hold(course, FindingKind::Waiting, words);
        return;
    }
    let words = format!("Deleting {count} {why}");
    course.tell(EventType::Normal, Reason::BackupsDeleted, words.clone());
    course.find(FindingKind::Doing, Reason::BackupsDeleted, words);
    course.look_again(run::LATER, Reason::BackupsDeleted);
}

/// Those of these that nobody restores. What is not known may be being restored.
fn free<'k>(
    course: &mut Course<'_>,
    view: &BackupView,
    keys: &[&'k str],
    way_out: &str,
) -> Vec<&'k str> {
    if keys.is_empty() {
        return Vec::new();
    }
    let restored = match &view.being_restored {
        Observed::Seen(restored) => restored,
        Observed::Absent => {
            let words = format!(
                "Nothing stored is deleted: this host does not show what is being restored; it is older than this module.\
                 {way_out}"
            );
            hold(course, FindingKind::Blocked, words);
            return Vec::new();
        }
        Observed::Unknown(why) => {
            let words = format!(
                "Nothing stored is deleted, because what is being restored could not be read: {why}.{way_out}"
            );
            hold(course, FindingKind::Waiting, words);
            return Vec::new();
        }
    };
    let reader = |key: &str| restored.iter().find(|one| one.may_be(key));
    let held: Vec<&str> = keys
        .iter()
        .copied()
        .filter(|key| reader(key).is_some())
        .collect();
    let first = held.first();
    if let Some((first, one)) = first.and_then(|first| Some((first, reader(first)?))) {
        let more = match held.len() {
            1 => String::new(),
            count => format!(", and {} more like it", count - 1),
        };
        let words = format!(
            "{first} is not deleted while {by} may still read it{more}. It goes once that restore is over; what that waits for \
             stands in the conditions of {by}.{way_out}",
            by = one.by
        );
        hold(course, FindingKind::Waiting, words);
    }
    let free = keys.iter().copied().filter(|key| reader(key).is_none());
    free.collect()
}

/// Why the envelope did not let the last pass delete.
fn refusal(course: &Course<'_>) -> Option<String> {
    let key = String::new();
    let effect = BackupEffect::Delete { key }.name();
    let mut past = course.snapshot.outcomes.iter();
    let refused = past.find(|past| past.effect == effect && past.outcome == OutcomeKind::Refused);
    refused.map(|past| past.message.clone())
}

/// It keeps people from what they asked for, so it comes before what is merely planned.
fn hold(course: &mut Course<'_>, kind: FindingKind, words: String) {
    course.find_first(kind, Reason::BackupsHeld, words);
    course.look_again(AGAIN, Reason::BackupsHeld);
}
