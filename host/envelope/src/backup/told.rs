//! What the status of a backup may newly say: only what the snapshot shows of the run that the status held before.
//!
//! People and clusters that wait for a backup believe it, and rehearsals begin by it. What it said before it may go on saying,
//! whoever wrote it. Does not know when a backup is due.

use contract::{
    EtcdBackupSpec, EtcdBackupStatus, Millis, Observed, Place, Rehearsal, RehearsalRun,
    RehearsalState, RehearsalVerdict, Snapshot, Stored, TransferState,
};
use jiff::Timestamp;
use serde::Deserialize as _;

use crate::Refusal;

/// Adds a refusal for each thing that the status would newly say and that nobody saw.
pub(super) fn judge(
    status: &EtcdBackupStatus,
    spec: &EtcdBackupSpec,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let before = EtcdBackupStatus::deserialize(&snapshot.resource.status).unwrap_or_default();
    let succeeds = status.succeeded && !before.succeeded;
    let why = [
        ((succeeds || last(status) != last(&before))
            && !has_just_ended(status, &before, spec, snapshot))
        .then_some("a backup that is stored, which is not what the recorded run has read back"),
        why_not_tried(status, &before, spec, snapshot),
        (is_newly_proven(status, &before) && !has_just_answered(status, &before, snapshot))
            .then_some("a backup that restores, which is not what the recorded rehearsal answered"),
    ];
    let said = why.into_iter().flatten();
    refusals.extend(said.map(|why| Refusal::FalseStatus(why.to_owned())));
}

/// What it says of the last backup.
fn last(status: &EtcdBackupStatus) -> impl PartialEq + '_ {
    (
        (&status.path, &status.sha256, status.size_bytes),
        (&status.last_success_date, status.duration_milliseconds),
        (&status.etcd_version, status.etcd_revision),
        &status.contents,
    )
}

/// Whether the host has read that very backup back, for the run that the status held before, and the run is over with it.
fn has_just_ended(
    status: &EtcdBackupStatus,
    before: &EtcdBackupStatus,
    spec: &EtcdBackupSpec,
    snapshot: &Snapshot,
) -> bool {
    let view = snapshot.backup.as_ref();
    let transfer = view.and_then(|view| view.transfer.as_ref());
    let (Some(run), Some(transfer), Some(place)) = (&before.run, transfer, Place::of(spec)) else {
        return false;
    };
    let TransferState::Done(Stored {
        bytes,
        sha256,
        took,
        content: _,
        contents,
    }) = &transfer.state
    else {
        return false;
    };
    let read = EtcdBackupStatus {
        path: Some(format!("{}/{}", place.bucket, run.key)),
        sha256: Some(sha256.clone()),
        size_bytes: Some(*bytes),
        last_success_date: Some(spell(snapshot.now)),
        duration_milliseconds: Some(took.0),
        etcd_version: run.etcd_version.clone(),
        etcd_revision: run.etcd_revision,
        contents: contents.clone(),
        ..EtcdBackupStatus::default()
    };
    transfer.run == run.id && last(status) == last(&read) && status.run.is_none()
}

/// The instant as a status spells it; nothing where no calendar has it.
fn spell(at: Millis) -> String {
    let instant = Timestamp::from_second(at.0.div_euclid(1_000));
    instant.map_or_else(|_| String::new(), |instant| instant.to_string())
}

/// One rehearsal after the other: none is forgotten before its pod is gone, and none begins that the spec does not ask for.
fn why_not_tried(
    status: &EtcdBackupStatus,
    before: &EtcdBackupStatus,
    spec: &EtcdBackupSpec,
    snapshot: &Snapshot,
) -> Option<&'static str> {
    match (&before.rehearsal_run, &status.rehearsal_run) {
        (None, None) => None,
        (None, Some(_)) => (!spec.rehearses())
            .then_some("a rehearsal that spec.backupPolicy.verify does not ask for"),
        (Some(known), Some(next)) => {
            let over = known.over || next.over;
            let same = RehearsalRun {
                over,
                ..known.clone()
            };
            (*next != same).then_some("another rehearsal in the place of the one before")
        }
        (Some(known), None) => {
            let view = snapshot.backup.as_ref();
            let is_gone = view.is_some_and(|view| view.rehearsal == Observed::Absent);
            (!known.over || !is_gone)
                .then_some("no rehearsal, and the pod of the last may be there")
        }
    }
}

/// Whether it says of a backup for the first time that it restores.
fn is_newly_proven(status: &EtcdBackupStatus, before: &EtcdBackupStatus) -> bool {
    let date = |status: &EtcdBackupStatus| status.rehearsal.as_ref()?.last_success_date.clone();
    let restores = |one: &Rehearsal| one.verdict == RehearsalVerdict::Restores;
    let is_new = status.rehearsal != before.rehearsal;
    (is_new && status.rehearsal.as_ref().is_some_and(restores)) || date(status) != date(before)
}

/// Whether the member of the rehearsal under way has answered, and the status says so of that very backup.
fn has_just_answered(
    status: &EtcdBackupStatus,
    before: &EtcdBackupStatus,
    snapshot: &Snapshot,
) -> bool {
    let view = snapshot.backup.as_ref();
    let pod = view.and_then(|view| view.rehearsal.seen());
    let (Some(run), Some(said), Some(pod)) = (&before.rehearsal_run, &status.rehearsal, pod) else {
        return false;
    };
    let RehearsalState::Answered { contents, took } = &pod.state else {
        return false;
    };
    let is_same = said.key == run.key && said.sha256 == run.sha256;
    is_same
        && !run.over
        && said.contents.as_ref() == Some(contents)
        && said.duration_milliseconds == Some(took.0)
}

#[cfg(test)]
mod tests;
