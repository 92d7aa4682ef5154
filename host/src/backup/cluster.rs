//! The cluster that a restore makes, where its dialect has it so. What becomes of it is the cluster's own decision.

use std::collections::BTreeMap;

use contract::{ResourceKind, names};
use kube::api::PostParams;
use kube::core::{DynamicObject, ObjectMeta, TypeMeta};
use serde_json::json;

use crate::execute::kubernetes::within;
use crate::execute::{Error, Executor, Pass};
use crate::key::ClusterKey;
use crate::observe;

/// Makes the cluster of a restore, in the dialect of the restore. It belongs to nobody.
pub(super) async fn make(
    executor: &Executor,
    pass: &Pass<'_>,
    name: &str,
    spec: &serde_json::Value,
) -> Result<(), Error> {
    let kind = ResourceKind::EtcdCluster;
    let key = ClusterKey::beside(pass.key, kind, name);
    let by = (
        names::RESTORED_BY_ANNOTATION.to_owned(),
        pass.resource.uid.clone(),
    );
    let object = DynamicObject {
        types: Some(TypeMeta {
            api_version: key.dialect.api_version(),
            kind: kind.name().to_owned(),
        }),
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(key.namespace.clone()),
            labels: Some(key.dialect.restored_labels(&pass.resource.name)),
            annotations: Some(BTreeMap::from([by])),
            ..ObjectMeta::default()
        },
        data: json!({ "spec": spec }),
    };
    let api = observe::neighbours(&executor.client, &key);
    let params = PostParams {
        dry_run: false,
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
    };
    within(api.create(&params, &object)).await.map(drop)
}
