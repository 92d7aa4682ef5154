//! Gives members other addresses where TLS between them is turned on or off: one at a time, the leader last.
//!
//! A member that has its other address is started anew to listen there, which is [`super`]'s, before the next
//! one gets its own. Meanwhile its peers cannot dial it, and it dials them: what they have to tell one another goes over
//! connections that it opened. Members with their data in their pods, or on claims that go, are replaced instead; where one
//! of these has its other address already, nobody gets another one before it is.

use contract::{Effect, EventType, FindingKind, Membership, Reason};

use super::{loses_its_disk, waits_for_the_late};
use crate::assess::{Living, Member, Situation, name_of};
use crate::pre::{self, ActionExt};
use crate::quorum::quorum;
use crate::step::{SOON, Step};
use crate::validate::Cluster;

/// Gives one voter its other address. Says whether it did, or waits until it may.
pub(super) fn turn(
    cluster: &Cluster,
    situation: &Situation<'_>,
    membership: &Membership,
    living: &Living<'_>,
    step: &mut Step,
) -> bool {
    let leads = living.leader();
    let is_halfway = |member: &Member<'_>| {
        let pod = member.pod;
        pod.is_some_and(|pod| !cluster.tls.is_reached(member.name, pod))
    };
    if living.voters().any(is_halfway) {
        return false;
    }
    let misplaced = living.voters().filter(|member| {
        cluster.tls.is_misplaced(member.name)
            && member.pod.is_some_and(|pod| pod.claim.is_some())
            && !loses_its_disk(member)
    });
    let Some(member) = misplaced.min_by_key(|member| (member.id == leads, member.name)) else {
        return false;
    };
    if waits_for_the_late(living, "the next address", step) {
        return true;
    }
    let row = membership
        .members
        .iter()
        .find(|row| name_of(row) == member.name && !row.learner);
    let Some(row) = row else { return false };
    let (from, to) = cluster.tls.turned_schemes();
    let effect = Effect::UpdateMember {
        member: row.id,
        peer_urls: row
            .peer_urls
            .iter()
            .map(|url| url.replacen(&format!("{from}://"), &format!("{to}://"), 1))
            .collect(),
    };
    let resource = &situation.snapshot.resource;
    let mut action = pre::action(resource, effect).on_members(membership);
    action.pre.healthy_voters = u32::try_from(quorum(living.voters().count())).ok();
    step.actions.push(action);
    let note = format!("Peers reach {} by {to}:// from now on", member.name);
    step.actions.push(pre::event_of(
        resource,
        EventType::Normal,
        Reason::TurningTls,
        note.clone(),
    ));
    step.find_of(
        FindingKind::Doing,
        Reason::TurningTls,
        member.name,
        format!("{note}."),
    );
    step.look_again(SOON, Reason::TurningTls);
    true
}
