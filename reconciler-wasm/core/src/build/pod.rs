//! A member's pod: one container that runs etcd, within the `restricted` Pod Security Standard.
//!
//! Needs no shell and no init container: DNS names are published before readiness, probes are plain HTTP on the
//! metrics port. Liveness asks `/livez`, which needs no quorum; readiness asks `/readyz`, which does, and which a
//! learner never passes (<https://etcd.io/docs/v3.6/op-guide/monitoring/#health-check>).

use std::collections::BTreeMap;

use contract::{Birth, Membership, Resource, TlsRole, names};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, ContainerPort, EmptyDirVolumeSource, EnvVar, EnvVarSource,
    HTTPGetAction, ObjectFieldSelector, PersistentVolumeClaimVolumeSource, Pod, PodAffinityTerm,
    PodAntiAffinity, PodSecurityContext, PodSpec, Probe, SeccompProfile, SecurityContext, Volume,
    VolumeMount, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use semver::Version;

use super::{metadata, tls};
use crate::assess::{Living, name_of};
use crate::validate::Cluster;

/// Where the data volume is mounted; the data is in its subdirectory `data`, as it always was.
const MOUNT: &str = "/var/etcd";
/// The user of the `restricted` default.
const USER: i64 = 65532;
const HOSTNAME: &str = "kubernetes.io/hostname";

/// How a member starts when its disk is empty. With data on the disk etcd reads none of it.
pub(crate) struct Start {
    pub(crate) initial_cluster: String,
    pub(crate) state: &'static str,
    /// Where its peers reach it as etcd's list has it, which may be another scheme or domain than today's spec gives.
    listed: Option<String>,
    token: Option<String>,
    /// It starts as the only member, whoever else is in its list.
    alone: bool,
}

impl Start {
    /// With all planned members, as a new cluster.
    pub(crate) fn new_cluster(cluster: &Cluster, birth: &Birth) -> Self {
        let entries: Vec<String> = birth
            .members
            .iter()
            .map(|name| entry(name, &cluster.peer_url(name)))
            .collect();
        Self {
            initial_cluster: entries.join(","),
            state: "new",
            listed: None,
            token: Some(birth.token.clone()),
            alone: false,
        }
    }

    /// As a member that the list already has.
    pub(crate) fn join(membership: &Membership, member: &str) -> Self {
        let mut entries: Vec<String> = membership
            .members
            .iter()
            .flat_map(|row| {
                row.peer_urls
                    .iter()
                    .map(move |url| entry(name_of(row), url))
            })
            .collect();
        entries.sort();
        let own = membership
            .members
            .iter()
            .find(|row| name_of(row) == member && !row.peer_urls.is_empty());
        Self {
            initial_cluster: entries.join(","),
            state: "existing",
            listed: own.map(|row| row.peer_urls.join(",")),
            token: None,
            alone: false,
        }
    }

    /// From its own disk only: with an empty one it ends at once.
    pub(crate) fn sealed(cluster: &Cluster, member: &str) -> Self {
        Self {
            initial_cluster: entry(member, &cluster.peer_url(member)),
            state: "existing",
            listed: None,
            token: None,
            alone: false,
        }
    }
}

impl Start {
    /// From its own disk, as the only member of its cluster (`--force-new-cluster`).
    pub(crate) fn alone(cluster: &Cluster, member: &str) -> Self {
        Self {
            alone: true,
            ..Self::sealed(cluster, member)
        }
    }
}

fn entry(name: &str, url: &str) -> String {
    format!("{name}={url}")
}

/// The image for a new member: that of the oldest version which healthy voters run, because a cluster between two
/// versions is still at the older one. An image that its pod has and nobody answered with may not even run.
pub(crate) fn running_image<'a>(living: &Living<'a>) -> Option<&'a str> {
    let oldest = living
        .voters()
        .filter_map(|member| {
            let version = semver::Version::parse(&member.status()?.version).ok()?;
            let pod = member
                .pod
                .filter(|pod| version_of(&pod.image) == version.to_string())?;
            Some((version, pod))
        })
        .min_by(|(version, _), (other, _)| version.cmp(other))
        .map(|(_, pod)| pod);
    oldest
        .or_else(|| living.voters().find_map(|member| member.pod))
        .map(|pod| pod.image.as_str())
        .filter(|image| !image.is_empty())
}

/// The pod of `member`, on its own claim where the spec has one, else with its data in the pod.
pub(crate) fn pod(
    cluster: &Cluster,
    resource: &Resource,
    member: &str,
    image: &str,
    start: &Start,
) -> Pod {
    let claim = cluster.has_volumes().then(|| member.to_owned());
    build(cluster, resource, member, image, start, claim)
}

/// The pod of `member` on the claim of its name, whatever the spec says of claims.
pub(crate) fn pod_on_claim(
    cluster: &Cluster,
    resource: &Resource,
    member: &str,
    image: &str,
    start: &Start,
) -> Pod {
    build(
        cluster,
        resource,
        member,
        image,
        start,
        Some(member.to_owned()),
    )
}

