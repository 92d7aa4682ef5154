//! Versions that people ask for, and the kubelet that restarts a container with another image.

use crate::plan::{Fault, Planned};
use crate::release::Release;
use crate::timers::Timer;
use crate::world::World;

impl World {
    /// The kubelet stops a container whose image was changed, and pulls the other one.
    pub(crate) fn new_image(&mut self, number: u32) {
        let Some(pod) = self.kube.pods.values().find(|pod| pod.number == number) else {
            return;
        };
        if !self.kube.is_reachable(pod) {
            self.after(1_000, 3_000, Timer::NewImage(number));
            return;
        }
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if pod.api.deleted.is_some() || !pod.swaps {
            return;
        }
        if pod.process.take().is_some() {
            pod.failures = 0;
            self.ended(number, 0, "");
        }
        self.changed = true;
        self.after(50, 300, Timer::Pull(number));
        self.settle();
    }
}

/// One of the releases that people ask for.
pub(crate) fn any(rng: &mut fastrand::Rng) -> Release {
    RELEASES[rng.usize(0..RELEASES.len())]
}

/// What people ask for: with old patches, which cannot be left at once.
const RELEASES: [Release; 6] = [
    Release::new(4, 34),
    Release::new(5, 20),
    Release::new(5, 35),
    Release::new(6, 10),
    Release::new(6, 16),
    Release::new(7, 3),
];

/// Edits of the version, to and fro; the last one asks for a release that exists.
pub(crate) fn edits(rng: &mut fastrand::Rng) -> Vec<Planned> {
    let count = rng.usize(1..4);
    let mut at = 0;
    (1..=count)
        .map(|edit| {
            at += [500, 4_000, 20_000, 60_000][rng.usize(0..4)] + rng.i64(0..8_000);
            let chosen = RELEASES[rng.usize(0..RELEASES.len())];
            let typed = Release::new(chosen.minor, 99);
            let release = if edit < count && rng.u8(0..3) == 0 {
                typed
            } else {
                chosen
            };
            Planned {
                at,
                lasts: 0,
                fault: Fault::Version(release),
            }
        })
        .collect()
}
