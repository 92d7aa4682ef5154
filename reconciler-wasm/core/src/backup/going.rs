//! The end of an `EtcdBackup`: what it stored stays in the store, unless `spec.backupPolicy.whenDeleted` is Delete.
//!
//! A finalizer holds the resource until all that has its names is gone from the store, which waits for whoever restores some
//! of it. Whoever changes their mind, or has lost the store, sets `whenDeleted` to Retain, also while the resource is being
//! deleted.

use contract::{
    BackupEffect, BackupKey, Decision, Effect, EtcdBackupSpec, Finding, FindingKind, Millis,
    OLD_FINALIZER, Observed, Place, Reason, STORED_FINALIZER, Snapshot, StoredObject,
    TransferState,
};

use super::course::Course;
use super::{delete, rehearse, run};
use crate::course::is_held;
use crate::{store, stored};

/// How soon a store that does not answer is asked again.
const AGAIN: Millis = Millis::seconds(30);
/// What a person can do about a store that is lost.
const WAY_OUT: &str = "To let this object go and leave in the store what is there, set spec.backupPolicy.whenDeleted to Retain.";

/// Puts the finalizer on a resource whose spec asks for it, or takes it off one whose spec no longer does.
pub(super) fn hold(snapshot: &Snapshot) -> Option<Decision> {
    let resource = &snapshot.resource;
    let spec = stored::read::<EtcdBackupSpec>(&resource.spec).ok()?;
    let finalizer = STORED_FINALIZER.to_owned();
    let (effect, words) = match (spec.takes_stored_along(), is_held(resource)) {
        (true, false) => (
            BackupEffect::Hold { finalizer },
            "What is stored goes with this object: the finalizer that holds it until then is put on.",
        ),
        (false, true) => (
            BackupEffect::Release { finalizer },
            "What is stored stays when this object goes: the finalizer is taken off.",
        ),
        (true, true) | (false, false) => return None,
    };
    Some(alone(snapshot, effect, words))
}

/// Decides on a backup that is being deleted.
pub(super) fn attend(mut course: Course<'_>) -> Decision {
    let snapshot = course.snapshot;
    let resource = &snapshot.resource;
    let release = |finalizer: &str, words: &str| {
        let finalizer = finalizer.to_owned();
        alone(snapshot, BackupEffect::Release { finalizer }, words)
    };
    let stays = "The resource is being deleted; what it stored stays in the store.";
    if resource.finalizers.iter().any(|name| name == OLD_FINALIZER) {
        return release(OLD_FINALIZER, stays);
    }
    let spec = stored::read::<EtcdBackupSpec>(&resource.spec);
    match spec {
        _ if !is_held(resource) => course.find(FindingKind::Note, Reason::Deleting, stays),
        Ok(spec) if !spec.takes_stored_along() => return release(STORED_FINALIZER, stays),
        Ok(spec) => match left(&mut course, &spec) {
            Some(keys) if keys.is_empty() => {
                let words = "The resource is being deleted, and nothing of it is stored any more.";
                return release(STORED_FINALIZER, words);
            }
            Some(keys) => delete_all(&mut course, &keys),
            None => {}
        },
        Err(error) => course.find(
            FindingKind::Invalid,
            Reason::InvalidSpec,
            format!(
                "spec.{} cannot be read: {}. {WAY_OUT}",
                error.path(),
                error.inner()
            ),
        ),
    }
    course.end()
}

/// What of it is still stored; none while that cannot be said or may not be touched yet, which is told.
fn left(course: &mut Course<'_>, spec: &EtcdBackupSpec) -> Option<Vec<String>> {
    course.past_failures();
    let place = match store::place(spec, "storageType", &course.snapshot.secrets) {
        Ok(place) => place,
        Err(invalid) => {
            let words = format!("{} {WAY_OUT}", invalid.message);
            course.find(invalid.kind, invalid.reason, words);
            return None;
        }
    };
    let Some(view) = course.snapshot.backup.as_deref() else {
        course.find(
            FindingKind::Blocked,
            Reason::BackupWaiting,
            format!(
                "This host shows nothing of the store; it is older than this module. {WAY_OUT}"
            ),
        );
        return None;
    };
    let transfer = view.transfer.as_ref().map(|transfer| &transfer.state);
    if let Some(TransferState::Running { trouble, .. }) = transfer {
        let trouble = trouble.as_ref();
        let but = trouble.map_or_else(String::new, |why| format!(" It is tried again: {why}."));
        course.find(
            FindingKind::Waiting,
            Reason::BackupUnderWay,
            format!(
                "What is stored is deleted once the backup under way has ended.{but} {WAY_OUT}"
            ),
        );
        course.look_again(run::LATER, Reason::BackupUnderWay);
        return None;
    }
    course.status.run = None;
    if let Some(rehearsal) = course.status.rehearsal_run.clone() {
        rehearse::abandon(course, &rehearsal);
    }
    match &view.stored {
        Observed::Seen(stored) => Some(own(course, spec, &place, stored)),
        Observed::Absent => Some(Vec::new()),
        Observed::Unknown(why) => {
            course.find(
                FindingKind::Blocked,
                Reason::BackupWaiting,
                format!("What it stored shall go with this object, and the store could not be listed: {why}. {WAY_OUT}"),
            );
            course.look_again(AGAIN, Reason::BackupWaiting);
            None
        }
    }
}

/// The names of a periodic backup; of one that is taken once its name, where it has succeeded.
fn own(
    course: &Course<'_>,
    spec: &EtcdBackupSpec,
    place: &Place,
    stored: &[StoredObject],
) -> Vec<String> {
    let is_own = |key: &str| {
        if spec.is_periodic() {
            BackupKey::of(key, &place.key).is_some()
        } else {
            key == place.key && course.status.succeeded
        }
    };
    let keys = stored.iter().map(|object| &object.key);
    keys.filter(|key| is_own(key)).cloned().collect()
}

fn delete_all(course: &mut Course<'_>, keys: &[String]) {
    let Some(view) = course.snapshot.backup.as_deref() else {
        return;
    };
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let why = "stored backups, as spec.backupPolicy.whenDeleted asks for";
    delete::delete(course, view, &keys, why, &format!(" {WAY_OUT}"));
}

fn alone(snapshot: &Snapshot, effect: BackupEffect, words: &str) -> Decision {
    let finding = Finding {
        kind: FindingKind::Note,
        reason: if snapshot.resource.deleted.is_some() {
            Reason::Deleting
        } else {
            Reason::AsSpecified
        },
        message: words.to_owned(),
        member: None,
    };
    Course::alone(snapshot, Effect::Backup(effect), finding)
}
