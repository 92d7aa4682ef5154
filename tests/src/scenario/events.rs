//! What a cluster's events tell, as `kubectl describe` shows them.

use std::time::Duration;

use anyhow::{Result, ensure};
use contract::KIND;
use k8s_openapi::api::core::v1 as core;
use kube::Api;
use kube::api::ListParams;

use super::Cluster;
use crate::testbed::wait;

/// One event of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSeen {
    /// `Normal` or `Warning`.
    pub kind: String,
    /// Its reason.
    pub reason: String,
    /// Its sentence.
    pub note: String,
}

impl Cluster {
    /// Its events, oldest first.
    pub async fn events(&self) -> Result<Vec<EventSeen>> {
        let events: Api<core::Event> = Api::namespaced(self.testbed().client(), self.namespace());
        let fields = format!(
            "involvedObject.kind={KIND},involvedObject.name={}",
            self.name()
        );
        let mut list = events
            .list(&ListParams::default().fields(&fields))
            .await?
            .items;
        list.sort_by_key(|event| event.metadata.creation_timestamp.clone());
        let seen = list.into_iter().map(|event| EventSeen {
            kind: event.type_.unwrap_or_default(),
            reason: event.reason.unwrap_or_default(),
            note: event.message.unwrap_or_default(),
        });
        Ok(seen.collect())
    }

    /// Waits for an event of this kind and reason whose sentence holds `words`.
    pub async fn awaits_event(&self, kind: &str, reason: &str, words: &str) -> Result<()> {
        let what = format!(
            "{}: the {kind} event {reason} with \"{words}\"",
            self.name()
        );
        wait::until(what, Duration::from_secs(30), async || {
            let events = self.events().await?;
            let is_there = |event: &EventSeen| {
                event.kind == kind && event.reason == reason && event.note.contains(words)
            };
            ensure!(events.iter().any(is_there), "the events are {events:?}");
            Ok(())
        })
        .await
    }
}
