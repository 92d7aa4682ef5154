//! A member's pod: one container that runs etcd, within the `restricted` Pod Security Standard.
//!
//! Needs no shell: DNS names are published before readiness. Only the pod whose disk is filled from a backup has other
//! containers, which run before. Decides what is around the container; does not know etcd's flags or probes.

mod container;
mod fill;
mod probes;
mod start;

use std::collections::BTreeMap;

use contract::{DEFAULT_USER, PodPolicy, Resource, names};
use k8s_openapi::api::core::v1::{
    Affinity, EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, Pod, PodAffinityTerm,
    PodAntiAffinity, PodSecurityContext, PodSpec, SeccompProfile, Volume, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

pub(crate) use container::may_learner_be_ready;
use container::{container, version_of};
pub(crate) use fill::Filling;
pub(crate) use start::Start;

use super::{metadata, tls};
use crate::assess::{Living, Member};
use crate::validate::Cluster;

const HOSTNAME: &str = "kubernetes.io/hostname";

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

/// The pod that is made for a member on the disk that it has.
pub(crate) fn pod_again(
    cluster: &Cluster,
    resource: &Resource,
    living: &Living<'_>,
    member: &Member<'_>,
) -> Pod {
    // Never an older version than the member ran: the cluster may have taken on the newer one.
    let image = member
        .record
        .and_then(|record| record.image.as_deref())
        .or_else(|| running_image(living))
        .unwrap_or(&cluster.image);
    let start = Start::sealed(cluster, member.name);
    pod_on_claim(cluster, resource, member.name, image, &start)
}

/// The pod of `member`, whose disk is filled from a backup before etcd starts. It starts sealed: a disk that was not
/// filled founds nothing.
pub(crate) fn filled_pod(
    cluster: &Cluster,
    resource: &Resource,
    member: &str,
    filling: &Filling<'_>,
) -> Pod {
    let start = Start::sealed(cluster, member);
    let mut pod = pod(cluster, resource, member, &cluster.image, &start);
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(names::FILLED_ANNOTATION.to_owned(), "false".to_owned());
    if let Some(spec) = &mut pod.spec {
        let containers = fill::containers(cluster, member, &cluster.image, filling);
        spec.init_containers = Some(containers);
        let volumes = spec.volumes.get_or_insert_default();
        volumes.push(fill::volume(filling));
    }
    pod
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
    labels.insert(cluster.dialect.member_label().to_owned(), member.to_owned());
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
    if let Some(plain) = cluster.tls.plain(member) {
        annotations.insert(names::PLAIN_ANNOTATION.to_owned(), plain);
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
            names::PLAIN_ANNOTATION,
            names::FILLED_ANNOTATION,
            names::RESTARTS_ANNOTATION,
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
            image_pull_secrets: policy.image_pull_secrets.clone(),
            node_selector: policy.node_selector.clone(),
            priority_class_name: policy.priority_class_name.clone(),
            restart_policy: Some("Always".to_owned()),
            security_context: Some(security(policy)),
            subdomain: Some(names::peer_service(&cluster.name)),
            termination_grace_period_seconds: Some(30),
            tolerations: policy.tolerations.clone(),
            topology_spread_constraints: policy.topology_spread_constraints.clone(),
            volumes: Some([vec![data], tls::volumes(&cluster.tls)].concat()),
            ..PodSpec::default()
        }),
        status: None,
    }
}

/// As the user says; else members are kept off one another's nodes: strictly where `antiAffinity` asks for it.
fn affinity(cluster: &Cluster) -> Option<Affinity> {
    if cluster.pod.affinity.is_some() {
        return cluster.pod.affinity.clone();
    }
    let term = PodAffinityTerm {
        label_selector: Some(LabelSelector {
            match_labels: Some(BTreeMap::from([(
                cluster.dialect.cluster_label().to_owned(),
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

/// As the user says, with the seccomp profile that the `restricted` standard wants where they name none.
fn security(policy: &PodPolicy) -> PodSecurityContext {
    let restricted = restricted();
    let Some(asked) = policy.security_context.clone() else {
        return restricted;
    };
    PodSecurityContext {
        seccomp_profile: asked.seccomp_profile.or(restricted.seccomp_profile),
        ..asked
    }
}

fn restricted() -> PodSecurityContext {
    PodSecurityContext {
        fs_group: Some(DEFAULT_USER),
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        run_as_group: Some(DEFAULT_USER),
        run_as_non_root: Some(true),
        run_as_user: Some(DEFAULT_USER),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}
