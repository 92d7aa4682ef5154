//! The CustomResourceDefinitions: names, subresources, columns.

mod improbable;

use contract::{GROUP, MODULE_KIND, MODULE_PLURAL, MODULE_VERSION, ResourceKind, VERSION};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{rules, schema};
pub(crate) use improbable::{
    improbable_backup, improbable_cluster, improbable_peer, improbable_restore, improbable_schedule,
};

/// The definition of `EtcdCluster`.
///
/// # Errors
/// When the schema of the contract's types is not one that Kubernetes knows.
pub(crate) fn etcd_cluster() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::etcd_cluster())?;
    rules::add(&mut schema);
    let names = of_kind(ResourceKind::EtcdCluster, "etcd");
    let scale = api::CustomResourceSubresourceScale {
        spec_replicas_path: ".spec.size".to_owned(),
        status_replicas_path: ".status.size".to_owned(),
        label_selector_path: Some(".status.selector".to_owned()),
    };
    Ok(definition(
        names,
        VERSION,
        schema,
        Some(scale),
        cluster_columns(),
    ))
}

/// The definition of `EtcdBackup`.
///
/// # Errors
/// As [`etcd_cluster`].
pub(crate) fn etcd_backup() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let schema = serde_json::from_value(schema::etcd_backup())?;
    let names = of_kind(ResourceKind::EtcdBackup, "etcdbackup");
    Ok(definition(names, VERSION, schema, None, backup_columns()))
}

/// The definition of `EtcdRestore`.
///
/// # Errors
/// As [`etcd_cluster`].
pub(crate) fn etcd_restore() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let schema = serde_json::from_value(schema::etcd_restore())?;
    let names = of_kind(ResourceKind::EtcdRestore, "etcdrestore");
    Ok(definition(names, VERSION, schema, None, restore_columns()))
}

/// The definition of `ReconcilerModule`.
///
/// # Errors
/// As [`etcd_cluster`].
pub(crate) fn reconciler_module() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::reconciler_module())?;
    rules::add_for_modules(&mut schema);
    let names = names(MODULE_KIND, MODULE_PLURAL, "rmod");
    Ok(definition(
        names,
        MODULE_VERSION,
        schema,
        None,
        module_columns(),
    ))
}

fn definition(
    names: api::CustomResourceDefinitionNames,
    version: &str,
    schema: api::JSONSchemaProps,
    scale: Option<api::CustomResourceSubresourceScale>,
    columns: Vec<api::CustomResourceColumnDefinition>,
) -> api::CustomResourceDefinition {
    definition_in(GROUP, names, version, schema, scale, columns)
}

fn definition_in(
    group: &str,
    names: api::CustomResourceDefinitionNames,
    version: &str,
    schema: api::JSONSchemaProps,
    scale: Option<api::CustomResourceSubresourceScale>,
    columns: Vec<api::CustomResourceColumnDefinition>,
) -> api::CustomResourceDefinition {
    api::CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{}.{group}", names.plural)),
            ..ObjectMeta::default()
        },
        spec: api::CustomResourceDefinitionSpec {
            group: group.to_owned(),
            names,
            scope: "Namespaced".to_owned(),
            versions: vec![api::CustomResourceDefinitionVersion {
                name: version.to_owned(),
                served: true,
                storage: true,
                schema: Some(api::CustomResourceValidation {
                    open_api_v3_schema: Some(schema),
                }),
                subresources: Some(api::CustomResourceSubresources {
                    scale,
                    status: Some(api::CustomResourceSubresourceStatus(serde_json::json!({}))),
                }),
                additional_printer_columns: Some(columns),
                ..api::CustomResourceDefinitionVersion::default()
            }],
            ..api::CustomResourceDefinitionSpec::default()
        },
        status: None,
    }
}

fn of_kind(kind: ResourceKind, short: &str) -> api::CustomResourceDefinitionNames {
    names(kind.name(), kind.plural(), short)
}

