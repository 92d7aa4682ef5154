//! Tells people how modules do: statuses and events of ReconcilerModules, written by the leader alone.
//!
//! What changes in words is written at once, counts every few seconds, and what is the same not at all.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use contract::{EventType, ModulePhase, ReconcilerModuleStatus, Resource};
use kube::Client;
use kube::api::PostParams;
use kube::core::{DynamicObject, ObjectMeta, TypeMeta};
use serde::Deserialize;
use serde_json::json;
use tracing::{debug, warn};

use super::assign::Assigned;
use super::entry::Entry;
use super::objects::modules;
use super::status::{is_same_but_for_counts, status};
use crate::error::Chain;
use crate::events::{self, Saying};
use crate::lease::Leadership;

/// Between two writes of counts alone.
const COUNTS: Duration = Duration::from_secs(10);
/// How long a write may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What is written, and what was written last.
pub(super) struct Teller {
    client: Client,
    instance: String,
    leadership: Leadership,
    told: BTreeMap<String, Told>,
}

struct Told {
    uid: String,
    status: ReconcilerModuleStatus,
    /// The version that the write resulted in: until the watch shows it, its own view is older.
    version: String,
    at: Instant,
}

impl Teller {
    pub(super) const fn new(client: Client, instance: String, leadership: Leadership) -> Self {
        Self {
            client,
            instance,
            leadership,
            told: BTreeMap::new(),
        }
    }

    /// Forgets objects that are gone.
    pub(super) fn forget_all_but(&mut self, objects: &BTreeMap<String, Resource>) {
        self.told.retain(|name, told| {
            objects
                .get(name)
                .is_some_and(|object| object.uid == told.uid)
        });
    }

    /// Writes what people do not know yet.
    pub(super) async fn tell(&mut self, entries: &BTreeMap<String, Entry>, assigned: &Assigned) {
        if !self.leadership.is_held() {
            // Whoever leads writes; what this instance wrote before is no longer what stands there.
            self.told.clear();
            return;
        }
        let now = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        for (name, entry) in entries {
            let stored = ReconcilerModuleStatus::deserialize(&entry.resource.status);
            let stored = stored.unwrap_or_default();
            let told = self.told.get(name);
            let before = told.map_or(&stored, |told| &told.status);
            let status = status(entry, assigned, before, &now);
            let is_said = is_same_but_for_counts(before, &status);
            let is_due = told.is_none_or(|told| told.at.elapsed() >= COUNTS);
            if status == *before || (is_said && !is_due) {
                continue;
            }
            let is_news = word(before) != word(&status);
            self.write(name, entry, status, is_news).await;
        }
    }

    async fn write(
        &mut self,
        name: &str,
        entry: &Entry,
        status: ReconcilerModuleStatus,
        is_news: bool,
    ) {
        let resource = &entry.resource;
        let version = self
            .told
            .get(name)
            .map_or(&resource.resource_version, |told| &told.version);
        match self.replace(resource, version, &status).await {
            Ok(version) => {
                if is_news {
                    self.announce(resource, &status).await;
                }
                let told = Told {
                    uid: resource.uid.clone(),
                    status,
                    version,
                    at: Instant::now(),
                };
                self.told.insert(name.to_owned(), told);
            }
            // Somebody wrote in between: the watch brings the object as it is now.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                debug!(module = name, "The object has changed; its status waits");
                self.told.remove(name);
            }
            Err(error) => {
                warn!(module = name, error = %Chain(&error), "Status of a ReconcilerModule not written");
                self.told.remove(name);
            }
        }
    }

    async fn replace(
        &self,
        resource: &Resource,
        version: &str,
        status: &ReconcilerModuleStatus,
    ) -> Result<String, kube::Error> {
        let object = DynamicObject {
            types: Some(TypeMeta {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
            }),
            metadata: ObjectMeta {
                name: Some(resource.name.clone()),
                namespace: Some(resource.namespace.clone()),
                uid: Some(resource.uid.clone()),
                resource_version: Some(version.to_owned()),
                ..ObjectMeta::default()
            },
            // The API server keeps the stored spec; a request must have one all the same.
            data: json!({ "spec": resource.spec, "status": status }),
        };
        let api = modules(&self.client, &resource.namespace);
        let post = PostParams::default();
        let writing = api.replace_status(&resource.name, &post, &object);
        match tokio::time::timeout(TIMEOUT, writing).await {
            Ok(written) => Ok(written?.metadata.resource_version.unwrap_or_default()),
            Err(elapsed) => Err(kube::Error::Service(Box::new(elapsed))),
        }
    }

    async fn announce(&self, resource: &Resource, status: &ReconcilerModuleStatus) {
        let Some(condition) = status.conditions.first() else {
            return;
        };
        let kind = match status.phase {
            ModulePhase::Loading => return,
            ModulePhase::InRole => EventType::Normal,
            ModulePhase::Waiting | ModulePhase::Refused | ModulePhase::FellBack => {
                EventType::Warning
            }
        };
        let saying = Saying {
            kind,
            reason: &condition.reason,
            note: &condition.message,
        };
        let publishing = events::publish(&self.client, &self.instance, resource, saying);
        match tokio::time::timeout(TIMEOUT, publishing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(error = %Chain(&error), "Event not written"),
            Err(_elapsed) => warn!("Event not written: no answer within {TIMEOUT:?}"),
        }
    }
}

/// Phase and sentence: what an event is about.
fn word(status: &ReconcilerModuleStatus) -> (ModulePhase, &str) {
    let message = status.conditions.first().map(|one| one.message.as_str());
    (status.phase, message.unwrap_or_default())
}
