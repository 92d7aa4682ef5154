//! A cluster in the other dialect.
//!
//! Knows nothing of the data: a manifest is carried over, disks are not.

use k8s_openapi::api::core::v1::{EnvVar, PersistentVolumeClaimSpec, ResourceRequirements};

use super::{Carried, NotCarried, left};
use crate::improbable::{EtcdClusterSpec, PodTemplate, PodTemplateMetadata, Storage, why_refused};
use crate::{ClaimRetention, PodPolicy, WhenDeleted};

/// What the archived operator set after the limit of CPU.
const GOMAXPROCS: &str = "GOMAXPROCS";

/// A cluster of this dialect, said in the first one. All of it can be said there.
#[must_use]
pub fn cluster_from(spec: EtcdClusterSpec) -> Carried<crate::EtcdClusterSpec> {
    let EtcdClusterSpec {
        replicas,
        version,
        storage,
        pod_template,
        repository,
        upgrade,
        paused,
        quorum_recovery,
        etcd,
        tls,
    } = spec;
    let PodTemplate {
        metadata,
        resources,
        probes,
        affinity,
        anti_affinity,
        node_selector,
        tolerations,
        etcd_env,
        security_context,
        topology_spread_constraints,
        priority_class_name,
        image_pull_secrets,
        cluster_domain,
    } = pod_template.unwrap_or_default();
    let PodTemplateMetadata {
        annotations,
        labels,
    } = metadata.unwrap_or_default();
    let Storage {
        volume_claim_template,
        when_deleted,
    } = storage.unwrap_or_default();
    let when_deleted = when_deleted.unwrap_or(WhenDeleted::Retain);
    let etcd_env = with_processors(etcd_env, resources.as_ref());
    let pod = PodPolicy {
        labels,
        annotations,
        node_selector,
        affinity,
        anti_affinity,
        tolerations,
        resources,
        probes,
        etcd_env,
        // The archived operator never gave a claim up with its cluster.
        persistent_volume_claim_retention_policy: volume_claim_template
            .is_some()
            .then_some(ClaimRetention { when_deleted }),
        persistent_volume_claim_spec: volume_claim_template.map(with_defaults),
        busybox_image: None,
        security_context,
        dns_timeout_in_second: None,
        topology_spread_constraints,
        priority_class_name,
        image_pull_secrets,
        cluster_domain,
    };
    let spec = crate::EtcdClusterSpec {
        size: replicas,
        repository,
        version: Some(version).filter(|version| !version.is_empty()),
        upgrade,
        paused,
        quorum_recovery,
        pod: (pod != PodPolicy::default()).then_some(pod),
        etcd,
        tls,
    };
    Carried {
        spec,
        left: Vec::new(),
    }
}

/// A cluster of the first dialect, said in this one.
///
/// # Errors
/// The rules of this dialect that such a cluster breaks, with the fields as the first dialect names them.
pub fn cluster_to(
    spec: crate::EtcdClusterSpec,
) -> Result<Carried<EtcdClusterSpec>, Vec<NotCarried>> {
    let crate::EtcdClusterSpec {
        size,
        repository,
        version,
        upgrade,
        paused,
        quorum_recovery,
        pod,
        etcd,
        tls,
    } = spec;
    let PodPolicy {
        labels,
        annotations,
        node_selector,
        affinity,
        anti_affinity,
        tolerations,
        resources,
        probes,
        etcd_env,
        persistent_volume_claim_spec,
        persistent_volume_claim_retention_policy,
        busybox_image,
        security_context,
        dns_timeout_in_second,
        topology_spread_constraints,
        priority_class_name,
        image_pull_secrets,
        cluster_domain,
    } = pod.unwrap_or_default();
    let mut not_carried = Vec::new();
    for (field, is_set) in [
        ("spec.pod.busyboxImage", busybox_image.is_some()),
        (
            "spec.pod.DNSTimeoutInSecond",
            dns_timeout_in_second.is_some(),
        ),
    ] {
        if is_set {
            not_carried.push(left(
                field,
                "pods need no init container, so nothing uses it",
            ));
        }
    }
    let etcd_env = without_processors(etcd_env, resources.as_ref(), &mut not_carried);
    let metadata = PodTemplateMetadata {
        annotations,
        labels,
    };
    let pod_template = PodTemplate {
        metadata: (metadata != PodTemplateMetadata::default()).then_some(metadata),
        resources,
        probes,
        affinity,
        anti_affinity,
        node_selector,
        tolerations,
        etcd_env,
        security_context,
        topology_spread_constraints,
        priority_class_name,
        image_pull_secrets,
        cluster_domain,
    };
    let when_deleted = persistent_volume_claim_retention_policy
        .unwrap_or_default()
        .when_deleted;
    let spec = EtcdClusterSpec {
        replicas: size,
        version: version
            .map(|version| version.trim_start_matches('v').to_owned())
            .unwrap_or_default(),
        storage: persistent_volume_claim_spec.map(|template| Storage {
            volume_claim_template: Some(template),
            when_deleted: Some(when_deleted).filter(|when| *when != WhenDeleted::Retain),
        }),
        pod_template: (pod_template != PodTemplate::default()).then_some(pod_template),
        repository,
        upgrade,
        paused,
        quorum_recovery,
        etcd,
        tls,
    };
    let broken = why_refused(&spec);
    if broken.is_empty() {
        return Ok(Carried {
            spec,
            left: not_carried,
        });
    }
    Err(broken
        .into_iter()
        .map(|rule| left(rule.field_of_domain(), rule.to_string()))
        .collect())
}

