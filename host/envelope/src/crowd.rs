//! How many members' names a cluster may have pods and volume claims under, whatever they are made for.
//!
//! One object is judged with its kind; this bounds how many there come to be over time. Knows neither etcd nor why a member is
//! made, and trusts of the status only which disks restores and recoveries gave up, up to a bound.

use std::collections::BTreeSet;

use contract::{Child, Decision, Effect, Observed, Snapshot};

use crate::Refusal;
use crate::quorum::LARGEST;

/// Those who serve, those who replace all of them at once, and as many again of each whose deletion somebody holds up.
const AT_ONCE: usize = 4 * LARGEST as usize;
/// Of ten restores or recoveries, one after the other, of which none made the cluster whole.
const GIVEN_UP: usize = 10 * LARGEST as usize;

/// Adds a refusal where the decision makes pods or claims under new names, and there would be too many names. What is made
/// under a name that has one of both already makes no more members.
pub(crate) fn judge_crowd(decision: &Decision, snapshot: &Snapshot, refusals: &mut Vec<Refusal>) {
    let (pods, claims) = (&snapshot.objects.pods, &snapshot.objects.volumes);
    let own = Some(&snapshot.resource.uid);
    let pods_seen = pods.seen().into_iter().flatten();
    let claims_seen = claims.seen().into_iter().flatten();
    let disks: BTreeSet<&str> = claims_seen
        .filter(|claim| claim.owner.as_ref() == own)
        .map(|claim| claim.name.as_str())
        .collect();
    let mut names: BTreeSet<&str> = pods_seen
        .filter(|pod| pod.owner.as_ref() == own)
        .map(|pod| pod.name.as_str())
        .collect();
    names.extend(&disks);
    let before = names.len();
    names.extend(
        decision
            .actions
            .iter()
            .filter_map(|action| made(&action.effect)),
    );
    if names.len() == before {
        return;
    }
    for (what, why) in [
        ("the pods", why_unread(pods)),
        ("the claims", why_unread(claims)),
    ] {
        if let Some(why) = why {
            let why = why.to_owned();
            refusals.push(Refusal::Unread { what, why });
        }
    }
    let given_up = given_up(snapshot);
    let kept = disks.iter().filter(|name| given_up.contains(*name)).count();
    let limit = AT_ONCE + kept.min(GIVEN_UP);
    if names.len() > limit {
        refusals.push(Refusal::TooMany {
            what: "members' names with a pod or a volume claim, of which those of no member are to be deleted first",
            found: names.len(),
            limit,
        });
    }
}

/// The name of a member whose pod or claim the effect makes.
fn made(effect: &Effect) -> Option<&str> {
    let Effect::Apply { object } = effect else {
        return None;
    };
    match &**object {
        Child::Pod(_) | Child::PersistentVolumeClaim(_) => Some(object.name()),
        Child::Service(_) | Child::PodDisruptionBudget(_) => None,
    }
}

/// Whose claims stay until the cluster is whole again, as the status remembers.
fn given_up(snapshot: &Snapshot) -> BTreeSet<&str> {
    let status = &snapshot.resource.status;
    let lists = ["/restoration/givenUp", "/recovery/givenUp"];
    let lists = lists
        .iter()
        .filter_map(|path| status.pointer(path)?.as_array());
    lists.flatten().filter_map(|name| name.as_str()).collect()
}

fn why_unread<T>(listed: &Observed<T>) -> Option<&str> {
    match listed {
        Observed::Unknown(why) => Some(why),
        Observed::Seen(_) | Observed::Absent => None,
    }
}

#[cfg(test)]
mod tests;
