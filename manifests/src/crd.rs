//! The CustomResourceDefinition of `EtcdCluster`: names, subresources, columns.

use contract::{GROUP, KIND, PLURAL, VERSION};
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
    Ok(api::CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{PLURAL}.{GROUP}")),
            ..ObjectMeta::default()
        },
        spec: api::CustomResourceDefinitionSpec {
            group: GROUP.to_owned(),
            names: names(),
            scope: "Namespaced".to_owned(),
            versions: vec![api::CustomResourceDefinitionVersion {
                name: VERSION.to_owned(),
                served: true,
                storage: true,
                schema: Some(api::CustomResourceValidation {
                    open_api_v3_schema: Some(schema),
                }),
                subresources: Some(subresources()),
                additional_printer_columns: Some(columns()),
                ..api::CustomResourceDefinitionVersion::default()
            }],
            ..api::CustomResourceDefinitionSpec::default()
        },
        status: None,
    })
}

fn names() -> api::CustomResourceDefinitionNames {
    api::CustomResourceDefinitionNames {
        kind: KIND.to_owned(),
        list_kind: Some(format!("{KIND}List")),
        plural: PLURAL.to_owned(),
        singular: Some(KIND.to_lowercase()),
        short_names: Some(vec!["etcd".to_owned()]),
        // Not `all`: `kubectl delete all --all` must not take databases with it.
        categories: Some(vec!["binnacle".to_owned()]),
    }
}

fn subresources() -> api::CustomResourceSubresources {
    api::CustomResourceSubresources {
        scale: Some(api::CustomResourceSubresourceScale {
            spec_replicas_path: ".spec.size".to_owned(),
            status_replicas_path: ".status.size".to_owned(),
            label_selector_path: Some(".status.selector".to_owned()),
        }),
        status: Some(api::CustomResourceSubresourceStatus(serde_json::json!({}))),
    }
}

fn columns() -> Vec<api::CustomResourceColumnDefinition> {
    let column = |name: &str, kind: &str, path: &str, description: &str| {
        api::CustomResourceColumnDefinition {
            name: name.to_owned(),
            type_: kind.to_owned(),
            json_path: path.to_owned(),
            description: Some(description.to_owned()),
            ..api::CustomResourceColumnDefinition::default()
        }
    };
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
        column(
            "Age",
            "date",
            ".metadata.creationTimestamp",
            "Since it was created",
        ),
    ]
}
