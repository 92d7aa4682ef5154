//! What may be done about an alarm of etcd, on a fresh read that shows the alarm.
//!
//! Without an alarm nobody's history is given up and no member is stopped to rewrite its file.

use contract::{AlarmKind, EndpointStatus, EtcdView, MemberId};

use super::membership::{enough, living};
use super::restart::others_suffice;
use crate::quorum::{Votes, quorum};
use crate::{Refusal, ResourceHead};

/// Why an action about an alarm is not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlarmRefusal {
    /// What is done about an alarm is done only while it stands.
    #[error("the alarm {alarm} does not stand")]
    NotRaised {
        /// The alarm, as etcd spells it.
        alarm: &'static str,
    },
    /// The alarm would be raised again, or what it warns of is not known to be gone.
    #[error("the alarm {alarm} is not ended: its cause is not known to be gone on member {member}")]
    CauseRemains {
        /// The alarm, as etcd spells it.
        alarm: &'static str,
        /// The first member that is full, or of which nothing is known.
        member: MemberId,
    },
    /// Any disk may be the one that counts.
    #[error(
        "members disagree on their data and no quorum of them is known to have equal hashes, so nothing is removed or deleted"
    )]
    NoAgreement,
    /// The member is one of those who are in the right.
    #[error(
        "members disagree on their data, and member {member} is of the quorum with equal hashes"
    )]
    InTheRight {
        /// The member.
        member: MemberId,
    },
    /// Nobody can ask a learner for its hash.
    #[error(
        "members disagree on their data, so learner {member} gets no vote: what it has may be of one that is in the wrong"
    )]
    Doubtful {
        /// The learner.
        member: MemberId,
    },
    /// An entry of the log that helps nobody.
    #[error(
        "nobody waits for an entry of the log that changes nothing: there is no learner, and a quorum answers"
    )]
    NobodyWaits,
    /// A compaction to a revision that is not there.
    #[error("no member has the revision {revision} to compact to")]
    Revision {
        /// The revision.
        revision: i64,
    },
}

impl From<AlarmRefusal> for Refusal {
    fn from(refusal: AlarmRefusal) -> Self {
        Self::Alarm(refusal)
    }
}

pub(super) fn check_compaction(
    revision: i64,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = alarmed(AlarmKind::Nospace, resource, etcd)?;
    let newest = votes.answers().filter_map(|status| status.revision).max();
    match newest {
        Some(newest) if (1..=newest).contains(&revision) => Ok(()),
        Some(_) | None => Err(AlarmRefusal::Revision { revision }.into()),
    }
}

/// A member answers nobody while it is defragmented. One or two have no quorum without one of them, so there all others
/// must be healthy.
pub(super) fn check_defragmentation(
    id: MemberId,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = alarmed(AlarmKind::Nospace, resource, etcd)?;
    let member = votes.member(id)?;
    if member.learner || !votes.is_healthy(member) {
        return Err(Refusal::NotHealthyVoter { member: id });
    }
    if let Some(member) = votes.outstanding() {
        return Err(Refusal::Outstanding { member });
    }
    others_suffice(&votes, id)
}

/// An `Alarm` request that ends none is an entry of the log; a member that got its data as a snapshot may wait for one: a
/// learner, or a voter that makes the quorum which confirmed the list, where those that answer are none.
pub(super) fn check_noop(resource: &ResourceHead, etcd: &EtcdView) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    let mut members = votes.membership().members.iter();
    let has_quorum = votes.healthy_without(None) >= quorum(votes.voters());
    if has_quorum && !members.any(|member| member.learner) {
        return Err(AlarmRefusal::NobodyWaits.into());
    }
    Ok(())
}

/// An alarm is ended when its cause is known to be gone on every member.
pub(super) fn check_disarm(
    kind: AlarmKind,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = alarmed(kind, resource, etcd)?;
    let agreed = agreeing(votes);
    for member in &votes.membership().members {
        let status = votes.answers().find(|status| status.member_id == member.id);
        let is_gone = match kind {
            AlarmKind::Nospace => status.is_some_and(|status| has_room(status, resource)),
            // A learner is not asked: it has what a voter has.
            AlarmKind::Corrupt => member.learner || agreed.contains(&member.id),
        };
        if !is_gone {
            return Err(AlarmRefusal::CauseRemains {
                alarm: kind.name(),
                member: member.id,
            }
            .into());
        }
    }
    Ok(())
}

/// While members disagree on their data, only one that a quorum of equal hashes outvotes may go, or what is left of one that
/// is gone. `member` is who would lose its disk, if it is listed.
pub(crate) fn check_loss(
    member: Option<MemberId>,
    votes: Votes<'_>,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    if !etcd.is_alarmed(AlarmKind::Corrupt) {
        return Ok(());
    }
    let agreed = agreeing(votes);
    if agreed.is_empty() {
        return Err(AlarmRefusal::NoAgreement.into());
    }
    match member.filter(|member| agreed.contains(member)) {
        Some(member) => Err(AlarmRefusal::InTheRight { member }.into()),
        None => Ok(()),
    }
}

/// A learner has what its leader has, which may be the one in the wrong.
pub(super) fn check_vote(learner: MemberId, etcd: &EtcdView) -> Result<(), Refusal> {
    if etcd.is_alarmed(AlarmKind::Corrupt) {
        return Err(AlarmRefusal::Doubtful { member: learner }.into());
    }
    Ok(())
}

/// The voters of the quorum that has equal hashes, at equal revisions; nobody when there is none. Versions of etcd may hash
/// the same data differently, and none hashes other data to the same.
fn agreeing(votes: Votes<'_>) -> Vec<MemberId> {
    let voters: Vec<(MemberId, &EndpointStatus)> = votes
        .membership()
        .voters()
        .filter_map(|member| {
            let status = votes.answers().find(|status| status.member_id == member.id);
            Some((member.id, status.filter(|status| status.hash_kv.is_some())?))
        })
        .collect();
    let alike =
        |a: &EndpointStatus, b: &EndpointStatus| a.hash_kv == b.hash_kv && a.revision == b.revision;
    let camps = voters.iter().map(|(_, one)| {
        let camp = voters.iter().filter(|(_, other)| alike(one, other));
        camp.map(|(id, _)| *id).collect::<Vec<_>>()
    });
    let needed = quorum(votes.voters());
    let mut camps = camps.filter(|camp| u32::try_from(camp.len()).is_ok_and(|size| size >= needed));
    camps.next().unwrap_or_default()
}

/// Below 90 % of its quota, as the member tells it or as the spec sets it.
fn has_room(status: &EndpointStatus, resource: &ResourceHead) -> bool {
    let quota = status
        .quota
        .filter(|quota| *quota != 0)
        .unwrap_or(resource.quota);
    quota < 0 || status.db_size < quota - quota / 10
}

fn alarmed<'a>(
    kind: AlarmKind,
    resource: &ResourceHead,
    etcd: &'a EtcdView,
) -> Result<Votes<'a>, Refusal> {
    let votes = living(resource, etcd)?;
    let stands = etcd
        .alarms
        .seen()
        .is_some_and(|alarms| alarms.iter().any(|alarm| alarm.kind == kind));
    if !stands {
        return Err(AlarmRefusal::NotRaised { alarm: kind.name() }.into());
    }
    enough(votes.healthy_without(None), quorum(votes.voters()))?;
    Ok(votes)
}

#[cfg(test)]
mod tests;
