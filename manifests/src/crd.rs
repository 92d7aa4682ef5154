//! The CustomResourceDefinitions: names, subresources, columns.

use contract::{GROUP, KIND, MODULE_KIND, MODULE_PLURAL, MODULE_VERSION, PLURAL, VERSION};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{rules, schema};

/// The definition of `EtcdCluster`.
///
/// # Errors
/// When the schema of the contract's types is not one that Kubernetes knows.
pub(crate) fn etcd_cluster() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::etcd_cluster())?;
    rules::add(&mut schema);
    Ok(definition(
        names(KIND, PLURAL, "etcd"),
        VERSION,
        schema,
        cluster_subresources(),
        cluster_columns(),
    ))
}

/// The definition of `ReconcilerModule`.
///
/// # Errors
/// As [`etcd_cluster`].
pub(crate) fn reconciler_module() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::reconciler_module())?;
    rules::add_for_modules(&mut schema);
    Ok(definition(
        names(MODULE_KIND, MODULE_PLURAL, "rmod"),
        MODULE_VERSION,
        schema,
        api::CustomResourceSubresources {
            scale: None,
            status: Some(api::CustomResourceSubresourceStatus(serde_json::json!({}))),
        },
        module_columns(),
    ))
}

fn definition(
    names: api::CustomResourceDefinitionNames,
    version: &str,
    schema: api::JSONSchemaProps,
    subresources: api::CustomResourceSubresources,
    columns: Vec<api::CustomResourceColumnDefinition>,
) -> api::CustomResourceDefinition {
    api::CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{}.{GROUP}", names.plural)),
            ..ObjectMeta::default()
        },
        spec: api::CustomResourceDefinitionSpec {
            group: GROUP.to_owned(),
            names,
            scope: "Namespaced".to_owned(),
            versions: vec![api::CustomResourceDefinitionVersion {
                name: version.to_owned(),
                served: true,
                storage: true,
                schema: Some(api::CustomResourceValidation {
                    open_api_v3_schema: Some(schema),
                }),
                subresources: Some(subresources),
                additional_printer_columns: Some(columns),
                ..api::CustomResourceDefinitionVersion::default()
            }],
            ..api::CustomResourceDefinitionSpec::default()
        },
        status: None,
    }
}

fn names(kind: &str, plural: &str, short: &str) -> api::CustomResourceDefinitionNames {
    api::CustomResourceDefinitionNames {
        kind: kind.to_owned(),
        list_kind: Some(format!("{kind}List")),
        plural: plural.to_owned(),
        singular: Some(kind.to_lowercase()),
        short_names: Some(vec![short.to_owned()]),
        // Not `all`: `kubectl delete all --all` must not take databases with it.
        categories: Some(vec!["binnacle".to_owned()]),
    }
}

fn cluster_subresources() -> api::CustomResourceSubresources {
    api::CustomResourceSubresources {
        scale: Some(api::CustomResourceSubresourceScale {
            spec_replicas_path: ".spec.size".to_owned(),
            status_replicas_path: ".status.size".to_owned(),
            label_selector_path: Some(".status.selector".to_owned()),
        }),
        status: Some(api::CustomResourceSubresourceStatus(serde_json::json!({}))),
    }
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
