//! The structural schemas of the custom resources, made from the contract's own types.
//!
//! The spec refuses what has the wrong type. The status refuses next to nothing: a newer module may write more than
//! this schema knows, and old objects hold nulls.

use contract::{
    BackupScheduleStatus, EtcdBackupSpec, EtcdBackupStatus, EtcdClusterSpec, EtcdClusterStatus,
    EtcdRestoreSpec, EtcdRestoreStatus, ReconcilerModuleSpec, ReconcilerModuleStatus, improbable,
};
use kube::core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use serde_json::{Map, Value, json};

/// Longest description of a field that is kept whole. Kubernetes' own types have essays.
const LONGEST_DESCRIPTION: usize = 300;

/// The schema of a whole cluster, without the rules.
pub(crate) fn etcd_cluster() -> Value {
    whole::<EtcdClusterSpec, EtcdClusterStatus>("An etcd cluster: what is wanted, and how it is.")
}

/// The schema of a whole module, without the rules.
pub(crate) fn reconciler_module() -> Value {
    whole::<ReconcilerModuleSpec, ReconcilerModuleStatus>(
        "A reconciler module: where it is, what it shall decide on, and how it does.",
    )
}

/// The schema of a whole backup.
pub(crate) fn etcd_backup() -> Value {
    whole::<EtcdBackupSpec, EtcdBackupStatus>(
        "A backup of an etcd cluster, taken once or again and again: where it goes, and what became of it.",
    )
}

/// The schema of a whole restore.
pub(crate) fn etcd_restore() -> Value {
    whole::<EtcdRestoreSpec, EtcdRestoreStatus>(
        "The wish for an etcd cluster to go on from a backup: where it is, and what became of the wish.",
    )
}

/// The schema of a whole cluster of the second dialect, without the rules. Its status has all that the first one's has.
pub(crate) fn improbable_cluster() -> Value {
    let mut schema = whole::<improbable::EtcdClusterSpec, improbable::EtcdClusterStatus>(
        "An etcd cluster: what is wanted, and how it is.",
    );
    let mut domain = whole::<EtcdClusterSpec, EtcdClusterStatus>("");
    let domain = domain["properties"]["status"]["properties"].as_object_mut();
    let status = schema["properties"]["status"]["properties"].as_object_mut();
    if let (Some(domain), Some(status)) = (domain, status) {
        let names = domain.remove("members").unwrap_or_default();
        status.insert("memberNames".to_owned(), names);
        status.extend(std::mem::take(domain));
    }
    schema
}

/// The schema of a whole backup of the second dialect, without the rules. Its status has all that the first one's has.
pub(crate) fn improbable_backup() -> Value {
    let mut schema = whole::<improbable::EtcdBackupSpec, improbable::EtcdBackupStatus>(
        "A backup of an etcd cluster that is taken once: where it goes, and what became of it.",
    );
    let mut domain = whole::<EtcdBackupSpec, EtcdBackupStatus>("");
    let domain = domain["properties"]["status"]["properties"].as_object_mut();
    let status = schema["properties"]["status"]["properties"].as_object_mut();
    if let (Some(domain), Some(status)) = (domain, status) {
        status.extend(std::mem::take(domain));
    }
    schema
}

/// The schema of a whole schedule of backups, without the rules.
pub(crate) fn improbable_schedule() -> Value {
    whole::<improbable::EtcdBackupScheduleSpec, BackupScheduleStatus>(
        "Backups of an etcd cluster again and again: when, what each looks like, and how it goes.",
    )
}

/// The schema of a whole restore of the second dialect, without the rules. Its status has all that the first one's has.
pub(crate) fn improbable_restore() -> Value {
    let mut schema = whole::<improbable::EtcdRestoreSpec, improbable::EtcdRestoreStatus>(
        "The wish for a new etcd cluster that is born from a backup, and what became of the wish.",
    );
    let mut domain = whole::<EtcdRestoreSpec, EtcdRestoreStatus>("");
    let domain = domain["properties"]["status"]["properties"].as_object_mut();
    let status = schema["properties"]["status"]["properties"].as_object_mut();
    if let (Some(domain), Some(status)) = (domain, status) {
        let stage = domain.remove("phase").unwrap_or_default();
        status.insert("stage".to_owned(), stage);
        status.extend(std::mem::take(domain));
    }
    schema
}

/// The schema of a whole peer of the second dialect, without the rules.
pub(crate) fn improbable_peer() -> Value {
    whole::<improbable::EtcdPeerSpec, improbable::EtcdPeerStatus>(
        "A member of an etcd cluster, made by the operator to be looked at.",
    )
}

fn whole<Spec: JsonSchema, Status: JsonSchema>(description: &str) -> Value {
    let mut status = schema_of::<Status>();
    each_object(&mut status, &forgive);
    status["x-kubernetes-preserve-unknown-fields"] = json!(true);
    json!({
        "description": description,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": schema_of::<Spec>(),
            "status": status,
        },
    })
}

fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::openapi3()
        .with(|settings| {
            // A structural schema has neither references nor a dialect.
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    each_object(&mut schema, &plain);
    schema
}

/// Applies `change` to every schema inside `schema`, innermost first. Names of properties are not schemas.
pub(crate) fn each_object(schema: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for (key, value) in object.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties
                    .values_mut()
                    .for_each(|property| each_object(property, change));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => {
                schemas
                    .iter_mut()
                    .for_each(|schema| each_object(schema, change));
            }
            ("items" | "additionalProperties", schema) => each_object(schema, change),
            _ => {}
        }
    }
    change(object);
}