fn build(
    cluster: &Cluster,
    resource: &Resource,
    member: &str,
    image: &str,
    start: &Start,
    claim: Option<String>,
) -> Pod {
    let policy = &cluster.pod;
    let mut meta = metadata(resource, member.to_owned());
    let mut labels = policy.labels.clone().unwrap_or_default();
    labels.append(meta.labels.get_or_insert_default());
    labels.insert(names::NODE_LABEL.to_owned(), member.to_owned());
    meta.labels = Some(labels);
    let mut annotations = BTreeMap::from([
        (names::VERSION_ANNOTATION.to_owned(), version_of(image)),
        (
            names::INITIAL_CLUSTER_ANNOTATION.to_owned(),
            start.initial_cluster.clone(),
        ),
        (
            names::INITIAL_STATE_ANNOTATION.to_owned(),
            start.state.to_owned(),
        ),
        (names::SHAPE_ANNOTATION.to_owned(), cluster.shape.clone()),
    ]);
    if let Some(authorities) = cluster.tls.authorities() {
        annotations.insert(names::AUTHORITIES_ANNOTATION.to_owned(), authorities);
    }
    if start.alone {
        let alone = names::FORCE_NEW_CLUSTER_ANNOTATION.to_owned();
        annotations.insert(alone, "true".to_owned());
    }
    for (key, value) in policy.annotations.iter().flatten() {
        let ours = [
            names::INITIAL_CLUSTER_ANNOTATION,
            names::INITIAL_STATE_ANNOTATION,
            names::SHAPE_ANNOTATION,
            names::FORCE_NEW_CLUSTER_ANNOTATION,
            names::AUTHORITIES_ANNOTATION,
        ];
        if !ours.contains(&key.as_str()) {
            annotations.insert(key.clone(), value.clone());
        }
    }
    meta.annotations = Some(annotations);
    let data = Volume {
        name: names::DATA_VOLUME.to_owned(),
        empty_dir: claim.is_none().then(EmptyDirVolumeSource::default),
        persistent_volume_claim: claim.map(|claim_name| PersistentVolumeClaimVolumeSource {
            claim_name,
            read_only: None,
        }),
        ..Volume::default()
    };
    Pod {
        metadata: meta,
        spec: Some(PodSpec {
            affinity: affinity(cluster),
            automount_service_account_token: Some(false),
            containers: vec![container(cluster, member, image, start)],
            enable_service_links: Some(false),
            hostname: Some(member.to_owned()),
            node_selector: policy.node_selector.clone(),
            restart_policy: Some("Always".to_owned()),
            security_context: Some(policy.security_context.clone().unwrap_or_else(restricted)),
            subdomain: Some(names::peer_service(&cluster.name)),
            termination_grace_period_seconds: Some(30),
            tolerations: policy.tolerations.clone(),
            volumes: Some([vec![data], tls::volumes(&cluster.tls)].concat()),
            ..PodSpec::default()
        }),
        status: None,
    }
}

fn version_of(image: &str) -> String {
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

fn container(cluster: &Cluster, member: &str, image: &str, start: &Start) -> Container {
    let data = VolumeMount {
        name: names::DATA_VOLUME.to_owned(),
        mount_path: MOUNT.to_owned(),
        ..VolumeMount::default()
    };
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
        liveness_probe: has_livez(image).then(|| Probe {
            failure_threshold: Some(6),
            initial_delay_seconds: Some(60),
            ..probe("/livez", 10, 5)
        }),
        readiness_probe: Some(Probe {
            failure_threshold: Some(3),
            ..probe(
                if has_livez(image) {
                    "/readyz"
                } else {
                    "/health"
                },
                1,
                3,
            )
        }),
        resources: cluster.pod.resources.clone(),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                add: None,
                drop: Some(vec!["ALL".to_owned()]),
            }),
            read_only_root_filesystem: Some(true),
            ..SecurityContext::default()
        }),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some([vec![data], tls::mounts(&cluster.tls)].concat()),
        ..Container::default()
    }
}

fn args(cluster: &Cluster, member: &str, start: &Start) -> Vec<String> {
    let peer_urls = start
        .listed
        .clone()
        .unwrap_or_else(|| cluster.peer_url(member));
    let mut args = vec![
        format!("--name={member}"),
        format!("--data-dir={MOUNT}/data"),
        format!("--initial-advertise-peer-urls={peer_urls}"),
        format!(
            "--listen-peer-urls={}://0.0.0.0:{}",
            cluster.tls.scheme(TlsRole::Peer),
            names::PEER_PORT
        ),
        format!(
            "--listen-client-urls={}://0.0.0.0:{}",
            cluster.tls.scheme(TlsRole::Server),
            names::CLIENT_PORT
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

/// As the user says; else members are kept off one another's nodes: strictly where `antiAffinity` asks for it.
fn affinity(cluster: &Cluster) -> Option<Affinity> {
    if cluster.pod.affinity.is_some() {
        return cluster.pod.affinity.clone();
    }
    let term = PodAffinityTerm {
        label_selector: Some(LabelSelector {
            match_labels: Some(BTreeMap::from([(
                names::CLUSTER_LABEL.to_owned(),
                cluster.name.clone(),
            )])),
            ..LabelSelector::default()
        }),
        topology_key: HOSTNAME.to_owned(),
        ..PodAffinityTerm::default()
    };
    let apart = if cluster.pod.anti_affinity.unwrap_or_default() {
        PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![term]),
            ..PodAntiAffinity::default()
        }
    } else {
        PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![
                WeightedPodAffinityTerm {
                    pod_affinity_term: term,
                    weight: 100,
                },
            ]),
            ..PodAntiAffinity::default()
        }
    };
    Some(Affinity {
        pod_anti_affinity: Some(apart),
        ..Affinity::default()
    })
}

fn restricted() -> PodSecurityContext {
    PodSecurityContext {
        fs_group: Some(USER),
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        run_as_group: Some(USER),
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}

fn probe(path: &str, period: i32, timeout: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(names::METRICS_PORT),
            scheme: Some("HTTP".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        timeout_seconds: Some(timeout),
        ..Probe::default()
    }
}

fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: number,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}
