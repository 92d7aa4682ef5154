//! What a module may take the world for that has lost its mind: some of what was seen is not so.
//!
//! The reconciler's decisions on such a snapshot are well made, and wrong: pods of a birth after birth, members that go on
//! alone, statuses without a memory.

use contract::{EtcdView, Observed, Snapshot};
use serde_json::{Value, json};

use super::Whim;

/// The snapshot with something in it that is not so.
pub(super) fn mistaken(snapshot: &Snapshot, whim: &mut Whim) -> Snapshot {
    let mut seen = snapshot.clone();
    match whim.pick(15) {
        0 => seen.resource.status = Value::Null,
        1 => forget(&mut seen.resource.status, whim),
        2 => nobody(&mut seen.etcd),
        3 => {
            let silent = || "nobody answered".to_owned();
            seen.etcd.membership = Observed::Unknown(silent());
            for endpoint in &mut seen.etcd.endpoints {
                endpoint.status = Observed::Unknown(silent());
            }
        }
        4 => seen.objects.pods = Observed::Seen(Vec::new()),
        5 => leave_out(&mut seen.objects.pods, whim),
        6 => seen.objects.volumes = Observed::Seen(Vec::new()),
        7 => leave_out(&mut seen.objects.volumes, whim),
        8 => {
            seen.objects.services = Observed::Seen(Vec::new());
            seen.objects.disruption_budgets = Observed::Seen(Vec::new());
        }
        9 => consent(&mut seen, whim),
        10 => seen.resource.spec["size"] = json!(whim.pick(4)),
        11 => seen.resource.spec["paused"] = json!(false),
        12 => {
            let count = seen.etcd.endpoints.len();
            if let Some(endpoint) = whim
                .index(count)
                .and_then(|one| seen.etcd.endpoints.get_mut(one))
            {
                endpoint.status = Observed::Unknown("it did not answer".to_owned());
            }
        }
        13 => {
            if let Observed::Seen(list) = &mut seen.etcd.membership
                && let Some(one) = whim.index(list.members.len())
            {
                list.members.remove(one);
            }
        }
        // As if there had never been a cluster.
        _ => {
            seen.resource.status = Value::Null;
            nobody(&mut seen.etcd);
            seen.objects.pods = Observed::Seen(Vec::new());
            if whim.pick(2) == 0 {
                seen.objects.volumes = Observed::Seen(Vec::new());
            }
        }
    }
    seen
}

/// One thing of all that the status remembers.
fn forget(status: &mut Value, whim: &mut Whim) {
    let Some(fields) = status.as_object_mut() else {
        return;
    };
    let names: Vec<String> = fields.keys().cloned().collect();
    if let Some(one) = whim.index(names.len()) {
        fields.remove(&names[one]);
    }
}

fn nobody(view: &mut EtcdView) {
    view.membership = Observed::Absent;
    view.alarms = Observed::Absent;
    view.endpoints.clear();
}

fn leave_out<T>(objects: &mut Observed<Vec<T>>, whim: &mut Whim) {
    if let Observed::Seen(objects) = objects
        && let Some(one) = whim.index(objects.len())
    {
        objects.remove(one);
    }
}

/// Somebody consented to go on from one member, who never did.
fn consent(seen: &mut Snapshot, whim: &mut Whim) {
    let status = &seen.resource.status;
    let cluster = status["clusterId"].clone();
    let records = status["memberRecords"].as_array();
    let records = records.map(Vec::as_slice).unwrap_or_default();
    let survivor = whim
        .index(records.len())
        .map(|one| records[one]["name"].clone());
    seen.resource.spec["quorumRecovery"] = json!({"clusterID": cluster, "survivor": survivor});
}
