//! A living `EtcdRestore` of this dialect, read as one of the domain that makes its cluster, and its status as this dialect
//! has it.
//!
//! The stored status holds all that the domain's does; the domain's own `phase`, which has more words, is `stage` there.

use serde_json::{Value, json};

use super::living::{self, FAILED_BEFORE};
use super::{EtcdRestoreSpec, restore_from};
use crate::Resource;

const PHASE: &str = "phase";
const STAGE: &str = "stage";
/// The domain writes it into every status.
const SUCCEEDED: &str = "succeeded";

/// A stored restore as one of the domain. A spec that cannot be followed becomes text that says why.
#[must_use]
pub fn restore_of_domain(stored: Resource) -> Resource {
    let template = stored.spec.pointer("/clusterTemplate/spec").cloned();
    let spec = living::spec_of(&stored, |spec: EtcdRestoreSpec, subject| {
        Ok(crate::EtcdRestoreSpec {
            cluster_template: Some(template.unwrap_or_else(|| json!({}))),
            ..restore_from(&spec, subject)?.spec
        })
    });
    Resource {
        spec,
        status: status_of_domain(stored.status),
        ..stored
    }
}

/// What is over stays over, whoever ended it; what only the archived operator began is begun anew.
fn status_of_domain(stored: Value) -> Value {
    let Value::Object(mut status) = stored else {
        return stored;
    };
    if status.contains_key(SUCCEEDED) {
        let stage = status.remove(STAGE).unwrap_or_else(|| json!(""));
        status.insert(PHASE.to_owned(), stage);
        return Value::Object(status);
    }
    match status.get(PHASE).and_then(Value::as_str) {
        Some("Completed") => json!({SUCCEEDED: true, PHASE: "Succeeded"}),
        Some("Failed") => json!({SUCCEEDED: false, PHASE: "Failed", "reason": FAILED_BEFORE}),
        Some(_) | None => Value::Null,
    }
}

/// A status of the domain as it is stored.
#[must_use]
pub fn stored_restore_status(domain: Value) -> Value {
    let Value::Object(mut status) = domain else {
        return domain;
    };
    let phase = match status.get(PHASE).and_then(Value::as_str) {
        Some("Succeeded") => "Completed",
        Some("Failed") => "Failed",
        Some(_) | None => "Pending",
    };
    if let Some(stage) = status.insert(PHASE.to_owned(), json!(phase)) {
        status.insert(STAGE.to_owned(), stage);
    }
    Value::Object(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_restore_names_its_cluster_and_keeps_its_template() {
        let template = json!({"replicas": 3, "version": "3.6.16"});
        let read = restore_of_domain(Resource {
            name: "r".to_owned(),
            spec: json!({
                "source": {"objectURL": "s3://backups/a.db?endpoint=minio:9000&disableSSL=true", "secretName": "aws"},
                "clusterTemplate": {"clusterName": "kv", "spec": template},
            }),
            ..Resource::default()
        });
        assert_eq!(read.spec["etcdCluster"]["name"], "kv");
        assert_eq!(read.spec["s3"]["path"], "backups/a.db");
        assert_eq!(read.spec["s3"]["awsSecret"], "aws");
        assert_eq!(read.spec["clusterTemplate"], template);
        let wrong = restore_of_domain(Resource {
            spec: json!({"source": {"objectURL": "ftp://a/b"}, "clusterTemplate": {"clusterName": "kv"}}),
            ..Resource::default()
        });
        let why = wrong.spec.as_str().expect("words");
        assert!(why.contains("ftp:// is no store"), "{why}");
    }

    #[test]
    fn a_restores_status_has_the_phases_of_the_archived_operator_and_comes_back() {
        for (stage, phase) in [
            ("", "Pending"),
            ("Proving", "Pending"),
            ("Waiting", "Pending"),
            ("Restoring", "Pending"),
            ("Succeeded", "Completed"),
            ("Failed", "Failed"),
        ] {
            let domain = json!({"succeeded": stage == "Succeeded", "phase": stage});
            let stored = stored_restore_status(domain.clone());
            assert_eq!(stored["phase"], phase);
            assert_eq!(status_of_domain(stored), domain);
        }
    }

    /// What was done is never done once more.
    #[test]
    fn a_restore_that_the_archived_operator_ended_stays_over() {
        let of = |phase: &str| status_of_domain(json!({"phase": phase}));
        assert_eq!(of("Completed")["succeeded"], true);
        assert_eq!(of("Failed")["reason"], FAILED_BEFORE);
        assert_eq!(of("Pending"), Value::Null);
    }
}
