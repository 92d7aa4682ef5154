//! Backups and schedules there and back again.

use serde_json::{Value, json};

use super::*;

const NIGHTLY: Subject<'_> = Subject {
    name: "nightly",
    namespace: Some("prod"),
    uid: None,
    created: None,
    store_secret: Some("aws"),
};

fn once(spec: Value) -> Result<Carried<crate::EtcdBackupSpec>, String> {
    let spec = serde_json::from_value(spec).map_err(|error| error.to_string())?;
    backup_from(spec, &NIGHTLY).map_err(|why| in_words(&why))
}

fn again(spec: Value) -> Result<Carried<crate::EtcdBackupSpec>, String> {
    let spec = serde_json::from_value(spec).map_err(|error| error.to_string())?;
    schedule_from(spec, &NIGHTLY).map_err(|why| in_words(&why))
}

fn in_words(why: &[NotCarried]) -> String {
    why.iter().map(ToString::to_string).collect()
}

fn to_url(url: &str) -> Value {
    json!({"source": {"clusterURL": "http://shop:2379"}, "destination": {"objectURLTemplate": url}})
}

fn json(spec: &impl serde::Serialize) -> Value {
    serde_json::to_value(spec).expect("JSON")
}

#[test]
fn the_url_of_a_server_that_speaks_s3_is_taken_apart_and_put_together_again() {
    let url = "s3://backups/a%20b/{{ .Namespace }}/{{.Name}}.db?endpoint=minio:9000&disableSSL=true&s3ForcePathStyle=true&region=eu-west-1";
    let carried = once(to_url(url)).expect("it can be said");
    assert_eq!(
        json(&carried.spec),
        json!({
            "etcdEndpoints": ["http://shop:2379"], "storageType": "S3",
            "s3": {
                "path": "backups/a b/prod/nightly.db", "awsSecret": "aws",
                "endpoint": "http://minio:9000", "region": "eu-west-1", "forcePathStyle": true,
            },
        })
    );
    assert_eq!(carried.left, Vec::new());
    let back = backup_to(carried.spec.clone())
        .expect("it can be said")
        .spec;
    assert_eq!(
        back.destination.object_url_template.as_deref(),
        Some(
            "s3://backups/a%20b/prod/nightly.db?endpoint=http://minio:9000&region=eu-west-1&s3ForcePathStyle=true"
        )
    );
    let there = backup_from(back, &NIGHTLY).expect("it can be said");
    assert_eq!((there.spec, there.left), (carried.spec, Vec::new()));
}

#[test]
fn backups_of_ours_come_back_as_they_were() {
    for spec in [
        json!({"etcdEndpoints": ["http://a:2379"], "storageType": "S3", "s3": {"path": "b/k", "awsSecret": "s"}}),
        json!({"etcdEndpoints": ["http://a:2379", "http://[::1]:2379"], "storageType": "GCS",
            "gcs": {"path": "b/k", "gcpSecret": "s"}, "backupPolicy": {"timeoutInSecond": 60}}),
        json!({"clusterRef": {"name": "a"}, "storageType": "S3",
            "s3": {"path": "b/{{ .UID }}&?#%.db", "awsSecret": "s", "endpoint": "https://[::1]:9000/x?y&z"}}),
        json!({"etcdEndpoints": ["https://a:2379"], "clientTLSSecret": "tls", "storageType": "GCS",
            "gcs": {"path": "b/k", "gcpSecret": "s"}}),
    ] {
        let spec: crate::EtcdBackupSpec = serde_json::from_value(spec).expect("a spec");
        let there = backup_to(spec.clone()).expect("it can be said");
        assert_eq!(there.left, []);
        let back = backup_from(there.spec, &NIGHTLY).expect("it can be said");
        assert_eq!((back.spec, back.left), (spec, Vec::new()));
    }
}

