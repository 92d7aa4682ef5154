//! Effects on a schedule: its status, its finalizers, and its EtcdBackups, which belong to it.

use contract::{Preconditions, ResourceKind, ScheduleEffect, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, PostParams};
use kube::core::{DynamicObject, ObjectMeta, TypeMeta};
use serde_json::{Value, json};

use super::kubernetes::{self, within};
use super::{Error, Executor, Pass};
use crate::key::ClusterKey;
use crate::observe::{self, WrittenObject};
use crate::refused;

/// Carries an effect out; answers with what was written.
pub(super) async fn perform(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    effect: &ScheduleEffect,
) -> Result<WrittenObject, Error> {
    match effect {
        ScheduleEffect::UpdateStatus { status } => {
            let mut status = status.clone();
            status.decided_by = Some(pass.module.to_owned());
            status
                .conditions
                .retain(|condition| !refused::is_hosts(condition));
            let version = kubernetes::write_status(executor, pass, pre, &*status).await?;
            Ok(WrittenObject::Resource { version })
        }
        ScheduleEffect::CreateBackup { name, spec } => create(executor, pass, name, spec).await,
        ScheduleEffect::DeleteBackup { name } => delete(executor, pass, pre, name).await,
        ScheduleEffect::Release { finalizer } => {
            let of_others = pass.resource.finalizers.iter();
            let kept = of_others.filter(|name| *name != finalizer);
            let version = kubernetes::set_finalizers(executor, pass, kept).await?;
            Ok(WrittenObject::Resource { version })
        }
    }
}

async fn create(
    executor: &Executor,
    pass: &Pass<'_>,
    name: &str,
    spec: &Value,
) -> Result<WrittenObject, Error> {
    let kind = ResourceKind::EtcdBackup;
    let key = ClusterKey::beside(pass.key, kind, name);
    let schedule = pass.resource;
    let owner = OwnerReference {
        api_version: schedule.api_version.clone(),
        kind: schedule.kind.clone(),
        name: schedule.name.clone(),
        uid: schedule.uid.clone(),
        controller: Some(true),
        // It would take a right on finalizers where an admission plugin of Kubernetes looks for it.
        block_owner_deletion: None,
    };
    let object = DynamicObject {
        types: Some(TypeMeta {
            api_version: key.dialect.api_version(),
            kind: kind.name().to_owned(),
        }),
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(key.namespace.clone()),
            labels: Some(key.dialect.scheduled_labels(&schedule.name)),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        data: json!({ "spec": spec }),
    };
    let params = PostParams {
        dry_run: false,
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
    };
    let api = observe::neighbours(&executor.client, &key);
    let made = within(api.create(&params, &object)).await?;
    Ok(WrittenObject::Scheduled {
        name: name.to_owned(),
        uid: made.uid().unwrap_or_default(),
        version: made.resource_version().unwrap_or_default(),
    })
}

/// Deletes exactly this EtcdBackup. One that is gone already is as good.
async fn delete(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    name: &str,
) -> Result<WrittenObject, Error> {
    let key = ClusterKey::beside(pass.key, ResourceKind::EtcdBackup, name);
    let uid = kubernetes::uid(pre);
    let params = DeleteParams {
        preconditions: Some(kube::api::Preconditions {
            uid: uid.clone(),
            resource_version: None,
        }),
        ..DeleteParams::background()
    };
    let api = observe::neighbours(&executor.client, &key);
    within(async {
        match api.delete(name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    })
    .await?;
    Ok(WrittenObject::Unscheduled {
        name: name.to_owned(),
        uid: uid.unwrap_or_default(),
    })
}
