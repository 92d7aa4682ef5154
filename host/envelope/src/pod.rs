//! What a member's pod may look like: etcd alone, its own data, no rights, and a start that the preconditions know of.
//!
//! Owns the fields of pod, container and image; security, volumes, TLS, whom it trusts, probes, what `spec.pod` decides,
//! command line and start have files of their own.

mod command;
mod fill;
mod policy;
mod probe;
mod security;
mod start;
mod tls;
mod told;
mod volume;

use contract::{EtcdClusterSpec, ObjectKind, Resource, Snapshot, names};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use crate::Refusal;
use crate::address::Addresses;
use crate::arguments::InitialCluster;
use crate::child::{field, only};
use crate::image::judge_image;
use command::judge_command;
pub(crate) use fill::fills;
use fill::judge_filling;
use policy::judge_policy;
use probe::judge_probes;
use security::{judge_container_security, judge_pod_security};
pub(crate) use start::{is_alone, judge_pod_annotations};
use start::{judge_environment, judge_start};
pub(crate) use tls::other_to_turn;
use tls::{judge_plain, judge_tls};
use told::judge_told;
pub(crate) use told::trusts;
use volume::{judge_mounts, judge_volume};
pub(crate) use volume::{mounted, own_pods};

/// Adds a refusal for everything that a member's pod may not be.
pub(crate) fn judge_pod(
    pod: &Pod,
    token: Option<&str>,
    snapshot: &Snapshot,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let empty = PodSpec::default();
    let found = pod.spec.as_ref().unwrap_or(&empty);
    let addresses = Addresses::new(snapshot, Some(spec));
    judge_fields(name, found, &snapshot.resource, spec, refusals);
    judge_policy(name, found, &snapshot.resource, spec, refusals);
    judge_pod_security(name, found, spec, refusals);
    for volume in found.volumes.iter().flatten() {
        judge_volume(name, volume, spec, snapshot, refusals);
    }
    match found.containers.as_slice() {
        [container] if container.name == names::ETCD_CONTAINER => {
            judge_container(name, container, token, addresses, spec, refusals);
            let image = container.image.as_deref().unwrap_or_default();
            judge_image(image, spec, snapshot, refusals);
            judge_mounts(name, found, container, spec, snapshot, refusals);
            let start = InitialCluster::of_pod(pod);
            judge_tls(name, start, found, container, spec, snapshot, refusals);
            judge_plain(pod, container, refusals);
        }
        containers => {
            let what = containers
                .iter()
                .map(|container| container.name.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            refusals.push(Refusal::Containers {
                name: name.to_owned(),
                what,
            });
        }
    }
    judge_start(pod, name, addresses, refusals);
    judge_told(pod, name, found, snapshot, refusals);
    judge_filling(pod, name, found, addresses, snapshot, refusals);
}

fn judge_fields(
    name: &str,
    found: &PodSpec,
    resource: &Resource,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let kind = ObjectKind::Pod;
    if found.automount_service_account_token != Some(false) {
        refusals.push(Refusal::ServiceAccountToken {
            name: name.to_owned(),
        });
    }
    if found.hostname.as_deref().is_some_and(|host| host != name) {
        refusals.push(field(kind, name, "spec.hostname"));
    }
    if found
        .subdomain
        .as_deref()
        .is_some_and(|subdomain| subdomain != names::peer_service(&resource.name))
    {
        refusals.push(field(kind, name, "spec.subdomain"));
    }
    if found
        .restart_policy
        .as_deref()
        .is_some_and(|policy| policy != "Always")
    {
        refusals.push(field(kind, name, "spec.restartPolicy"));
    }
    let asked = spec.pod.as_ref();
    // Without what the spec asks for here, the image may not come, or the pod goes before all others.
    if found.image_pull_secrets.as_ref() != asked.and_then(|pod| pod.image_pull_secrets.as_ref()) {
        refusals.push(field(kind, name, "spec.imagePullSecrets"));
    }
    if found.priority_class_name.as_ref() != asked.and_then(|pod| pod.priority_class_name.as_ref())
    {
        refusals.push(field(kind, name, "spec.priorityClassName"));
    }
    let allowed = PodSpec {
        affinity: found.affinity.clone(),
        automount_service_account_token: found.automount_service_account_token,
        containers: found.containers.clone(),
        enable_service_links: found.enable_service_links,
        hostname: found.hostname.clone(),
        image_pull_secrets: found.image_pull_secrets.clone(),
        init_containers: found.init_containers.clone(),
        node_selector: found.node_selector.clone(),
        priority_class_name: found.priority_class_name.clone(),
        restart_policy: found.restart_policy.clone(),
        security_context: found.security_context.clone(),
        subdomain: found.subdomain.clone(),
        termination_grace_period_seconds: found.termination_grace_period_seconds,
        tolerations: found.tolerations.clone(),
        topology_spread_constraints: found.topology_spread_constraints.clone(),
        volumes: found.volumes.clone(),
        ..PodSpec::default()
    };
    only(kind, name, "spec", found, &allowed, refusals);
}

fn judge_container(
    pod: &str,
    container: &Container,
    token: Option<&str>,
    addresses: Addresses<'_>,
    spec: &EtcdClusterSpec,
    refusals: &mut Vec<Refusal>,
) {
    let kind = ObjectKind::Pod;
    let ports = container.ports.as_ref().map(|ports| {
        let mut ports = ports.clone();
        for port in &mut ports {
            (port.host_ip, port.host_port) = (None, None);
        }
        ports
    });
    let allowed = Container {
        args: container.args.clone(),
        command: container.command.clone(),
        env: container.env.clone(),
        image: container.image.clone(),
        liveness_probe: container.liveness_probe.clone(),
        name: container.name.clone(),
        ports,
        readiness_probe: container.readiness_probe.clone(),
        resources: container.resources.clone(),
        security_context: container.security_context.clone(),
        termination_message_policy: container.termination_message_policy.clone(),
        volume_mounts: container.volume_mounts.clone(),
        ..Container::default()
    };
    only(
        kind,
        pod,
        "spec.containers[etcd]",
        container,
        &allowed,
        refusals,
    );
    judge_container_security(pod, container, refusals);
    judge_probes(pod, container, spec, refusals);
    judge_command(pod, container, addresses, token, refusals);
    judge_environment(pod, container, spec, refusals);
}
