//! Projections of Kubernetes objects: the fields that decide, and no others.
//!
//! The host fills them; nothing here judges them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Millis, ObjectKind, Observed, names};

/// The objects that carry the cluster's label or its owner reference, sorted by name. Each list is `Unknown` as a
/// whole when it could not be read (for example, without RBAC for that kind).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objects {
    /// Pods labelled for the cluster, whoever owns them.
    pub pods: Observed<Vec<Pod>>,
    /// PersistentVolumeClaims labelled for the cluster, whoever owns them.
    pub volumes: Observed<Vec<Volume>>,
    /// Services labelled for the cluster, whoever owns them.
    pub services: Observed<Vec<Service>>,
    /// PodDisruptionBudgets labelled for the cluster, whoever owns them.
    pub disruption_budgets: Observed<Vec<DisruptionBudget>>,
    /// Objects of others that stand under a name this cluster needs, found when an apply was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignObject>,
}

/// A pod, projected. `image` and the `initial_cluster*` fields are those of the container named `etcd`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    /// `metadata.name`; also the member's name.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// UID of the controlling owner reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `metadata.labels`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// When it was created.
    pub created: Millis,
    /// When its deletion was asked for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Millis>,
    /// `status.phase`.
    pub phase: PodPhase,
    /// `status.podIP`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// `spec.nodeName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The `Ready` condition is True.
    #[serde(default)]
    pub ready: bool,
    /// When `ready` last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_since: Option<Millis>,
    /// The scheduler's words while the pod has no node (`PodScheduled` is False).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unschedulable: Option<String>,
    /// Why the container waits (`reason: message`), for example `ImagePullBackOff: …`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// The container runs at this moment.
    #[serde(default)]
    pub running: bool,
    /// The container was started at least once.
    #[serde(default)]
    pub ran: bool,
    /// How often the container was restarted: a first start is none.
    #[serde(default)]
    pub restarts: u32,
    /// How the container ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_exit: Option<LastExit>,
    /// Image as the spec asks for it.
    #[serde(default)]
    pub image: String,
    /// `claimName` of the volume `etcd-data`; none means emptyDir.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// `--initial-cluster` the member was last started with: the annotation, else the flag of old pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_cluster: Option<String>,
    /// `--initial-cluster-state` likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_cluster_state: Option<String>,
    /// The Secret whose certificates it uses with peers; none means that it speaks plain text with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_secret: Option<String>,
    /// The Secret whose certificates it uses with clients; none means that it speaks plain text with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_secret: Option<String>,
}

impl Pod {
    /// What [`names::RESTARTS_ANNOTATION`] says of a pod whose image is changed now: how often its container was
    /// restarted, or nothing where none was ever started, because the first start counts as no restart.
    #[must_use]
    pub fn restarts_before_image(&self) -> String {
        if self.ran || self.running || self.restarts > 0 {
            self.restarts.to_string()
        } else {
            String::new()
        }
    }

    /// Whether the container still runs with the image before the one that the pod has.
    #[must_use]
    pub fn is_about_to_restart(&self) -> bool {
        let told = self.annotations.get(names::RESTARTS_ANNOTATION);
        self.running && self.deleted.is_none() && told == Some(&self.restarts.to_string())
    }
}

/// `status.phase` of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PodPhase {
    /// Accepted; not every container has been started.
    Pending,
    /// Bound to a node, at least one container runs or restarts.
    Running,
    /// All containers ended with success and will not be restarted.
    Succeeded,
    /// All containers ended, one of them with a failure.
    Failed,
    /// The node does not answer.
    #[default]
    Unknown,
}

/// The end of a container's last run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastExit {
    /// For example `OOMKilled`, `Error`, `Completed`.
    #[serde(default)]
    pub reason: String,
    /// Exit code of the process.
    pub code: i32,
    /// The last words of its log (at most 2,048 bytes), as the kubelet kept them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
}

