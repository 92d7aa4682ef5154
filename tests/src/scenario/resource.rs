//! A custom resource as a person handles it: created, edited, read, with refusals in the API server's own words.

use anyhow::{Context, Result, anyhow};
use contract::{Dialect, GROUP, ResourceKind};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Scenario;

/// A resource of Binnacle's group by its name, whether it is there or not.
#[derive(Clone)]
pub struct Resource {
    api: Api<DynamicObject>,
    kind: GroupVersionKind,
    name: String,
}

impl Scenario {
    /// The resource of this kind and name.
    #[must_use]
    pub fn resource(&self, kind: ResourceKind, name: &str) -> Resource {
        let client = self.testbed().client();
        Resource::of(client, self.namespace(), self.dialect, kind, name)
    }
}

impl Resource {
    /// The resource of this name in a namespace; its kind is told by version, name and plural.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: &str,
        version: &str,
        kind: &str,
        plural: &str,
        name: &str,
    ) -> Self {
        let kind = GroupVersionKind::gvk(GROUP, version, kind);
        Self::of_kind(client, namespace, kind, plural, name)
    }

    /// The resource of this kind and name in a namespace, in the group of the dialect.
    #[must_use]
    pub fn of(
        client: Client,
        namespace: &str,
        dialect: Dialect,
        kind: ResourceKind,
        name: &str,
    ) -> Self {
        let plural = kind.plural();
        let kind = GroupVersionKind::gvk(dialect.group(), dialect.version(), kind.name());
        Self::of_kind(client, namespace, kind, plural, name)
    }

    fn of_kind(
        client: Client,
        namespace: &str,
        kind: GroupVersionKind,
        plural: &str,
        name: &str,
    ) -> Self {
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Self {
            api: Api::namespaced_with(client, namespace, &resource),
            kind,
            name: name.to_owned(),
        }
    }

    /// Creates it; the error is the API server's refusal.
    pub async fn create(&self, spec: Value) -> Result<()> {
        let object = serde_json::from_value(json!({
            "apiVersion": self.kind.api_version(),
            "kind": self.kind.kind,
            "metadata": {"name": self.name},
            "spec": spec,
        }))?;
        let created = self.api.create(&PostParams::default(), &object).await;
        created.map(drop).map_err(refusal)
    }

    /// Merges into its spec; nulls remove. The error is the API server's refusal.
    pub async fn edit(&self, spec: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let patched = self
            .api
            .patch(&self.name, &PatchParams::default(), &patch)
            .await;
        patched.map(drop).map_err(refusal)
    }

    /// Asks for its deletion.
    pub async fn delete(&self) -> Result<()> {
        self.api
            .delete(&self.name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// As it is stored.
    pub async fn get(&self) -> Result<DynamicObject> {
        let found = self.find().await?;
        found.with_context(|| format!("there is no {} {}", self.kind.kind, self.name))
    }

    /// As it is stored; none when it is not.
    pub async fn find(&self) -> Result<Option<DynamicObject>> {
        Ok(self.api.get_opt(&self.name).await?)
    }

    /// Its status; none while it has none.
    pub async fn status<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let object = self.get().await?;
        let status = object.data.get("status").cloned().unwrap_or_default();
        Ok(serde_json::from_value(status)?)
    }
}

fn refusal(error: kube::Error) -> anyhow::Error {
    if let kube::Error::Api(status) = &error {
        return anyhow!("{}", status.message);
    }
    error.into()
}
