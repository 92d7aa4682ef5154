//! What a snapshot of a backup showed: who could be asked, what is stored, what is being moved.

use contract::{
    BackupView, EtcdBackupSpec, Observed, Place, RehearsalState, Snapshot, TransferState,
};
use serde::Deserialize;

use crate::output::{count, span};

/// Paragraphs on all that was seen.
pub(super) fn tell(snapshot: &Snapshot) -> Vec<String> {
    let mut told = vec![wanted(snapshot)];
    match snapshot.backup.as_deref() {
        Some(view) => {
            told.extend([endpoints(view), stored(view), transfer(view)]);
            told.extend(rehearsal(view));
        }
        None => told.push("Nobody was asked: nothing is to be done.\n".to_owned()),
    }
    told
}

fn wanted(snapshot: &Snapshot) -> String {
    let spec = match EtcdBackupSpec::deserialize(&snapshot.resource.spec) {
        Ok(spec) => spec,
        Err(error) => return format!("Wanted: the spec cannot be read ({error}).\n"),
    };
    let place = Place::of(&spec).map_or_else(
        || "to a place that the spec does not name".to_owned(),
        |place| format!("to {} {}/{}", place.store, place.bucket, place.key),
    );
    match (spec.schedule(), spec.interval()) {
        (Some(schedule), _) => format!("Wanted: backups at \"{schedule}\" {place}.\n"),
        (None, Some(seconds)) => format!("Wanted: a backup every {seconds} s {place}.\n"),
        (None, None) => format!("Wanted: one backup {place}.\n"),
    }
}

fn endpoints(view: &BackupView) -> String {
    let rows = view.endpoints.iter().map(|endpoint| {
        let status = match &endpoint.status {
            Observed::Seen(status) => format!(
                "etcd {}, revision {}",
                status.version,
                status.revision.unwrap_or_default()
            ),
            Observed::Absent => "not there".to_owned(),
            Observed::Unknown(why) => format!("no answer ({why})"),
        };
        format!("  {}: {status}\n", endpoint.url)
    });
    format!(
        "Endpoints: {}\n{}",
        view.endpoints.len(),
        rows.collect::<String>()
    )
}

fn stored(view: &BackupView) -> String {
    match &view.stored {
        Observed::Seen(stored) => format!("Stored: {}.\n", count(stored.len(), "object")),
        Observed::Absent => "Stored: nothing.\n".to_owned(),
        Observed::Unknown(why) => format!("Stored: not known ({why}).\n"),
    }
}

fn transfer(view: &BackupView) -> String {
    let Some(transfer) = &view.transfer else {
        return "Moved by this host: nothing since its start.\n".to_owned();
    };
    let state = match &transfer.state {
        TransferState::Running { bytes, trouble, .. } => {
            let trouble = trouble.iter().map(|why| format!("; now {why}"));
            format!(
                "{bytes} bytes streamed so far{}",
                trouble.collect::<String>()
            )
        }
        TransferState::Done(stored) => format!(
            "{} bytes stored and read back in {}",
            stored.bytes,
            span(stored.took)
        ),
        TransferState::Failed { why, .. } => format!("failed, {why}"),
    };
    format!("Moved by this host: the run {}, {state}.\n", transfer.run)
}

fn rehearsal(view: &BackupView) -> Option<String> {
    let how = match &view.rehearsal {
        Observed::Absent => return None,
        Observed::Unknown(why) => format!("its pod could not be read ({why})"),
        Observed::Seen(pod) => match &pod.state {
            RehearsalState::Running { doing } => doing.clone(),
            RehearsalState::Answered { contents, took } => format!(
                "the restored member has revision {} and {} after {}",
                contents.revision,
                count(usize::try_from(contents.keys).unwrap_or_default(), "key"),
                span(*took)
            ),
            RehearsalState::Failed { why, .. } => format!("failed, {why}"),
        },
    };
    Some(format!("Rehearsal of a restore: {how}.\n"))
}
