//! A living `EtcdBackup` of this dialect, read as one of the domain, and its status as this dialect has it.
//!
//! As with clusters the stored status holds all that the domain's does. Four keys beside it are the archived operator's:
//! `phase`, `startTime`, `completionTime`, `backupPath`.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::living::{self, FAILED_BEFORE};
use super::{EtcdBackupSpec, backup_from};
use crate::Resource;

const PHASE: &str = "phase";
const START: &str = "startTime";
const END: &str = "completionTime";
const BACKUP_PATH: &str = "backupPath";
/// The domain writes it into every status.
const SUCCEEDED: &str = "succeeded";
const REASON: &str = "Reason";

/// A stored backup as one of the domain. A spec that cannot be followed becomes text that says why.
#[must_use]
pub fn backup_of_domain(stored: Resource) -> Resource {
    let spec = living::spec_of(&stored, |spec: EtcdBackupSpec, subject| {
        let mut domain = backup_from(spec, subject)?.spec;
        if let Some(policy) = domain
            .backup_policy
            .as_mut()
            .filter(|policy| policy.schedule.is_none())
        {
            // In the template of a schedule it is the schedule's.
            policy.jitter_in_second = None;
        }
        Ok(domain)
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
        for key in [PHASE, START, END, BACKUP_PATH] {
            status.remove(key);
        }
        return Value::Object(status);
    }
    let text = |key: &str| status.get(key).and_then(Value::as_str);
    match text(PHASE) {
        Some("Completed") => {
            let took = time(text(START))
                .zip(time(text(END)))
                .map(|(began, ended)| ended.duration_since(began).as_millis());
            let mut domain = json!({SUCCEEDED: true});
            for (key, value) in [
                ("lastSuccessDate", text(END).map(Value::from)),
                ("path", text(BACKUP_PATH).map(Value::from)),
                (
                    "durationMilliseconds",
                    took.and_then(|took| i64::try_from(took).ok())
                        .map(Value::from),
                ),
            ] {
                if let Some(value) = value {
                    domain[key] = value;
                }
            }
            domain
        }
        Some("Failed") => json!({SUCCEEDED: false, REASON: FAILED_BEFORE}),
        Some(_) | None => Value::Null,
    }
}

/// A status of the domain as it is stored.
#[must_use]
pub fn stored_backup_status(domain: Value) -> Value {
    let Value::Object(mut status) = domain else {
        return domain;
    };
    let has_failed = text(&status, &[REASON]).is_some_and(|why| !why.is_empty());
    let (phase, ended) = match (status.get(SUCCEEDED), has_failed) {
        (Some(Value::Bool(true)), _) => ("Completed", text(&status, &["lastSuccessDate"])),
        (_, true) => ("Failed", text(&status, &["lastFailureDate"])),
        (_, false) => ("BackingUp", None),
    };
    let took = status.get("durationMilliseconds").and_then(Value::as_i64);
    let began_before_end = time(ended)
        .zip(took)
        .and_then(|(ended, took)| {
            let took = SignedDuration::from_millis(took);
            // Whole seconds, as Kubernetes has them.
            Timestamp::from_second(ended.checked_sub(took).ok()?.as_second()).ok()
        })
        .map(|began| began.to_string());
    let began = text(&status, &["run", "startedAt"])
        .or_else(|| text(&status, &["waitingSince"]))
        .map(str::to_owned);
    let keys = [
        (START, began.or(began_before_end)),
        (END, ended.map(str::to_owned)),
        (BACKUP_PATH, text(&status, &["path"]).map(str::to_owned)),
    ];
    status.insert(PHASE.to_owned(), json!(phase));
    for (key, value) in keys {
        if let Some(value) = value {
            status.insert(key.to_owned(), json!(value));
        }
    }
    Value::Object(status)
}

fn text<'a>(status: &'a Map<String, Value>, path: &[&str]) -> Option<&'a str> {
    let (first, rest) = path.split_first()?;
    let mut found = status.get(*first)?;
    for key in rest {
        found = found.get(key)?;
    }
    found.as_str()
}