/// The template as the archived operator's webhook completed it.
fn with_defaults(mut template: PersistentVolumeClaimSpec) -> PersistentVolumeClaimSpec {
    template
        .access_modes
        .get_or_insert_with(|| vec!["ReadWriteOnce".to_owned()]);
    template
        .volume_mode
        .get_or_insert_with(|| "Filesystem".to_owned());
    template
}

/// The environment with the number of processors that a limit of CPU stands for; one that is set goes before.
fn with_processors(
    env: Option<Vec<EnvVar>>,
    resources: Option<&ResourceRequirements>,
) -> Option<Vec<EnvVar>> {
    let Some(processors) = processors(resources).filter(|_| !sets_processors(env.as_deref()))
    else {
        return env;
    };
    let mut env = env.unwrap_or_default();
    env.push(EnvVar {
        name: GOMAXPROCS.to_owned(),
        value: Some(processors),
        ..EnvVar::default()
    });
    Some(env)
}

fn without_processors(
    env: Option<Vec<EnvVar>>,
    resources: Option<&ResourceRequirements>,
    not_carried: &mut Vec<NotCarried>,
) -> Option<Vec<EnvVar>> {
    let Some(processors) = processors(resources) else {
        return env;
    };
    if !sets_processors(env.as_deref()) {
        not_carried.push(left(
            "spec.pod.resources.limits.cpu",
            format!("there it sets GOMAXPROCS={processors} as well, which it does not here"),
        ));
        return env;
    }
    let mut env = env.unwrap_or_default();
    // Only the last one, where it is put by the way back: the order of what stays is that of before.
    if let Some(last) = env.pop_if(|last| {
        last.name == GOMAXPROCS && last.value.as_deref() == Some(processors.as_str())
    }) && sets_processors(Some(&env))
    {
        env.push(last);
    }
    (!env.is_empty()).then_some(env)
}

fn sets_processors(env: Option<&[EnvVar]>) -> bool {
    let mut env = env.into_iter().flatten();
    env.any(|variable| variable.name == GOMAXPROCS)
}

/// The whole cores of the limit of CPU, at least one.
fn processors(resources: Option<&ResourceRequirements>) -> Option<String> {
    let limits = resources?.limits.as_ref()?;
    let cores = whole_cores(&limits.get("cpu")?.0)?;
    Some(cores.max(1).to_string())
}

/// Of a quantity such as `1500m`, `2` or `2.5`; none when it is not one of processors.
fn whole_cores(quantity: &str) -> Option<u64> {
    if let Some(thousandths) = quantity.strip_suffix('m') {
        return thousandths.parse::<u64>().ok().map(|cpu| cpu / 1000);
    }
    let (whole, fraction) = quantity.split_once('.').unwrap_or((quantity, ""));
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
    whole.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests;