/// Leaves the types alone and takes away what does not belong into a stored schema.
fn plain(schema: &mut Map<String, Value>) {
    // A default would be written into people's specs, and their tools would find a difference for ever.
    schema.remove("default");
    schema.remove("title");
    // Bounds of Rust's integer types are no wish of ours.
    schema.remove("format");
    schema.remove("minimum");
    schema.remove("maximum");
    // The API server takes null for one of the values, which it is not; where null is not said to be one, it drops the field.
    if schema.contains_key("enum") {
        schema.remove("nullable");
    }
    if let Some(description) = schema.get_mut("description") {
        *description = json!(shortened(description.as_str().unwrap_or_default()));
    }
}

/// Makes a part of the status accept what older and newer writers put there.
fn forgive(schema: &mut Map<String, Value>) {
    schema.remove("required");
    schema.remove("enum");
    schema.insert("nullable".to_owned(), json!(true));
}

/// The description's first paragraph in one line, cut after a sentence where it is too long.
fn shortened(description: &str) -> String {
    let paragraph = description.split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() <= LONGEST_DESCRIPTION {
        return line;
    }
    match line
        .match_indices(". ")
        .map(|(at, _)| at)
        .take_while(|at| *at < LONGEST_DESCRIPTION)
        .last()
    {
        Some(end) => line[..=end].to_owned(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(schema: &'a Value, path: &str) -> &'a Value {
        path.split('.')
            .fold(schema, |schema, name| &schema["properties"][name])
    }

    #[test]
    fn every_key_of_the_old_operator_has_its_place() {
        let schema = etcd_cluster();
        for path in [
            "spec.size",
            "spec.repository",
            "spec.version",
            "spec.paused",
            "spec.TLS.static.member.peerSecret",
            "spec.TLS.static.member.serverSecret",
            "spec.TLS.static.operatorSecret",
            "spec.pod.labels",
            "spec.pod.annotations",
            "spec.pod.nodeSelector",
            "spec.pod.tolerations",
            "spec.pod.affinity",
            "spec.pod.antiAffinity",
            "spec.pod.resources",
            "spec.pod.etcdEnv",
            "spec.pod.persistentVolumeClaimSpec",
            "spec.pod.busyboxImage",
            "spec.pod.securityContext",
            "spec.pod.DNSTimeoutInSecond",
            "spec.pod.ClusterDomain",
            "status.phase",
            "status.reason",
            "status.controlPaused",
            "status.conditions",
            "status.size",
            "status.serviceName",
            "status.clientPort",
            "status.members.ready",
            "status.members.unready",
            "status.currentVersion",
            "status.targetVersion",
        ] {
            assert!(at(&schema, path).is_object(), "{path} is missing");
        }
    }

    #[test]
    fn every_key_of_the_old_backup_has_its_place() {
        let schema = etcd_backup();
        for path in [
            "spec.etcdEndpoints",
            "spec.storageType",
            "spec.clientTLSSecret",
            "spec.backupPolicy.timeoutInSecond",
            "spec.backupPolicy.backupIntervalInSecond",
            "spec.backupPolicy.maxBackups",
            "spec.s3.path",
            "spec.s3.awsSecret",
            "spec.s3.endpoint",
            "spec.s3.forcePathStyle",
            "spec.abs.path",
            "spec.abs.absSecret",
            "spec.gcs.path",
            "spec.gcs.gcpSecret",
            "spec.oss.path",
            "spec.oss.ossSecret",
            "spec.oss.endpoint",
            "status.succeeded",
            "status.Reason",
            "status.etcdVersion",
            "status.etcdRevision",
        ] {
            assert!(at(&schema, path).is_object(), "{path} is missing");
        }
        assert_eq!(
            at(&schema, "status.lastSuccessDate")["nullable"],
            true,
            "the archived operator stored null until the first success"
        );
    }

    #[test]
    fn every_key_of_the_old_restore_has_its_place() {
        let schema = etcd_restore();
        for path in [
            "spec.etcdCluster.name",
            "spec.backupStorageType",
            "spec.s3.path",
            "spec.s3.awsSecret",
            "spec.s3.endpoint",
            "spec.s3.forcePathStyle",
            "spec.abs.path",
            "spec.abs.absSecret",
            "spec.gcs.path",
            "spec.gcs.gcpSecret",
            "spec.oss.path",
            "spec.oss.ossSecret",
            "spec.oss.endpoint",
            "status.succeeded",
            "status.reason",
        ] {
            assert!(at(&schema, path).is_object(), "{path} is missing");
        }
    }

    /// Defaults in the schema end up in people's specs.
    #[test]
    fn nothing_is_filled_in() {
        assert!(!etcd_cluster().to_string().contains(r#""default":"#));
    }

    /// A module newer than the schema must be able to write its status, else the cluster stands still.
    #[test]
    fn the_status_takes_words_that_are_not_invented_yet() {
        let schema = etcd_cluster();
        let status = schema["properties"]["status"].to_string();
        assert!(!status.contains(r#""enum":"#) && !status.contains(r#""required":"#));
        assert_eq!(
            schema["properties"]["status"]["x-kubernetes-preserve-unknown-fields"],
            true
        );
    }

    /// YAML that says `cpu: 1` holds a number.
    #[test]
    fn quantities_are_numbers_or_strings() {
        let schema = etcd_cluster();
        let limits = &at(&schema, "spec.pod.resources.limits")["additionalProperties"];
        assert_eq!(limits["x-kubernetes-int-or-string"], true);
    }
}
