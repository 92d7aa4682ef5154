//! Effects on a schedule against an API server that answers from a list.

use contract::ScheduleEffect;

use super::*;

const SCHEDULE: &str =
    "/apis/etcd.improbable.io/v1alpha1/namespaces/infra/etcdbackupschedules/nightly";
const BACKUPS: &str = "/apis/etcd.improbable.io/v1alpha1/namespaces/infra/etcdbackups";
const NAME: &str = "nightly-20261125033000";

fn schedule() -> Value {
    json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdBackupSchedule",
        "metadata": {
            "name": "nightly", "namespace": "infra", "uid": "r1", "resourceVersion": "5",
            "finalizers": ["a/b", contract::improbable::SCHEDULE_FINALIZER],
        },
        "spec": {"schedule": "@daily"},
        "status": {"run": {"id": NAME, "at": "2026-11-25T03:30:00Z"}},
    })
}

fn backup(phase: &str) -> Value {
    json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdBackup",
        "metadata": {
            "name": NAME, "namespace": "infra", "uid": "b1", "resourceVersion": "8",
            "ownerReferences": [{
                "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdBackupSchedule", "name": "nightly",
                "uid": "r1", "controller": true,
            }],
        },
        "spec": {}, "status": {"phase": phase},
    })
}

async fn done(server: &ApiServer, effect: ScheduleEffect, pre: Preconditions) -> OutcomeKind {
    let (executor, _directory) = executor(server, Leadership::alone());
    let resource = serde_json::from_value(schedule()).expect("a resource");
    let resource = crate::observe::project::resource(resource);
    let key = ClusterKey {
        dialect: contract::Dialect::Improbable,
        kind: contract::ResourceKind::EtcdBackupSchedule,
        namespace: "infra".to_owned(),
        name: "nightly".to_owned(),
    };
    let pass = Pass {
        now: Millis(0),
        key: &key,
        resource: &resource,
        objects: &objects(),
        module: "sha256:0",
    };
    let effect = Effect::Schedule(effect);
    let actions = [Action { effect, pre }];
    let executed = executor
        .execute(&pass, &actions, &mut Memory::default())
        .await;
    executed.outcomes[0].outcome
}

fn make() -> (ScheduleEffect, Preconditions) {
    let effect = ScheduleEffect::CreateBackup {
        name: NAME.to_owned(),
        spec: Box::new(json!({"destination": {"objectURLTemplate": "s3://b/{{ .Name }}"}})),
    };
    let run = Some(NAME.to_owned());
    (effect, Preconditions { run, ..pre() })
}

#[tokio::test]
async fn a_scheduled_backup_belongs_to_its_schedule_and_has_its_template() {
    let server = ApiServer::default()
        .answering("GET", SCHEDULE, 200, schedule())
        .answering("POST", BACKUPS, 201, backup(""));
    let (effect, pre) = make();
    assert_eq!(done(&server, effect, pre).await, OutcomeKind::Done);
    let (_, made) = server.bodies().remove(0);
    let metadata = &made["metadata"];
    assert_eq!(metadata["name"], NAME);
    let label = "etcd.improbable.io/backup-schedule-name";
    assert_eq!(metadata["labels"], json!({label: "nightly"}));
    let owner = &metadata["ownerReferences"][0];
    assert_eq!(owner["kind"], "EtcdBackupSchedule");
    assert_eq!(owner["uid"], "r1");
    assert_eq!(owner["controller"], true);
    let url = "/spec/destination/objectURLTemplate";
    assert_eq!(
        made.pointer(url),
        Some(&json!("s3://b/{{ .Name }}")),
        "as it is stored"
    );
}

#[tokio::test]
async fn a_scheduled_backup_that_is_there_or_was_not_written_down_is_not_made() {
    let there = ApiServer::default()
        .answering("GET", SCHEDULE, 200, schedule())
        .answering("GET", &format!("{BACKUPS}/{NAME}"), 200, backup(""));
    let (effect, pre) = make();
    assert_eq!(
        done(&there, effect.clone(), pre.clone()).await,
        OutcomeKind::Refused
    );
    let mut unwritten = schedule();
    unwritten["status"] = Value::Null;
    let unwritten = ApiServer::default().answering("GET", SCHEDULE, 200, unwritten);
    assert_eq!(done(&unwritten, effect, pre).await, OutcomeKind::Refused);
    assert_eq!([there.changes(), unwritten.changes()].concat(), [""; 0]);
}

#[tokio::test]
async fn a_scheduled_backup_goes_by_its_uid_and_only_when_it_is_over() {
    let one = format!("{BACKUPS}/{NAME}");
    for (phase, uid, outcome) in [
        ("Completed", "b1", OutcomeKind::Done),
        ("Failed", "b1", OutcomeKind::Done),
        ("BackingUp", "b1", OutcomeKind::Refused),
        ("Completed", "b2", OutcomeKind::Refused),
    ] {
        let server = ApiServer::default()
            .answering("GET", SCHEDULE, 200, schedule())
            .answering("GET", &one, 200, backup(phase))
            .answering("DELETE", &one, 200, status(200, "", ""));
        let uid = uid.to_owned();
        let object = Some(ObjectPrecondition::Present { uid });
        let name = NAME.to_owned();
        let effect = ScheduleEffect::DeleteBackup { name };
        let pre = Preconditions { object, ..pre() };
        assert_eq!(done(&server, effect, pre).await, outcome, "{phase}");
        if outcome == OutcomeKind::Done {
            let (_, body) = server.bodies().remove(0);
            assert_eq!(body["preconditions"]["uid"], "b1");
        } else {
            assert_eq!(server.changes(), [""; 0]);
        }
    }
}

#[tokio::test]
async fn of_a_schedules_finalizers_the_old_one_alone_is_taken_off() {
    let mut going = schedule();
    going["metadata"]["deletionTimestamp"] = json!("2026-11-25T03:30:00Z");
    let server = ApiServer::default()
        .answering("GET", SCHEDULE, 200, going)
        .answering("PATCH", SCHEDULE, 200, schedule());
    let finalizer = contract::improbable::SCHEDULE_FINALIZER.to_owned();
    let effect = ScheduleEffect::Release { finalizer };
    assert_eq!(done(&server, effect, pre()).await, OutcomeKind::Done);
    let (_, body) = server.bodies().remove(0);
    assert_eq!(body["metadata"]["finalizers"], json!(["a/b"]));
}
