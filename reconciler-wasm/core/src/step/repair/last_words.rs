//! How a member's container ended last, where that says more than that it does not run.

use contract::Pod;

/// What the kernel says of a disk without a byte left.
const FULL: &str = "no space left on device";

/// A sentence on it, with a blank before; nothing of a container that runs.
pub(super) fn of(pod: &Pod) -> String {
    let exit = pod.last_exit.as_ref().filter(|_| !pod.running);
    exit.map_or(String::new(), |exit| {
        let why = if exit.message.contains(FULL) {
            format!(
                ", and its last words have {FULL:?}: make room on its volume, or let the volumes grow \
                 (spec.pod.persistentVolumeClaimSpec)"
            )
        } else {
            String::new()
        };
        format!(" It ended with {} (code {}){why}.", exit.reason, exit.code)
    })
}
