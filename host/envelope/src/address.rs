//! Where members may be reached: at their own DNS names, under a domain that the spec or etcd's list has.
//!
//! A member that is reached elsewhere is somebody else. Knows no pod and no decision.

use contract::{EtcdClusterSpec, Member, Snapshot, names};

use crate::Refusal;

/// What addresses are judged by.
#[derive(Clone, Copy)]
pub(crate) struct Addresses<'a> {
    snapshot: &'a Snapshot,
    /// None where it cannot be read; it names no domain then.
    spec: Option<&'a EtcdClusterSpec>,
}

impl<'a> Addresses<'a> {
    pub(crate) const fn new(snapshot: &'a Snapshot, spec: Option<&'a EtcdClusterSpec>) -> Self {
        Self { snapshot, spec }
    }

    /// `scheme://<member>.<cluster>.<namespace>.svc<domain>:<port>`.
    pub(crate) fn is_of(&self, member: &str, url: &str, port: i32) -> bool {
        let Some(("http" | "https", rest)) = url.split_once("://") else {
            return false;
        };
        let Some((host, found)) = rest.rsplit_once(':') else {
            return false;
        };
        found == port.to_string()
            && self
                .domain(member, host)
                .is_some_and(|domain| self.is_known(domain))
    }

    /// Where peers reach the member: its own name, or what etcd's list has for it.
    pub(crate) fn is_peer(&self, member: &str, url: &str) -> bool {
        self.is_of(member, url, names::PEER_PORT)
            || self.listed().any(|row| {
                (row.name == member || names::member_of_url(url) == Some(member))
                    && row.peer_urls.iter().any(|listed| listed == url)
            })
    }

    /// The first entry of an `--initial-cluster` that leads to somebody else.
    pub(crate) fn stranger<'l>(&self, list: &'l str) -> Option<&'l str> {
        list.split(',').find(|entry| {
            entry
                .split_once('=')
                .is_none_or(|(member, url)| !self.is_peer(member, url))
        })
    }

    /// Adds a refusal for the first URL that is not the member's, or for none at all.
    pub(crate) fn judge_peers(&self, member: &str, urls: &[String], refusals: &mut Vec<Refusal>) {
        let foreign = urls
            .iter()
            .find(|url| !self.is_of(member, url, names::PEER_PORT));
        if let Some(url) = foreign
            .cloned()
            .or_else(|| urls.is_empty().then(String::new))
        {
            refusals.push(Refusal::PeerUrl {
                member: member.to_owned(),
                url,
            });
        }
    }

    /// What follows the member's name in the host.
    fn domain<'h>(&self, member: &str, host: &'h str) -> Option<&'h str> {
        let resource = &self.snapshot.resource;
        let own = names::member_host(member, &resource.name, &resource.namespace, "");
        host.strip_prefix(&own)
    }

    /// None, the spec's, or one under which etcd's list has a member of this cluster already.
    fn is_known(&self, domain: &str) -> bool {
        let asked = self
            .spec
            .and_then(|spec| spec.pod.as_ref()?.cluster_domain.as_deref());
        domain.is_empty() || asked == Some(domain) || self.is_listed(domain)
    }

    fn is_listed(&self, domain: &str) -> bool {
        self.listed_domains().any(|listed| listed == domain)
    }

    /// Those under which etcd's list has members of this cluster.
    pub(crate) fn listed_domains(&self) -> impl Iterator<Item = &'a str> {
        let urls = self.listed().flat_map(|row| &row.peer_urls);
        urls.filter_map(|url| {
            let host = url
                .split_once("://")
                .and_then(|(_, rest)| rest.rsplit_once(':'))
                .map(|(host, _)| host);
            let member = names::member_of_url(url);
            host.zip(member)
                .and_then(|(host, member)| self.domain(member, host))
        })
    }

    fn listed(&self) -> impl Iterator<Item = &'a Member> {
        let list = self.snapshot.etcd.membership.seen();
        list.into_iter().flat_map(|list| &list.members)
    }
}
