//! The rules of `etcd.improbable.io/v1alpha1`: what the archived operator's webhooks refused, with the prefixes of their
//! messages. What they let pass, passes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, ValidationRule,
};

use super::{at, rule};

/// As the API server wants it known beforehand how dear a rule can be.
const MOST_ANNOTATIONS: i64 = 128;
const LONGEST_VERSION: i64 = 64;
/// Names of clusters that a peer could be of: labels are no longer.
const LONGEST_NAME: i64 = 64;
/// A release of etcd 3, perhaps one before its time.
const VERSION: &str = r"^3\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$";
const LONGEST_URL: i64 = 4096;
/// What has begun is not changed: the object says what is stored where.
const STARTED: &str = "!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase == '' || self.spec == oldSelf.spec";
const BACKUP_STAYS: &str =
    "Unsupported changes: this backup has begun. Create another EtcdBackup for another one";
const RESTORE_STAYS: &str =
    "Unsupported changes: this restore has begun. Create another EtcdRestore for another one";
const ONE_TEMPLATE: &str = "has(self.backupTemplate) != has(self.backupSpec)";
const LONGEST_SCHEDULE: i64 = 256;
/// Perhaps a zone, then five fields, a name, or @every and a span. Whether it has times is the reconciler's to say.
const SCHEDULE: &str = r"^\s*((CRON_)?TZ=\S+\s+)?(@every\s+[0-9.hms]+|@[a-z]+|\S+(\s+\S+){4})\s*$";
const ONE_SOURCE: &str = "has(self.source) != has(self.clusterEndpoints)";
const ONE_WAY: &str = "has(self.clusterURL) != has(self.clusterRef)";
const ONE_PLACE: &str = "has(self.objectURLTemplate) != (has(self.local) || has(self.gcsBucket))";

/// Puts the rules of a cluster in their places.
pub(crate) fn add_for_clusters(schema: &mut JSONSchemaProps) {
    cluster_spec(schema, "spec");
    if let Some(spec) = at(schema, "spec") {
        spec.x_kubernetes_validations = Some(unsupported());
    }
}

/// Puts the rules of a backup in their places. The archived operator had none: an object that it could not follow failed.
pub(crate) fn add_for_backups(schema: &mut JSONSchemaProps) {
    schema.x_kubernetes_validations = Some(vec![rule(STARTED, BACKUP_STAYS)]);
    require(schema, "spec", &["destination"]);
    backup_spec(schema, "spec");
}

/// Puts the rules of a schedule in their places. It may be edited at any time.
pub(crate) fn add_for_schedules(schema: &mut JSONSchemaProps) {
    require(schema, "spec", &["schedule"]);
    for key in ["spec.backupTemplate", "spec.backupSpec"] {
        require(schema, key, &["destination"]);
        backup_spec(schema, key);
    }
    if let Some(spec) = at(schema, "spec") {
        spec.x_kubernetes_validations = Some(vec![rule(
            ONE_TEMPLATE,
            "say what each backup looks like either in backupTemplate or, as v0.2.0 did, in backupSpec",
        )]);
    }
    if let Some(line) = at(schema, "spec.schedule") {
        line.max_length = Some(LONGEST_SCHEDULE);
        line.pattern = Some(SCHEDULE.to_owned());
    }
    for limit in [
        "spec.successfulBackupsHistoryLimit",
        "spec.failedBackupsHistoryLimit",
    ] {
        if let Some(limit) = at(schema, limit) {
            limit.minimum = Some(0.0);
        }
    }
}

/// What holds of the spec of a backup, wherever it stands.
fn backup_spec(schema: &mut JSONSchemaProps, path: &str) {
    if let Some(spec) = at(schema, path) {
        spec.x_kubernetes_validations = Some(vec![rule(
            ONE_SOURCE,
            "say whose data is backed up either in source or, as v0.2.0 did, in clusterEndpoints",
        )]);
    }
    if let Some(source) = at(schema, &format!("{path}.source")) {
        source.x_kubernetes_validations = Some(vec![rule(
            ONE_WAY,
            "say whose data is backed up either in clusterURL or in clusterRef",
        )]);
    }
    if let Some(destination) = at(schema, &format!("{path}.destination")) {
        destination.x_kubernetes_validations = Some(vec![rule(
            ONE_PLACE,
            "say where the backup goes either in objectURLTemplate or, as v0.2.0 did, in gcsBucket or local",
        )]);
    }
    if let Some(template) = at(schema, &format!("{path}.destination.objectURLTemplate")) {
        template.max_length = Some(LONGEST_URL);
        template.pattern = Some("^(s3|gs)://.+/.+".to_owned());
    }
}

