//! Annotations of a pod or a claim, and labels of a claim, set on exactly the object that the action is about.

use std::collections::BTreeMap;
use std::fmt::Debug;

use contract::{ObjectKind, Preconditions, names};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::kubernetes::{uid, within};
use super::{Error, Executor, Pass};
use crate::observe::WrittenObject;

/// Those of a pod.
pub(super) async fn pod(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    name: &str,
    annotations: &BTreeMap<String, String>,
) -> Result<WrittenObject, Error> {
    let metadata = json!({ "annotations": annotations });
    patch::<Pod>(executor, pass, pre, (ObjectKind::Pod, name), metadata).await
}

/// Those, of a volume claim, that make it this cluster's; of one of the archived operator's also the label by which children
/// are known, and where its data is.
pub(super) async fn take_up(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    name: &str,
    from: &str,
) -> Result<WrittenObject, Error> {
    let mut metadata = json!({"annotations": {names::OWNER_ANNOTATION: pass.resource.uid}});
    if from.is_empty() {
        metadata["annotations"][names::DATA_ANNOTATION] = json!(names::AT_ROOT);
        metadata["labels"] = json!(pass.resource.dialect().labels(&pass.resource.name));
    } else {
        metadata["annotations"][names::PREVIOUS_OWNER_ANNOTATION] = json!(from);
    }
    let claim = (ObjectKind::PersistentVolumeClaim, name);
    patch::<PersistentVolumeClaim>(executor, pass, pre, claim, metadata).await
}

async fn patch<K>(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    (kind, name): (ObjectKind, &str),
    mut metadata: Value,
) -> Result<WrittenObject, Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + Debug,
{
    let api: Api<K> = Api::namespaced(executor.client.clone(), &pass.key.namespace);
    if let Some(uid) = uid(pre) {
        metadata["uid"] = json!(uid);
    }
    let params = PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let written = within(api.patch_metadata(name, &params, &patch)).await?;
    Ok(WrittenObject::Child {
        kind,
        name: name.to_owned(),
        uid: written.metadata.uid.unwrap_or_default(),
        version: written.metadata.resource_version.unwrap_or_default(),
    })
}
