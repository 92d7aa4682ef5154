//! A member that is down with a pod which nobody has run with yet: the first one made from a changed `spec.pod`.
//!
//! A new member would get the same pod, so the disk is kept until a person corrects the policy or another member runs
//! with it. Does not make pods anew; that is `reshape`'s.

use contract::{Millis, Reason, names};

use crate::assess::{Disk, Living, Member, Situation, says_no_data};
use crate::step::last_words;
use crate::validate::Cluster;

/// The kubelet's words for a container that it is about to start.
pub(in crate::step) const STARTS: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// How long a start may take before it is said that it fails.
const START: Millis = Millis::seconds(60);

/// What is waited for of such a member; none when the repair ladder is to see to it.
pub(super) fn why_down(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    member: &Member<'_>,
) -> Option<(Reason, String)> {
    // Nothing is lost with a disk that holds nothing or goes anyway, and it may be the disk that keeps the member down.
    let goes = member.volume.is_some_and(|claim| !claim.stays());
    if member.disk != Disk::Kept || goes || says_no_data(member.pod) {
        return None;
    }
    let pod = member.pod.filter(|pod| pod.deleted.is_none())?;
    let is_tied = pod.unschedulable.as_deref().is_some_and(is_tied_to_a_node);
    let is_starting = pod.unschedulable.is_none()
        && pod
            .waiting
            .as_deref()
            .is_none_or(|why| STARTS.contains(&why))
        && member.down_for(situation.snapshot.now) < START;
    if is_tied || is_starting || shape_of(member)? != cluster.shape || !is_unproven(cluster, living)
    {
        return None;
    }
    let reason = if pod.unschedulable.is_some() {
        Reason::Unschedulable
    } else {
        Reason::ReshapeStuck
    };
    let last_words = last_words::of(pod);
    Some((
        reason,
        format!(
            "{} does not come up with the pod that spec.pod and spec.etcd ask for now: {}.{last_words} It keeps its disk, and no \
             other member is touched. Correct what you changed there, or set it back.",
            member.name,
            member.complaint()
        ),
    ))
}

/// Whether others run, and all of them with pods of another shape.
fn is_unproven(cluster: &Cluster, living: &Living<'_>) -> bool {
    let mut shapes = living
        .voters()
        .filter(|voter| voter.is_healthy())
        .map(shape_of)
        .peekable();
    shapes.peek().is_some() && shapes.all(|shape| shape.is_some_and(|shape| shape != cluster.shape))
}

/// Whether it is the disk alone that keeps the pod from every node: it is on one that is gone. In the scheduler's words,
/// those before Kubernetes 1.35 and those since.
fn is_tied_to_a_node(words: &str) -> bool {
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    says(&[
        "volume node affinity conflict",
        "PersistentVolume's node affinity",
    ]) && !says(&[
        "Pod's node affinity",
        "Insufficient",
        "topology spread",
        "affinity rules",
    ])
}

fn shape_of<'a>(member: &Member<'a>) -> Option<&'a str> {
    let shape = member.pod?.annotations.get(names::SHAPE_ANNOTATION)?;
    Some(shape.as_str())
}
