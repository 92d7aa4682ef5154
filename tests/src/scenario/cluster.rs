//! One cluster as a person follows it: its resource, its conditions, its events, and whether it is healthy.
//!
//! Health is judged from outside: by etcd's own member list and the pods, not by the operator's word alone.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use contract::{Condition, ConditionStatus, Dialect, EtcdClusterStatus, Phase, ResourceKind};
use k8s_openapi::api::core::v1 as core;
use kube::api::{DeleteParams, ListParams};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{Children, ClientFiles, Etcd, Member, Resource, dialect};
use crate::testbed::{Testbed, wait};

/// How long forming or changing may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long it may take until some ready member answers.
const ANSWER: Duration = Duration::from_secs(20);

/// A cluster by its name, whether it is there or not.
#[derive(Clone)]
pub struct Cluster {
    testbed: Testbed,
    namespace: String,
    name: String,
    client: Option<ClientFiles>,
    dialect: Dialect,
}

impl Cluster {
    /// The cluster of this name in a namespace.
    #[must_use]
    pub fn new(testbed: Testbed, namespace: &str, name: &str) -> Self {
        Self {
            testbed,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            client: None,
            dialect: Dialect::Coreos,
        }
    }

    /// The cluster of the same name that is written in this dialect.
    #[must_use]
    pub fn in_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// The label of its objects that has its name.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        dialect::label(self.dialect)
    }

    /// The same cluster, asked with TLS and this client's certificate.
    #[must_use]
    pub fn with_client(self, client: ClientFiles) -> Self {
        Self {
            client: Some(client),
            ..self
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The testbed it is on.
    #[must_use]
    pub const fn testbed(&self) -> &Testbed {
        &self.testbed
    }

    fn pods_api(&self) -> Api<core::Pod> {
        Api::namespaced(self.testbed.client(), &self.namespace)
    }

    fn object(&self) -> Resource {
        let client = self.testbed.client();
        let kind = ResourceKind::EtcdCluster;
        Resource::of(client, &self.namespace, self.dialect, kind, &self.name)
    }

    /// Creates it; the error is the API server's refusal.
    pub async fn create(&self, spec: Value) -> Result<()> {
        self.object()
            .create(dialect::written(self.dialect, spec))
            .await
    }

    /// Merges into its spec; the error is the API server's refusal.
    pub async fn edit(&self, spec: Value) -> Result<()> {
        let spec = match self.dialect {
            Dialect::Coreos => spec,
            Dialect::Improbable => dialect::patch(self.dialect, &self.resource().await?, &spec),
        };
        self.object().edit(spec).await
    }

    /// Asks for another number of members.
    pub async fn resize(&self, size: i64) -> Result<()> {
        self.edit(json!({"size": size})).await
    }

    /// The resource as it is stored.
    pub async fn resource(&self) -> Result<DynamicObject> {
        self.object().get().await
    }

    /// Its status; empty while it has none.
    pub async fn status(&self) -> Result<EtcdClusterStatus> {
        let status = dialect::read(self.dialect, &self.resource().await?).status;
        let status: Option<EtcdClusterStatus> = serde_json::from_value(status)?;
        Ok(status.unwrap_or_default())
    }

    /// Deletes it and waits until nothing of it is left.
    pub async fn delete(&self) -> Result<()> {
        let uid = self
            .resource()
            .await?
            .uid()
            .context("the resource has no UID")?;
        self.object().delete().await?;
        wait::until(format!("the end of {}", self.name), PATIENCE, async || {
            ensure!(
                self.object().find().await?.is_none(),
                "the resource is there"
            );
            let left = Children::owned_by(&self.testbed.client(), &self.namespace, &uid).await?;
            ensure!(left.is_empty(), "left: {left}");
            Ok(())
        })
        .await
    }

    /// Its pods, sorted by name.
    pub async fn pods(&self) -> Result<Vec<core::Pod>> {
        let labels = format!("{}={}", self.label(), self.name);
        let mut pods = self
            .pods_api()
            .list(&ListParams::default().labels(&labels))
            .await?
            .items;
        pods.sort_by_key(ResourceExt::name_any);
        Ok(pods)
    }

    /// The pod of a member.
    pub async fn pod(&self, member: &str) -> Result<core::Pod> {
        self.pods_api()
            .get(member)
            .await
            .with_context(|| format!("pod {member}"))
    }

    /// Deletes a pod as `kubectl delete pod` does, without waiting for its end.
    pub async fn delete_pod(&self, member: &str) -> Result<()> {
        self.pods_api()
            .delete(member, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// A member's own etcd.
    #[must_use]
    pub fn etcd_of(&self, member: &str) -> Etcd {
        Etcd::new(
            self.testbed.clone(),
            self.namespace.clone(),
            member.to_owned(),
            self.client.clone(),
        )
    }

    /// The etcd of some ready member.
    pub async fn etcd(&self) -> Result<Etcd> {
        let ready = self.pods().await?.into_iter().find(is_ready);
        let pod = ready.with_context(|| format!("no member of {} is ready", self.name))?;
        Ok(self.etcd_of(&pod.name_any()))
    }

    /// The member list, asked of a ready member. One that keeps ending is ready for a moment each time, so whoever is asked
    /// may be gone.
    pub async fn members(&self) -> Result<Vec<Member>> {
        let what = format!("the member list of {}", self.name);
        wait::until(what, ANSWER, async || self.etcd().await?.members().await).await
    }

    /// The names of the members.
    pub async fn member_names(&self) -> Result<Vec<String>> {
        Ok(self
            .members()
            .await?
            .into_iter()
            .map(|member| member.name)
            .collect())
    }

    /// The name of the leader.
    pub async fn leader(&self) -> Result<String> {
        for name in self.member_names().await? {
            if self.etcd_of(&name).leads().await? {
                return Ok(name);
            }
        }
        bail!("no member leads")
    }

    /// Waits until `size` members vote, are ready, and nothing else is left or under way.
    pub async fn becomes_healthy(&self, size: usize) -> Result<()> {
        let what = format!(
            "{}/{} with {size} healthy members",
            self.namespace, self.name
        );
        wait::until(what, PATIENCE, async || self.is_healthy(size).await).await
    }

    /// Says what keeps it from being a cluster of `size` healthy members at rest.
    pub async fn is_healthy(&self, size: usize) -> Result<()> {
        let resource = self.resource().await?;
        let status = self.status().await?;
        let told = told(&status);
        ensure!(
            status.phase == Phase::Running,
            "phase {:?}; {told}",
            status.phase
        );
        ensure!(
            status.observed_generation == resource.metadata.generation,
            "the spec was not looked at yet"
        );
        let counted = i64::try_from(size)?;
        ensure!(
            status.ready_members == counted && status.size == counted,
            "{}/{} ready; {told}",
            status.ready_members,
            status.size
        );
        for (kind, wanted) in [
            ("Available", ConditionStatus::True),
            ("Degraded", ConditionStatus::False),
            ("Progressing", ConditionStatus::False),
            ("Scaling", ConditionStatus::False),
        ] {
            let found = find(&status, kind)?;
            ensure!(
                found.status == wanted,
                "{kind} is {:?}; {told}",
                found.status
            );
        }
        let pods = self.pods().await?;
        let ready: BTreeSet<_> = pods
            .iter()
            .filter(|pod| is_ready(pod))
            .map(ResourceExt::name_any)
            .collect();
        ensure!(
            pods.len() == size && ready.len() == size,
            "{} of {} pods are ready",
            ready.len(),
            pods.len()
        );
        let members = self.members().await?;
        let voters: BTreeSet<_> = members
            .iter()
            .filter(|member| !member.learner)
            .map(|member| member.name.clone())
            .collect();
        ensure!(
            voters == ready && members.len() == size,
            "etcd's list is {members:?}"
        );
        Children::of(self)
            .await?
            .are_those_of(self, &resource, &voters)?;
        dialect::has_peers(self, &voters).await
    }

    /// The dialect in which it is written.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Waits until a condition is so and its sentence holds all `words`.
    pub async fn awaits_condition(
        &self,
        kind: &str,
        wanted: ConditionStatus,
        reason: &str,
        words: &[&str],
        within: Duration,
    ) -> Result<Condition> {
        let what = format!(
            "{}: condition {kind}={wanted:?} {reason} with {words:?}",
            self.name
        );
        wait::until(what, within, async || {
            let status = self.status().await?;
            let found =
                find(&status, kind).map_err(|error| anyhow!("{error}; {}", told(&status)))?;
            let is_so = found.status == wanted
                && found.reason == reason
                && words.iter().all(|word| found.message.contains(word));
            ensure!(
                is_so,
                "{kind}={:?} {}: {}",
                found.status,
                found.reason,
                found.message
            );
            Ok(found.clone())
        })
        .await
    }

    /// Waits until a quorum of its members is healthy.
    pub async fn becomes_available(&self) -> Result<()> {
        let (available, reason) = (ConditionStatus::True, "QuorumHealthy");
        self.awaits_condition("Available", available, reason, &[], PATIENCE)
            .await
            .map(drop)
    }

    /// Waits until it is blocked for `reason`, with a sentence that holds all `words`.
    pub async fn becomes_blocked(&self, reason: &str, words: &[&str]) -> Result<Condition> {
        self.awaits_condition("Blocked", ConditionStatus::True, reason, words, PATIENCE)
            .await
    }

    /// Waits until nothing about it waits for a person.
    pub async fn becomes_unblocked(&self) -> Result<()> {
        let wanted = ConditionStatus::False;
        self.awaits_condition("Blocked", wanted, "AsSpecified", &[], PATIENCE)
            .await
            .map(drop)
    }

    /// The address of the Service for clients, once nodes have learned of it; this machine reaches it.
    pub async fn client_address(&self) -> Result<String> {
        let services: Api<core::Service> = Api::namespaced(self.testbed.client(), &self.namespace);
        let service = services.get(&format!("{}-client", self.name)).await?;
        let address = service
            .spec
            .and_then(|spec| spec.cluster_ip)
            .context("the client Service has no address")?;
        wait::until_taken("the client Service", ANSWER, (address.as_str(), 2379)).await?;
        let scheme = self.client.as_ref().map_or("http", |_| "https");
        Ok(format!("{scheme}://{address}:2379"))
    }
}

/// Whether the pod says Ready and is not on its way out.
pub(crate) fn is_ready(pod: &core::Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let says_ready = conditions.is_some_and(|all| {
        all.iter()
            .any(|one| one.type_ == "Ready" && one.status == "True")
    });
    says_ready && pod.metadata.deletion_timestamp.is_none()
}

fn find<'a>(status: &'a EtcdClusterStatus, kind: &str) -> Result<&'a Condition> {
    status
        .conditions
        .iter()
        .find(|one| one.kind == kind)
        .with_context(|| format!("there is no condition {kind}"))
}

/// The conditions in one line, for messages.
fn told(status: &EtcdClusterStatus) -> String {
    let told = status.conditions.iter().map(|one| {
        format!(
            "{}={:?} {}: {}",
            one.kind, one.status, one.reason, one.message
        )
    });
    told.collect::<Vec<_>>().join(" | ")
}
