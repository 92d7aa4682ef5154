//! The definitions of `etcd.improbable.io/v1alpha1`.
//!
//! Their short names are others than those of the first dialect: `kubectl get etcd` means one thing.

use contract::improbable::{GROUP, PEER_KIND, PEER_PLURAL, VERSION};
use contract::{KIND, PLURAL, ResourceKind};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as api;

use super::{age, column, definition_in, names};
use crate::{rules, schema};

/// The definition of `EtcdCluster`.
///
/// # Errors
/// When the schema of the contract's types is not one that Kubernetes knows.
pub(crate) fn improbable_cluster() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::improbable_cluster())?;
    rules::add_for_improbable_clusters(&mut schema);
    let scale = api::CustomResourceSubresourceScale {
        spec_replicas_path: ".spec.replicas".to_owned(),
        status_replicas_path: ".status.replicas".to_owned(),
        label_selector_path: Some(".status.selector".to_owned()),
    };
    Ok(definition_in(
        GROUP,
        names(KIND, PLURAL, "ietcd"),
        VERSION,
        schema,
        Some(scale),
        cluster_columns(),
    ))
}

/// The definition of `EtcdBackup`.
///
/// # Errors
/// As [`improbable_cluster`].
pub(crate) fn improbable_backup() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::improbable_backup())?;
    rules::add_for_improbable_backups(&mut schema);
    let kind = ResourceKind::EtcdBackup;
    Ok(definition_in(
        GROUP,
        names(kind.name(), kind.plural(), "ietcdbackup"),
        VERSION,
        schema,
        None,
        backup_columns(),
    ))
}

/// The definition of `EtcdBackupSchedule`.
///
/// # Errors
/// As [`improbable_cluster`].
pub(crate) fn improbable_schedule() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::improbable_schedule())?;
    rules::add_for_improbable_schedules(&mut schema);
    let kind = ResourceKind::EtcdBackupSchedule;
    Ok(definition_in(
        GROUP,
        names(kind.name(), kind.plural(), "ietcdbackupschedule"),
        VERSION,
        schema,
        None,
        schedule_columns(),
    ))
}

/// The definition of `EtcdRestore`.
///
/// # Errors
/// As [`improbable_cluster`].
pub(crate) fn improbable_restore() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::improbable_restore())?;
    rules::add_for_improbable_restores(&mut schema);
    let kind = ResourceKind::EtcdRestore;
    Ok(definition_in(
        GROUP,
        names(kind.name(), kind.plural(), "ietcdrestore"),
        VERSION,
        schema,
        None,
        restore_columns(),
    ))
}

/// The definition of `EtcdPeer`.
///
/// # Errors
/// As [`improbable_cluster`].
pub(crate) fn improbable_peer() -> Result<api::CustomResourceDefinition, serde_json::Error> {
    let mut schema: api::JSONSchemaProps = serde_json::from_value(schema::improbable_peer())?;
    rules::add_for_improbable_peers(&mut schema);
    Ok(definition_in(
        GROUP,
        names(PEER_KIND, PEER_PLURAL, "ietcdpeer"),
        VERSION,
        schema,
        None,
        peer_columns(),
    ))
}

fn cluster_columns() -> Vec<api::CustomResourceColumnDefinition> {
    vec![
        column("Replicas", "integer", ".spec.replicas", "Members wanted"),
        column(
            "Ready",
            "integer",
            ".status.readyMembers",
            "Members that are healthy",
        ),
        column(
            "Version",
            "string",
            ".status.clusterVersion",
            "etcd's cluster version, which has no patch",
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

fn backup_columns() -> Vec<api::CustomResourceColumnDefinition> {
    vec![
        column(
            "Phase",
            "string",
            ".status.phase",
            "BackingUp, Completed or Failed",
        ),
        column(
            "Revision",
            "integer",
            ".status.etcdRevision",
            "etcd's revision in it",
        ),
        column("Bytes", "integer", ".status.sizeBytes", "Its size"),
        column("Path", "string", ".status.backupPath", "Where it is"),
        column(
            "Completed",
            "date",
            ".status.completionTime",
            "Since it ended",
        ),
        column("Reason", "string", ".status.Reason", "Why it failed"),
        age(),
    ]
}

fn schedule_columns() -> Vec<api::CustomResourceColumnDefinition> {
    vec![
        column(
            "Schedule",
            "string",
            ".spec.schedule",
            "When EtcdBackups are made",
        ),
        column(
            "Last",
            "date",
            ".status.lastScheduleTime",
            "Since the time of the last one",
        ),
        column(
            "Backup",
            "string",
            ".status.lastBackup",
            "The last one that was made",
        ),
        column(
            "Next",
            "string",
            ".status.nextScheduleTime",
            "When the next one is due",
        ),
        column(
            "Missed",
            "integer",
            ".status.missed",
            "How many were due and never made",
        ),
        age(),
    ]
}

fn restore_columns() -> Vec<api::CustomResourceColumnDefinition> {
    vec![
        column(
            "Cluster",
            "string",
            ".spec.clusterTemplate.clusterName",
            "The cluster that is made",
        ),
        column(
            "Phase",
            "string",
            ".status.phase",
            "Pending, Completed or Failed",
        ),
        column(
            "Stage",
            "string",
            ".status.stage",
            "Proving, Waiting, Restoring, Succeeded or Failed",
        ),
        column(
            "Revision",
            "integer",
            ".status.proof.etcdRevision",
            "etcd's revision in the backup",
        ),
        column("Reason", "string", ".status.reason", "Why it failed"),
        age(),
    ]
}

fn peer_columns() -> Vec<api::CustomResourceColumnDefinition> {
    vec![
        column("Cluster", "string", ".spec.clusterName", "Its cluster"),
        column(
            "Version",
            "string",
            ".status.serverVersion",
            "The version that it answers; empty while it does not",
        ),
        age(),
    ]
}
