//! Whom a member trusts: etcd reads its authorities when it starts, and its pod is told which those were.
//!
//! Orders for certificates are judged by it, so a pod is never told of more than its Secrets hold in the snapshot. Whether
//! the kubelet hands it a Secret that is older than that is not known here.

use std::collections::BTreeMap;

use contract::{ObjectKind, Observed, Snapshot, TlsRole, names};
use k8s_openapi::api::core::v1::{Pod, PodSpec};

use crate::Refusal;

/// Whether the member was started with this authority for a role. Whoever was told nothing trusts nobody.
pub(crate) fn trusts(
    annotations: &BTreeMap<String, String>,
    role: TlsRole,
    authority: &str,
) -> bool {
    told(annotations, role).any(|one| one == authority)
}

fn told(
    annotations: &BTreeMap<String, String>,
    role: TlsRole,
) -> impl Iterator<Item = &str> + use<'_> {
    let start = match role {
        TlsRole::Peer => "peer=",
        TlsRole::Server | TlsRole::Operator => "server=",
    };
    let all = annotations.get(names::AUTHORITIES_ANNOTATION);
    let list = all.and_then(|all| all.split(';').find_map(|part| part.strip_prefix(start)));
    let each = list.into_iter().flat_map(|list| list.split(','));
    each.filter(|one| !one.is_empty())
}

/// A pod is told of authorities that are in the Secret that it mounts for the role.
pub(super) fn judge_told(
    pod: &Pod,
    name: &str,
    found: &PodSpec,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let Some(annotations) = &pod.metadata.annotations else {
        return;
    };
    let is_true = |role: TlsRole| {
        let held = held(found, role, snapshot);
        told(annotations, role).all(|one| held.iter().any(|held| held == one))
    };
    if !(is_true(TlsRole::Peer) && is_true(TlsRole::Server)) {
        refusals.push(Refusal::Annotation {
            kind: ObjectKind::Pod,
            name: name.to_owned(),
            annotation: names::AUTHORITIES_ANNOTATION.to_owned(),
        });
    }
}

/// Fingerprints of the authorities in the Secret that a pod mounts for a role.
fn held<'s>(found: &PodSpec, role: TlsRole, snapshot: &'s Snapshot) -> &'s [String] {
    let volume = role.mount().map(|(volume, _)| volume);
    let mut volumes = found.volumes.iter().flatten();
    let secret = volumes
        .find(|one| Some(one.name.as_str()) == volume)
        .and_then(|one| one.secret.as_ref()?.secret_name.as_deref())
        .and_then(|name| snapshot.secrets.get(name))
        .and_then(Observed::seen);
    let held = secret.and_then(|secret| {
        let files = role.files(|key| secret.digests.contains_key(key));
        secret.authorities.get(files.authority)
    });
    held.map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use contract::{Child, Effect, MADE_FILES, ObjectPrecondition, Secret};
    use serde_json::json;

    use super::*;
    use crate::fixtures::{action, decision, pod_json, present, resource, snapshot_of};
    use crate::permit;

    /// The refused annotation of a pod that is told this, where its Secret holds `a` and `b`.
    fn refused(told: &str) -> bool {
        let mut snapshot = snapshot_of(resource());
        let mut secret = Secret::default();
        for key in MADE_FILES.all() {
            secret.digests.insert(key.to_owned(), "d".to_owned());
        }
        let list = vec!["a".to_owned(), "b".to_owned()];
        secret
            .authorities
            .insert(MADE_FILES.authority.to_owned(), list);
        let seen = Observed::Seen(secret);
        snapshot.secrets.insert("named".to_owned(), seen);
        let mut pod = pod_json();
        pod["metadata"]["annotations"][names::AUTHORITIES_ANNOTATION] = json!(told);
        pod["spec"]["volumes"]
            .as_array_mut()
            .expect("a list")
            .push(json!({"name": "member-peer-tls", "secret": {"secretName": "named"}}));
        let object = serde_json::from_value::<Child>(json!({"pod": pod})).expect("a pod");
        let object = Box::new(object);
        let mut action = action(Effect::Apply { object });
        action.pre.object = Some(ObjectPrecondition::Absent);
        let refusals = permit(&decision(vec![action]), &snapshot).expect_err("other rules");
        refusals.iter().any(|refusal| {
            matches!(refusal, Refusal::Annotation { annotation, .. }
                if annotation == names::AUTHORITIES_ANNOTATION)
        })
    }

    #[test]
    fn a_pod_is_told_of_no_authority_that_its_secret_does_not_hold() {
        assert!(!refused("peer=a,b;server="));
        assert!(!refused("peer=b;server="));
        assert!(refused("peer=a,c;server="));
        assert!(refused("peer=a;server=a"), "it mounts none for clients");
    }

    #[test]
    fn a_living_pod_is_told_of_no_other_authorities() {
        let rules = |key: &str| {
            let annotations = [(key.to_owned(), "true".to_owned())].into();
            let name = "a-1".to_owned();
            let mut action = action(Effect::AnnotatePod { name, annotations });
            action.pre.object = present("uid-1");
            permit(&decision(vec![action]), &snapshot_of(resource()))
        };
        assert_eq!(rules(names::FILLED_ANNOTATION), Ok(()));
        assert!(rules(names::AUTHORITIES_ANNOTATION).is_err());
    }
}
