//! EtcdPeers that the archived operator of the second dialect left on their way out, each waiting for the volume claim of a
//! member that it had taken out of etcd's list.
//!
//! # Guarantees
//! A claim goes only where a list that a quorum confirmed is without the member, every listed member has said its name, and the
//! claim has the labels of that peer. Else both stay, with words.

use contract::{
    DepartingPeer, Effect, EventType, FindingKind, Membership, Observed, PeerEffect, Reason,
};

use super::{LATER, Step};
use crate::assess::{Situation, Stage, name_of};
use crate::pre::{self, ActionExt};

/// Lets those go whose member is out of the list.
pub(super) fn attend(situation: &Situation<'_>, step: &mut Step) {
    let peers = situation.snapshot.departing_peers.seen();
    for peer in peers.into_iter().flatten() {
        match confirmed(situation) {
            Some(membership) => part(peer, membership, situation, step),
            None => {
                let message = format!(
                    "The EtcdPeer {} is being deleted and asks for its volume claim to go. Whether its member is out of etcd's \
                     list is not known before this cluster is recorded and a quorum confirms the list, so both stay until then.",
                    peer.name
                );
                step.find_of(
                    FindingKind::Waiting,
                    Reason::PeerDeparting,
                    &peer.name,
                    message,
                );
            }
        }
        step.look_again(LATER, Reason::PeerDeparting);
    }
}

/// The member list of the recorded cluster, where a quorum confirmed it and nobody in it is without a name. Without a record
/// anybody's pods may be who answers.
fn confirmed<'a>(situation: &Situation<'a>) -> Option<&'a Membership> {
    let Stage::Formed { living, .. } = &situation.stage else {
        return None;
    };
    // Who has not started may be the one: the archived operator waited for its name, too.
    let has_name = |member: &contract::Member| !member.name.is_empty();
    living
        .membership
        .filter(|list| list.members.iter().all(has_name))
}

fn part(peer: &DepartingPeer, membership: &Membership, situation: &Situation<'_>, step: &mut Step) {
    let resource = &situation.snapshot.resource;
    let name = &peer.name;
    let is_listed = |member: &contract::Member| name_of(member) == name || member.name == *name;
    if membership.members.iter().any(is_listed) {
        let message = format!(
            "The EtcdPeer {name} is being deleted and asks for its volume claim to go, and its member is in etcd's list: the \
             claim holds that member's data, and stays. To keep the member, take the finalizer off: kubectl patch \
             etcdpeer.etcd.improbable.io {name} --namespace {} --type=merge --patch='{{\"metadata\":{{\"finalizers\":null}}}}'. \
             To be rid of it, ask for fewer members afterwards.",
            resource.namespace
        );
        step.find_of(FindingKind::Blocked, Reason::PeerDeparting, name, message);
        return;
    }
    let with = |effect: PeerEffect| {
        let mut action = pre::action(resource, Effect::Peer(effect)).on_members(membership);
        action.pre.departed = Some(name.clone());
        action
    };
    let words = match &peer.claim {
        Observed::Unknown(why) => {
            let message = format!(
                "The volume claim of the EtcdPeer {name}, which is being deleted, could not be read ({why}); both stay until it is."
            );
            step.find_of(FindingKind::Waiting, Reason::PeerDeparting, name, message);
            return;
        }
        Observed::Absent => "it has no volume claim any more",
        Observed::Seen(claim) if claim.deleted.is_some() => "its volume claim is being deleted",
        Observed::Seen(claim) if peer.has(claim, resource) => {
            let effect = PeerEffect::DeleteClaim { name: name.clone() };
            step.actions.push(with(effect).present(&claim.uid));
            "its volume claim goes with it"
        }
        Observed::Seen(_) => "the volume claim of its name is not labelled as its own, and stays",
    };
    step.actions.push(with(PeerEffect::Release {
        name: name.clone(),
        uid: peer.uid.clone(),
        resource_version: peer.resource_version.clone(),
        finalizers: peer.other_finalizers(),
    }));
    let message = format!(
        "The EtcdPeer {name}, which the archived operator left on its way out, is let go: its member is out of etcd's list, and {words}."
    );
    step.find_of(
        FindingKind::Doing,
        Reason::PeerDeparting,
        name,
        message.clone(),
    );
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::PeerDeparting,
        message,
    ));
}
