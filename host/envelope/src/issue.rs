//! What certificates may be made: the cluster's own Secrets, for the cluster's own names and for all that are dialed, where
//! the spec asks for it.
//!
//! Keys are no business of a module: an order has no field for one. Who signs, and when an authority may go, is
//! [`trust`]'s.

mod trust;

use std::collections::BTreeSet;

use contract::{Action, EtcdClusterSpec, ObjectKind, Order, Resource, Snapshot, TlsRole, names};

use crate::Refusal;
use crate::address::Addresses;

/// Adds a refusal for each thing an order may not ask for, after the actions before it.
pub(crate) fn judge_order(
    secret: &str,
    order: &Order,
    before: &[Action],
    snapshot: &Snapshot,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let resource = &snapshot.resource;
    let cluster = resource.name.as_str();
    let mut broken = |field: &str| {
        refusals.push(Refusal::Field {
            kind: ObjectKind::Secret,
            name: secret.to_owned(),
            field: field.to_owned(),
        });
    };
    let is_asked = spec.tls.as_ref().is_some_and(|tls| tls.auto.is_some());
    if !is_asked {
        broken("certificates without spec.TLS.auto");
    }
    let place = match order {
        Order::Authorities | Order::NewestAuthorities => names::authorities_secret(cluster),
        Order::Certificate { role, .. } | Order::Trust { role } => {
            names::made_secret(cluster, *role)
        }
    };
    if secret != place {
        broken("what belongs into another Secret");
    }
    if let Order::Certificate { role, names, by: _ } = order {
        for name in names.iter().filter(|name| !is_own(name, *role, resource)) {
            broken(&format!("the name {name}"));
        }
        let dialed = dialed(*role, snapshot, spec);
        for name in dialed.iter().filter(|name| !names.contains(name)) {
            broken(&format!("names without {name}"));
        }
    }
    if let Some(what) = trust::why_not(order, before, snapshot) {
        broken(&what);
    }
}

/// The names that others know the holder by: a certificate without one of them is refused by whoever dials it.
fn dialed(role: TlsRole, snapshot: &Snapshot, spec: &EtcdClusterSpec) -> Vec<String> {
    let Resource {
        name: cluster,
        namespace,
        ..
    } = &snapshot.resource;
    let asked = spec
        .pod
        .as_ref()
        .and_then(|pod| pod.cluster_domain.as_deref());
    let addresses = Addresses::new(snapshot, Some(spec));
    // Members keep the address that they joined with.
    let domains: BTreeSet<&str> = ["", asked.unwrap_or_default()]
        .into_iter()
        .chain(addresses.listed_domains().filter(|one| is_domain(one)))
        .collect();
    let members = domains
        .into_iter()
        .map(|domain| names::member_host("*", cluster, namespace, domain));
    match role {
        TlsRole::Peer => members
            .chain([format!("{}.{namespace}.svc", names::peer_service(cluster))])
            .collect(),
        TlsRole::Server => {
            let clients = format!("{}.{namespace}.svc", names::client_service(cluster));
            let with_domain = asked
                .filter(|domain| !domain.is_empty())
                .map(|domain| format!("{clients}{domain}"));
            members
                .chain(with_domain)
                .chain([clients, "localhost".to_owned()])
                .collect()
        }
        TlsRole::Operator => Vec::new(),
    }
}

/// What may follow `.svc` in a host.
fn is_domain(domain: &str) -> bool {
    (domain.is_empty() || domain.starts_with('.'))
        && domain
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-'))
}

/// A name of the members or, for servers, of the clients' Service, with or without a domain.
fn is_own(name: &str, role: TlsRole, resource: &Resource) -> bool {
    let Resource {
        name: cluster,
        namespace,
        ..
    } = resource;
    let members = names::member_host("*", cluster, namespace, "");
    let clients = format!("{}.{namespace}.svc", names::client_service(cluster));
    let peers = format!("{}.{namespace}.svc", names::peer_service(cluster));
    let is_under = |host: &str| name.strip_prefix(host).is_some_and(is_domain);
    match role {
        TlsRole::Peer => is_under(&members) || is_under(&peers),
        TlsRole::Server => is_under(&members) || is_under(&clients) || name == "localhost",
        TlsRole::Operator => false,
    }
}

/// Whether a Secret has one of the names that the operator makes certificates under.
pub(crate) fn is_made_secret(cluster: &str, name: &str) -> bool {
    name == names::authorities_secret(cluster)
        || TlsRole::ALL
            .into_iter()
            .any(|role| name == names::made_secret(cluster, role))
}

#[cfg(test)]
mod tests;
