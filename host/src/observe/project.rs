//! Projections of Kubernetes objects to the contract's types: the fields that decide, and no others.
//!
//! Judges nothing. Used by the watches and by live reads alike, so both show the same world.

use std::collections::BTreeMap;

use contract::{
    DisruptionBudget, LastExit, Millis, OldSet, Pod, PodPhase, Resource, Service, ServicePort,
    TlsRole, Volume, VolumePhase, names,
};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::DynamicObject;

/// kubectl's copy of the whole object, in its annotations.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Bytes of a container's last words that are kept.
const LAST_WORDS: usize = 2048;

/// The custom resource, its `spec` and `status` as those of the domain: as they are stored, where the first dialect has it.
#[must_use]
pub fn resource(object: DynamicObject) -> Resource {
    let DynamicObject {
        types,
        metadata,
        mut data,
    } = object;
    let types = types.unwrap_or_else(|| kube::core::TypeMeta {
        api_version: format!("{}/{}", contract::GROUP, contract::VERSION),
        kind: contract::KIND.to_owned(),
    });
    let stored = Resource {
        api_version: types.api_version,
        kind: types.kind,
        created: millis(metadata.creation_timestamp.as_ref()).unwrap_or_default(),
        deleted: millis(metadata.deletion_timestamp.as_ref()),
        generation: metadata.generation.unwrap_or_default(),
        owner: controller(&metadata),
        finalizers: metadata.finalizers.unwrap_or_default(),
        annotations: annotations(metadata.annotations),
        namespace: metadata.namespace.unwrap_or_default(),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default(),
        spec: data
            .get_mut("spec")
            .map(serde_json::Value::take)
            .unwrap_or_default(),
        status: data
            .get_mut("status")
            .map(serde_json::Value::take)
            .unwrap_or_default(),
    };
    stored.dialect().read(stored)
}

/// A pod and its container named `etcd`.
#[must_use]
pub fn pod(object: core::Pod) -> Pod {
    let core::Pod {
        metadata,
        spec,
        status,
    } = object;
    let spec = spec.unwrap_or_default();
    let status = status.unwrap_or_default();
    let volumes = spec.volumes.unwrap_or_default();
    let owner = controller(&metadata);
    let annotations = annotations(metadata.annotations);
    let container = spec
        .containers
        .into_iter()
        .find(|container| container.name == names::ETCD_CONTAINER);
    let flag = |name: &str| {
        container
            .as_ref()
            .and_then(|container| flag_of(container, name))
    };
    let conditions = status.conditions.unwrap_or_default();
    let condition = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind);
    let ready = condition("Ready");
    let etcd = status
        .container_statuses
        .unwrap_or_default()
        .into_iter()
        .find(|container| container.name == names::ETCD_CONTAINER);
    let state = etcd.as_ref().and_then(|container| container.state.as_ref());
    let before = status
        .init_container_statuses
        .as_deref()
        .unwrap_or_default();
    Pod {
        owner,
        created: millis(metadata.creation_timestamp.as_ref()).unwrap_or_default(),
        deleted: millis(metadata.deletion_timestamp.as_ref()),
        phase: pod_phase(status.phase.as_deref()),
        ip: status.pod_ip.filter(|ip| !ip.is_empty()),
        node: spec.node_name.filter(|node| !node.is_empty()),
        ready: ready.is_some_and(|condition| condition.status == "True"),
        ready_since: ready.and_then(|condition| millis(condition.last_transition_time.as_ref())),
        unschedulable: condition("PodScheduled")
            .filter(|condition| condition.status == "False")
            .map(|condition| words(condition.reason.as_deref(), condition.message.as_deref())),
        waiting: held_up(before).or_else(|| {
            state
                .and_then(|state| state.waiting.as_ref())
                .map(|waiting| words(waiting.reason.as_deref(), waiting.message.as_deref()))
        }),
        running: state.is_some_and(|state| state.running.is_some()),
        ran: etcd.as_ref().is_some_and(was_started),
        restarts: etcd.as_ref().map_or(0, |container| {
            u32::try_from(container.restart_count).unwrap_or_default()
        }),
        last_exit: etcd.as_ref().and_then(last_exit).or_else(|| {
            before
                .iter()
                .filter_map(last_exit)
                .find(|exit| exit.code != 0)
        }),
        initial_cluster: annotations
            .get(names::INITIAL_CLUSTER_ANNOTATION)
            .cloned()
            .or_else(|| flag("--initial-cluster=")),
        initial_cluster_state: annotations
            .get(names::INITIAL_STATE_ANNOTATION)
            .cloned()
            .or_else(|| flag("--initial-cluster-state=")),
        image: container
            .and_then(|container| container.image)
            .unwrap_or_default(),
        peer_secret: secret_of(&volumes, TlsRole::Peer),
        server_secret: secret_of(&volumes, TlsRole::Server),
        claim: volumes
            .into_iter()
            .find(|volume| volume.name == names::DATA_VOLUME)
            .and_then(|volume| volume.persistent_volume_claim)
            .map(|claim| claim.claim_name),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default(),
        annotations,
    }
}

