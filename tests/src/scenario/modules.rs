//! ReconcilerModules as a person follows them: objects, their ConfigMaps, statuses and events.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::{
    MODULE_KEY, MODULE_KIND, MODULE_PLURAL, MODULE_VERSION, ModulePhase, ReconcilerModuleStatus,
};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::{Resource, Scenario};
use crate::testbed::wait;

/// How long loading or a change may take: beside all other scenarios one compilation took 99 s.
const PATIENCE: Duration = Duration::from_secs(300);

/// A ReconcilerModule by its name, whether it is there or not.
#[derive(Clone)]
pub struct ReconcilerModule {
    client: Client,
    namespace: String,
    name: String,
}

impl Scenario {
    /// The ReconcilerModule of this name.
    #[must_use]
    pub fn module(&self, name: &str) -> ReconcilerModule {
        ReconcilerModule {
            client: self.testbed().client(),
            namespace: self.namespace().to_owned(),
            name: name.to_owned(),
        }
    }

    /// Puts bytes where a ReconcilerModule looks for them in a ConfigMap.
    pub async fn put_module(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let object = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            binary_data: Some([(MODULE_KEY.to_owned(), ByteString(bytes.to_vec()))].into()),
            ..ConfigMap::default()
        };
        self.config_maps()
            .create(&PostParams::default(), &object)
            .await?;
        Ok(())
    }

    /// Puts other bytes in their place.
    pub async fn change_module_source(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let bytes = ByteString(bytes.to_vec());
        let patch = Patch::Merge(json!({"binaryData": {MODULE_KEY: bytes}}));
        self.config_maps()
            .patch(name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    /// Deletes such a ConfigMap.
    pub async fn delete_module_source(&self, name: &str) -> Result<()> {
        self.config_maps()
            .delete(name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.testbed().client(), self.namespace())
    }
}

impl ReconcilerModule {
    fn object(&self) -> Resource {
        let (client, namespace) = (self.client.clone(), &self.namespace);
        let (kind, plural) = (MODULE_KIND, MODULE_PLURAL);
        Resource::new(client, namespace, MODULE_VERSION, kind, plural, &self.name)
    }

    /// Creates it; the error is the API server's refusal.
    pub async fn create(&self, spec: Value) -> Result<()> {
        self.object().create(spec).await
    }

    /// Merges into its spec; nulls remove. The error is the API server's refusal.
    pub async fn edit(&self, spec: Value) -> Result<()> {
        self.object().edit(spec).await
    }

    /// Deletes it.
    pub async fn delete(&self) -> Result<()> {
        self.object().delete().await
    }

    /// Its status of the present spec.
    pub async fn status(&self) -> Result<ReconcilerModuleStatus> {
        let object = self.object().get().await?;
        let status = object.data.get("status").cloned().unwrap_or_default();
        let status: Option<ReconcilerModuleStatus> = serde_json::from_value(status)?;
        let status = status.context("it has no status")?;
        ensure!(
            status.observed_generation == object.metadata.generation,
            "its spec was not looked at yet"
        );
        Ok(status)
    }

    /// Waits until it stands so, with a sentence that holds all `words`.
    pub async fn becomes(
        &self,
        phase: ModulePhase,
        words: &[&str],
    ) -> Result<ReconcilerModuleStatus> {
        let what = format!("{} being {phase:?} with {words:?}", self.name);
        wait::until(what, PATIENCE, async || {
            let status = self.status().await?;
            let message = status.conditions.first().map(|one| one.message.clone());
            let message = message.unwrap_or_default();
            let is_so = status.phase == phase && words.iter().all(|word| message.contains(word));
            ensure!(is_so, "{:?}: {message}", status.phase);
            Ok(status)
        })
        .await
    }

    /// Waits until it has made so many decisions in its role.
    pub async fn decides(&self, count: i64) -> Result<ReconcilerModuleStatus> {
        let what = format!("{count} decisions of {}", self.name);
        wait::until(what, PATIENCE, async || {
            let status = self.status().await?;
            ensure!(status.decisions >= count, "they are {}", status.decisions);
            Ok(status)
        })
        .await
    }

    /// Waits for an event of this reason whose sentence holds `words`.
    pub async fn awaits_event(&self, reason: &str, words: &str) -> Result<()> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let fields = format!(
            "involvedObject.kind={MODULE_KIND},involvedObject.name={}",
            self.name
        );
        let what = format!("{}: the event {reason} with \"{words}\"", self.name);
        wait::until(what, Duration::from_secs(30), async || {
            let list = events.list(&ListParams::default().fields(&fields)).await?;
            let told: Vec<_> = list
                .items
                .into_iter()
                .map(|event| {
                    (
                        event.reason.unwrap_or_default(),
                        event.message.unwrap_or_default(),
                    )
                })
                .collect();
            let is_there =
                |(found, note): &(String, String)| found == reason && note.contains(words);
            ensure!(told.iter().any(is_there), "the events are {told:?}");
            Ok(())
        })
        .await
    }
}