#[test]
fn periodic_backups_of_ours_come_back_as_they_were() {
    for policy in [
        json!({"backupIntervalInSecond": 5400, "maxBackups": 3}),
        json!({"schedule": "30 3 * * 1-5", "timeZone": "Europe/Berlin", "keep": {"daily": 7}, "jitterInSecond": 60}),
        json!({"schedule": "@daily", "suspend": true}),
        json!({"backupIntervalInSecond": 60, "timeZone": "Asia/Kolkata", "verify": "restore",
            "verifySchedule": "0 5 * * 0", "before": ["upgrade"]}),
    ] {
        let spec: crate::EtcdBackupSpec = serde_json::from_value(json!({
            "clusterRef": {"name": "a"}, "storageType": "S3", "backupPolicy": policy,
            "s3": {"path": "b/etcd.backup", "awsSecret": "s", "endpoint": "http://minio:9000"},
        }))
        .expect("a spec");
        let there = schedule_to(spec.clone()).expect("it can be said").spec;
        let template = there.backup_template.as_ref().expect("a template");
        assert_eq!(
            template.destination.object_url_template.as_deref(),
            Some("s3://b/etcd.backup_{{ .Name }}?endpoint=http://minio:9000")
        );
        let back = schedule_from(there, &NIGHTLY).expect("it can be said");
        assert_eq!(back.spec, spec);
    }
}

#[test]
fn a_schedules_line_becomes_a_rhythm() {
    let policy = |line: &str| {
        let spec = json!({"schedule": line, "backupTemplate": to_url("s3://b/{{ .UID }}.db")});
        let carried = again(spec).expect("it can be said");
        let zone = in_words(&carried.left).contains("the operator's own zone");
        (json(&carried.spec.backup_policy), zone)
    };
    assert_eq!(
        policy("@every 1h30m"),
        (json!({"backupIntervalInSecond": 5400}), false)
    );
    assert_eq!(
        policy("*/5 * ? * 0"),
        (json!({"schedule": "*/5 * * * 0"}), true)
    );
    assert_eq!(
        policy("CRON_TZ=Europe/Berlin 30 3 * * *"),
        (
            json!({"schedule": "30 3 * * *", "timeZone": "Europe/Berlin"}),
            false
        )
    );
    assert_eq!(
        policy("TZ=UTC @hourly"),
        (json!({"schedule": "@hourly"}), false)
    );
    for (line, words) in [
        ("", "it is missing"),
        ("@every 0s", "no span of a second or more"),
        ("@every day", "no span of a second or more"),
        ("0 3 * *", "is not five fields"),
    ] {
        let spec = json!({"schedule": line, "backupTemplate": to_url("s3://b/k")});
        let why = again(spec).expect_err("it is refused");
        assert!(
            why.starts_with("spec.schedule: ") && why.contains(words),
            "{why}"
        );
    }
}

#[test]
fn keys_of_a_schedule_are_one_prefix() {
    for (template, wanted) in [
        ("s3://b/{{ .Name }}-{{ .UID }}.db", "b/nightly.db"),
        (
            "s3://b/{{.Namespace}}/{{.CreationTimestamp}}",
            "b/prod/nightly",
        ),
        ("s3://b/etcd_{{ .CreationTimestamp }}.db", "b/etcd.db"),
        ("s3://b/-{{ .UID }}", "b/nightly"),
        ("s3://b/fixed", "b/fixed"),
    ] {
        let spec = json!({"schedule": "@every 1h", "backupTemplate": to_url(template)});
        let carried = again(spec).expect("it can be said");
        assert_eq!(carried.spec.s3.expect("S3").path, wanted);
        let left = in_words(&carried.left);
        assert!(left.contains("each backup is named s3://b/"), "{left}");
    }
}

