//! Effects on the Kubernetes API. Each carries its precondition into the call, so that the API server checks it once
//! more in the same transaction.
//!
//! Adds nothing to an object but the UID that must match.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::{
    Child, EtcdClusterStatus, EventType, ObjectKind, ObjectPrecondition, Preconditions,
    SUCCESSOR_REFUSED, names,
};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{DynamicObject, NamespaceResourceScope, ObjectMeta, TypeMeta};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Error, Executor, Pass};
use crate::error::Chain;
use crate::events::{self, Saying};
use crate::observe::{self, WrittenObject};
use crate::refused;

/// Answers to a dry run that say nothing of the real one: a quota in which the deletion makes room, and a webhook that is
/// not asked in dry runs (<https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#side-effects>).
const SAYS_NOTHING: [&str; 2] = ["exceeded quota", "does not support dry run"];
/// How long one write may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Replaces the status at exactly the version that was decided on; answers with the resulting version. A decision that
/// got this far ends the host's own condition.
pub(super) async fn update_status(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    status: &EtcdClusterStatus,
) -> Result<String, Error> {
    let mut status = status.clone();
    status.decided_by = Some(pass.module.to_owned());
    status
        .conditions
        .retain(|condition| !refused::is_hosts(condition));
    write_status(executor, pass, pre, &status).await
}

/// Replaces the status of any kind at exactly the version that was decided on; answers with the resulting version.
pub(crate) async fn write_status(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    status: &impl Serialize,
) -> Result<String, Error> {
    let status = serde_json::to_value(status).map_err(|error| Error::Rejected {
        why: error.to_string(),
    })?;
    replace_status(executor, pass, pre.resource_version.clone(), status).await
}

/// Gives exactly this resource these finalizers; answers with the resulting version.
pub(crate) async fn set_finalizers(
    executor: &Executor,
    pass: &Pass<'_>,
    finalizers: impl Iterator<Item = &String>,
) -> Result<String, Error> {
    let kept: Vec<&String> = finalizers.collect();
    let patch = Patch::Merge(json!({ "metadata": {
        "uid": pass.resource.uid,
        "resourceVersion": pass.resource.resource_version,
        "finalizers": kept,
    }}));
    let params = PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api = observe::neighbours(&executor.client, pass.key);
    let written = within(api.patch(&pass.key.name, &params, &patch)).await?;
    Ok(written.resource_version().unwrap_or_default())
}

/// Replaces the status by any value at exactly this version.
pub(super) async fn replace_status(
    executor: &Executor,
    pass: &Pass<'_>,
    resource_version: Option<String>,
    status: serde_json::Value,
) -> Result<String, Error> {
    let object = DynamicObject {
        types: Some(TypeMeta {
            api_version: pass.resource.api_version.clone(),
            kind: pass.resource.kind.clone(),
        }),
        metadata: ObjectMeta {
            name: Some(pass.key.name.clone()),
            namespace: Some(pass.key.namespace.clone()),
            uid: Some(pass.resource.uid.clone()),
            resource_version,
            ..ObjectMeta::default()
        },
        data: json!({ "status": pass.resource.dialect().status(pass.key.kind, status) }),
    };
    let api = observe::neighbours(&executor.client, pass.key);
    let written = within(api.replace_status(&pass.key.name, &post(), &object)).await?;
    Ok(written.resource_version().unwrap_or_default())
}

/// Records an event on the resource; `kubectl describe` shows it.
pub(super) async fn publish(
    executor: &Executor,
    pass: &Pass<'_>,
    kind: EventType,
    reason: &str,
    note: &str,
) -> Result<(), Error> {
    let reason = pass.resource.dialect().event_reason(reason);
    let saying = Saying { kind, reason, note };
    within(events::publish(
        &executor.client,
        &executor.instance,
        pass.resource,
        saying,
    ))
    .await
}

