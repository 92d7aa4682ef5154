//! Validates `spec.pod`, and puts the settings of `spec.etcd` into the environment that it has for etcd.
//!
//! So a setting with a field rolls pods as any other part of their policy does. Does not know which pods there are.

use contract::{Dialect, EtcdSettings, Finding, PodPolicy, ProbePolicy, Reason, names};

use super::{invalid, note};

/// Settings of etcd that the operator itself makes for each member.
const RESERVED_ENV: &[&str] = &[
    "ETCD_ADVERTISE_CLIENT_URLS",
    "ETCD_DATA_DIR",
    "ETCD_FORCE_NEW_CLUSTER",
    "ETCD_INITIAL_ADVERTISE_PEER_URLS",
    "ETCD_INITIAL_CLUSTER",
    "ETCD_INITIAL_CLUSTER_STATE",
    "ETCD_INITIAL_CLUSTER_TOKEN",
    "ETCD_LISTEN_CLIENT_URLS",
    "ETCD_LISTEN_METRICS_URLS",
    "ETCD_LISTEN_PEER_URLS",
    "ETCD_NAME",
];

/// The policy without what is not used of it.
///
/// # Errors
/// The first thing that makes it impossible to follow, as a finding for people.
pub(super) fn check_pod(
    dialect: Dialect,
    mut pod: PodPolicy,
    findings: &mut Vec<Finding>,
) -> Result<PodPolicy, Finding> {
    if let Some(key) = pod
        .labels
        .iter()
        .flatten()
        .map(|(key, _)| key)
        .find(|key| dialect.is_reserved_label(key))
    {
        return Err(invalid(format!(
            "spec.pod.labels: the key \"{key}\" is reserved (`{}` and keys that begin with `{}`). Rename it.",
            names::APP_LABEL,
            dialect.reserved_label_prefix()
        )));
    }
    if let Some((field, seconds, bounds)) = pod.probes.as_ref().and_then(ProbePolicy::why_unsound) {
        return Err(invalid(format!(
            "spec.pod.probes.{field} is {seconds}; it can be {} to {}. Correct it; nothing is changed meanwhile.",
            bounds.start(),
            bounds.end()
        )));
    }
    if let Some(env) = &mut pod.etcd_env {
        env.retain(|variable| {
            let reserved = RESERVED_ENV.contains(&variable.name.as_str());
            if reserved {
                findings.push(note(
                    Reason::AcceptedNotUsed,
                    format!("spec.pod.etcdEnv: {} is made by the operator for each member; yours is not used.", variable.name),
                ));
            }
            !reserved
        });
    }
    for (field, set) in [
        ("busyboxImage", pod.busybox_image.is_some()),
        ("DNSTimeoutInSecond", pod.dns_timeout_in_second.is_some()),
    ] {
        if set {
            findings.push(note(
                Reason::AcceptedNotUsed,
                format!("spec.pod.{field} is accepted and not used: pods need no init container."),
            ));
        }
    }
    Ok(pod)
}

/// The policy with the settings that have fields of their own; they count before variables of the same names.
///
/// # Errors
/// The first setting that etcd cannot follow, as a finding for people.
pub(super) fn with_settings(
    mut pod: PodPolicy,
    settings: &EtcdSettings,
    findings: &mut Vec<Finding>,
) -> Result<PodPolicy, Finding> {
    let typed = settings.variables().map_err(|bad| {
        invalid(format!(
            "spec.etcd.{} {}. Correct it; nothing is changed meanwhile.",
            bad.field, bad.why
        ))
    })?;
    if typed.is_empty() {
        return Ok(pod);
    }
    let env = pod.etcd_env.get_or_insert_default();
    env.retain(|variable| {
        let same = typed.iter().find(|(_, typed)| typed.name == variable.name);
        if let Some((field, _)) = same {
            findings.push(note(
                Reason::AcceptedNotUsed,
                format!(
                    "spec.pod.etcdEnv: {} is set by spec.etcd.{field}, too, which counts; yours is not used. Take one of them out.",
                    variable.name
                ),
            ));
        }
        same.is_none()
    });
    env.extend(typed.into_iter().map(|(_, variable)| variable));
    Ok(pod)
}
