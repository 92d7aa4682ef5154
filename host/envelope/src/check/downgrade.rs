//! What etcd's own way back to an older minor version may be begun from, and what an older program may be given to.
//!
//! etcd refuses both, too: the one in words, the other by a member that ends again and again.

use contract::{EtcdView, MemberId, Preconditions};

use super::membership::{enough, living, nothing_under_way};
use crate::quorum::{Votes, quorum};
use crate::{Refusal, ResourceHead};

/// A way back is what the spec asks for, and begins where every member answers, and all of them run the minor version after the one that is gone to.
/// It may be ended at any time.
pub(super) fn check_downgrade(
    to: Option<&str>,
    resource: &ResourceHead,
    etcd: &EtcdView,
) -> Result<(), Refusal> {
    let votes = living(resource, etcd)?;
    enough(votes.healthy_without(None), quorum(votes.voters()))?;
    let Some(to) = to else { return Ok(()) };
    nothing_under_way(votes.outstanding())?;
    enough(votes.healthy_without(None), votes.voters())?;
    let target = minor_of(to);
    if resource.minor != target {
        return Err(Refusal::UnaskedVersion(to.to_owned()));
    }
    for member in &votes.membership().members {
        let version = votes
            .answers()
            .find(|status| status.member_id == member.id)
            .map(|status| status.version.as_str());
        let runs = version.and_then(minor_of);
        if target.is_none() || runs.and_then(|runs| runs.checked_sub(1)) != target {
            return Err(Refusal::NoWayBack {
                to: to.to_owned(),
                member: member.id,
                version: version.unwrap_or_default().to_owned(),
            });
        }
    }
    Ok(())
}

/// A member that says which version its data files have is given no older program.
pub(super) fn check_data(image: &str, pre: &Preconditions, etcd: &EtcdView) -> Result<(), Refusal> {
    let newer = |id: MemberId| -> Option<String> {
        let votes = Votes::confirmed(etcd).ok()?;
        let status = votes.answers().find(|status| status.member_id == id)?;
        let written = status.storage_version.clone()?;
        let (_, given) = image.rsplit_once(":v")?;
        (minor_of(given)? < minor_of(&written)?).then_some(written)
    };
    match pre.touches.and_then(|id| Some((id, newer(id)?))) {
        Some((member, written)) => Err(Refusal::NewerData {
            member,
            written,
            image: image.to_owned(),
        }),
        None => Ok(()),
    }
}

fn minor_of(version: &str) -> Option<u64> {
    version.split('.').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests;
