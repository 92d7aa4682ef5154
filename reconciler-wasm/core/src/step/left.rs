//! What an earlier cluster of the same name left: names that are taken, and claims that may hold its data.
//!
//! Members with random names never meet it; those that the dialect numbers would.

use std::collections::BTreeSet;

use contract::{FindingKind, Objects, Reason};

use super::{LATER, Step};
use crate::assess::Situation;
use crate::validate::Cluster;

/// These names, and those of pods and claims that there are.
pub(super) fn taken<'a>(names: &BTreeSet<&'a str>, objects: &'a Objects) -> BTreeSet<&'a str> {
    let pods = objects.pods.seen().into_iter().flatten();
    let claims = objects.volumes.seen().into_iter().flatten();
    let standing = pods
        .map(|pod| pod.name.as_str())
        .chain(claims.map(|claim| claim.name.as_str()));
    names.iter().copied().chain(standing).collect()
}

/// Whether claims of an earlier cluster are there, where people expect their data under the same name: no empty cluster is
/// born beside it.
pub(super) fn stands_in_the_way(
    cluster: &Cluster,
    situation: &Situation<'_>,
    step: &mut Step,
) -> bool {
    if !cluster.dialect.numbers_members() {
        return false;
    }
    let claims = situation.snapshot.objects.volumes.seen();
    let left: Vec<&str> = claims
        .into_iter()
        .flatten()
        .filter(|claim| claim.owner.as_deref() != Some(situation.snapshot.resource.uid.as_str()))
        .map(|claim| claim.name.as_str())
        .collect();
    let Some(first) = left.first() else {
        return false;
    };
    step.find_of(
        FindingKind::Blocked,
        Reason::ForeignObject,
        first,
        format!(
            "An earlier cluster {} left the volume claims {}, which may hold its data and are not taken up. No empty cluster \
             is born beside them: delete them to begin anew, or create this cluster under another name.",
            cluster.name,
            left.join(", ")
        ),
    );
    step.look_again(LATER, Reason::ForeignObject);
    true
}
