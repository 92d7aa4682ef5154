//! The invariant of every scenario's end: exactly the objects that a cluster owns are there, each owned and labelled.
//!
//! Names are spelled here once more, on purpose: this is what users built on, not what the code says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context, Result, ensure};
use contract::{Dialect, names};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::Cluster;

/// The annotation with which a member starts on an empty disk.
const INITIAL_CLUSTER: &str = "etcd.database.coreos.com/initial-cluster";

/// Objects of the kinds that a cluster has.
#[derive(Clone, Debug, Default)]
pub struct Children {
    /// Pods.
    pub pods: Vec<Pod>,
    /// Volume claims.
    pub claims: Vec<PersistentVolumeClaim>,
    /// Services.
    pub services: Vec<Service>,
    /// Disruption budgets.
    pub budgets: Vec<PodDisruptionBudget>,
}

impl Children {
    /// Everything that the cluster owns or that carries its label, but for claims that an earlier one of its name left.
    pub async fn of(cluster: &Cluster) -> Result<Self> {
        let uid = cluster
            .resource()
            .await?
            .uid()
            .context("the resource has no UID")?;
        let name = cluster.name();
        Self::list(&cluster.testbed().client(), cluster.namespace(), |meta| {
            let is_labelled = label(meta, cluster.label()) == Some(name);
            owner(meta) == Some(&uid) || (is_labelled && !is_left_by_another(meta, &uid))
        })
        .await
    }

    /// Everything that an object with this UID owns.
    pub async fn owned_by(client: &Client, namespace: &str, uid: &str) -> Result<Self> {
        Self::list(client, namespace, |meta| owner(meta) == Some(uid)).await
    }

    async fn list(
        client: &Client,
        namespace: &str,
        is_child: impl Fn(&ObjectMeta) -> bool,
    ) -> Result<Self> {
        Ok(Self {
            pods: list(client, namespace, &is_child).await?,
            claims: list(client, namespace, &is_child).await?,
            services: list(client, namespace, &is_child).await?,
            budgets: list(client, namespace, &is_child).await?,
        })
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        let Self {
            pods,
            claims,
            services,
            budgets,
        } = self;
        pods.is_empty() && claims.is_empty() && services.is_empty() && budgets.is_empty()
    }

    /// The resourceVersion of each, by kind and name: what a write would change.
    #[must_use]
    pub fn versions(&self) -> BTreeMap<String, String> {
        let metas = self.metas();
        let version = |meta: &ObjectMeta| meta.resource_version.clone().unwrap_or_default();
        metas
            .map(|(kind, meta)| (named(kind, meta), version(meta)))
            .collect()
    }

    /// The UID of each, by kind and name: what a replacement would change.
    #[must_use]
    pub fn uids(&self) -> BTreeMap<String, String> {
        let uid = |meta: &ObjectMeta| meta.uid.clone().unwrap_or_default();
        self.metas()
            .map(|(kind, meta)| (named(kind, meta), uid(meta)))
            .collect()
    }

    /// Says how they differ from what a cluster of these members owns at rest.
    pub fn are_those_of(
        &self,
        cluster: &Cluster,
        resource: &DynamicObject,
        members: &BTreeSet<String>,
    ) -> Result<()> {
        let name = cluster.name();
        let claim = match cluster.dialect() {
            Dialect::Coreos => "/spec/pod/persistentVolumeClaimSpec",
            Dialect::Improbable => "/spec/storage/volumeClaimTemplate",
        };
        let claim = resource.data.pointer(claim);
        let has_volumes = claim.is_some_and(|claim| !claim.is_null());
        let claims = if has_volumes {
            members.clone()
        } else {
            BTreeSet::new()
        };
        ensure!(
            names(&self.pods) == *members,
            "pods are {:?} and members {members:?}",
            names(&self.pods)
        );
        ensure!(
            names(&self.claims) == claims,
            "claims are {:?} and not {claims:?}",
            names(&self.claims)
        );
        let services = BTreeSet::from([name.to_owned(), format!("{name}-client")]);
        ensure!(
            names(&self.services) == services,
            "Services are {:?}",
            names(&self.services)
        );
        ensure!(
            names(&self.budgets) == BTreeSet::from([name.to_owned()]),
            "budgets are {:?}",
            names(&self.budgets)
        );
        self.are_owned_and_labelled(cluster, resource.metadata.uid.as_deref())?;
        for pod in &self.pods {
            is_sealed(pod)?;
        }
        let quorum = i32::try_from(members.len() / 2 + 1)?;
        for budget in &self.budgets {
            let least = budget
                .spec
                .as_ref()
                .and_then(|spec| spec.min_available.clone());
            ensure!(
                least == Some(IntOrString::Int(quorum)),
                "the budget keeps {least:?} and the quorum is {quorum}"
            );
        }
        Ok(())
    }

