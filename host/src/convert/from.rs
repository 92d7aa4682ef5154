//! From `etcd.improbable.io/v1alpha1` into `etcd.database.coreos.com/v1beta2`.

use contract::improbable::{
    self, EtcdBackupScheduleSpec, EtcdBackupSpec, EtcdClusterSpec, EtcdRestoreSpec, NotCarried,
    why_refused,
};
use serde_json::{Value, json};

use super::object::{ImprobableKind, Object, Side, why_no_name};
use super::{Converted, Defaults};

/// What a cluster's manifest does not hold.
pub(super) const DATA: &str = "its data";

/// Converts one object.
///
/// # Errors
/// What of it cannot be said.
pub(super) fn from(
    kind: ImprobableKind,
    object: &Object,
    defaults: Defaults<'_>,
) -> Result<Converted, Vec<NotCarried>> {
    let mut converted = Converted::default();
    match kind {
        ImprobableKind::Cluster => cluster(object, &mut converted)?,
        ImprobableKind::Peer => converted.remark(
            object,
            "all of it",
            "the operator makes it for its EtcdCluster, and here members are pods",
        ),
        ImprobableKind::Backup => backup(object, defaults, &mut converted)?,
        ImprobableKind::Schedule => {
            let spec: EtcdBackupScheduleSpec = object.spec(&mut converted)?;
            let carried = improbable::schedule_from(spec, &object.subject(defaults))?;
            converted.remarks(object, carried.left);
            object.said_as(Side::Coreos, "EtcdBackup", &carried.spec, &mut converted);
        }
        ImprobableKind::Restore => restore(object, defaults, &mut converted)?,
    }
    Ok(converted)
}

fn cluster(object: &Object, converted: &mut Converted) -> Result<(), Vec<NotCarried>> {
    let spec: EtcdClusterSpec = object.spec(converted)?;
    let refused: Vec<NotCarried> = why_no_name(&object.name, "metadata.name")
        .into_iter()
        .chain(broken(&spec, ""))
        .collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    let carried = improbable::cluster_from(spec);
    converted.remarks(object, carried.left);
    converted.remark(
        object,
        DATA,
        "it stays on the claims that the cluster has there; one that is created from this is born empty. Carry it over by a backup and a restore",
    );
    object.said_as(Side::Coreos, "EtcdCluster", &carried.spec, converted);
    Ok(())
}

/// The rules that a cluster's spec breaks; `inside` is where in the object it stands.
fn broken(spec: &EtcdClusterSpec, inside: &str) -> Vec<NotCarried> {
    let named = |rule: improbable::Rule| NotCarried {
        field: format!("{inside}{}", rule.field()),
        why: rule.to_string(),
    };
    why_refused(spec).into_iter().map(named).collect()
}

fn backup(
    object: &Object,
    defaults: Defaults<'_>,
    converted: &mut Converted,
) -> Result<(), Vec<NotCarried>> {
    if let Some(phase) = object.text("/status/phase") {
        converted.remark(
            object,
            "all of it",
            &format!("it is {phase} there, and would be taken once more here"),
        );
        return Ok(());
    }
    let spec: EtcdBackupSpec = object.spec(converted)?;
    let carried = improbable::backup_from(spec, &object.subject(defaults))?;
    converted.remarks(object, carried.left);
    object.said_as(Side::Coreos, "EtcdBackup", &carried.spec, converted);
    Ok(())
}

/// The restore, and the cluster that waits for it: one that is there first is not born empty.
fn restore(
    object: &Object,
    defaults: Defaults<'_>,
    converted: &mut Converted,
) -> Result<(), Vec<NotCarried>> {
    if let Some(phase) = object.text("/status/phase") {
        converted.remark(
            object,
            "all of it",
            &format!("it is {phase} there, and would be done once more here"),
        );
        return Ok(());
    }
    let spec: EtcdRestoreSpec = object.spec(converted)?;
    let template = &spec.cluster_template;
    let mut refused = Vec::new();
    let carried = match improbable::restore_from(&spec, &object.subject(defaults)) {
        Ok(carried) => Some(carried),
        Err(why) => {
            refused.extend(why);
            None
        }
    };
    if !template.cluster_name.is_empty() {
        refused.extend(why_no_name(
            &template.cluster_name,
            "spec.clusterTemplate.clusterName",
        ));
    }
    refused.extend(broken(&template.spec, "spec.clusterTemplate."));
    let Some(carried) = carried.filter(|_| refused.is_empty()) else {
        return Err(refused);
    };
    converted.remarks(object, carried.left);
    object.said_as(Side::Coreos, "EtcdRestore", &carried.spec, converted);
    let cluster = improbable::cluster_from(template.spec.clone());
    let mut metadata = json!({"name": template.cluster_name});
    if let Some(namespace) = object.text("/metadata/namespace") {
        metadata["namespace"] = Value::from(namespace);
    }
    converted.objects.push(json!({
        "apiVersion": Side::Coreos.api_version(),
        "kind": "EtcdCluster",
        "metadata": metadata,
        "spec": cluster.spec,
    }));
    Ok(())
}
