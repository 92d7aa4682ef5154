//! Events on the custom resource, as `kubectl describe` shows them.
//!
//! An event that says the same again is counted on the first one; one that says something else is an event of its own. No
//! memory is needed for that, because an event's name is a digest of what it says.

use contract::{EventType, Resource, names};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use sha2::{Digest, Sha256};

/// Hex digits that tell an event from all others of its cluster.
const DIGITS: usize = 16;

/// What an event says.
#[derive(Clone, Copy, Debug)]
pub struct Saying<'a> {
    /// Normal or Warning.
    pub kind: EventType,
    /// A machine-readable word.
    pub reason: &'a str,
    /// A sentence for people.
    pub note: &'a str,
}

/// Records an event on the resource, or counts it on the one that says the same. `instance` is this host's name.
///
/// # Errors
/// The API server's or the transport's.
pub async fn publish(
    client: &Client,
    instance: &str,
    resource: &Resource,
    saying: Saying<'_>,
) -> Result<(), kube::Error> {
    let api: Api<Event> = Api::namespaced(client.clone(), &resource.namespace);
    let event = build(instance, resource, saying);
    let name = event.metadata.name.clone().unwrap_or_default();
    match api.create(&post(), &event).await {
        Ok(_event) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => count(&api, &name).await,
        Err(error) => Err(error),
    }
}

/// The rights to an event are to create and to patch it, so it is read by a patch that changes nothing.
async fn count(api: &Api<Event>, name: &str) -> Result<(), kube::Error> {
    let params = PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let known = api.patch(name, &params, &Patch::Merge(json!({}))).await?;
    let count = known.series.map_or(1, |series| series.count) + 1;
    let series = EventSeries {
        count,
        last_observed_time: MicroTime(Timestamp::now()),
    };
    api.patch(name, &params, &Patch::Merge(json!({ "series": series })))
        .await
        .map(drop)
}

fn build(instance: &str, resource: &Resource, saying: Saying<'_>) -> Event {
    let Saying { kind, reason, note } = saying;
    let digest = format!(
        "{:x}",
        Sha256::digest(format!("{}\n{reason}\n{note}", resource.uid))
    );
    let digest = &digest[..DIGITS];
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{digest}", resource.name)),
            namespace: Some(resource.namespace.clone()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(Timestamp::now())),
        type_: Some(match kind {
            EventType::Normal => "Normal".to_owned(),
            EventType::Warning => "Warning".to_owned(),
        }),
        reason: Some(reason.to_owned()),
        action: Some(reason.to_owned()),
        note: Some(note.to_owned()),
        reporting_controller: Some(names::FIELD_MANAGER.to_owned()),
        reporting_instance: Some(instance.to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(resource.api_version.clone()),
            kind: Some(resource.kind.clone()),
            name: Some(resource.name.clone()),
            namespace: Some(resource.namespace.clone()),
            uid: Some(resource.uid.clone()),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}

fn post() -> PostParams {
    PostParams {
        dry_run: false,
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(note: &str) -> Option<String> {
        let object = json!({"apiVersion": "g/v", "kind": "K", "metadata": {"name": "kv", "namespace": "infra", "uid": "u"}});
        let object = serde_json::from_value(object).expect("a resource");
        let resource = crate::observe::project::resource(object);
        let saying = Saying {
            kind: EventType::Normal,
            reason: "MemberAdded",
            note,
        };
        build("host", &resource, saying).metadata.name
    }

    #[test]
    fn an_event_is_named_after_what_it_says() {
        assert_eq!(name("kv-1 joined"), name("kv-1 joined"));
        assert_ne!(name("kv-1 joined"), name("kv-2 joined"));
    }
}