    fn are_owned_and_labelled(&self, cluster: &Cluster, uid: Option<&str>) -> Result<()> {
        for (kind, meta) in self.metas() {
            let what = named(kind, meta);
            let is_marked = uid.is_some() && marked(meta) == uid;
            ensure!(
                is_marked
                    || meta
                        .owner_references
                        .as_ref()
                        .is_some_and(|all| all.len() == 1),
                "{what} has not one owner"
            );
            ensure!(
                is_marked || owner(meta) == uid,
                "{what} is owned by {:?}",
                owner(meta)
            );
            let has_labels = label(meta, "app") == Some("etcd")
                && label(meta, cluster.label()) == Some(cluster.name());
            ensure!(has_labels, "{what} has the labels {:?}", meta.labels);
        }
        Ok(())
    }

    fn metas(&self) -> impl Iterator<Item = (&'static str, &ObjectMeta)> {
        let Self {
            pods,
            claims,
            services,
            budgets,
        } = self;
        pods.iter()
            .map(|pod| ("Pod", &pod.metadata))
            .chain(
                claims
                    .iter()
                    .map(|claim| ("PersistentVolumeClaim", &claim.metadata)),
            )
            .chain(
                services
                    .iter()
                    .map(|service| ("Service", &service.metadata)),
            )
            .chain(
                budgets
                    .iter()
                    .map(|budget| ("PodDisruptionBudget", &budget.metadata)),
            )
    }
}

impl fmt::Display for Children {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.metas().map(|(kind, meta)| named(kind, meta)).collect();
        f.write_str(&names.join(", "))
    }
}

/// A member that has its data can start from its own disk only: an empty one must end it.
fn is_sealed(pod: &Pod) -> Result<()> {
    let name = pod.name_any();
    let initial = pod
        .annotations()
        .get(INITIAL_CLUSTER)
        .with_context(|| format!("{name} has no initial cluster"))?;
    let is_alone = initial.starts_with(&format!("{name}=")) && !initial.contains(',');
    let state = pod
        .annotations()
        .get(&format!("{INITIAL_CLUSTER}-state"))
        .map(String::as_str);
    ensure!(
        is_alone && state == Some("existing"),
        "{name} is not sealed: {initial} {state:?}"
    );
    Ok(())
}

async fn list<K>(
    client: &Client,
    namespace: &str,
    is_child: impl Fn(&ObjectMeta) -> bool,
) -> Result<Vec<K>>
where
    K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let all = api.list(&ListParams::default()).await?;
    Ok(all
        .items
        .into_iter()
        .filter(|object| is_child(object.meta()))
        .collect())
}

fn names<K: ResourceExt>(objects: &[K]) -> BTreeSet<String> {
    objects.iter().map(ResourceExt::name_any).collect()
}

fn named(kind: &str, meta: &ObjectMeta) -> String {
    format!("{kind} {}", meta.name.as_deref().unwrap_or_default())
}

/// The UID of the controller.
fn owner(meta: &ObjectMeta) -> Option<&str> {
    let owners = meta.owner_references.as_ref()?;
    owners
        .iter()
        .find(|owner| owner.controller == Some(true))
        .map(|owner| owner.uid.as_str())
}

/// The UID of the cluster that a claim without an owner was made for: it has an annotation instead, to outlive the cluster.
fn marked(meta: &ObjectMeta) -> Option<&str> {
    let owner = meta.annotations.as_ref()?.get(names::OWNER_ANNOTATION)?;
    let is_free = meta.owner_references.as_ref().is_none_or(Vec::is_empty);
    is_free.then_some(owner.as_str())
}

fn is_left_by_another(meta: &ObjectMeta, uid: &str) -> bool {
    marked(meta).is_some_and(|owner| owner != uid)
}

fn label<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    meta.labels.as_ref()?.get(key).map(String::as_str)
}
