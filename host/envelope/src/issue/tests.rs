//! Orders for the cluster's own Secrets and names, and each that goes beyond them.

use contract::{Effect, ObjectPrecondition, Observed, Secret, authority_keys};
use serde_json::json;

use super::*;
use crate::fixtures::{action, decision, resource, snapshot_of};
use crate::permit;

const PEER: [&str; 2] = ["*.a.ns.svc", "a.ns.svc"];
const SERVER: [&str; 3] = ["*.a.ns.svc", "a-client.ns.svc", "localhost"];

/// A cluster whose certificates the operator makes, by the authority `f`.
fn secure() -> Snapshot {
    let mut resource = resource();
    resource.spec["TLS"] = json!({"auto": {}});
    let mut snapshot = snapshot_of(resource);
    let mut secret = Secret::default();
    for role in [TlsRole::Peer, TlsRole::Server] {
        let (list, _) = authority_keys(role);
        let all = vec!["f".to_owned()];
        secret.authorities.insert(list.to_owned(), all);
    }
    let seen = Observed::Seen(secret);
    snapshot.secrets.insert("a-authorities".to_owned(), seen);
    snapshot
}

fn rules(secret: &str, order: Order, snapshot: &Snapshot) -> Vec<&'static str> {
    let secret = secret.to_owned();
    let mut action = action(Effect::Issue { secret, order });
    action.pre.object = Some(ObjectPrecondition::Absent);
    let refusals = permit(&decision(vec![action]), snapshot)
        .err()
        .unwrap_or_default();
    refusals.iter().map(Refusal::rule).collect()
}

fn certificate(role: TlsRole, names: &[&str]) -> Order {
    Order::Certificate {
        role,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        by: "f".to_owned(),
    }
}

#[test]
fn orders_for_the_clusters_own_secrets_and_names_pass() {
    for (secret, order) in [
        ("a-authorities", Order::Authorities),
        ("a-authorities", Order::NewestAuthorities),
        ("a-peer-tls", certificate(TlsRole::Peer, &PEER)),
        ("a-server-tls", certificate(TlsRole::Server, &SERVER)),
        (
            "a-peer-tls",
            certificate(
                TlsRole::Peer,
                &["a.ns.svc", "*.a.ns.svc.cluster.local", "*.a.ns.svc"],
            ),
        ),
        ("a-client-tls", certificate(TlsRole::Operator, &[])),
        (
            "a-client-tls",
            Order::Trust {
                role: TlsRole::Operator,
            },
        ),
    ] {
        assert_eq!(
            rules(secret, order.clone(), &secure()),
            [""; 0],
            "{secret} {order:?}"
        );
    }
}

#[test]
fn an_order_that_nobody_asked_for_is_refused() {
    let mut snapshot = secure();
    snapshot.resource.spec["TLS"] = json!(null);
    assert_eq!(
        rules("a-authorities", Order::Authorities, &snapshot),
        ["Field"]
    );
}

#[test]
fn a_secret_of_somebody_else_or_of_another_role_is_refused() {
    assert_eq!(
        rules("b-authorities", Order::Authorities, &secure()),
        ["ForeignName", "Field"]
    );
    assert_eq!(
        rules("a-peer-tls", Order::Authorities, &secure()),
        ["Field"]
    );
    let trust = Order::Trust {
        role: TlsRole::Operator,
    };
    assert_eq!(rules("a-authorities", trust, &secure()), ["Field"]);
}

#[test]
fn a_certificate_for_names_of_others_is_refused() {
    for (secret, role, name) in [
        ("a-peer-tls", TlsRole::Peer, "*.b.ns.svc"),
        ("a-peer-tls", TlsRole::Peer, "localhost"),
        ("a-server-tls", TlsRole::Server, "kubernetes.default.svc"),
        ("a-server-tls", TlsRole::Server, "a-client.ns.svcx"),
        ("a-server-tls", TlsRole::Server, "*"),
        ("a-client-tls", TlsRole::Operator, "*.a.ns.svc"),
    ] {
        let mut names = needed(role);
        names.push(name);
        assert_eq!(
            rules(secret, certificate(role, &names), &secure()),
            ["Field"],
            "{name}"
        );
    }
}

fn needed(role: TlsRole) -> Vec<&'static str> {
    match role {
        TlsRole::Peer => PEER.to_vec(),
        TlsRole::Server => SERVER.to_vec(),
        TlsRole::Operator => Vec::new(),
    }
}

#[test]
fn a_certificate_without_a_name_that_is_dialed_is_refused() {
    for (secret, role) in [
        ("a-peer-tls", TlsRole::Peer),
        ("a-server-tls", TlsRole::Server),
    ] {
        let all = needed(role);
        for missing in &all {
            let mut names = all.clone();
            names.retain(|name| name != missing);
            let order = certificate(role, &names);
            assert_eq!(rules(secret, order, &secure()), ["Field"], "{missing}");
        }
        let none = rules(secret, certificate(role, &[]), &secure());
        assert_eq!(none, vec!["Field"; all.len()], "{role:?}");
    }
}

#[test]
fn the_domain_of_the_spec_is_dialed_and_those_of_etcds_list() {
    let mut snapshot = secure();
    snapshot.resource.spec["pod"]["ClusterDomain"] = json!(".one");
    let peer = ["*.a.ns.svc", "*.a.ns.svc.one", "a.ns.svc"];
    let server = [
        "*.a.ns.svc",
        "*.a.ns.svc.one",
        "a-client.ns.svc",
        "a-client.ns.svc.one",
        "localhost",
    ];
    let count = |names: &[&str], role: TlsRole, snapshot: &Snapshot| {
        let secret = names::made_secret("a", role);
        rules(&secret, certificate(role, names), snapshot).len()
    };
    assert_eq!(count(&peer, TlsRole::Peer, &snapshot), 0);
    assert_eq!(count(&PEER, TlsRole::Peer, &snapshot), 1);
    assert_eq!(count(&server, TlsRole::Server, &snapshot), 0);
    assert_eq!(count(&SERVER, TlsRole::Server, &snapshot), 2);
    if let Observed::Seen(list) = &mut snapshot.etcd.membership {
        list.members[1].peer_urls = vec!["https://a-2.a.ns.svc.two:2380".to_owned()];
    }
    assert_eq!(count(&peer, TlsRole::Peer, &snapshot), 1);
    let mut both = peer.to_vec();
    both.push("*.a.ns.svc.two");
    assert_eq!(count(&both, TlsRole::Peer, &snapshot), 0);
}

#[test]
fn a_secret_is_never_deleted() {
    let mut action = action(Effect::Delete {
        kind: ObjectKind::Secret,
        name: "a-authorities".to_owned(),
        grace_seconds: None,
    });
    action.pre.object = crate::fixtures::present("uid");
    let refusals = permit(&decision(vec![action]), &snapshot_of(resource()));
    assert_eq!(refusals.expect_err("a refusal").len(), 1);
}
