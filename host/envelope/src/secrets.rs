//! Which Secrets a status may remember. The host reads them by name, so a module must not choose them.

use contract::{EtcdClusterSpec, EtcdClusterStatus, Snapshot, TlsRole, TlsSecrets};
use serde::Deserialize;

use crate::Refusal;
use crate::pod::{mounted, own_pods};

/// Each is one that the spec names for that role, that was remembered before, or that a pod of the cluster has.
pub(crate) fn judge_remembered(
    status: &EtcdClusterStatus,
    snapshot: &Snapshot,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let Some(secrets) = &status.tls else { return };
    let resource = &snapshot.resource;
    let named = TlsSecrets::of(spec.tls.as_ref(), &resource.name);
    let before = resource.status.get("tls");
    let before = before.and_then(|before| TlsSecrets::deserialize(before).ok());
    for role in TlsRole::ALL {
        let Some(secret) = secrets.of_role(role) else {
            continue;
        };
        let was = before.as_ref().and_then(|before| before.of_role(role));
        let is_known = named.of_role(role) == Some(secret)
            || was == Some(secret)
            || own_pods(snapshot).any(|pod| mounted(pod, role) == Some(secret));
        if !is_known {
            refusals.push(Refusal::RewrittenStatus {
                field: "tls",
                from: was.unwrap_or("none").to_owned(),
                to: secret.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::Effect;
    use serde_json::json;

    use super::*;
    use crate::fixtures::{CLUSTER_ID, action, decision, resource, snapshot_of};
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
