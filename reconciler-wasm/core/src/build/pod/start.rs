//! How a member starts: with which others, as new or as one of them.
//!
//! Knows what etcd reads when its disk is empty. Does not know how a pod hands it over.

use contract::{Birth, Membership};

use crate::assess::name_of;
use crate::validate::Cluster;

/// How a member starts when its disk is empty. With data on the disk etcd reads none of it.
pub(crate) struct Start {
    pub(crate) initial_cluster: String,
    pub(crate) state: &'static str,
    /// Where its peers reach it as etcd's list has it, which may be another scheme or domain than today's spec gives.
    pub(super) listed: Option<String>,
    pub(super) token: Option<String>,
    /// It starts as the only member, whoever else is in its list.
    pub(super) alone: bool,
}

impl Start {
    /// With all planned members, as a new cluster.
    pub(crate) fn new_cluster(cluster: &Cluster, birth: &Birth) -> Self {
        Self {
            initial_cluster: together(cluster, &birth.members),
            state: "new",
            listed: None,
            token: Some(birth.token.clone()),
            alone: false,
        }
    }

    /// As a member that the list already has.
    pub(crate) fn join(membership: &Membership, member: &str) -> Self {
        let mut entries: Vec<String> = membership
            .members
            .iter()
            .flat_map(|row| {
                row.peer_urls
                    .iter()
                    .map(move |url| entry(name_of(row), url))
            })
            .collect();
        entries.sort();
        let own = membership
            .members
            .iter()
            .find(|row| name_of(row) == member && !row.peer_urls.is_empty());
        Self {
            initial_cluster: entries.join(","),
            state: "existing",
            listed: own.map(|row| row.peer_urls.join(",")),
            token: None,
            alone: false,
        }
    }

    /// From its own disk only: with an empty one it ends at once.
    pub(crate) fn sealed(cluster: &Cluster, member: &str) -> Self {
        Self {
            initial_cluster: entry(member, &cluster.peer_url(member)),
            state: "existing",
            listed: None,
            token: None,
            alone: false,
        }
    }

    /// From its own disk, as the only member of its cluster (`--force-new-cluster`).
    pub(crate) fn alone(cluster: &Cluster, member: &str) -> Self {
        Self {
            alone: true,
            ..Self::sealed(cluster, member)
        }
    }
}

/// `--initial-cluster` of members that found a cluster together.
pub(super) fn together(cluster: &Cluster, members: &[String]) -> String {
    let entries: Vec<String> = members
        .iter()
        .map(|name| entry(name, &cluster.peer_url(name)))
        .collect();
    entries.join(",")
}

fn entry(name: &str, url: &str) -> String {
    [name, "=", url].concat()
}