#[test]
fn the_forms_of_the_last_release_are_read() {
    let one = json!({
        "clusterEndpoints": [{"scheme": "http", "host": "shop", "port": 2379}],
        "destination": {
            "local": {"path": "/tmp"},
            "gcsBucket": {"bucketName": "b", "credentials": {"secretKeySelector": {"name": "gcp", "key": "key.json"}}},
        },
    });
    let carried = once(one.clone()).expect("it can be said");
    assert_eq!(
        json(&carried.spec),
        json!({
            "etcdEndpoints": ["http://shop:2379"], "storageType": "GCS",
            "gcs": {"path": "b/nightly.db", "gcpSecret": "gcp"},
        })
    );
    let fields: Vec<&str> = carried
        .left
        .iter()
        .map(|left| left.field.as_str())
        .collect();
    assert_eq!(
        fields,
        [
            "spec.destination.local",
            "spec.destination.gcsBucket.credentials",
            "spec.destination.gcsBucket"
        ]
    );
    let carried =
        again(json!({"schedule": "@daily", "backupSpec": one, "failedBackupsHistoryLimit": 1}));
    let left = in_words(&carried.expect("it can be said").left);
    for words in [
        "v0.2.0 never took",
        "spec.failedBackupsHistoryLimit: it counts EtcdBackups",
    ] {
        assert!(left.contains(words), "{left}");
    }
}

#[test]
fn what_cannot_be_said_is_refused_with_its_field_and_what_to_do() {
    let local = json!({"source": {"clusterURL": "http://a:2379"}, "destination": {"local": {"path": "/tmp"}}});
    for (spec, words) in [
        (to_url("file:///tmp/a"), "file:// is no store"),
        (
            to_url("bucket/key"),
            "is no URL. Write it like s3://bucket/key",
        ),
        (to_url("s3://bucket"), "is not a bucket and a key"),
        (to_url("s3://b//k"), "is not a bucket and a key"),
        (to_url("s3://b/%zz"), "has a % that begins no character"),
        (
            to_url("s3://b/k?profile=a"),
            "profile is no setting of s3://",
        ),
        (
            to_url("s3://b/k?disableSSL=perhaps"),
            "disableSSL is true or false",
        ),
        (to_url("gs://b/k?access_id=-"), "gs:// does not have"),
        (
            to_url("s3://b/{{ .UID }}"),
            "{{ .UID }} is not known from this file",
        ),
        (
            to_url("s3://b/{{ .Labels }}"),
            "{{ .Labels }} is not known; {{ .Name }}",
        ),
        (to_url("s3://b/{{ .Name"), "a {{ has no }} after it"),
        (
            local,
            "a folder of the operator's pod holds no backups here",
        ),
        (
            json!({"source": {"clusterURL": "http://a:2379"}}),
            "Say where the backup goes",
        ),
        (
            json!({"destination": {"objectURLTemplate": "s3://b/k"}}),
            "Say whose data is backed up",
        ),
    ] {
        let why = once(spec).expect_err("it is refused");
        assert!(why.starts_with("spec.") && why.contains(words), "{why}");
    }
    let spec = serde_json::from_value(to_url("s3://b/k")).expect("a spec");
    let nameless = Subject {
        store_secret: None,
        ..NIGHTLY
    };
    let why = in_words(&backup_from(spec, &nameless).expect_err("it is refused"));
    assert!(
        why.contains("the keys credentials and config: name it with --store-secret"),
        "{why}"
    );
}

#[test]
fn stores_that_they_do_not_have_are_refused() {
    for (spec, words) in [
        (
            json!({"storageType": "ABS", "abs": {"path": "b/k", "absSecret": "s"}}),
            "ABS has no URL there",
        ),
        (
            json!({"storageType": "OSS", "oss": {"path": "b/k", "ossSecret": "s"}}),
            "OSS has no URL there",
        ),
        (
            json!({"storageType": "NFS"}),
            "\"NFS\" is none of S3, ABS, GCS, OSS and PVC",
        ),
        (
            json!({"storageType": "S3", "s3": {"path": "b"}}),
            "spec.s3.path: it is not BUCKET/KEY",
        ),
        (
            json!({"storageType": "GCS", "gcs": {"path": "b/k", "endpoint": "http://a"}}),
            "spec.gcs.endpoint: ",
        ),
        (
            json!({"storageType": "S3", "s3": {"path": "b/k"}}),
            "spec.etcdEndpoints: neither",
        ),
    ] {
        let spec = serde_json::from_value(spec).expect("a spec");
        let why = in_words(&backup_to(spec).expect_err("it is refused"));
        assert!(why.contains(words), "{why}");
    }
}
