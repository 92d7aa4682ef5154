//! When a cluster may be planned that has nothing: only where nothing is.
//!
//! Judges the first plan of a resource. What a plan lets happen to pods and claims afterwards is [`crate::check`]'s.

use contract::{EtcdClusterStatus, Observed, Snapshot};

use crate::restore::RestoreHead;
use crate::{Refusal, ResourceHead};

/// Adds a refusal where a status plans the birth of a cluster, and there is one, or a restore that is to fill it.
pub(crate) fn judge_birth(
    status: &EtcdClusterStatus,
    recorded: &ResourceHead,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    if status.birth.is_none() || recorded.birth.is_some() {
        return;
    }
    let why = standing(snapshot).or_else(|| {
        let pending = pending_restore(snapshot)?;
        Some(format!("EtcdRestore {pending} is not over"))
    });
    refusals.extend(why.map(|why| Refusal::NotBirth { why }));
}

/// A pod or a claim of the cluster's own, or of what the archived operator left of it: whoever planned it is not remembered,
/// and it may hold what clients wrote.
fn standing(snapshot: &Snapshot) -> Option<String> {
    let own = Some(&snapshot.resource.uid);
    let (pods, claims) = (&snapshot.objects.pods, &snapshot.objects.volumes);
    for (unread, what) in [(why_unread(pods), "Pods"), (why_unread(claims), "claims")] {
        if let Some(why) = unread {
            return Some(format!("{what} could not be listed: {why}"));
        }
    }
    let mut pods = pods.seen().into_iter().flatten();
    let mut claims = claims.seen().into_iter().flatten();
    let pod = pods.find(|pod| pod.owner.as_ref() == own);
    let claim = claims.find(|claim| claim.owner.as_ref() == own);
    let old = snapshot.old_children();
    let name = (pod.map(|pod| pod.name.as_str()))
        .or_else(|| claim.map(|claim| claim.name.as_str()))
        .or_else(|| old.names().next())?;
    Some(format!("{name} stands, and no plan of this cluster has it"))
}

fn why_unread<T>(listed: &Observed<T>) -> Option<&str> {
    match listed {
        Observed::Unknown(why) => Some(why),
        Observed::Seen(_) | Observed::Absent => None,
    }
}

/// The EtcdRestore of the cluster's name that is not over.
fn pending_restore(snapshot: &Snapshot) -> Option<&str> {
    let restores = snapshot.restores.seen().into_iter().flatten();
    let mut restores = restores.filter(|resource| resource.deleted.is_none());
    let pending = restores.find(|resource| {
        let head = RestoreHead::of(resource);
        let named = head.spec.as_ref().map(|spec| &spec.etcd_cluster.name);
        named == Some(&snapshot.resource.name) && !head.over
    })?;
    Some(&pending.name)
}

#[cfg(test)]
mod tests;
