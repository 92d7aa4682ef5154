//! What certificates may be made: the cluster's own Secrets, for the cluster's own names, where the spec asks for it.
//!
//! Keys are no business of a module: an order has no field for one.

use contract::{EtcdClusterSpec, ObjectKind, Order, Resource, TlsRole, names};

use crate::Refusal;

/// Adds a refusal for each thing an order may not ask for.
pub(crate) fn judge_order(
    secret: &str,
    order: &Order,
    resource: &Resource,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
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
    }
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
    let is_under = |host: &str| {
        name.strip_prefix(host).is_some_and(|domain| {
            (domain.is_empty() || domain.starts_with('.'))
                && domain
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-'))
        })
    };
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
mod tests {
    use contract::{Effect, ObjectPrecondition};
    use serde_json::json;

    use super::*;
    use crate::fixtures::{action, decision, resource, snapshot_of};
    use crate::permit;

    fn rules(secret: &str, order: Order, auto: bool) -> Vec<&'static str> {
        let mut resource = resource();
        if auto {
            resource.spec["TLS"] = json!({"auto": {}});
        }
        let secret = secret.to_owned();
        let mut action = action(Effect::Issue { secret, order });
        action.pre.object = Some(ObjectPrecondition::Absent);
        let refusals = permit(&decision(vec![action]), &snapshot_of(resource))
            .err()
            .unwrap_or_default();
        refusals.iter().map(Refusal::rule).collect()
    }

    fn certificate(role: TlsRole, name: &str) -> Order {
        Order::Certificate {
            role,
            names: vec![name.to_owned()],
            by: "f".to_owned(),
        }
    }

    #[test]
    fn orders_for_the_clusters_own_secrets_and_names_pass() {
        for (secret, order) in [
            ("a-authorities", Order::Authorities),
            ("a-authorities", Order::NewestAuthorities),
            (
                "a-peer-tls",
                certificate(TlsRole::Peer, "*.a.ns.svc.cluster.local"),
            ),
            (
                "a-server-tls",
                certificate(TlsRole::Server, "a-client.ns.svc"),
            ),
            ("a-server-tls", certificate(TlsRole::Server, "localhost")),
            ("a-peer-tls", certificate(TlsRole::Peer, "a.ns.svc")),
            (
                "a-client-tls",
                Order::Trust {
                    role: TlsRole::Operator,
                },
            ),
        ] {
            assert_eq!(
                rules(secret, order.clone(), true),
                [""; 0],
                "{secret} {order:?}"
            );
        }
    }

    #[test]
    fn an_order_that_nobody_asked_for_is_refused() {
        assert_eq!(rules("a-authorities", Order::Authorities, false), ["Field"]);
    }

    #[test]
    fn a_secret_of_somebody_else_or_of_another_role_is_refused() {
        assert_eq!(
            rules("b-authorities", Order::Authorities, true),
            ["ForeignName", "Field"]
        );
        assert_eq!(rules("a-peer-tls", Order::Authorities, true), ["Field"]);
        let trust = Order::Trust {
            role: TlsRole::Operator,
        };
        assert_eq!(rules("a-authorities", trust, true), ["Field"]);
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
            assert_eq!(
                rules(secret, certificate(role, name), true),
                ["Field"],
                "{name}"
            );
        }
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
}
