//! Counts votes on a fresh read of etcd. A member without evidence has none.
//!
//! Healthy is a voter that answered at its own endpoint, in the cluster of the list, and follows a leader; and whose pod
//! stays, for a member whose pod is being terminated is as good as down.

use contract::{
    ClusterId, Effect, Endpoint, EndpointStatus, EtcdView, Member, MemberId, Membership, Observed,
    names,
};

use crate::Refusal;

/// A confirmed member list with what the members themselves said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Votes<'a> {
    membership: &'a Membership,
    etcd: &'a EtcdView,
}

/// As many members as a cluster may be asked to have.
pub(crate) const LARGEST: u32 = 7;

/// The majority of `voters`.
pub(crate) const fn quorum(voters: u32) -> u32 {
    voters / 2 + 1
}

impl<'a> Votes<'a> {
    /// The member list, if a quorum confirmed it.
    pub(crate) fn confirmed(etcd: &'a EtcdView) -> Result<Self, Refusal> {
        match &etcd.membership {
            Observed::Seen(membership) if membership.linearizable => Ok(Self { membership, etcd }),
            Observed::Seen(_) => Err(Refusal::Unconfirmed),
            Observed::Absent => Err(Refusal::Unread {
                what: "the member list",
                why: "no member to ask".to_owned(),
            }),
            Observed::Unknown(why) => Err(Refusal::Unread {
                what: "the member list",
                why: why.clone(),
            }),
        }
    }

    pub(crate) fn membership(&self) -> &'a Membership {
        self.membership
    }

    pub(crate) fn cluster_id(&self) -> ClusterId {
        self.membership.cluster_id
    }

    pub(crate) fn member(&self, id: MemberId) -> Result<&'a Member, Refusal> {
        let found = self
            .membership
            .members
            .iter()
            .find(|member| member.id == id);
        found.ok_or_else(|| Refusal::NotMember(id.to_string()))
    }

    /// The member of that name, by the name it published or by its peer URL.
    pub(crate) fn member_named(&self, name: &str) -> Option<&'a Member> {
        self.membership.members.iter().find(|member| {
            member.name == name
                || member
                    .peer_urls
                    .iter()
                    .any(|url| names::member_of_url(url) == Some(name))
        })
    }

    /// Number of votes in the list.
    pub(crate) fn voters(&self) -> u32 {
        count(self.membership.voters())
    }

    /// Healthy voters, without `except`.
    pub(crate) fn healthy_without(&self, except: Option<MemberId>) -> u32 {
        count(
            self.membership
                .voters()
                .filter(|member| Some(member.id) != except && self.is_healthy(member)),
        )
    }

    /// Healthy voters once `effect` has happened, without `touched`.
    pub(crate) fn healthy_after(&self, effect: &Effect, touched: Option<MemberId>) -> u32 {
        let leaves = |id| matches!(effect, Effect::RemoveMember { member } if *member == id);
        let promoted = self.membership.members.iter().filter(|member| {
            matches!(effect, Effect::Promote { member: id } if *id == member.id)
                && member.learner
                && self.is_healthy(member)
        });
        let voters = self
            .membership
            .voters()
            .filter(|member| self.is_healthy(member));
        count(
            voters
                .chain(promoted)
                .filter(|member| Some(member.id) != touched && !leaves(member.id)),
        )
    }

    /// Whether this voter or learner answers as such, in this cluster, following a leader, from a pod that stays.
    pub(crate) fn is_healthy(&self, member: &Member) -> bool {
        let mut endpoints = self.etcd.endpoints.iter();
        endpoints.any(|one| !one.terminating && self.serves_at(one, member))
    }

    /// Whether this member has a vote to lose: the same, from whatever pod. One on its way out counts for nobody, and
    /// nothing more may be done to it than to one that stays.
    pub(crate) fn serves(&self, member: &Member) -> bool {
        let mut endpoints = self.etcd.endpoints.iter();
        endpoints.any(|one| self.serves_at(one, member))
    }

    /// The pod of another member that serves as yet, and is about to be restarted or deleted.
    pub(crate) fn about_to_end(&self, except: MemberId) -> Option<&'a str> {
        let mut members = self.membership.members.iter();
        members.find_map(|member| {
            let mut endpoints = self.etcd.endpoints.iter();
            let ends = |one: &&Endpoint| one.terminating && self.serves_at(one, member);
            let pod = endpoints.find(ends)?.pod.as_str();
            (member.id != except).then_some(pod)
        })
    }

    /// Whether it said itself that it does not serve. One that is silent may be out of reach for the operator alone.
    pub(crate) fn serves_nobody(&self, member: &Member) -> bool {
        let mut endpoints = self.etcd.endpoints.iter();
        let is_heard = endpoints.any(|one| {
            let status = one.status.seen();
            status.is_some_and(|status| status.member_id == member.id)
        });
        is_heard && !self.serves(member)
    }

    fn serves_at(&self, endpoint: &Endpoint, member: &Member) -> bool {
        endpoint.status.seen().is_some_and(|status| {
            status.cluster_id == self.cluster_id()
                && status.member_id == member.id
                && status.learner == member.learner
                && status.leader.is_some()
        })
    }

    /// Who leads, by those who follow somebody in the highest term. None when they disagree. Where somebody without a leader
    /// has come to a higher term, a majority of voters must follow it: then no majority is there to elect another one, and
    /// that somebody is only cut off from its peers. etcd before 3.5 lets it raise its term for ever.
    pub(crate) fn leader(&self) -> Option<MemberId> {
        let term = self
            .answers()
            .filter(|status| status.leader.is_some())
            .map(|status| status.raft_term)
            .max()?;
        let mut leaders = self
            .answers()
            .filter(|status| status.raft_term == term)
            .filter_map(|status| status.leader);
        let leader = leaders.next()?;
        let is_agreed = leaders.all(|other| other == leader);
        let is_outpaced = self.answers().any(|status| status.raft_term > term);
        let followers = self.membership.voters().filter(|member| {
            self.answers().any(|status| {
                status.member_id == member.id
                    && !status.learner
                    && status.raft_term == term
                    && status.leader == Some(leader)
            })
        });
        let is_certain = !is_outpaced || count(followers) >= quorum(self.voters());
        (is_agreed && is_certain).then_some(leader)
    }

    /// A member that is a learner or has not started.
    pub(crate) fn outstanding(&self) -> Option<MemberId> {
        let mut members = self.membership.members.iter();
        members
            .find(|member| is_unfinished(member))
            .map(|member| member.id)
    }

    /// A learner other than `except`. A voter that has not started is counted as a vote that is not healthy.
    pub(crate) fn other_learner(&self, except: MemberId) -> Option<MemberId> {
        let mut members = self.membership.members.iter();
        members
            .find(|member| member.learner && member.id != except)
            .map(|member| member.id)
    }

    /// What members of this cluster said of themselves.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &'a EndpointStatus> {
        let id = self.cluster_id();
        self.etcd
            .endpoints
            .iter()
            .filter_map(|endpoint| endpoint.status.seen())
            .filter(move |status| status.cluster_id == id)
    }
}

/// A learner, or a member that was added and has not run yet.
pub(crate) fn is_unfinished(member: &Member) -> bool {
    member.learner || member.name.is_empty()
}

/// Fewer than seven in practice; a count that does not fit is no quorum.
fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}
