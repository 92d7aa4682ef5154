//! Images that nodes cannot get.

use contract::{FindingKind, Pod, Reason};

use super::Step;
use crate::assess::Living;

/// The kubelet's word for why it cannot get the pod's image; none when it can.
/// <https://kubernetes.io/docs/concepts/containers/images/#imagepullbackoff>
pub(super) fn problem(pod: &Pod) -> Option<&str> {
    let word = pod.waiting.as_deref()?.split(':').next()?;
    let words = [
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
    ];
    words.contains(&word).then_some(word)
}

/// Before a cluster has formed it most often waits for a person: a name is wrong, or the registry wants to know who asks.
pub(super) fn say_at_birth(living: &Living<'_>, step: &mut Step) {
    let mut pods = living.pods.values();
    let Some((image, why)) = pods.find_map(|pod| Some((&pod.image, problem(pod)?))) else {
        return;
    };
    step.find(
        FindingKind::Blocked,
        Reason::ImagePull,
        format!(
            "The image {image} cannot be had ({why}). Check spec.repository, spec.version, spec.pod.imagePullSecrets and the \
             registry."
        ),
    );
}
