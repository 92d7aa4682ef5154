//! The operator's rights: in the namespaces that it serves, and no more than its effects need.
//!
//! It reads a Secret only by its name, because a cluster or a ReconcilerModule names it, and writes those with certificates that it makes. In its
//! default form it reads nothing of the whole cluster.

use contract::improbable::{self, PEER_PLURAL};
use contract::{Dialect, GROUP, LockKind, MODULE_PLURAL, PLURAL, ResourceKind};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::deployment::labels;

/// Name of the ServiceAccount, the Role and its binding.
pub(crate) const NAME: &str = "binnacle";

/// Name of the Role and its binding in a namespace that is served from another.
const SERVED: &str = "binnacle-clusters";

/// Reading, as the watches do it.
const WATCH: [&str; 3] = ["get", "list", "watch"];
/// Server-side apply: creates what is not there and patches what is.
const APPLY: [&str; 2] = ["create", "patch"];

/// Who the operator is.
pub(crate) fn service_account(namespace: &str) -> ServiceAccount {
    ServiceAccount {
        metadata: metadata(namespace),
        ..ServiceAccount::default()
    }
}

/// What it may do in each namespace that it serves, and in its own.
pub(crate) fn rules() -> Vec<PolicyRule> {
    [served_rules(), home_rules()].concat()
}

fn served_rules() -> Vec<PolicyRule> {
    let backups = ResourceKind::EtcdBackup.plural();
    let restores = ResourceKind::EtcdRestore.plural();
    let schedules = ResourceKind::EtcdBackupSchedule.plural();
    vec![
        rule(GROUP, &[PLURAL, restores], &[&WATCH]),
        // Patching takes off the finalizer that the archived operator left, and puts on the one of `whenDeleted`.
        rule(GROUP, &[backups], &[&WATCH, &["patch"]]),
        rule(
            GROUP,
            &[
                &format!("{backups}/status"),
                &format!("{PLURAL}/status"),
                &format!("{restores}/status"),
            ],
            &[&["update"]],
        ),
        // A restore makes its cluster there.
        rule(improbable::GROUP, &[PLURAL], &[&WATCH, &["create"]]),
        rule(improbable::GROUP, &[restores], &[&WATCH]),
        // A schedule makes its backups there, and deletes those beyond its limits. Patching puts on the finalizer of
        // `whenDeleted`.
        rule(
            improbable::GROUP,
            &[backups],
            &[&WATCH, &["create", "delete", "patch"]],
        ),
        // Patching takes off the finalizer that the archived operator left.
        rule(improbable::GROUP, &[schedules], &[&WATCH, &["patch"]]),
        rule(
            improbable::GROUP,
            &[
                &format!("{backups}/status"),
                &format!("{PLURAL}/status"),
                &format!("{restores}/status"),
                &format!("{schedules}/status"),
            ],
            &[&["update"]],
        ),
        // Members as objects, which the operator makes and nobody else. Patching takes off the finalizer that the archived
        // operator left.
        rule(
            improbable::GROUP,
            &[PEER_PLURAL],
            &[&["create", "delete", "list", "patch"]],
        ),
        rule(
            improbable::GROUP,
            &[&format!("{PEER_PLURAL}/status")],
            &[&["patch"]],
        ),
        rule(
            "",
            &["persistentvolumeclaims", "pods"],
            &[&WATCH, &APPLY, &["delete"]],
        ),
        // By which the archived operator of the second dialect keeps the members that are taken over.
        rule("apps", &["replicasets"], &[&["delete", "get", "list"]]),
        rule("", &["services"], &[&WATCH, &APPLY]),
        rule("", &["secrets"], &[&APPLY, &["get"]]),
        // Locks of archived operators: nothing is done beside one at work.
        lock_rule("endpoints", LockKind::Endpoints),
        lock_rule("configmaps", LockKind::ConfigMap),
        rule("policy", &["poddisruptionbudgets"], &[&WATCH, &APPLY]),
        rule("events.k8s.io", &["events"], &[&["create", "patch"]]),
    ]
}

/// To read the archived operators' locks of a kind.
fn lock_rule(resource: &str, kind: LockKind) -> PolicyRule {
    let locks = Dialect::ALL
        .iter()
        .flat_map(|dialect| dialect.predecessor().locks);
    let names = locks
        .filter(|(locked, _)| *locked == kind)
        .map(|(_, name)| (*name).to_owned());
    PolicyRule {
        resource_names: Some(names.collect()),
        ..rule("", &[resource], &[&["get"]])
    }
}

/// Its lease, and the modules that decide for it.
fn home_rules() -> Vec<PolicyRule> {
    vec![
        rule(
            "coordination.k8s.io",
            &["leases"],
            &[&["create", "get", "update"]],
        ),
        rule(GROUP, &[MODULE_PLURAL], &[&["list", "watch"]]),
        rule(GROUP, &[&format!("{MODULE_PLURAL}/status")], &[&["update"]]),
        // Modules, each by the name that a ReconcilerModule gives.
        rule("", &["configmaps"], &[&["get"]]),
    ]
}