/// The Secret in the volume that holds the certificates of a role.
fn secret_of(volumes: &[core::Volume], role: TlsRole) -> Option<String> {
    let (name, _path) = role.mount()?;
    let volume = volumes.iter().find(|volume| volume.name == name)?;
    volume.secret.as_ref()?.secret_name.clone()
}

/// A volume claim.
#[must_use]
pub fn volume(object: core::PersistentVolumeClaim) -> Volume {
    let core::PersistentVolumeClaim {
        metadata,
        spec,
        status,
    } = object;
    let spec = spec.unwrap_or_default();
    let status = status.unwrap_or_default();
    let storage = |quantities: Option<BTreeMap<String, _>>| {
        quantities
            .and_then(|mut quantities| quantities.remove("storage"))
            .map(|k8s_openapi::apimachinery::pkg::api::resource::Quantity(quantity)| quantity)
    };
    Volume {
        owner: claims_owner(&metadata),
        created: millis(metadata.creation_timestamp.as_ref()).unwrap_or_default(),
        deleted: millis(metadata.deletion_timestamp.as_ref()),
        phase: match status.phase.as_deref() {
            Some("Bound") => VolumePhase::Bound,
            Some("Lost") => VolumePhase::Lost,
            Some(_) | None => VolumePhase::Pending,
        },
        storage_class: spec.storage_class_name,
        access_modes: spec.access_modes.unwrap_or_default(),
        requested: storage(spec.resources.and_then(|resources| resources.requests)),
        capacity: storage(status.capacity),
        resize: status
            .conditions
            .unwrap_or_default()
            .into_iter()
            .find(|condition| condition.status == "True" && condition.type_.contains("Resiz"))
            .map(|condition| words(Some(&condition.type_), condition.message.as_deref())),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default(),
        annotations: annotations(metadata.annotations),
    }
}

/// A Service.
#[must_use]
pub fn service(object: core::Service) -> Service {
    let core::Service {
        metadata,
        spec,
        status: _,
    } = object;
    let spec = spec.unwrap_or_default();
    let mut ports: Vec<ServicePort> = spec
        .ports
        .unwrap_or_default()
        .into_iter()
        .map(|port| ServicePort {
            name: port.name.unwrap_or_default(),
            port: port.port,
        })
        .collect();
    ports.sort();
    Service {
        owner: controller(&metadata),
        deleted: millis(metadata.deletion_timestamp.as_ref()),
        cluster_ip: spec.cluster_ip.filter(|ip| !ip.is_empty()),
        selector: spec.selector.unwrap_or_default(),
        ports,
        publish_not_ready: spec.publish_not_ready_addresses.unwrap_or_default(),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default(),
    }
}

/// A disruption budget.
#[must_use]
pub fn disruption_budget(object: PodDisruptionBudget) -> DisruptionBudget {
    let PodDisruptionBudget {
        metadata,
        spec,
        status: _,
    } = object;
    let spec = spec.unwrap_or_default();
    DisruptionBudget {
        owner: controller(&metadata),
        deleted: millis(metadata.deletion_timestamp.as_ref()),
        min_available: spec.min_available.map(|number| match number {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => text,
        }),
        selector: spec
            .selector
            .and_then(|selector| selector.match_labels)
            .unwrap_or_default(),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
    }
}

