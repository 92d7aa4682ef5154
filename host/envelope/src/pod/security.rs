//! The `restricted` Pod Security Standard, field by field, except where the spec itself asks for another value.
//!
//! Follows <https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted>; volumes and host
//! namespaces are judged with the fields of the pod.

use contract::EtcdClusterSpec;
use k8s_openapi::api::core::v1::{Container, PodSecurityContext, PodSpec, SecurityContext};

use crate::Refusal;

/// `restricted` at the level of the pod.
pub(super) fn judge_pod_security(
    name: &str,
    found: &PodSpec,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let none = PodSecurityContext::default();
    let context = found.security_context.as_ref().unwrap_or(&none);
    let asked = spec
        .pod
        .as_ref()
        .and_then(|pod| pod.security_context.as_ref());
    // A field is as people asked for it when they gave a context and it has that very value, also no value.
    let differs = |same: fn(&PodSecurityContext, &PodSecurityContext) -> bool| {
        !asked.is_some_and(|asked| same(asked, context))
    };
    let mut broken = |what: &'static str| {
        refusals.push(Refusal::PodSecurity {
            name: name.to_owned(),
            what,
        })
    };
    if context.run_as_user == Some(0) && differs(|a, b| a.run_as_user == b.run_as_user) {
        broken("it runs as root");
    }
    if context.run_as_non_root != Some(true)
        && differs(|a, b| a.run_as_non_root == b.run_as_non_root)
    {
        broken("runAsNonRoot is not true");
    }
    let filtered = context
        .seccomp_profile
        .as_ref()
        .is_some_and(|profile| matches!(profile.type_.as_str(), "RuntimeDefault" | "Localhost"));
    if !filtered && differs(|a, b| a.seccomp_profile == b.seccomp_profile) {
        broken("no seccomp profile");
    }
    if context.app_armor_profile.is_some()
        && differs(|a, b| a.app_armor_profile == b.app_armor_profile)
    {
        broken("an AppArmor profile of its own");
    }
    if context.se_linux_options.is_some()
        && differs(|a, b| a.se_linux_options == b.se_linux_options)
    {
        broken("SELinux options of its own");
    }
    if context
        .sysctls
        .as_ref()
        .is_some_and(|list| !list.is_empty())
        && differs(|a, b| a.sysctls == b.sysctls)
    {
        broken("it sets sysctls");
    }
    if context.windows_options.is_some() && differs(|a, b| a.windows_options == b.windows_options) {
        broken("it sets Windows options");
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
    // What people ask for is the pod's; a container takes it over and undoes none of it.
    if context.run_as_user == Some(0) {
        broken("the container runs as root");
    }
    if context.run_as_non_root == Some(false) {
        broken("the container's runAsNonRoot is false");
    }
    let is_filtered = |kind: &str| matches!(kind, "RuntimeDefault" | "Localhost");
    if context
        .seccomp_profile
        .as_ref()
        .is_some_and(|profile| !is_filtered(&profile.type_))
    {
        broken("the container has no seccomp profile");
    }
    let exotic = context.proc_mount.is_some()
        || context.app_armor_profile.is_some()
        || context.se_linux_options.is_some()
        || context.windows_options.is_some();
    if exotic {
        broken("the container has an exotic security context");
    }
}
