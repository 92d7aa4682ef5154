//! Live reads: the resource, its children by label, and the head of one child.
//!
//! Shows the API server's present state through the same projections as the watches.

use std::time::Duration;

use contract::{Dialect, ObjectKind, Objects, Observed, OldSet, Resource, ResourceKind, names};
use envelope::ObjectHead;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, ListParams};
use kube::core::{DynamicObject, NamespaceResourceScope};
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use super::project;
use crate::error::Chain;
use crate::key::ClusterKey;

/// How long one read may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why a read gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server answered with an error or could not be reached.
    #[error("reading {what} failed")]
    Api {
        /// What was read.
        what: String,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// The API server did not answer in time.
    #[error("reading {what}: no answer within {TIMEOUT:?}")]
    Silent {
        /// What was read.
        what: String,
    },
}

/// A kind of custom resource, as the client needs it.
#[must_use]
pub fn resource_kind_of(dialect: Dialect, kind: ResourceKind) -> ApiResource {
    ApiResource {
        group: dialect.group().to_owned(),
        version: dialect.version().to_owned(),
        api_version: dialect.api_version(),
        kind: kind.name().to_owned(),
        plural: kind.plural().to_owned(),
    }
}

/// The resources of a key's kind and namespace.
#[must_use]
pub fn neighbours(client: &Client, key: &ClusterKey) -> Api<DynamicObject> {
    Api::namespaced_with(
        client.clone(),
        &key.namespace,
        &resource_kind_of(key.dialect, key.kind),
    )
}

/// Reads the resource; none when there is none.
///
/// # Errors
/// It could not be read.
pub async fn resource(client: &Client, key: &ClusterKey) -> Result<Option<Resource>, Error> {
    let api = neighbours(client, key);
    let what = || format!("{} {key}", key.kind);
    Ok(within(what, api.get_opt(&key.name))
        .await?
        .map(project::resource))
}

/// Reads the resources of a kind in a namespace; none where the API server does not know the kind.
pub(super) async fn resources(
    client: &Client,
    dialect: Dialect,
    kind: ResourceKind,
    namespace: &str,
) -> Result<Vec<Resource>, Error> {
    let known = resource_kind_of(dialect, kind);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &known);
    let what = || format!("{} of {} in {namespace}", kind.plural(), dialect.group());
    match within(what, api.list(&ListParams::default())).await {
        Ok(list) => Ok(list.items.into_iter().map(project::resource).collect()),
        Err(Error::Api { source, .. }) if matches!(&*source, kube::Error::Api(status) if status.code == 404) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// Reads a pod, whatever its labels; none when there is none.
pub(super) async fn pod(
    client: &Client,
    key: &ClusterKey,
    name: &str,
) -> Result<Option<contract::Pod>, Error> {
    let api: Api<core::Pod> = Api::namespaced(client.clone(), &key.namespace);
    let what = || format!("Pod {}/{name}", key.namespace);
    Ok(within(what, api.get_opt(name)).await?.map(project::pod))
}

/// Reads a volume claim, whatever its labels; none when there is none.
pub(super) async fn volume(
    client: &Client,
    key: &ClusterKey,
    name: &str,
) -> Result<Option<contract::Volume>, Error> {
    let api: Api<core::PersistentVolumeClaim> = Api::namespaced(client.clone(), &key.namespace);
    let what = || format!("PersistentVolumeClaim {}/{name}", key.namespace);
    Ok(within(what, api.get_opt(name)).await?.map(project::volume))
}

/// Lists the children by label, each kind by itself: one that cannot be read leaves the others.
pub(super) async fn objects(client: &Client, key: &ClusterKey) -> Objects {
    let (pods, volumes, services, disruption_budgets) = tokio::join!(
        list(client, key, project::pod),
        list(client, key, project::volume),
        list(client, key, project::service),
        list(client, key, project::disruption_budget),
    );
    Objects {
        pods,
        volumes,
        services,
        disruption_budgets,
        foreign: Vec::new(),
    }
}

/// Lists the children that the dialect's archived operator made for the cluster, which the watches do not show, and the
/// ReplicaSets by which it keeps pods. It made no budget.
pub(super) async fn old_children(
    client: &Client,
    key: &ClusterKey,
) -> Option<(Objects, Observed<Vec<OldSet>>)> {
    let selector = key.dialect.predecessors_selector(&key.name)?;
    let (pods, volumes, services, sets) = tokio::join!(
        select(client, key, &selector, project::pod),
        select(client, key, &selector, project::volume),
        select(client, key, &selector, project::service),
        select(client, key, &selector, project::old_set),
    );
    let objects = Objects {
        pods,
        volumes,
        services,
        disruption_budgets: Observed::Absent,
        foreign: Vec::new(),
    };
    Some((objects, sets))
}

/// The names of the volume claims under the labels of a cluster, those of its archived operator among them.
pub(crate) async fn claims(client: &Client, key: &ClusterKey) -> Observed<Vec<String>> {
    let mut names = Vec::new();
    let old = key.dialect.predecessors_selector(&key.name);
    for selector in [key.dialect.selector(&key.name)].into_iter().chain(old) {
        match select(client, key, &selector, project::volume).await {
            Observed::Seen(claims) => names.extend(claims.into_iter().map(|claim| claim.name)),
            Observed::Absent => {}
            Observed::Unknown(why) => return Observed::Unknown(why),
        }
    }
    Observed::Seen(names)
}

async fn list<K, T>(client: &Client, key: &ClusterKey, project: fn(K) -> T) -> Observed<Vec<T>>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    select(client, key, &key.dialect.selector(&key.name), project).await
}