/// What it may do in the one namespace that it serves.
pub(crate) fn role(namespace: &str) -> Role {
    Role {
        metadata: metadata(namespace),
        rules: Some(rules()),
    }
}

/// What it may do in its own namespace when it serves all.
pub(crate) fn home_role(namespace: &str) -> Role {
    Role {
        metadata: metadata(namespace),
        rules: Some(home_rules()),
    }
}

/// What it may do in one of several namespaces that it serves; its own has [`home_role`] beside it.
pub(crate) fn served_role(namespace: &str) -> Role {
    Role {
        metadata: ObjectMeta {
            name: Some(SERVED.to_owned()),
            ..metadata(namespace)
        },
        rules: Some(served_rules()),
    }
}

/// That the operator of the namespace `home` may do it in this one.
pub(crate) fn served_role_binding(namespace: &str, home: &str) -> RoleBinding {
    RoleBinding {
        metadata: ObjectMeta {
            name: Some(SERVED.to_owned()),
            ..metadata(namespace)
        },
        role_ref: role_ref("Role", SERVED),
        subjects: Some(vec![subject(home)]),
    }
}

/// What it may do in every namespace when it serves all.
pub(crate) fn cluster_role() -> ClusterRole {
    ClusterRole {
        metadata: everywhere(),
        rules: Some(served_rules()),
        aggregation_rule: None,
    }
}

/// That this one may do it in its own namespace.
pub(crate) fn role_binding(namespace: &str) -> RoleBinding {
    RoleBinding {
        metadata: metadata(namespace),
        role_ref: role_ref("Role", NAME),
        subjects: Some(vec![subject(namespace)]),
    }
}

/// That this one may do it in every namespace.
pub(crate) fn cluster_role_binding(namespace: &str) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: everywhere(),
        role_ref: role_ref("ClusterRole", NAME),
        subjects: Some(vec![subject(namespace)]),
    }
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: Some("rbac.authorization.k8s.io".to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

fn subject(namespace: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: NAME.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..Subject::default()
    }
}

fn everywhere() -> ObjectMeta {
    ObjectMeta {
        name: Some(NAME.to_owned()),
        labels: Some(labels()),
        ..ObjectMeta::default()
    }
}

fn metadata(namespace: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(NAME.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels()),
        ..ObjectMeta::default()
    }
}

fn rule(group: &str, resources: &[&str], verbs: &[&[&str]]) -> PolicyRule {
    let owned = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let mut verbs = owned(&verbs.concat());
    verbs.sort_unstable();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        verbs,
        ..PolicyRule::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_right_is_a_wildcard_and_secrets_are_only_got_by_name() {
        for rule in rules() {
            if rule
                .resources
                .iter()
                .flatten()
                .any(|word| word == "secrets")
            {
                assert_eq!(rule.verbs, ["create", "get", "patch"]);
            }
            let words = [
                rule.api_groups.unwrap_or_default(),
                rule.resources.unwrap_or_default(),
                rule.verbs,
            ]
            .concat();
            assert!(!words.iter().any(|word| word == "*"), "{words:?}");
        }
    }

    /// People and their tools write specs, and nobody else: a default written into one is a difference for ever.
    #[test]
    fn no_spec_can_be_written_by_the_operator() {
        let backups = ResourceKind::EtcdBackup.plural();
        let schedules = ResourceKind::EtcdBackupSchedule.plural();
        let ours = [
            PLURAL,
            backups,
            ResourceKind::EtcdRestore.plural(),
            schedules,
            MODULE_PLURAL,
        ];
        for rule in rules() {
            let resources = rule.resources.unwrap_or_default();
            let groups = rule.api_groups.unwrap_or_default();
            for resource in resources.iter().filter(|one| ours.contains(&one.as_str())) {
                let mut writing = rule.verbs.clone();
                // The finalizer that the archived operator left is taken off, and finalizers are in no spec.
                let has_finalizers = [backups, schedules].contains(&resource.as_str());
                writing.retain(|verb| {
                    !WATCH.contains(&verb.as_str()) && (!has_finalizers || verb != "patch")
                });
                // A restore of the second dialect makes its cluster, and a schedule its backups, of the spec that a person
                // wrote into it.
                let is_theirs = groups == [improbable::GROUP];
                let is_made = is_theirs && [PLURAL, backups].contains(&resource.as_str());
                writing.retain(|verb| !is_made || verb != "create");
                writing.retain(|verb| !is_theirs || resource != backups || verb != "delete");
                assert!(writing.is_empty(), "{resource}: {writing:?}");
            }
        }
    }
}