/// Projects a ReplicaSet of an archived operator.
#[must_use]
pub fn old_set(object: ReplicaSet) -> OldSet {
    OldSet {
        owner: controller(&object.metadata),
        name: object.metadata.name.unwrap_or_default(),
        uid: object.metadata.uid.unwrap_or_default(),
    }
}

/// UID of the controlling owner.
#[must_use]
pub fn controller(metadata: &ObjectMeta) -> Option<String> {
    let owners = metadata.owner_references.as_ref()?;
    owners
        .iter()
        .find(|owner| owner.controller == Some(true))
        .map(|owner| owner.uid.clone())
}

/// UID of the cluster that a volume claim belongs to; one that outlives it has an annotation for that.
#[must_use]
pub fn claims_owner(metadata: &ObjectMeta) -> Option<String> {
    let marked = || {
        metadata
            .annotations
            .as_ref()?
            .get(names::OWNER_ANNOTATION)
            .cloned()
    };
    controller(metadata).or_else(marked)
}

/// The controlling owner in words: `Kind/name`, or `nobody`.
#[must_use]
pub fn owner_in_words(metadata: &ObjectMeta) -> String {
    metadata
        .owner_references
        .iter()
        .flatten()
        .find(|owner| owner.controller == Some(true))
        .map_or_else(
            || "nobody".to_owned(),
            |owner| format!("{}/{}", owner.kind, owner.name),
        )
}

fn annotations(annotations: Option<BTreeMap<String, String>>) -> BTreeMap<String, String> {
    let mut annotations = annotations.unwrap_or_default();
    annotations.remove(LAST_APPLIED);
    annotations
}

fn millis(time: Option<&Time>) -> Option<Millis> {
    time.map(|Time(time)| Millis(time.as_millisecond()))
}

fn pod_phase(phase: Option<&str>) -> PodPhase {
    match phase {
        Some("Pending") => PodPhase::Pending,
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        Some(_) | None => PodPhase::Unknown,
    }
}

/// `reason: message`, whichever are there.
fn words(reason: Option<&str>, message: Option<&str>) -> String {
    let parts: Vec<&str> = [reason, message]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(": ")
}

/// Which of the containers before etcd waits, and why.
fn held_up(before: &[core::ContainerStatus]) -> Option<String> {
    let waits = |container: &core::ContainerStatus| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref()?;
        // That is only the order in which they run.
        (reason != "PodInitializing").then(|| format!("{}: {reason}", container.name))
    };
    before.iter().find_map(waits)
}

/// Whether the kubelet knows of a container that it started, be it that of before the last one.
fn was_started(container: &core::ContainerStatus) -> bool {
    let states = [container.state.as_ref(), container.last_state.as_ref()];
    container.restart_count > 0
        || states
            .into_iter()
            .flatten()
            .any(|state| state.running.is_some() || state.terminated.is_some())
}

fn last_exit(container: &core::ContainerStatus) -> Option<LastExit> {
    let ended = |state: &Option<core::ContainerState>| {
        state.as_ref().and_then(|state| state.terminated.clone())
    };
    let ended = ended(&container.state).or_else(|| ended(&container.last_state))?;
    Some(LastExit {
        reason: ended.reason.unwrap_or_default(),
        code: ended.exit_code,
        message: tail(ended.message.unwrap_or_default()),
        at: millis(ended.finished_at.as_ref()),
    })
}

/// The end of a text, cut at a character.
fn tail(text: String) -> String {
    let surplus = text.len().saturating_sub(LAST_WORDS);
    match (surplus..text.len()).find(|&at| text.is_char_boundary(at)) {
        Some(at) if at > 0 => text[at..].to_owned(),
        Some(_) | None => text,
    }
}

/// The value of `--name=value` among a container's words; pods of the archived operator carry it there.
fn flag_of(container: &core::Container, flag: &str) -> Option<String> {
    let words = container.command.iter().chain(&container.args).flatten();
    words
        .flat_map(|word| word.split_whitespace())
        .find_map(|word| word.strip_prefix(flag))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests;
