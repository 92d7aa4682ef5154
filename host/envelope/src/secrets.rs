//! Which Secrets a status may remember. The host reads them by name, so a module must not choose them.

use contract::{EtcdClusterSpec, EtcdClusterStatus, Snapshot, TlsRole, TlsSecrets};
use serde::Deserialize;

use crate::Refusal;
use crate::pod::{mounted, own_pods};

/// Each is one that the spec names for that role, that was remembered before, or that a pod of the cluster has. A planned
/// cluster has those that the spec named when it was planned.
pub(crate) fn judge_remembered(
    status: &EtcdClusterStatus,
    snapshot: &Snapshot,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let secrets = status.tls.clone().unwrap_or_default();
    let resource = &snapshot.resource;
    let named = TlsSecrets::of(spec.tls.as_ref(), &resource.name);
    let before = remembered(snapshot).unwrap_or_default();
    let was_planned = is_planned(snapshot);
    for role in TlsRole::ALL {
        let (told, was) = (secrets.of_role(role), before.of_role(role));
        let is_kept = told == was && (was_planned || status.birth.is_none());
        let is_known = match told {
            _ if told == named.of_role(role) || is_kept => true,
            // Else its members would be founded, or go on, in plain text although the spec asks for certificates.
            None if role.mount().is_none() => true,
            None if status.birth.is_some() => false,
            None => role != TlsRole::Peer || was.is_none() || are_reached_in_plain(snapshot),
            Some(secret) => own_pods(snapshot).any(|pod| mounted(pod, role) == Some(secret)),
        };
        if !is_known {
            refusals.push(Refusal::RewrittenStatus {
                field: "tls",
                from: was.unwrap_or("none").to_owned(),
                to: told.unwrap_or("none").to_owned(),
            });
        }
    }
}

/// Whether etcd's list has no member that peers reach by TLS.
fn are_reached_in_plain(snapshot: &Snapshot) -> bool {
    snapshot.etcd.membership.seen().is_some_and(|list| {
        let mut urls = list.members.iter().flat_map(|member| &member.peer_urls);
        urls.all(|url| url.starts_with("http://"))
    })
}

/// The Secrets that the status remembers, if it can be read.
pub(crate) fn remembered(snapshot: &Snapshot) -> Option<TlsSecrets> {
    let secrets = snapshot.resource.status.get("tls")?;
    TlsSecrets::deserialize(secrets).ok()
}

/// Whether the status has a plan of the first members.
pub(crate) fn is_planned(snapshot: &Snapshot) -> bool {
    let birth = snapshot.resource.status.get("birth");
    birth.is_some_and(|birth| !birth.is_null())
}

#[cfg(test)]
mod tests {
    use contract::{Effect, Observed};
    use serde_json::json;

    use super::*;
    use crate::fixtures::{CLUSTER_ID, action, birth, decision, resource, snapshot_of};
    use crate::permit;

    fn rules(secret: &str, snapshot: &Snapshot) -> Vec<&'static str> {
        let status = EtcdClusterStatus {
            cluster_id: Some(CLUSTER_ID),
            tls: Some(TlsSecrets {
                peer: Some(secret.to_owned()),
                ..TlsSecrets::default()
            }),
            ..EtcdClusterStatus::default()
        };
        let status = Box::new(status);
        let mut update = action(Effect::UpdateStatus { status });
        update.pre.resource_version = Some("7".to_owned());
        let refusals = permit(&decision(vec![update]), snapshot)
            .err()
            .unwrap_or_default();
        refusals.iter().map(Refusal::rule).collect()
    }

    #[test]
    fn secrets_of_the_spec_and_those_remembered_may_be_remembered() {
        let mut snapshot = snapshot_of(resource());
        snapshot.resource.spec["TLS"] = json!({"static": {"member": {"peerSecret": "named"}}});
        snapshot.resource.status["tls"] = json!({"peer": "before"});
        assert_eq!(rules("named", &snapshot), [""; 0]);
        assert_eq!(rules("before", &snapshot), [""; 0]);
    }

    #[test]
    fn members_that_peers_reach_by_tls_are_not_remembered_without() {
        let mut snapshot = snapshot_of(resource());
        snapshot.resource.spec["TLS"] = json!({"static": {"member": {"peerSecret": "named"}}});
        snapshot.resource.status["tls"] = json!({"peer": "named"});
        let forgets = |snapshot: &Snapshot| {
            let spec = serde_json::from_value(snapshot.resource.spec.clone()).expect("a spec");
            let mut refusals = Vec::new();
            judge_remembered(
                &EtcdClusterStatus::default(),
                snapshot,
                &spec,
                &mut refusals,
            );
            refusals.len()
        };
        assert_eq!(forgets(&snapshot), 0, "all are reached in plain text");
        if let Observed::Seen(list) = &mut snapshot.etcd.membership {
            let url = list.members[2].peer_urls.iter_mut().next();
            let url = url.expect("an address");
            *url = url.replace("http://", "https://");
        }
        assert_eq!(forgets(&snapshot), 1);
        snapshot.etcd.membership = Observed::Unknown("no leader".to_owned());
        assert_eq!(forgets(&snapshot), 1);
    }

    #[test]
    fn a_cluster_is_planned_with_the_certificates_that_the_spec_asks_for() {
        let mut snapshot = snapshot_of(resource());
        snapshot.resource.status = json!(null);
        let plan = |peer: Option<&str>| {
            let mut status = EtcdClusterStatus {
                birth: serde_json::from_value(birth()).ok(),
                ..EtcdClusterStatus::default()
            };
            let peer = peer.map(str::to_owned);
            status.tls = Some(TlsSecrets {
                peer,
                ..TlsSecrets::default()
            });
            status
        };
        let rules = |status: EtcdClusterStatus, snapshot: &Snapshot| {
            let spec = serde_json::from_value(snapshot.resource.spec.clone()).expect("a spec");
            let mut refusals = Vec::new();
            judge_remembered(&status, snapshot, &spec, &mut refusals);
            refusals.len()
        };
        assert_eq!(rules(plan(None), &snapshot), 0);
        snapshot.resource.spec["TLS"] = json!({"static": {"member": {"peerSecret": "named"}}});
        assert_eq!(rules(plan(Some("named")), &snapshot), 0);
        snapshot.resource.status = json!({"birth": null});
        assert_eq!(rules(plan(None), &snapshot), 1, "null is no plan");
        assert_eq!(rules(plan(None), &snapshot), 1, "it would speak plain text");
        snapshot.resource.status["birth"] = birth();
        assert_eq!(rules(plan(None), &snapshot), 0, "planned before the edit");
        snapshot.resource.status["tls"] = json!({"peer": "named"});
        assert_eq!(rules(plan(None), &snapshot), 1, "it was planned with them");
    }

    #[test]
    fn a_secret_that_a_module_chose_is_refused() {
        let mut snapshot = snapshot_of(resource());
        assert_eq!(rules("theirs", &snapshot), ["RewrittenStatus"]);
        snapshot.resource.status["tls"] = json!({"server": "theirs"});
        assert_eq!(
            rules("theirs", &snapshot),
            ["RewrittenStatus"],
            "another role"
        );
    }
}