/// A short name that is the kind in lower case is none.
fn names(kind: &str, plural: &str, short: &str) -> api::CustomResourceDefinitionNames {
    let singular = kind.to_lowercase();
    api::CustomResourceDefinitionNames {
        kind: kind.to_owned(),
        list_kind: Some(format!("{kind}List")),
        plural: plural.to_owned(),
        short_names: (short != singular).then(|| vec![short.to_owned()]),
        singular: Some(singular),
        // Not `all`: `kubectl delete all --all` must not take databases with it.
        categories: Some(vec!["binnacle".to_owned()]),
    }
}

fn column(
    name: &str,
    kind: &str,
    path: &str,
    description: &str,
) -> api::CustomResourceColumnDefinition {
    api::CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: kind.to_owned(),
        json_path: path.to_owned(),
        description: Some(description.to_owned()),
        ..api::CustomResourceColumnDefinition::default()
    }
}

fn backup_columns() -> Vec<api::CustomResourceColumnDefinition> {
    vec![
        column(
            "Succeeded",
            "boolean",
            ".status.succeeded",
            "The last backup is stored and was read back",
        ),
        column(
            "Revision",
            "integer",
            ".status.etcdRevision",
            "etcd's revision in it",
        ),
        column("Bytes", "integer", ".status.sizeBytes", "Its size"),
        column(
            "Last",
            "date",
            ".status.lastSuccessDate",
            "Since the last success",
        ),
        column(
            "Restores",
            "string",
            ".status.restores",
            "Whether the newest backup that was tried restores",
        ),
        column(
            "Reason",
            "string",
            ".status.Reason",
            "Why the last backup failed",
        ),
        column(
            "Age",
            "date",
            ".metadata.creationTimestamp",
            "Since it was created",
        ),
    ]
}

fn restore_columns() -> Vec<api::CustomResourceColumnDefinition> {
    vec![
        column(
            "Cluster",
            "string",
            ".spec.etcdCluster.name",
            "The cluster that goes on from the backup",
        ),
        column(
            "Phase",
            "string",
            ".status.phase",
            "Proving, Waiting, Restoring, Succeeded or Failed",
        ),
        column(
            "Revision",
            "integer",
            ".status.proof.etcdRevision",
            "etcd's revision in the backup",
        ),
        column(
            "Seconds",
            "integer",
            ".status.durationSeconds",
            "How long it took",
        ),
        age(),
    ]
}

fn cluster_columns() -> Vec<api::CustomResourceColumnDefinition> {
    vec![
        column("Size", "integer", ".spec.size", "Members wanted"),
        column(
            "Ready",
            "integer",
            ".status.readyMembers",
            "Members that are healthy",
        ),
        column(
            "Version",
            "string",
            ".status.currentVersion",
            "etcd's version, as the members say",
        ),
        column(
            "Phase",
            "string",
            ".status.phase",
            "Creating, Running or Failed",
        ),
        age(),
    ]
}

fn module_columns() -> Vec<api::CustomResourceColumnDefinition> {
    // Shown with `--output wide` alone: a digest is as wide as all the others together.
    let digest = api::CustomResourceColumnDefinition {
        priority: Some(1),
        ..column(
            "Digest",
            "string",
            ".status.digest",
            "The module that decides for this object",
        )
    };
    vec![
        column("Role", "string", ".spec.role", "Active, Shadow or Canary"),
        column(
            "Phase",
            "string",
            ".status.phase",
            "Loading, InRole, Waiting, Refused or FellBack",
        ),
        column(
            "Decisions",
            "integer",
            ".status.decisions",
            "Snapshots it answered since it came into its role",
        ),
        column(
            "Differences",
            "integer",
            ".status.differences",
            "Of a Shadow: answers that differ from those that were followed",
        ),
        column(
            "Failures",
            "integer",
            ".status.failures",
            "Snapshots it gave no usable answer to",
        ),
        digest,
        age(),
    ]
}

fn age() -> api::CustomResourceColumnDefinition {
    column(
        "Age",
        "date",
        ".metadata.creationTimestamp",
        "Since it was created",
    )
}