/// Creates or applies a child.
pub(super) async fn apply(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    object: &Child,
) -> Result<WrittenObject, Error> {
    let kind = object.kind();
    match object {
        Child::Pod(object) => put(executor, pass, pre, kind, object).await,
        Child::PersistentVolumeClaim(object) => put(executor, pass, pre, kind, object).await,
        Child::Service(object) => put(executor, pass, pre, kind, object).await,
        Child::PodDisruptionBudget(object) => put(executor, pass, pre, kind, object).await,
    }
}

/// With the precondition `Present` it is a forced server-side apply onto that very object, in that very version if one is
/// given. With `Absent` a pod or a claim is created, which can never overwrite; a Service or a budget is applied without
/// force, so that later applies own its fields, and an object that somebody made in the meantime is a conflict.
async fn put<K>(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    kind: ObjectKind,
    object: &K,
) -> Result<WrittenObject, Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Serialize
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(executor.client.clone(), &pass.key.namespace);
    let name = object.name_any();
    let is_created = match kind {
        ObjectKind::Pod | ObjectKind::PersistentVolumeClaim => true,
        ObjectKind::Service
        | ObjectKind::PodDisruptionBudget
        | ObjectKind::Secret
        | ObjectKind::ReplicaSet => false,
    };
    let written = match &pre.object {
        Some(ObjectPrecondition::Present { uid }) => {
            let mut object = object.clone();
            object.meta_mut().uid = Some(uid.clone());
            object
                .meta_mut()
                .resource_version
                .clone_from(&pre.object_version);
            let applied = within(api.patch(
                &name,
                &PatchParams::apply(names::FIELD_MANAGER).force(),
                &Patch::Apply(&object),
            ))
            .await?;
            if object.owner_references().is_empty() && !applied.owner_references().is_empty() {
                // What it was created with is not taken away by an apply that leaves it out.
                let disowned = json!({"metadata": {"uid": uid, "ownerReferences": []}});
                within(api.patch(&name, &PatchParams::default(), &Patch::Merge(&disowned))).await?
            } else {
                applied
            }
        }
        Some(ObjectPrecondition::Absent) | None if is_created => {
            within(api.create(&post(), object)).await?
        }
        Some(ObjectPrecondition::Absent) | None => {
            within(api.patch(
                &name,
                &PatchParams::apply(names::FIELD_MANAGER),
                &Patch::Apply(object),
            ))
            .await?
        }
    };
    Ok(child(kind, &written))
}

/// Asks the API server by a dry run whether it would create this pod, whose name is still taken. Nothing happens then, so
/// every other answer, and none, is a refusal.
pub(super) async fn would_create(
    executor: &Executor,
    pass: &Pass<'_>,
    pod: &core::Pod,
) -> Result<(), Error> {
    let api: Api<core::Pod> = Api::namespaced(executor.client.clone(), &pass.key.namespace);
    let mut pod = pod.clone();
    pod.metadata.generate_name = pod.metadata.name.take().map(|name| [&name, "-"].concat());
    let params = PostParams {
        dry_run: true,
        ..post()
    };
    let why = match within(api.create(&params, &pod)).await {
        Ok(_) => return Ok(()),
        Err(Error::Conflict { why } | Error::Rejected { why }) => why,
        // The outer words would say that something may be in place.
        Err(Error::Lost { why }) => why,
    };
    if SAYS_NOTHING.iter().any(|words| why.contains(words)) {
        return Ok(());
    }
    Err(Error::Rejected {
        why: format!("{SUCCESSOR_REFUSED} ({why})"),
    })
}

/// Gives the container `etcd` of exactly this pod another image; the kubelet restarts it.
pub(super) async fn set_image(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    name: &str,
    image: &str,
    annotations: &BTreeMap<String, String>,
) -> Result<WrittenObject, Error> {
    let api: Api<core::Pod> = Api::namespaced(executor.client.clone(), &pass.key.namespace);
    let mut metadata = json!({ "annotations": annotations });
    if let Some(uid) = uid(pre) {
        metadata["uid"] = json!(uid);
    }
    if let Some(version) = &pre.object_version {
        metadata["resourceVersion"] = json!(version);
    }
    let params = PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    // The strategic merge finds the container by its name.
    let containers = json!([{ "name": names::ETCD_CONTAINER, "image": image }]);
    let patch = Patch::Strategic(json!({
        "metadata": metadata, "spec": { "containers": containers },
    }));
    let written = within(api.patch(name, &params, &patch)).await?;
    Ok(child(ObjectKind::Pod, &written))
}

