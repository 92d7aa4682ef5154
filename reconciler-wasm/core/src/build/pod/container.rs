//! The container that runs etcd: its command line, environment and resources.
//!
//! Does not know where the pod may run, what its data volume is, nor how it is probed.

use contract::{DEFAULT_REQUESTS, names};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, ObjectFieldSelector,
    ResourceRequirements, SecurityContext, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use semver::Version;

use super::{Start, probes};
use crate::build::tls;
use crate::validate::Cluster;

pub(super) fn container(cluster: &Cluster, member: &str, image: &str, start: &Start) -> Container {
    let data = VolumeMount {
        name: names::DATA_VOLUME.to_owned(),
        mount_path: if cluster.rooted.contains(member) {
            names::DATA_FOLDER.to_owned()
        } else {
            names::DATA_MOUNT.to_owned()
        },
        ..VolumeMount::default()
    };
    let patience = cluster.pod.probes.as_ref();
    Container {
        name: names::ETCD_CONTAINER.to_owned(),
        image: Some(image.to_owned()),
        command: Some(vec!["/usr/local/bin/etcd".to_owned()]),
        args: Some(args(cluster, member, start)),
        env: Some(environment(cluster, start)),
        ports: Some(vec![
            port("server", names::PEER_PORT),
            port("client", names::CLIENT_PORT),
            port("metrics", names::METRICS_PORT),
        ]),
        // What older versions have instead of /livez needs a quorum: it would kill members that only lack one.
        liveness_probe: has_livez(image).then(|| probes::liveness(patience)),
        readiness_probe: Some(probes::readiness(has_livez(image), patience)),
        resources: Some(
            cluster
                .pod
                .resources
                .clone()
                .unwrap_or_else(default_resources),
        ),
        security_context: Some(restricted()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some([vec![data], tls::mounts(&cluster.tls)].concat()),
        ..Container::default()
    }
}

/// What a pod asks for where the spec says nothing. It is no part of the shape: pods that are there stay.
fn default_resources() -> ResourceRequirements {
    let quantity = |(name, amount): (&str, &str)| (name.to_owned(), Quantity(amount.to_owned()));
    ResourceRequirements {
        requests: Some(DEFAULT_REQUESTS.map(quantity).into()),
        ..ResourceRequirements::default()
    }
}

/// What no container of a member may do.
pub(super) fn restricted() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            add: None,
            drop: Some(vec!["ALL".to_owned()]),
        }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

fn args(cluster: &Cluster, member: &str, start: &Start) -> Vec<String> {
    let peer_urls = start
        .listed
        .clone()
        .unwrap_or_else(|| cluster.peer_url(member));
    let mut args = vec![
        format!("--name={member}"),
        format!("--data-dir={}", names::DATA_FOLDER),
        format!("--initial-advertise-peer-urls={peer_urls}"),
        format!(
            "--listen-peer-urls={}://0.0.0.0:{}",
            cluster.tls.peer_scheme(member),
            names::PEER_PORT
        ),
        format!(
            "--listen-client-urls={}",
            listeners(cluster.tls.client_schemes())
        ),
        format!("--advertise-client-urls={}", cluster.client_url(member)),
        format!(
            "--listen-metrics-urls=http://0.0.0.0:{}",
            names::METRICS_PORT
        ),
    ];
    args.extend(tls::flags(&cluster.tls));
    if let Some(token) = &start.token {
        args.push(format!("--initial-cluster-token={token}"));
    }
    args
}

/// For each scheme the port for clients: etcd tells them apart by what a client says first.
fn listeners(schemes: &[&str]) -> String {
    let urls = schemes
        .iter()
        .map(|scheme| format!("{scheme}://0.0.0.0:{}", names::CLIENT_PORT));
    urls.collect::<Vec<_>>().join(",")
}

/// The user's settings, and what the container reads from its pod's annotations at each start.
fn environment(cluster: &Cluster, start: &Start) -> Vec<EnvVar> {
    let from_annotation = |name: &str, annotation: &str| EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                api_version: Some("v1".to_owned()),
                field_path: format!("metadata.annotations['{annotation}']"),
            }),
            ..EnvVarSource::default()
        }),
    };
    let mut environment = cluster.pod.etcd_env.clone().unwrap_or_default();
    environment.push(from_annotation(
        "ETCD_INITIAL_CLUSTER",
        names::INITIAL_CLUSTER_ANNOTATION,
    ));
    environment.push(from_annotation(
        "ETCD_INITIAL_CLUSTER_STATE",
        names::INITIAL_STATE_ANNOTATION,
    ));
    if start.alone {
        // etcd takes an empty value for none, so that the annotation can be taken back while it runs.
        environment.push(from_annotation(
            "ETCD_FORCE_NEW_CLUSTER",
            names::FORCE_NEW_CLUSTER_ANNOTATION,
        ));
    }
    environment
}

pub(super) fn version_of(image: &str) -> String {
    image
        .rsplit_once(":v")
        .map_or_else(String::new, |(_, version)| version.to_owned())
}

/// Whether the version has `/livez` and `/readyz` (<https://github.com/etcd-io/website/pull/760>).
fn has_livez(image: &str) -> bool {
    Version::parse(&version_of(image)).map_or(true, |version| match version.minor {
        4 => version.patch >= 29,
        5 => version.patch >= 12,
        _ => true,
    })
}

/// Whether the kubelet may take a learner of this version for Ready: 3.4 never learned to tell, 3.5 did late
/// (<https://github.com/etcd-io/etcd/pull/19280>).
pub(crate) fn may_learner_be_ready(image: &str) -> bool {
    Version::parse(&version_of(image)).map_or(true, |version| match version.minor {
        4 => true,
        5 => version.patch < 19,
        _ => false,
    })
}

fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: number,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}
