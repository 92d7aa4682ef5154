//! Pods of the archived operator's shape: what is said of them, and what must wait for their renewal.
//!
//! They are valid members, so nobody touches them unasked. Once their renewal is asked for they count as made from another
//! `spec.pod`, and [`super::reshape`] does the rest.

use contract::{FindingKind, Reason, names};

use super::{LATER, Step, adopt};
use crate::assess::{Living, Member, Situation};
use crate::validate::Cluster;

/// Says which pods are of the old shape and what becomes of them.
pub(super) fn tell(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: &Living<'_>,
    step: &mut Step,
) {
    let asked = &situation.snapshot.resource.annotations;
    if let Some(other) = asked
        .get(names::OLD_PODS_ANNOTATION)
        .filter(|value| *value != names::RENEW)
    {
        step.find(
            FindingKind::Invalid,
            Reason::InvalidSpec,
            format!(
                "The annotation {} is \"{other}\"; its one value is \"{}\". Pods are left as they are. Correct or \
                 remove it.",
                names::OLD_PODS_ANNOTATION,
                names::RENEW
            ),
        );
    }
    let left = old(living).count();
    if left == 0 {
        return;
    }
    if cluster.renews_old_pods {
        step.find(
            FindingKind::Doing,
            Reason::RenewingPods,
            format!(
                "{left} members run in pods as the archived operator made them; they are made anew one by one, the \
                 leader's last."
            ),
        );
    } else {
        step.find(
            FindingKind::Note,
            Reason::OldPodShape,
            format!(
                "{left} members run in pods as the archived operator made them. They are valid and stay so; pods made \
                 from here on have the new shape. To make them anew one by one: {}",
                how(cluster)
            ),
        );
    }
}

/// Whether another image must wait: an old pod's probes need a shell, which newer images do not have, and it would start
/// with the arguments of its birth.
pub(super) fn must_come_first(cluster: &Cluster, living: &Living<'_>, step: &mut Step) -> bool {
    let is_due = |member: &&Member<'_>| {
        member
            .pod
            .is_some_and(|pod| !pod.image.is_empty() && pod.image != cluster.image)
    };
    let Some(member) = old(living).find(is_due) else {
        return false;
    };
    step.find_of(
        FindingKind::Blocked,
        Reason::OldPodShape,
        member.name,
        format!(
            "{} runs in a pod as the archived operator made it; such a pod does not get another image, because its \
             probes need a shell. Renew the old pods first: {}",
            member.name,
            how(cluster)
        ),
    );
    step.look_again(LATER, Reason::OldPodShape);
    true
}

fn how(cluster: &Cluster) -> String {
    format!(
        "kubectl annotate etcdcluster {} {}={}",
        cluster.name,
        names::OLD_PODS_ANNOTATION,
        names::RENEW
    )
}

fn old<'l, 'a>(living: &'l Living<'a>) -> impl Iterator<Item = &'l Member<'a>> {
    living
        .voters()
        .filter(|member| member.pod.is_some_and(adopt::is_old))
}