async fn select<K, T>(
    client: &Client,
    key: &ClusterKey,
    selector: &str,
    project: fn(K) -> T,
) -> Observed<Vec<T>>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), &key.namespace);
    let params = ListParams::default().labels(selector);
    match within(|| K::plural(&()).into_owned(), api.list(&params)).await {
        // The API server lists in the order of names.
        Ok(list) => Observed::Seen(list.items.into_iter().map(project).collect()),
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}

/// What counts of a child before it is touched.
#[derive(Clone, Debug)]
pub struct Head {
    /// For the envelope.
    pub object: ObjectHead,
    /// Its controlling owner, for people.
    pub owner_in_words: String,
    /// It carries the labels by which the caches know children.
    pub labelled: bool,
}

impl Head {
    /// Who stands in the way of a child of the resource with this UID, if somebody does: another owner's object, or one of
    /// its own that lost its labels, so that no cache shows it.
    #[must_use]
    pub fn stranger_to(&self, uid: &str) -> Option<String> {
        if self.object.owner.as_deref() != Some(uid) {
            return Some(self.owner_in_words.clone());
        }
        let lost = format!(
            "this cluster, but lost the labels {} and {}",
            names::APP_LABEL,
            names::CLUSTER_LABEL
        );
        (!self.labelled).then_some(lost)
    }
}

/// Reads the head of one child; none when there is none.
///
/// # Errors
/// It could not be read.
pub async fn head(
    client: &Client,
    namespace: &str,
    kind: ObjectKind,
    name: &str,
) -> Result<Option<Head>, Error> {
    let what = || format!("{} {namespace}/{name}", kind.name());
    match kind {
        ObjectKind::Pod => {
            let api: Api<core::Pod> = Api::namespaced(client.clone(), namespace);
            Ok(within(what, api.get_opt(name)).await?.map(pod_head))
        }
        ObjectKind::PersistentVolumeClaim => {
            let api: Api<core::PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
            Ok(within(what, api.get_metadata_opt(name))
                .await?
                .map(|object| claim_head(&object.metadata)))
        }
        ObjectKind::Service => {
            let api: Api<core::Service> = Api::namespaced(client.clone(), namespace);
            Ok(within(what, api.get_metadata_opt(name))
                .await?
                .map(|object| metadata_head(&object.metadata)))
        }
        ObjectKind::Secret => {
            let api: Api<core::Secret> = Api::namespaced(client.clone(), namespace);
            Ok(within(what, api.get_metadata_opt(name))
                .await?
                .map(|object| metadata_head(&object.metadata)))
        }
        ObjectKind::ReplicaSet => {
            let api: Api<ReplicaSet> = Api::namespaced(client.clone(), namespace);
            Ok(within(what, api.get_metadata_opt(name))
                .await?
                .map(|object| metadata_head(&object.metadata)))
        }
        ObjectKind::PodDisruptionBudget => {
            let api: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), namespace);
            Ok(within(what, api.get_metadata_opt(name))
                .await?
                .map(|object| metadata_head(&object.metadata)))
        }
    }
}

fn pod_head(pod: core::Pod) -> Head {
    let head = metadata_head(&pod.metadata);
    let pod = project::pod(pod);
    let ended = matches!(
        pod.phase,
        contract::PodPhase::Succeeded | contract::PodPhase::Failed
    );
    Head {
        object: ObjectHead {
            ended,
            restarts: pod.is_about_to_restart(),
            running: pod.running,
            ran: pod.ran,
            claim: pod.claim,
            founds: pod.initial_cluster_state.as_deref() == Some("new"),
            ..head.object
        },
        ..head
    }
}

fn claim_head(metadata: &ObjectMeta) -> Head {
    let head = metadata_head(metadata);
    Head {
        object: ObjectHead {
            owner: project::claims_owner(metadata),
            ..head.object
        },
        ..head
    }
}

fn metadata_head(metadata: &ObjectMeta) -> Head {
    Head {
        object: ObjectHead {
            uid: metadata.uid.clone().unwrap_or_default(),
            owner: project::controller(metadata),
            deleted: metadata.deletion_timestamp.is_some(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            ended: false,
            running: false,
            restarts: false,
            ran: false,
            claim: None,
            founds: false,
        },
        owner_in_words: project::owner_in_words(metadata),
        labelled: metadata.labels.as_ref().is_some_and(|labels| {
            labels
                .get(names::APP_LABEL)
                .is_some_and(|app| app == names::APP)
                && Dialect::of_labels(labels).is_some()
        }),
    }
}

pub(crate) async fn within<T>(
    what: impl Fn() -> String,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(Error::Api {
            what: what(),
            source: Box::new(source),
        }),
        Err(_elapsed) => Err(Error::Silent { what: what() }),
    }
}