/// A PersistentVolumeClaim, projected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// `metadata.name`; also the member's name.
    pub name: String,
    /// `metadata.uid`: the identity of the disk.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// UID of the controlling owner reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `metadata.labels`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// When it was created.
    pub created: Millis,
    /// When its deletion was asked for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Millis>,
    /// `status.phase`.
    pub phase: VolumePhase,
    /// `spec.storageClassName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// `spec.accessModes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_modes: Vec<String>,
    /// `spec.resources.requests.storage`, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<String>,
    /// `status.capacity.storage`, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// The resize condition's type and message, while one stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize: Option<String>,
}

impl Volume {
    /// Whether it is there without its pod, too: nobody deletes the claim, and its volume is not lost.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.deleted.is_none() && self.phase != VolumePhase::Lost
    }

    /// Whether it is that cluster's, or was when it was last taken up.
    #[must_use]
    pub fn has_data_of(&self, cluster: &str) -> bool {
        let previous = self
            .annotations
            .get(crate::names::PREVIOUS_OWNER_ANNOTATION);
        [self.owner.as_ref(), previous]
            .into_iter()
            .flatten()
            .any(|uid| uid == cluster)
    }
}

/// `status.phase` of a PersistentVolumeClaim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum VolumePhase {
    /// No volume yet.
    #[default]
    Pending,
    /// Bound to a volume.
    Bound,
    /// Its volume is gone.
    Lost,
}

/// A Service, projected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// UID of the controlling owner reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `metadata.labels`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// When its deletion was asked for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Millis>,
    /// `spec.clusterIP`; `None` (the word) means headless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_ip: Option<String>,
    /// `spec.selector`.
    #[serde(default)]
    pub selector: BTreeMap<String, String>,
    /// `spec.ports`, sorted by name.
    #[serde(default)]
    pub ports: Vec<ServicePort>,
    /// `spec.publishNotReadyAddresses`.
    #[serde(default)]
    pub publish_not_ready: bool,
}

/// One port of a Service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// `name`.
    pub name: String,
    /// `port`.
    pub port: i32,
}

/// A PodDisruptionBudget, projected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DisruptionBudget {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// UID of the controlling owner reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When its deletion was asked for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Millis>,
    /// `spec.minAvailable`, as written (a number or a percentage).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_available: Option<String>,
    /// `spec.selector.matchLabels`.
    #[serde(default)]
    pub selector: BTreeMap<String, String>,
}

/// An object of somebody else under a name this cluster needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignObject {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its name.
    pub name: String,
    /// Who owns it, in words: `Kind/name` of its controller, or `nobody`.
    pub owner: String,
}

/// What may be known of a Secret: which keys, a digest of each, and what its certificates say. Never data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    /// `metadata.uid`.
    #[serde(default)]
    pub uid: String,
    /// UID of the controlling owner reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// The sha-256 of each key's data, as hex.
    #[serde(default)]
    pub digests: BTreeMap<String, String>,
    /// The end of validity of each certificate, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_after: BTreeMap<String, Millis>,
    /// The beginning of validity of each certificate, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_before: BTreeMap<String, Millis>,
    /// The DNS names and addresses that each member's certificate is for, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, Vec<String>>,
    /// Fingerprints: for a key with authorities, of each of them; for a key with a certificate, of those that vouch for it
    /// among the ones that will judge it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub authorities: BTreeMap<String, Vec<String>>,
    /// What is wrong with the data of a key, in words: it cannot be read, belongs to another key, comes from another
    /// authority than the one that will judge it. Validity in time is not judged here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub problems: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_given_an_image_and_runs_is_about_to_restart_once() {
        let pod = |running: bool, restarts: u32| -> Pod {
            let pod = serde_json::json!({
                "name": "a-1", "uid": "1", "resourceVersion": "1", "created": 0, "phase": "Running",
                "running": running, "restarts": restarts, "annotations": {names::RESTARTS_ANNOTATION: "1"},
            });
            serde_json::from_value(pod).expect("a pod")
        };
        assert!(pod(true, 1).is_about_to_restart());
        assert!(!pod(false, 1).is_about_to_restart());
        assert!(!pod(true, 2).is_about_to_restart());
    }
}
