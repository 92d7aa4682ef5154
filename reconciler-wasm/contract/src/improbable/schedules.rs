//! A living `EtcdBackupSchedule` of this dialect, read as one of the domain.
//!
//! Its template stays as it is stored: what is made of it is an `EtcdBackup` of this dialect. The archived operator wrote no
//! status, so the domain's is the stored one.

use super::{Carried, EtcdBackupScheduleSpec, EtcdBackupSpec, NotCarried, living, schedule_from};
use crate::{BackupScheduleSpec, Resource, WhenDeleted};

/// What in a template differs from one EtcdBackup to the next.
const OF_ITS_OWN: [&str; 4] = [".Name }", ".Name}", ".UID", ".CreationTimestamp"];

/// A stored schedule as one of the domain. A spec that cannot be followed becomes text that says why.
#[must_use]
pub fn schedule_of_domain(stored: Resource) -> Resource {
    let template = ["/backupTemplate", "/backupSpec"]
        .into_iter()
        .find_map(|key| stored.spec.pointer(key))
        .cloned();
    let spec = living::spec_of(&stored, |spec: EtcdBackupScheduleSpec, subject| {
        let (kept, failed) = (
            spec.successful_backups_history_limit,
            spec.failed_backups_history_limit,
        );
        let wrong = spec
            .backup_template
            .as_ref()
            .or(spec.backup_spec.as_ref())
            .and_then(why_no_template);
        let Carried { spec: carried, .. } = schedule_from(spec, subject)?;
        if let Some(wrong) = wrong {
            return Err(vec![wrong]);
        }
        Ok(BackupScheduleSpec {
            policy: carried.backup_policy.unwrap_or_default(),
            template: template.unwrap_or_default(),
            successful_backups_history_limit: kept,
            failed_backups_history_limit: failed,
        })
    });
    Resource { spec, ..stored }
}

/// What a backup of its own may ask for and one of many may not.
fn why_no_template(template: &EtcdBackupSpec) -> Option<NotCarried> {
    let policy = template.backup_policy.as_ref()?;
    let wrong = |field: &str, why: &str| {
        Some(NotCarried {
            field: format!("spec.backupTemplate.{field}"),
            why: why.to_owned(),
        })
    };
    if policy
        .before
        .as_ref()
        .is_some_and(|before| !before.is_empty())
    {
        return wrong(
            "backupPolicy.before",
            "each EtcdBackup of a schedule is taken at its time and once. Take it out",
        );
    }
    let url = template.destination.object_url_template.as_deref();
    let is_shared = url.is_some_and(|url| !OF_ITS_OWN.iter().any(|own| url.contains(own)));
    if policy.when_deleted == Some(WhenDeleted::Delete) && is_shared {
        return wrong(
            "backupPolicy.whenDeleted",
            "all EtcdBackups would share one stored object, and the oldest would take the newest's along. Put {{ .Name }} into objectURLTemplate",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(spec: Value) -> Value {
        let stored = Resource {
            api_version: "etcd.improbable.io/v1alpha1".to_owned(),
            kind: "EtcdBackupSchedule".to_owned(),
            name: "nightly".to_owned(),
            namespace: "infra".to_owned(),
            spec,
            ..Resource::default()
        };
        stored.dialect().read(stored).spec
    }

    fn template(url: &str, policy: &Value) -> Value {
        json!({
            "source": {"clusterURL": "http://my-cluster:2379"},
            "destination": {"objectURLTemplate": url},
            "backupPolicy": policy,
        })
    }

    #[test]
    fn a_living_schedule_keeps_its_template_and_says_when() {
        let each = template("s3://backups/{{ .Name }}.db", &json!({"suspend": true}));
        for key in ["backupTemplate", "backupSpec"] {
            let read = read(json!({
                "schedule": "CRON_TZ=Europe/London 30 3 * * *", key: each, "successfulBackupsHistoryLimit": 3,
            }));
            assert_eq!(read["template"], each);
            assert_eq!(read["policy"]["schedule"], "30 3 * * *");
            assert_eq!(read["policy"]["timeZone"], "Europe/London");
            assert_eq!(read["policy"]["suspend"], true);
            assert_eq!(read["successfulBackupsHistoryLimit"], 3);
        }
        let every = read(json!({"schedule": "@every 90m", "backupTemplate": each}));
        assert_eq!(every["policy"]["backupIntervalInSecond"], 5400);
    }

    #[test]
    fn a_living_schedule_that_cannot_be_followed_says_why() {
        let each = template("s3://backups/{{ .Name }}.db", &Value::Null);
        let shared = |policy| template("s3://backups/{{ .Namespace }}/a.db", &policy);
        for (spec, words) in [
            (
                json!({"schedule": "@every soon", "backupTemplate": each}),
                "@every 1h30m",
            ),
            (
                json!({"schedule": "often", "backupTemplate": each}),
                "is not five fields",
            ),
            (
                json!({"backupTemplate": each}),
                "Say when backups are taken",
            ),
            (
                json!({"schedule": "@daily"}),
                "Say what each backup looks like",
            ),
            (
                json!({"schedule": "@daily", "backupTemplate": each, "backupSpec": each}),
                "Keep one of them",
            ),
            (
                json!({"schedule": "@daily", "backupTemplate": {"source": {"clusterURL": "http://a:1"}}}),
                "objectURLTemplate: it is missing",
            ),
            (
                json!({"schedule": "@daily", "backupTemplate": shared(json!({"whenDeleted": "Delete"}))}),
                "would share one stored object",
            ),
            (
                json!({"schedule": "@daily", "backupTemplate": shared(json!({"before": ["upgrade"]}))}),
                "at its time and once",
            ),
        ] {
            let read = read(spec);
            let why = read.as_str().expect("words");
            assert!(why.contains(words), "{why}");
        }
        let shared = read(json!({"schedule": "@daily", "backupTemplate": shared(Value::Null)}));
        assert!(
            shared.is_object(),
            "each takes the place of the one before: {shared}"
        );
    }

    #[test]
    fn a_scheduled_backup_is_over_when_its_status_says_so() {
        let of = |status: Value| {
            let resource = Resource {
                status,
                ..Resource::default()
            };
            crate::ScheduledBackup::of(&resource).state
        };
        use crate::ScheduledState::{Failed, Succeeded, UnderWay};
        assert_eq!(of(Value::Null), UnderWay);
        assert_eq!(of(json!({"succeeded": false})), UnderWay);
        assert_eq!(of(json!({"succeeded": true})), Succeeded);
        assert_eq!(of(json!({"succeeded": false, "Reason": "no"})), Failed);
        assert_eq!(
            of(json!({"succeeded": "perhaps"})),
            UnderWay,
            "unknown is never over"
        );
    }
}
