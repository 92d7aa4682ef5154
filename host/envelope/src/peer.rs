//! What may be done about EtcdPeers that the archived operator left on their way out: the volume claim of a member that
//! is out of etcd's list goes, then that operator's finalizer, and nothing else.

use contract::{
    Action, DepartingPeer, Effect, EtcdView, ObjectKind, ObjectPrecondition, Observed, PeerEffect,
    Preconditions, Snapshot,
};

use crate::check::{check_loss, living};
use crate::{Refusal, ResourceHead};

/// The peer is in the snapshot, on its way out. Its claim goes as it was seen there; it is let go once none of its own is
/// left, and keeps what other finalizers it has.
pub(crate) fn judge_peer(
    effect: &PeerEffect,
    pre: &Preconditions,
    before: &[Action],
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let peers = snapshot.departing_peers.seen().into_iter().flatten();
    let name = effect.target();
    let mut named = peers.filter(|peer| peer.name == name);
    let Some(peer) = named.next() else {
        refusals.push(Refusal::Peer(format!(
            "{name} is no EtcdPeer that is being deleted and waits for its volume claim"
        )));
        return;
    };
    match effect {
        PeerEffect::DeleteClaim { .. } => {
            let claim = peer.claim.seen();
            let is_own = claim.is_some_and(|claim| peer.has(claim, &snapshot.resource));
            let uid = claim.map(|claim| ObjectPrecondition::Present {
                uid: claim.uid.clone(),
            });
            if !is_own || uid != pre.object {
                refusals.push(Refusal::ForeignOwner {
                    kind: ObjectKind::PersistentVolumeClaim,
                    name: name.to_owned(),
                });
            }
        }
        PeerEffect::Release {
            uid,
            resource_version,
            finalizers,
            ..
        } => {
            let is_it = *uid == peer.uid && *resource_version == peer.resource_version;
            if !is_it || *finalizers != peer.other_finalizers() {
                refusals.push(Refusal::Peer(format!(
                    "the EtcdPeer {name} is another one, or would lose more than the archived operator's finalizer"
                )));
            }
            if still_has_claim(peer, before, snapshot) {
                refusals.push(Refusal::Peer(format!(
                    "the volume claim of the EtcdPeer {name} is there, or nobody knows"
                )));
            }
        }
    }
}

fn still_has_claim(peer: &DepartingPeer, before: &[Action], snapshot: &Snapshot) -> bool {
    match &peer.claim {
        Observed::Absent => false,
        Observed::Unknown(_) => true,
        Observed::Seen(claim) => {
            let goes = |action: &Action| matches!(&action.effect, Effect::Peer(PeerEffect::DeleteClaim { name }) if *name == peer.name);
            let is_going = claim.deleted.is_some() || before.iter().any(goes);
            peer.has(claim, &snapshot.resource) && !is_going
        }
    }
}

/// The list is that of the recorded cluster. A member that has not said its name yet may be the one.
pub(crate) fn check_peer(
    effect: &PeerEffect,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let mut members = votes.membership().members.iter();
    if members.all(|member| !member.name.is_empty()) {
        return check_loss(None, votes, etcd);
    }
    Err(Refusal::Peer(format!(
        "a member has no name yet, so whether {} left is not known",
        effect.target()
    )))
}

#[cfg(test)]
mod tests;
