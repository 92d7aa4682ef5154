//! The envelope's own quorum rule, on a fresh read: whatever the module gave as preconditions.
//!
//! Every change needs a confirmed list of the recorded cluster with a healthy quorum, because etcd commits it with
//! the votes of today, and must leave a healthy quorum of the votes of tomorrow.

use contract::{AlarmKind, EndpointStatus, EtcdView, MemberId, Observed};

use super::alarm::{check_loss, check_vote};
use super::restart::others_suffice;
use super::zero::unasked;
use crate::quorum::{LARGEST, Votes, is_unfinished, quorum};
use crate::{Refusal, ResourceHead};

pub(super) fn check_addition(
    name: &str,
    peer_urls: &[String],
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    nothing_under_way(votes.outstanding())?;
    let known = peer_urls.iter().any(|url| {
        votes
            .membership()
            .members
            .iter()
            .any(|member| member.peer_urls.contains(url))
    });
    if known || votes.member_named(name).is_some() {
        return Err(Refusal::StillMember {
            member: name.to_owned(),
        });
    }
    enough(votes.healthy_without(None), quorum(votes.voters()))
}

pub(super) fn check_move(
    to: MemberId,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let target = votes.member(to)?;
    if target.learner || !votes.is_healthy(target) {
        return Err(Refusal::NotHealthyVoter { member: to });
    }
    enough(votes.healthy_without(None), quorum(votes.voters()))
}

pub(super) fn check_promotion(
    id: MemberId,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let member = votes.member(id)?;
    if !member.learner || !votes.is_healthy(member) {
        return Err(Refusal::NotHealthyLearner { member: id });
    }
    // Who votes in a cluster that sleeps is what its status remembers.
    if resource.asleep {
        return Err(unasked(
            &format!("member {id} gets a vote"),
            "the cluster is awake",
        ));
    }
    check_vote(id, etcd)?;
    nothing_under_way(votes.other_learner(id))?;
    enough(votes.healthy_without(None), quorum(votes.voters()))?;
    enough(votes.healthy_without(None) + 1, quorum(votes.voters() + 1))
}

/// Whether a learner's own answer shows that its leader reaches it: it has received what was appended up to that index of the
/// log. That it names a leader shows nothing, for a learner asks for no votes and does not notice that it is cut off.
#[must_use]
pub fn has_received(learner: MemberId, appended: u64, answer: &EndpointStatus) -> bool {
    answer.member_id == learner && answer.leader.is_some() && answer.raft_index >= appended
}

pub(super) fn check_removal(
    id: MemberId,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let member = votes.member(id)?;
    check_loss(Some(id), votes, etcd)?;
    // etcd commits the removal with the votes of today.
    enough(votes.healthy_without(None), quorum(votes.voters()))?;
    if !is_unfinished(member) {
        nothing_under_way(votes.other_learner(id))?;
    }
    if member.learner {
        return Ok(());
    }
    if votes.voters() <= 1 {
        return Err(Refusal::LastVoter { member: id });
    }
    if votes.leader().is_none_or(|leader| leader == id) {
        return Err(Refusal::IsLeader { member: id });
    }
    enough(votes.healthy_without(Some(id)), quorum(votes.voters() - 1))?;
    // As many go on voting as are asked for, unless a healthy voter's data is in doubt.
    let is_in_doubt = etcd.is_alarmed(AlarmKind::Corrupt) || resource.taking_over;
    if votes.is_healthy(member) && !is_in_doubt {
        let asked = resource.size.and_then(|size| u32::try_from(size).ok());
        let asked = asked.filter(|size| *size <= LARGEST);
        enough(votes.voters() - 1, asked.unwrap_or_default())?;
    }
    Ok(())
}

/// A voter gets the address of its own host, by the scheme that the spec asks for. Until it listens there nobody can dial
/// it.
pub(super) fn check_address(
    id: MemberId,
    peer_urls: &[String],
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let member = votes.member(id)?;
    nothing_under_way(votes.outstanding())?;
    let scheme = if resource.secure_peers {
        "https"
    } else {
        "http"
    };
    let split = |url: &'_ String| {
        let (scheme, rest) = url.split_once("://")?;
        Some((scheme.to_owned(), rest.to_owned()))
    };
    let hosts: Vec<_> = member.peer_urls.iter().filter_map(split).collect();
    let foreign = peer_urls.iter().find(|url| {
        split(url).is_none_or(|(found, host)| {
            found != scheme || !hosts.iter().any(|(_, known)| *known == host)
        })
    });
    if let Some(url) = foreign
        .cloned()
        .or_else(|| peer_urls.is_empty().then(String::new))
    {
        return Err(Refusal::PeerUrl {
            member: id.to_string(),
            url,
        });
    }
    enough(votes.healthy_without(None), quorum(votes.voters()))?;
    others_suffice(&votes, id)
}

/// The confirmed list of the very cluster that the status records.
pub(crate) fn living<'a>(
    resource: &ResourceHead,
    etcd: &'a EtcdView,
) -> Result<Votes<'a>, Refusal> {
    let expected = match &resource.cluster_id {
        Observed::Seen(id) => *id,
        Observed::Absent => return Err(Refusal::Unborn),
        Observed::Unknown(why) => {
            return Err(Refusal::Unread {
                what: "the recorded cluster id",
                why: why.clone(),
            });
        }
    };
    let votes = Votes::confirmed(etcd)?;
    let found = votes.cluster_id();
    if expected != found {
        return Err(Refusal::OtherCluster { expected, found });
    }
    Ok(votes)
}

pub(super) fn nothing_under_way(found: Option<MemberId>) -> Result<(), Refusal> {
    match found {
        Some(member) => Err(Refusal::Outstanding { member }),
        None => Ok(()),
    }
}

pub(super) fn enough(healthy: u32, needed: u32) -> Result<(), Refusal> {
    if healthy < needed {
        return Err(Refusal::TooFewHealthy { healthy, needed });
    }
    Ok(())
}
