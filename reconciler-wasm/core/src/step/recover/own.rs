//! The survivor's own pod, where it does not come up by itself: what it lacks is made, and what was corrected reaches it.
//!
//! Nobody else is left who could vote, and its data is on its claim. Knows neither the flag nor the stages.

use contract::{FindingKind, Pod, Reason};

use crate::assess::{Living, Member, Situation};
use crate::step::{Step, furnish, image, issue, reshape, upgrade};
use crate::validate::Cluster;

/// Makes what the survivor starts with: the Service that has its address, and its certificates.
pub(super) fn furnish(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    furnish::furnish(cluster, situation, Some(living), step);
    issue::issue(cluster, situation, Some(living), step);
}

/// Lets a corrected spec reach the survivor that does not run: with another image, or another pod on its disk.
pub(super) fn correct(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    // With the image that it ran it most likely comes up: only where the kubelet says that it does not, another one is tried.
    let keeps_down = |pod: &&Pod| {
        let waiting = pod.waiting.as_deref();
        image::problem(pod).is_some()
            || waiting.is_some_and(|why| why.starts_with("CrashLoopBackOff"))
    };
    let is_kept_down = living.pods.values().any(keeps_down);
    if !(is_kept_down && upgrade::rescue(cluster, situation, living, step)) {
        reshape::rescue_unlisted(cluster, situation, living, step);
    }
}

/// Why the survivor does not answer, in words.
pub(super) fn complaint<'l>(living: &'l Living<'_>, survivor: &str) -> &'l str {
    let mut members = living.members.iter();
    let survivor = members.find(|member| member.name == survivor);
    survivor.map_or("it is not known", Member::complaint)
}

/// Whether the files that the survivor starts with are there. Tells of it where they are not.
pub(super) fn has_files(cluster: &Cluster, survivor: &str, step: &mut Step) -> bool {
    if cluster.tls.can_build() {
        return true;
    }
    step.find_of(
        FindingKind::Waiting,
        Reason::RecoveringQuorum,
        survivor,
        format!("{survivor} is started as the only member once the Secrets with its certificates are there."),
    );
    false
}
