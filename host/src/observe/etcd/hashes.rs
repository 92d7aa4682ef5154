//! Hashes of all keys, asked of every voter while the alarm for corrupt data stands.
//!
//! Each costs its member a read of all it has, so nobody is asked without need. What the hashes mean others judge.

use std::collections::BTreeSet;

use contract::{AlarmKind, EndpointStatus};
use futures::future::join_all;
use tracing::debug;

use super::Asked;
use crate::error::Chain;

/// Adds the hashes to the answers, all of one revision: the smallest that every voter has.
pub(super) async fn ask(asked: &mut [Asked<'_>]) {
    let answers = asked.iter().filter_map(|asked| asked.status.as_ref().ok());
    let (mut is_alarmed, mut revisions) = (false, BTreeSet::new());
    for status in answers {
        is_alarmed |= complains(status);
        revisions.extend(status.revision.filter(|_| !status.learner));
    }
    let Some(revision) = revision(&revisions).filter(|_| is_alarmed) else {
        return;
    };
    join_all(asked.iter_mut().map(|asked| hash(asked, revision))).await;
}

fn complains(status: &EndpointStatus) -> bool {
    let words = format!("alarm:{}", AlarmKind::Corrupt.name());
    status.errors.iter().any(|error| error.contains(&words))
}

/// Zero asks for the newest revision. Where all have the same it is asked for like that: a member that was compacted there
/// may answer for the number with what it kept of that compaction, which compares with no other answer.
fn revision(revisions: &BTreeSet<i64>) -> Option<i64> {
    let smallest = revisions.first()?;
    Some(if revisions.len() == 1 { 0 } else { *smallest })
}

async fn hash(asked: &mut Asked<'_>, revision: i64) {
    let (Some(connection), Ok(status)) = (&asked.connection, &mut asked.status) else {
        return;
    };
    // etcd refuses this question to a learner.
    if status.learner {
        return;
    }
    match connection.hash_kv(revision).await {
        Ok(hash) => status.hash_kv = Some(hash),
        Err(error) => debug!(pod = asked.pod.name, error = %Chain(&error), "No hash of its keys"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_asked_for_the_smallest_revision_or_for_the_newest_where_that_is_the_same() {
        assert_eq!(revision(&BTreeSet::from([7, 5, 9])), Some(5));
        assert_eq!(revision(&BTreeSet::from([7])), Some(0));
        assert_eq!(revision(&BTreeSet::new()), None);
    }
}