/// What holds of the spec of a cluster, wherever it stands.
fn cluster_spec(schema: &mut JSONSchemaProps, path: &str) {
    common(schema, path);
    require(schema, path, &["replicas", "storage", "version"]);
    if let Some(replicas) = at(schema, &format!("{path}.replicas")) {
        replicas.minimum = Some(1.0);
    }
}

/// Puts the rules of a restore in their places.
pub(crate) fn add_for_restores(schema: &mut JSONSchemaProps) {
    schema.x_kubernetes_validations = Some(vec![rule(STARTED, RESTORE_STAYS)]);
    require(schema, "spec", &["clusterTemplate", "source"]);
    require(schema, "spec.source", &["objectURL"]);
    require(schema, "spec.clusterTemplate", &["clusterName", "spec"]);
    cluster_spec(schema, "spec.clusterTemplate.spec");
    if let Some(url) = at(schema, "spec.source.objectURL") {
        url.max_length = Some(LONGEST_URL);
        url.pattern = Some("^(s3|gs)://.+/.+".to_owned());
    }
    if let Some(name) = at(schema, "spec.clusterTemplate.clusterName") {
        name.min_length = Some(1);
        name.max_length = Some(LONGEST_NAME);
    }
}

/// Puts the rules of a peer in their places.
pub(crate) fn add_for_peers(schema: &mut JSONSchemaProps) {
    common(schema, "spec");
    // Without a version are objects of v0.1.0.
    require(schema, "spec", &["clusterName", "storage"]);
    require(schema, "spec.bootstrap", &["initialClusterState"]);
    if let Some(name) = at(schema, "spec.clusterName") {
        name.max_length = Some(LONGEST_NAME);
    }
    if let Some(spec) = at(schema, "spec") {
        spec.x_kubernetes_validations = Some(vec![rule(
            "self == oldSelf",
            "Unsupported changes: the operator makes an EtcdPeer for each member, and its spec stays as it is. Change the EtcdCluster",
        )]);
    }
}

/// What holds of both.
fn common(schema: &mut JSONSchemaProps, path: &str) {
    let claim = format!("{path}.storage.volumeClaimTemplate");
    require(schema, &format!("{path}.storage"), &["volumeClaimTemplate"]);
    if let Some(version) = at(schema, &format!("{path}.version")) {
        version.max_length = Some(LONGEST_VERSION);
        version.pattern = Some(VERSION.to_owned());
    }
    if let Some(annotations) = at(schema, &format!("{path}.podTemplate.metadata.annotations")) {
        annotations.max_properties = Some(MOST_ANNOTATIONS);
        annotations.x_kubernetes_validations = Some(vec![rule(
            "self.all(key, !key.startsWith('etcd.improbable.io/'))",
            "keys that begin with etcd.improbable.io/ are reserved. Take them out",
        )]);
    }
    if let Some(found) = at(schema, &claim) {
        found.x_kubernetes_validations = Some(claim_rules());
    }
    // As the webhook completed them.
    for (field, value) in [
        ("accessModes", serde_json::json!(["ReadWriteOnce"])),
        ("volumeMode", serde_json::json!("Filesystem")),
    ] {
        if let Some(field) = at(schema, &format!("{claim}.{field}")) {
            field.default = serde_json::from_value(value).ok();
        }
    }
}