fn time(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Millis;

    fn backup(spec: Value, status: Value) -> Resource {
        backup_of_domain(Resource {
            api_version: "etcd.improbable.io/v1alpha1".to_owned(),
            kind: "EtcdBackup".to_owned(),
            namespace: "infra".to_owned(),
            name: "nightly".to_owned(),
            uid: "u-1".to_owned(),
            created: Millis(1_795_000_000_000),
            spec,
            status,
            ..Resource::default()
        })
    }

    #[test]
    fn a_living_backup_fills_the_four_fields_of_its_template_and_escapes_nothing() {
        let read = backup(
            json!({
                "source": {"clusterURL": "http://my-cluster:2379"},
                "destination": {"objectURLTemplate":
                    "s3://backups/{{.Namespace}}/{{ .Name }}/{{ .UID }}/{{ .CreationTimestamp }}.db?endpoint=http://minio:9000&region=r"},
            }),
            Value::Null,
        );
        assert_eq!(
            read.spec["etcdEndpoints"],
            json!(["http://my-cluster:2379"])
        );
        assert_eq!(
            read.spec["s3"]["path"],
            "backups/infra/nightly/u-1/2026-11-18 11:06:40 +0000 UTC.db"
        );
        assert_eq!(read.spec["s3"]["awsSecret"], "", "the operator's own");
        assert_eq!(read.spec["s3"]["region"], "r");
        let named = backup(
            json!({
                "source": {"clusterRef": {"name": "my-cluster"}},
                "destination": {"objectURLTemplate": "gs://b/k", "secretName": "google"},
            }),
            Value::Null,
        );
        assert_eq!(named.spec["gcs"]["gcpSecret"], "google");
    }

    #[test]
    fn a_living_backup_of_the_last_release_goes_into_its_bucket_under_its_time() {
        let read = backup(
            json!({
                "clusterEndpoints": [{"scheme": "http", "host": "my-cluster", "port": 2379}],
                "destination": {"local": {"path": "/tmp"}, "gcsBucket": {"bucketName": "b"}},
            }),
            Value::Null,
        );
        assert_eq!(
            read.spec["etcdEndpoints"],
            json!(["http://my-cluster:2379"])
        );
        assert_eq!(read.spec["gcs"]["path"], "b/2026-11-18T11:06:40Z.db");
    }

    /// The template of a schedule may spread its times; each backup of it has none to spread.
    #[test]
    fn a_living_backup_of_a_schedule_is_not_put_off() {
        let read = backup(
            json!({
                "source": {"clusterURL": "http://my-cluster:2379"},
                "destination": {"objectURLTemplate": "s3://b/k"},
                "backupPolicy": {"jitterInSecond": 60, "timeoutInSecond": 30},
            }),
            Value::Null,
        );
        assert_eq!(read.spec["backupPolicy"], json!({"timeoutInSecond": 30}));
    }

    #[test]
    fn a_living_backup_that_cannot_be_followed_says_why() {
        for (destination, words) in [
            (json!({"local": {"path": "/tmp"}}), "holds no backups here"),
            (
                json!({"objectURLTemplate": "s3://b/{{ .Labels }}"}),
                "{{ .Labels }} is not known",
            ),
        ] {
            let read = backup(
                json!({"source": {"clusterURL": "http://a:1"}, "destination": destination}),
                Value::Null,
            );
            let why = read.spec.as_str().expect("words");
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn a_backups_status_has_the_phases_and_times_of_the_archived_operator() {
        let waiting = json!({"succeeded": false, "waitingSince": "2026-11-18T11:00:00Z"});
        let done = json!({
            "succeeded": true, "lastSuccessDate": "2026-11-18T11:06:40Z", "durationMilliseconds": 2500, "path": "b/k",
        });
        let failed =
            json!({"succeeded": false, "Reason": "no", "lastFailureDate": "2026-11-18T11:06:40Z"});
        for (domain, phase, began, ended) in [
            (
                waiting,
                "BackingUp",
                json!("2026-11-18T11:00:00Z"),
                Value::Null,
            ),
            (
                done,
                "Completed",
                json!("2026-11-18T11:06:37Z"),
                json!("2026-11-18T11:06:40Z"),
            ),
            (failed, "Failed", Value::Null, json!("2026-11-18T11:06:40Z")),
        ] {
            let stored = stored_backup_status(domain.clone());
            assert_eq!(stored["phase"], phase);
            assert_eq!(stored["startTime"], began);
            assert_eq!(stored["completionTime"], ended);
            assert_eq!(status_of_domain(stored), domain);
        }
    }

    /// What was done is never done once more.
    #[test]
    fn a_backup_that_the_archived_operator_ended_stays_over() {
        let of = |phase: &str| {
            status_of_domain(json!({
                "phase": phase, "startTime": "2020-04-01T10:00:00Z", "completionTime": "2020-04-01T10:00:02Z",
            }))
        };
        assert_eq!(
            of("Completed"),
            json!({
                "succeeded": true, "lastSuccessDate": "2020-04-01T10:00:02Z", "durationMilliseconds": 2000,
            })
        );
        assert_eq!(of("Failed")["Reason"], FAILED_BEFORE);
        for phase in ["", "BackingUp", "Uploading"] {
            assert_eq!(of(phase), Value::Null);
        }
    }
}
