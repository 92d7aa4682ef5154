//! The model's etcd in the state that a snapshot saw the real one in, and what it makes of a change of members.
//!
//! For whoever holds the model against recordings. A snapshot does not say for how long members have been connected,
//! and how far a learner has come at the moment of the change: the caller says what to suppose.

use std::collections::BTreeMap;

use contract::{Effect, EndpointStatus, EtcdView, Member, MemberId, Membership};

use super::{Data, Etcd, Op, Peer};

/// The time of the change, in the model's clock.
const NOW: i64 = 1_000_000;
/// Entries of a log that has all.
const LOG: u64 = 1_000;

/// What a snapshot does not say.
#[derive(Clone, Copy, Debug)]
pub struct Supposition<'a> {
    /// For how many milliseconds a member has been connected to its peers; who is not named, for ever.
    pub connected: &'a BTreeMap<MemberId, i64>,
    /// Learners have all of the log, else as much as their status says.
    pub caught_up: bool,
}

/// A member's peer URL, and whether it has no vote.
pub type Seat = (String, bool);

/// What the model's etcd would do: the member list afterwards, sorted, or the words of its refusal. None where the effect
/// is no change of members, or where the view does not show a leader that a quorum follows.
#[must_use]
pub fn verdict(
    view: &EtcdView,
    suppose: Supposition<'_>,
    effect: &Effect,
) -> Option<Result<Vec<Seat>, &'static str>> {
    let list = view.membership.seen().filter(|list| list.linearizable)?;
    let (mut etcd, peers) = Etcd::recorded(view, list, suppose)?;
    let cluster = list.cluster_id;
    let leader = etcd.confirmed(cluster, &peers)?.me;
    let done = match effect {
        Effect::AddLearner { peer_urls, .. } => {
            let url = peer_urls.first().map_or("", String::as_str);
            etcd.add_learner(cluster, url, &peers, NOW).map(|_| ())
        }
        Effect::Promote { member } => etcd.promote(cluster, *member, &peers),
        Effect::RemoveMember { member } => etcd.remove(cluster, *member, &peers, NOW),
        Effect::UpdateMember { member, peer_urls } => {
            let url = peer_urls.first().map_or("", String::as_str);
            etcd.readdress(cluster, *member, url, &peers)
        }
        Effect::MoveLeader { to } => etcd.move_leader(cluster, *to, &peers),
        Effect::UpdateStatus { .. }
        | Effect::Event { .. }
        | Effect::Apply { .. }
        | Effect::AnnotatePod { .. }
        | Effect::TakeUpClaim { .. }
        | Effect::RetireReplicaSet { .. }
        | Effect::SetImage { .. }
        | Effect::Delete { .. }
        | Effect::Issue { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. }
        | Effect::Peer(_)
        | Effect::Backup(_)
        | Effect::Restore(_)
        | Effect::Schedule(_) => return None,
    };
    if let Err(words) = done {
        return Some(Err(words));
    }
    let rows = etcd.of(cluster, leader, &peers)?.rows();
    let seat = |id: MemberId, learner| (etcd.url(id).to_owned(), learner);
    let mut seats: Vec<Seat> = rows.iter().map(|row| seat(row.id, row.learner)).collect();
    seats.sort();
    Some(Ok(seats))
}

impl Etcd {
    fn recorded(
        view: &EtcdView,
        list: &Membership,
        suppose: Supposition<'_>,
    ) -> Option<(Self, Vec<Peer>)> {
        let mut etcd = Self::default();
        for member in &list.members {
            let url = member.peer_urls.first().cloned().unwrap_or_default();
            etcd.names.insert(member.id, member.name.clone());
            etcd.urls.insert(member.id, url);
        }
        let statuses: Vec<&EndpointStatus> = view
            .endpoints
            .iter()
            .filter_map(|endpoint| endpoint.status.seen())
            .filter(|status| status.cluster_id == list.cluster_id)
            .collect();
        let leader = statuses.iter().find_map(|status| status.leader)?;
        let committed = statuses.iter().map(|status| status.raft_index).max()?;
        etcd.leaders.insert(list.cluster_id, leader);
        let mut peers = Vec::new();
        for (disk, status) in (1..).zip(statuses) {
            if status.leader != Some(leader) {
                continue;
            }
            let share = LOG * status.raft_applied_index / committed.max(1);
            let length = if status.learner && !suppose.caught_up {
                share
            } else {
                LOG
            };
            let data = Data::recorded(list, status.member_id, length);
            etcd.disks.insert(disk, Some(data));
            let connected = suppose.connected.get(&status.member_id).copied();
            peers.push(Peer {
                silent: false,
                disk,
                since: NOW - connected.unwrap_or(NOW),
                synced: true,
                minor: 6,
            });
        }
        Some((etcd, peers))
    }
}

impl Data {
    /// A log of that length which makes this member list.
    fn recorded(list: &Membership, me: MemberId, length: u64) -> Self {
        let mut data = Self::new(list.cluster_id, me);
        data.push(1, Op::Lead);
        for Member {
            id, learner, name, ..
        } in &list.members
        {
            let op = if *learner {
                Op::AddLearner(*id)
            } else {
                Op::AddVoter(*id)
            };
            data.push(1, op);
            if !name.is_empty() {
                data.push(1, Op::Publish(*id));
            }
        }
        while data.index() < length {
            data.push(1, Op::Write(0));
        }
        data
    }
}
