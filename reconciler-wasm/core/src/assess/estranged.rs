//! Pods of members that lost the owner reference by which the cluster knows what is its own.
//!
//! Such a pod runs on its member's disk, so that disk is not lost; and nothing can be done with it, so it is not healthy.

use contract::{EtcdClusterStatus, Pod, Snapshot};

/// Whether a member's pod is one.
pub(super) fn has_estranged(snapshot: &Snapshot, memory: &EtcdClusterStatus, name: &str) -> bool {
    let pods = snapshot.objects.pods.seen();
    let mut pods = pods.into_iter().flatten();
    pods.any(|pod| pod.name == name && is_estranged(snapshot, memory, pod))
}

/// Whether the pod is on the disk that a member is remembered on, and belongs to somebody else or nobody.
pub(super) fn is_estranged(snapshot: &Snapshot, memory: &EtcdClusterStatus, pod: &Pod) -> bool {
    let mut records = memory.member_records.iter();
    let record = records.find(|record| record.name == pod.name);
    let is_on_its_disk = record
        .and_then(|record| record.disk.as_ref())
        .is_some_and(|disk| pod.claim.as_ref() == Some(&pod.name) || *disk == pod.uid);
    is_on_its_disk && pod.owner.as_ref() != Some(&snapshot.resource.uid)
}