/// Deletes exactly this child. One that is gone already is as good.
pub(crate) async fn delete(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    kind: ObjectKind,
    name: &str,
    grace_seconds: Option<i64>,
) -> Result<WrittenObject, Error> {
    let uid = uid(pre);
    let params = DeleteParams {
        grace_period_seconds: grace_seconds.and_then(|seconds| u32::try_from(seconds).ok()),
        preconditions: Some(kube::api::Preconditions {
            uid: uid.clone(),
            resource_version: None,
        }),
        ..DeleteParams::background()
    };
    let outcome = match kind {
        ObjectKind::Pod => delete_one::<core::Pod>(executor, pass, name, &params).await,
        ObjectKind::PersistentVolumeClaim => {
            delete_one::<core::PersistentVolumeClaim>(executor, pass, name, &params).await
        }
        ObjectKind::Service => delete_one::<core::Service>(executor, pass, name, &params).await,
        ObjectKind::PodDisruptionBudget => {
            delete_one::<PodDisruptionBudget>(executor, pass, name, &params).await
        }
        ObjectKind::Secret => delete_one::<core::Secret>(executor, pass, name, &params).await,
        ObjectKind::ReplicaSet => delete_one::<ReplicaSet>(executor, pass, name, &params).await,
    };
    outcome?;
    Ok(WrittenObject::Deleted {
        kind,
        name: name.to_owned(),
        uid: uid.unwrap_or_default(),
    })
}

async fn delete_one<K>(
    executor: &Executor,
    pass: &Pass<'_>,
    name: &str,
    params: &DeleteParams,
) -> Result<(), Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(executor.client.clone(), &pass.key.namespace);
    within(async {
        match api.delete(name, params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    })
    .await
}

pub(super) fn uid(pre: &Preconditions) -> Option<String> {
    match &pre.object {
        Some(ObjectPrecondition::Present { uid }) => Some(uid.clone()),
        Some(ObjectPrecondition::Absent) | None => None,
    }
}

fn child<K: ResourceExt>(kind: ObjectKind, object: &K) -> WrittenObject {
    WrittenObject::Child {
        kind,
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        version: object.resource_version().unwrap_or_default(),
    }
}

fn post() -> PostParams {
    PostParams {
        dry_run: false,
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
    }
}

pub(crate) async fn within<T>(
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(meaning(&error)),
        Err(_elapsed) => Err(Error::Lost {
            why: format!("the API server did not answer within {TIMEOUT:?}"),
        }),
    }
}

/// What a failed call means for the effect.
fn meaning(error: &kube::Error) -> Error {
    let kube::Error::Api(status) = error else {
        let why = Chain(error).to_string();
        let is_unsent = matches!(error, kube::Error::BuildRequest(_) | kube::Error::Auth(_));
        return if is_unsent {
            Error::Rejected { why }
        } else {
            Error::Lost { why }
        };
    };
    let why = status.message.clone();
    match status.code {
        409 => Error::Conflict { why },
        // The API server refuses with these before it acts.
        400..500 => Error::Rejected { why },
        _ => Error::Lost { why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(kube::core::Status {
            code,
            message: "words".to_owned(),
            ..Default::default()
        }))
    }

    #[test]
    fn a_conflict_is_a_precondition_that_did_not_hold() {
        assert!(matches!(meaning(&status(409)), Error::Conflict { .. }));
    }

    #[test]
    fn a_refusal_of_the_api_server_leaves_nothing_behind_and_an_internal_error_may() {
        assert!(matches!(meaning(&status(403)), Error::Rejected { .. }));
        assert!(matches!(meaning(&status(422)), Error::Rejected { .. }));
        assert!(matches!(meaning(&status(500)), Error::Lost { .. }));
        assert!(matches!(meaning(&status(504)), Error::Lost { .. }));
    }
}
