//! The DNS domain in members' addresses, which stays what it was when a member joined.

use contract::{FindingKind, Member, Membership, Reason, names};

use super::Step;
use crate::assess::name_of;
use crate::validate::Cluster;

/// Says whose address in etcd's list has another domain than the spec asks for by now.
pub(super) fn tell(cluster: &Cluster, membership: &Membership, step: &mut Step) {
    let wanted = cluster.pod.cluster_domain.as_deref().unwrap_or_default();
    let keeps_another = |member: &&Member| {
        let url = member.peer_urls.first();
        let domain = url.and_then(|url| of(cluster, url));
        domain.is_some_and(|domain| domain != wanted)
    };
    let members = membership.members.iter().filter(keeps_another);
    let names: Vec<&str> = members.map(name_of).collect();
    if !names.is_empty() {
        step.find(
            FindingKind::Note,
            Reason::AcceptedNotUsed,
            format!(
                "spec.pod.ClusterDomain is {wanted:?} and {} keep the address that etcd's list has of them: it is given to \
                 members that join from now on.",
                names.join(", ")
            ),
        );
    }
}

/// The domain in the address that etcd's list has of a member; empty where it has none, nothing where it is another host.
pub(super) fn of<'u>(cluster: &Cluster, url: &'u str) -> Option<&'u str> {
    let member = names::member_of_url(url)?;
    let host = names::member_host(member, &cluster.name, &cluster.namespace, "");
    let rest = url.split_once("://")?.1.strip_prefix(&host)?;
    rest.split(':').next()
}