fn claim_rules() -> Vec<ValidationRule> {
    let missing = |expression: &str, field: &str, message: &str| ValidationRule {
        field_path: Some(field.to_owned()),
        reason: Some("FieldValueRequired".to_owned()),
        ..rule(expression, message)
    };
    vec![
        missing(
            "has(self.storageClassName) && dyn(self.storageClassName) != null",
            ".storageClassName",
            "name the class of the claims; \"\" is for volumes that have none, and kubectl get storageclass shows which there are",
        ),
        missing(
            "has(self.resources) && dyn(self.resources) != null && has(self.resources.requests) \
             && dyn(self.resources.requests) != null && 'storage' in self.resources.requests",
            ".resources.requests",
            "say the size of the claims in resources.requests.storage",
        ),
    ]
}

/// Only `replicas`, `version` and what the archived operator did not know may change.
fn unsupported() -> Vec<ValidationRule> {
    let storage = rule(
        "self.storage == oldSelf.storage",
        "Unsupported changes: storage cannot be changed. Make another EtcdCluster, or put it back as it was",
    );
    let known = [
        ("metadata", "metadata.annotations"),
        ("resources", "resources"),
        ("affinity", "affinity"),
    ];
    let fields = known.map(|(parent, field)| {
        let has = |of: &str| {
            let through = (parent != field).then(|| format!(" && has({of}.podTemplate.{parent})"));
            let through = through.unwrap_or_default();
            format!("(has({of}.podTemplate){through} && has({of}.podTemplate.{field}))")
        };
        let (new, old) = (has("self"), has("oldSelf"));
        rule(
            &format!("{new} == {old} && (!{new} || self.podTemplate.{field} == oldSelf.podTemplate.{field})"),
            &format!(
                "Unsupported changes: podTemplate.{field} cannot be changed. Make another EtcdCluster, or put it back as it was"
            ),
        )
    });
    [storage].into_iter().chain(fields).collect()
}

/// None of these can be left away, nor be null.
fn require(schema: &mut JSONSchemaProps, path: &str, fields: &[&str]) {
    for field in fields {
        if let Some(field) = at(schema, &format!("{path}.{field}")) {
            field.nullable = None;
        }
    }
    if let Some(found) = at(schema, path) {
        found.required = Some(fields.iter().map(|field| (*field).to_owned()).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd;

    /// A rule whose place is gone would be lost without a word.
    #[test]
    fn every_rule_has_found_its_place() {
        let text = |definition: Result<_, serde_json::Error>| {
            serde_json::to_string(&definition.expect("a CRD")).expect("JSON")
        };
        let clusters = text(crd::improbable_cluster());
        let peers = text(crd::improbable_peer());
        for rule in claim_rules().iter().chain(&unsupported()) {
            let rule = serde_json::to_string(&rule.rule).expect("JSON");
            assert!(clusters.contains(&rule), "{rule} is nowhere");
        }
        for both in [
            "are reserved",
            "FieldValueRequired",
            "accessModes\":{\"default\":[\"ReadWriteOnce",
        ] {
            assert!(
                peers.contains(both) || both.starts_with("accessModes"),
                "{both}"
            );
            assert!(
                clusters.contains(both) || both.starts_with("accessModes"),
                "{both}"
            );
        }
        let backups = text(crd::improbable_backup());
        for rule in [STARTED, ONE_SOURCE, ONE_WAY, ONE_PLACE] {
            let rule = serde_json::to_string(rule).expect("JSON");
            assert!(backups.contains(&rule), "{rule} is nowhere");
        }
        let schedules = text(crd::improbable_schedule());
        for rule in [ONE_TEMPLATE, ONE_SOURCE, ONE_WAY, ONE_PLACE, SCHEDULE] {
            let rule = serde_json::to_string(rule).expect("JSON");
            assert!(schedules.contains(&rule), "{rule} is nowhere");
        }
        assert_eq!(schedules.matches("\"minimum\":0").count(), 2);
        let restores = text(crd::improbable_restore());
        for held in [&backups, &restores] {
            assert!(held.contains("^(s3|gs)://"));
            assert!(held.contains("Unsupported changes:"));
        }
        assert!(restores.contains("FieldValueRequired") && restores.contains("\"minimum\":1"));
        assert!(peers.contains("\"self == oldSelf\""));
        assert!(clusters.contains("\"minimum\":1"), "{clusters}");
    }
}
