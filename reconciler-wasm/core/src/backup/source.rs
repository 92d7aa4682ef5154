//! Whom a backup is taken from: of those that answer, who has most of the data.
//!
//! A learner may lag, whoever knows of no leader or is far behind lacks what was written, and members that disagree on their
//! data are no source.

use std::collections::BTreeSet;

use contract::{BackupView, EndpointStatus, Observed, SourceEndpoint};

/// How far a source's log may be behind the newest one.
const LAG: u64 = 1_000;

/// Who is asked, with what it says of itself.
pub(super) struct Source<'a> {
    pub(super) url: &'a str,
    pub(super) status: &'a EndpointStatus,
    pub(super) revision: i64,
}

/// Chooses the endpoint. Of the members of a cluster that the spec names a follower comes before the leader, which has most to do; of URLs
/// the one with the highest revision, as it always was.
///
/// # Errors
/// Why none of them will do, in words.
pub(super) fn choose<'a>(
    view: &'a BackupView,
    cluster: Option<&str>,
) -> Result<Source<'a>, String> {
    let answering: Vec<Source<'a>> = view.endpoints.iter().filter_map(source).collect();
    let clusters: BTreeSet<_> = answering
        .iter()
        .map(|source| source.status.cluster_id)
        .collect();
    if clusters.len() > 1 {
        let ids: Vec<String> = clusters.iter().map(ToString::to_string).collect();
        return Err(format!(
            "the endpoints belong to different clusters ({}); name those of one",
            ids.join(", ")
        ));
    }
    let order = |source: &Source<'_>| {
        let follows = source.status.leader != Some(source.status.member_id);
        (cluster.is_some() && follows, source.revision, follows)
    };
    let indexes = answering.iter().map(|source| source.status.raft_index);
    let newest = indexes.max().unwrap_or_default();
    let mut serving = answering;
    serving.retain(|source| why_late(source.status, newest).is_none());
    // Of equals the first.
    let best = serving.into_iter().rev().max_by_key(order);
    best.ok_or_else(|| complaints(view, cluster, newest))
}

/// Why what it has may lack something that was written, in words; none where nothing is known to be lacking.
fn why_late(status: &EndpointStatus, newest: u64) -> Option<&'static str> {
    if status.leader.is_none() {
        return Some(
            "knows of no leader, so it may lack what was written (etcdctl snapshot save takes what it has)",
        );
    }
    (status.raft_index.saturating_add(LAG) < newest).then_some("receives what it missed")
}

fn source(endpoint: &SourceEndpoint) -> Option<Source<'_>> {
    let status = endpoint.status.seen()?;
    let is_corrupt = status.errors.iter().any(|error| error.contains("CORRUPT"));
    let revision = status.revision?;
    (!status.learner && !is_corrupt).then_some(Source {
        url: &endpoint.url,
        status,
        revision,
    })
}

fn complaints(view: &BackupView, cluster: Option<&str>, newest: u64) -> String {
    if view.endpoints.is_empty() {
        return format!(
            "there is no EtcdCluster {} in this namespace, or it has no member yet that could be asked",
            cluster.unwrap_or_default()
        );
    }
    let words = view.endpoints.iter().map(|endpoint| {
        let why = match &endpoint.status {
            Observed::Seen(status) if status.learner => "is a learner",
            Observed::Seen(status) => {
                why_late(status, newest).unwrap_or("says that members disagree on their data")
            }
            Observed::Absent => "is not there",
            Observed::Unknown(why) => why,
        };
        format!("{}: {why}", endpoint.url)
    });
    format!(
        "no endpoint serves a backup: {}",
        words.collect::<Vec<_>>().join("; ")
    )
}
