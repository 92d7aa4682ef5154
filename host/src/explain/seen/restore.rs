//! What a snapshot of a restore showed, and what a cluster's showed of restores.

use contract::{
    EtcdRestoreSpec, EtcdRestoreStatus, Observed, Place, RestoreView, Snapshot, TransferState,
};
use serde::Deserialize;

/// Paragraphs on all that was seen.
pub(super) fn tell(snapshot: &Snapshot) -> Vec<String> {
    let mut told = vec![wanted(snapshot)];
    match snapshot.restore.as_deref() {
        Some(view) => told.extend([cluster(view), read(view)]),
        None => told.push("Nobody was asked: nothing is to be done.\n".to_owned()),
    }
    told
}

fn wanted(snapshot: &Snapshot) -> String {
    let spec = match EtcdRestoreSpec::deserialize(&snapshot.resource.spec) {
        Ok(spec) => spec,
        Err(error) => return format!("Wanted: the spec cannot be read ({error}).\n"),
    };
    let place = Place::of(&spec.source()).map_or_else(
        || "a place that the spec does not name".to_owned(),
        |place| format!("{} {}/{}", place.store, place.bucket, place.key),
    );
    format!(
        "Wanted: the cluster {} goes on from {place}.\n",
        spec.etcd_cluster.name
    )
}

fn cluster(view: &RestoreView) -> String {
    match &view.cluster {
        Observed::Seen(cluster) => {
            let stage = cluster.status.pointer("/restoration/stage");
            let stage = stage.and_then(serde_json::Value::as_str);
            stage.map_or_else(
                || "Its cluster is there and with no restore.\n".to_owned(),
                |stage| format!("Its cluster is there; a restoration of it is at {stage}.\n"),
            )
        }
        Observed::Absent => "Its cluster is not there.\n".to_owned(),
        Observed::Unknown(why) => format!("Its cluster could not be read ({why}).\n"),
    }
}

fn read(view: &RestoreView) -> String {
    let Some(transfer) = &view.transfer else {
        return "Read by this host: nothing since its start.\n".to_owned();
    };
    let state = match &transfer.state {
        TransferState::Running { bytes, trouble, .. } => {
            let trouble = trouble.iter().map(|why| format!("; now {why}"));
            format!("{bytes} bytes so far{}", trouble.collect::<String>())
        }
        TransferState::Done(stored) => format!("{} bytes, all of it", stored.bytes),
        TransferState::Failed { why, .. } => format!("failed, {why}"),
    };
    format!("Read by this host: the run {}, {state}.\n", transfer.run)
}

/// The restores that name a cluster; none where there is none.
pub(super) fn asked(snapshot: &Snapshot) -> Option<String> {
    match &snapshot.restores {
        Observed::Seen(restores) if restores.is_empty() => None,
        Observed::Seen(restores) => {
            let rows = restores.iter().map(|resource| {
                let status = EtcdRestoreStatus::deserialize(&resource.status).unwrap_or_default();
                let how = match (status.is_over(), status.proof.is_some()) {
                    (true, _) => "over",
                    (false, true) => "its backup was read whole",
                    (false, false) => "its backup was not read yet",
                };
                format!("  {}: {how}\n", resource.name)
            });
            Some(format!("Restores:\n{}", rows.collect::<String>()))
        }
        Observed::Absent => None,
        Observed::Unknown(why) => Some(format!("Restores could not be listed ({why}).\n")),
    }
}
