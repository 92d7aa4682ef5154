//! The `restricted` Pod Security Standard, except where the spec itself asks for another security context.
//!
//! Another user than the asked one cannot read the member's data, and another profile keeps its container from starting.
//! Follows <https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted>; volumes and host
//! namespaces are judged with the fields of the pod.

use contract::{DEFAULT_USER, EtcdClusterSpec};
use k8s_openapi::api::core::v1::{
    Container, PodSecurityContext, PodSpec, SeccompProfile, SecurityContext,
};

use crate::Refusal;

/// As `spec.pod` asks for it, with a seccomp profile where it names none; else the operator's own, which is `restricted`.
pub(super) fn judge_pod_security(
    name: &str,
    found: &PodSpec,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let filtered = SeccompProfile {
        type_: "RuntimeDefault".to_owned(),
        localhost_profile: None,
    };
    let pod = spec.pod.as_ref();
    let asked = pod.and_then(|pod| pod.security_context.clone());
    let mut expected = asked.unwrap_or_else(|| PodSecurityContext {
        fs_group: Some(DEFAULT_USER),
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        run_as_group: Some(DEFAULT_USER),
        run_as_non_root: Some(true),
        run_as_user: Some(DEFAULT_USER),
        ..PodSecurityContext::default()
    });
    expected.seccomp_profile.get_or_insert(filtered);
    if found.security_context != Some(expected) {
        refusals.push(Refusal::PodSecurity {
            name: name.to_owned(),
            what: "its security context is neither the operator's nor as spec.pod.securityContext asks for",
        });
    }
}

/// `restricted` at the level of the container; the spec has no say here.
pub(super) fn judge_container_security(
    pod: &str,
    container: &Container,
    refusals: &mut Vec<Refusal>,
) {
    let none = SecurityContext::default();
    let context = container.security_context.as_ref().unwrap_or(&none);
    let mut broken = |what: &'static str| {
        refusals.push(Refusal::PodSecurity {
            name: pod.to_owned(),
            what,
        })
    };
    if context.privileged == Some(true) {
        broken("the container is privileged");
    }
    if context.allow_privilege_escalation != Some(false) {
        broken("allowPrivilegeEscalation is not false");
    }
    let capabilities = context.capabilities.as_ref();
    if !capabilities
        .and_then(|set| set.drop.as_ref())
        .is_some_and(|dropped| dropped.iter().any(|name| name == "ALL"))
    {
        broken("not all capabilities are dropped");
    }
    if capabilities
        .and_then(|set| set.add.as_ref())
        .is_some_and(|added| !added.is_empty())
    {
        broken("capabilities are added");
    }
    // What people ask for is the pod's; a container takes it over and changes none of it.
    let exotic = context.run_as_user.is_some()
        || context.run_as_group.is_some()
        || context.run_as_non_root.is_some()
        || context.seccomp_profile.is_some()
        || context.proc_mount.is_some()
        || context.app_armor_profile.is_some()
        || context.se_linux_options.is_some()
        || context.windows_options.is_some();
    if exotic {
        broken("the container has a security context of its own");
    }
}
