//! What is in the store: nothing of it is written over, and what the spec keeps is not deleted.
//!
//! Does not know whose the keys are, nor which of them the periods of `keep` keep.

use contract::{BackupKey, EtcdBackupSpec, Millis, Place, Snapshot};
use jiff::Timestamp;

use super::{BackupRefusal, succeeded};
use crate::Refusal;

/// Whether the spec lets a stored backup go at all: there are as many with higher revisions as it keeps, and as many that
/// were taken later, and it is too old to be kept for its age. Which ones `keep` keeps is not judged.
pub(super) fn is_surplus(key: &str, spec: &EtcdBackupSpec, snapshot: &Snapshot) -> bool {
    let policy = spec.backup_policy.clone().unwrap_or_default();
    let positive = |value: Option<i64>| value.filter(|value| *value > 0);
    let (most, age) = (
        positive(policy.max_backups),
        positive(policy.max_age_in_second),
    );
    if most.is_none() && age.is_none() && policy.keep.is_none() {
        return false;
    }
    let Some(prefix) = Place::of(spec).map(|place| place.key) else {
        return false;
    };
    let Some(own) = BackupKey::of(key, &prefix) else {
        return false;
    };
    let view = snapshot.backup.as_ref();
    let stored = view.and_then(|view| view.stored.seen());
    let stored = stored.into_iter().flatten();
    let others: Vec<BackupKey> = stored
        .filter_map(|object| BackupKey::of(&object.key, &prefix))
        .collect();
    let kept = usize::try_from(most.unwrap_or(1)).unwrap_or(usize::MAX);
    let higher = others.iter().filter(|other| **other > own).count();
    let younger = others.iter().filter(|other| other.is_younger(&own)).count();
    let since = Millis(
        snapshot
            .now
            .0
            .saturating_sub(age.unwrap_or_default().saturating_mul(1_000)),
    );
    let is_old = age.is_none() || stamp(since).is_some_and(|since| own.at <= since);
    higher >= kept && younger >= kept && is_old
}

/// What is stored is written over by nobody, and no name outlives all that come: it says the revision that the member told,
/// at the time of the snapshot.
pub(super) fn judge_overwriting(
    key: &str,
    endpoint: &str,
    spec: &EtcdBackupSpec,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    if !spec.is_periodic() {
        if succeeded(&snapshot.resource) {
            refusals.push(BackupRefusal::Stored(key.to_owned()).into());
        }
        return;
    }
    let view = snapshot.backup.as_ref();
    let stored = view.and_then(|view| view.stored.seen());
    let mut stored = stored.into_iter().flatten();
    if stored.any(|object| object.key == key) {
        refusals.push(BackupRefusal::Stored(key.to_owned()).into());
    }
    let told = view.into_iter().flat_map(|view| &view.endpoints);
    let mut told = told.filter(|one| one.url == endpoint);
    let told = told.find_map(|one| one.status.seen()?.revision);
    let named = Place::of(spec).and_then(|place| BackupKey::of(key, &place.key));
    let is_true = named
        .is_some_and(|named| Some(named.revision) == told && Some(named.at) == stamp(snapshot.now));
    if !is_true {
        refusals.push(BackupRefusal::Untrue(key.to_owned()).into());
    }
}

/// The instant as the names of backups spell it, in UTC; none that no calendar has.
fn stamp(at: Millis) -> Option<String> {
    let instant = Timestamp::from_second(at.0.div_euclid(1_000)).ok()?;
    Some(instant.strftime("%Y-%m-%d-%H:%M:%S").to_string())
}
