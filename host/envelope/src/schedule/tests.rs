//! Effects on a schedule, good and bad.

use contract::{
    Action, BackupScheduleStatus, Effect, Millis, Observed, Resource, ScheduleEffect, ScheduleView,
    ScheduledBackup, ScheduledRun, ScheduledState, Snapshot, improbable,
};
use serde_json::{Value, json};

use crate::fixtures::{action, decision, fresh_of, present, resource, snapshot_of};
use crate::{BackupHead, Fresh, Refusal, check, permit};

const NAME: &str = "a-20261125033000";
/// The time of that name, and some of the second after it.
const NOW: Millis = Millis(1_795_577_400_999);

fn template() -> Value {
    json!({"source": {"clusterURL": "http://a:2379"}, "destination": {"objectURLTemplate": "s3://b/{{ .Name }}"}})
}

fn own() -> Resource {
    Resource {
        api_version: "etcd.improbable.io/v1alpha1".to_owned(),
        kind: "EtcdBackupSchedule".to_owned(),
        spec: json!({
            "policy": {"schedule": "@daily"}, "template": template(),
            "successfulBackupsHistoryLimit": 0, "failedBackupsHistoryLimit": 0,
        }),
        status: Value::Null,
        ..resource()
    }
}

fn child(name: &str, owner: &str, state: ScheduledState) -> ScheduledBackup {
    ScheduledBackup {
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        owner: Some(owner.to_owned()),
        created: Millis(0),
        deleted: false,
        state,
        stored: None,
    }
}

fn snapshot(resource: Resource, backups: Vec<ScheduledBackup>) -> Snapshot {
    let backups = Observed::Seen(backups);
    Snapshot {
        now: NOW,
        schedule: Some(Box::new(ScheduleView { backups })),
        ..snapshot_of(resource)
    }
}

fn makes(name: &str, spec: Value) -> Action {
    let mut action = action(Effect::Schedule(ScheduleEffect::CreateBackup {
        name: name.to_owned(),
        spec: Box::new(spec),
    }));
    action.pre.run = Some(name.to_owned());
    action
}

fn deletes(name: &str, uid: &str) -> Action {
    let name = name.to_owned();
    let mut action = action(Effect::Schedule(ScheduleEffect::DeleteBackup { name }));
    action.pre.object = present(uid);
    action
}

fn rules(action: Action, snapshot: &Snapshot) -> Vec<&'static str> {
    let refusals = permit(&decision(vec![action]), snapshot);
    let refusals = refusals.err().unwrap_or_default();
    refusals.iter().map(Refusal::rule).collect()
}

fn fresh(run: Option<&str>, scheduled: Observed<ScheduledBackup>) -> Fresh {
    Fresh {
        backup: BackupHead {
            run: run.map(str::to_owned),
            ..BackupHead::default()
        },
        scheduled,
        ..fresh_of(&own())
    }
}

fn refusal(action: &Action, fresh: &Fresh) -> String {
    check(action, fresh)
        .err()
        .map_or_else(String::new, |refusal| refusal.to_string())
}

#[test]
fn a_schedule_makes_backups_of_its_template_under_its_own_names_and_no_others() {
    let alone = snapshot(own(), Vec::new());
    assert_eq!(rules(makes(NAME, template()), &alone), [""; 0]);
    for name in [
        "b-20261125033000",
        "a-nightly",
        "a20261125033000",
        "a-",
        "a-1",
        "a-20261125033000x",
    ] {
        assert_eq!(rules(makes(name, template()), &alone), ["Backup"], "{name}");
    }
    let elsewhere = json!({"source": {"clusterURL": "http://a:2379"}, "destination": {"objectURLTemplate": "s3://c/k"}});
    assert_eq!(rules(makes(NAME, elsewhere), &alone), ["Backup"]);
    let without = Resource {
        spec: json!("words"),
        ..own()
    };
    let without = snapshot(without, Vec::new());
    assert_eq!(rules(makes(NAME, Value::Null), &without), ["Backup"]);
    let mut unnamed = makes(NAME, template());
    unnamed.pre.run = None;
    assert!(rules(unnamed, &alone).contains(&"MissingPrecondition"));
    let mut suspended = own();
    suspended.spec["policy"]["suspend"] = json!(true);
    let suspended = snapshot(suspended, Vec::new());
    assert_eq!(rules(makes(NAME, template()), &suspended), ["Backup"]);
    let deleted = Resource {
        deleted: Some(Millis(1)),
        ..own()
    };
    let deleted = snapshot(deleted, Vec::new());
    assert_eq!(rules(makes(NAME, template()), &deleted), ["Deleting"]);
}

#[test]
fn a_schedules_backups_are_made_one_at_a_time_and_on_a_known_list() {
    let before = "a-20261124033000";
    for (backups, wanted) in [
        (
            vec![child(before, "uid-a", ScheduledState::UnderWay)],
            &["Backup"][..],
        ),
        (vec![child(before, "uid-a", ScheduledState::Failed)], &[]),
        (vec![child(before, "uid-b", ScheduledState::UnderWay)], &[]),
        (
            vec![child(NAME, "uid-b", ScheduledState::Failed)],
            &["Backup"],
        ),
    ] {
        let snapshot = snapshot(own(), backups);
        assert_eq!(rules(makes(NAME, template()), &snapshot), wanted);
    }
    let unknown = Snapshot {
        schedule: Some(Box::new(ScheduleView {
            backups: Observed::Unknown("silent".to_owned()),
        })),
        ..snapshot_of(own())
    };
    assert_eq!(rules(makes(NAME, template()), &unknown), ["Backup"]);

    let make = makes(NAME, template());
    assert_eq!(refusal(&make, &fresh(Some(NAME), Observed::Absent)), "");
    let unwritten = refusal(&make, &fresh(None, Observed::Absent));
    assert!(unwritten.contains("does not hold the run"), "{unwritten}");
    let there = Observed::Seen(child(NAME, "uid-a", ScheduledState::UnderWay));
    let there = refusal(&make, &fresh(Some(NAME), there));
    assert!(there.contains("it is there already"), "{there}");
    let silent = Observed::Unknown("no answer".to_owned());
    let silent = refusal(&make, &fresh(Some(NAME), silent));
    assert!(silent.contains("no answer"), "{silent}");
}

#[test]
fn only_the_schedules_own_backups_that_are_over_are_deleted() {
    let uid = "uid-of-a-20261125033000";
    for (found, uid, wanted) in [
        (
            child(NAME, "uid-a", ScheduledState::Succeeded),
            uid,
            &[][..],
        ),
        (
            child(NAME, "uid-a", ScheduledState::UnderWay),
            uid,
            &["Backup"],
        ),
        (
            child(NAME, "uid-b", ScheduledState::Succeeded),
            uid,
            &["Backup"],
        ),
        (
            child(NAME, "uid-a", ScheduledState::Succeeded),
            "other",
            &["Backup"],
        ),
    ] {
        let snapshot = snapshot(own(), vec![found.clone()]);
        assert_eq!(rules(deletes(NAME, uid), &snapshot), wanted);
        let words = refusal(&deletes(NAME, uid), &fresh(None, Observed::Seen(found)));
        assert_eq!(words.is_empty(), wanted.is_empty(), "{words}");
    }
    let mut of_anybody = deletes(NAME, uid);
    of_anybody.pre.object = None;
    let snapshot = snapshot(own(), vec![child(NAME, "uid-a", ScheduledState::Failed)]);
    assert!(rules(of_anybody, &snapshot).contains(&"MissingPrecondition"));
    assert_ne!(
        refusal(&deletes(NAME, uid), &fresh(None, Observed::Absent)),
        ""
    );
}

#[test]
fn of_a_schedules_finalizers_the_old_one_goes_and_only_with_it() {
    let release = |finalizer: &str| {
        let finalizer = finalizer.to_owned();
        action(Effect::Schedule(ScheduleEffect::Release { finalizer }))
    };
    let going = Resource {
        deleted: Some(Millis(1)),
        ..own()
    };
    let old = improbable::SCHEDULE_FINALIZER;
    assert_eq!(refusal(&release(old), &fresh_of(&going)), "");
    let going = snapshot(going, Vec::new());
    assert_eq!(rules(release(old), &going), [""; 0]);
    assert_eq!(rules(release("somebody/else"), &going), ["Backup"]);
    assert_eq!(
        rules(release(old), &snapshot(own(), Vec::new())),
        ["Backup"]
    );
}

#[test]
fn a_schedule_has_no_effect_of_another_kind_and_others_have_none_of_its() {
    let status = Box::new(BackupScheduleStatus::default());
    let mut tells = action(Effect::Schedule(ScheduleEffect::UpdateStatus { status }));
    tells.pre.resource_version = Some("7".to_owned());
    assert_eq!(rules(tells.clone(), &snapshot(own(), Vec::new())), [""; 0]);
    assert_eq!(rules(tells, &snapshot_of(resource())), ["Backup"]);
    let mut deletes = action(Effect::Delete {
        kind: contract::ObjectKind::PersistentVolumeClaim,
        name: "a-1".to_owned(),
        grace_seconds: None,
    });
    deletes.pre.object = present("u");
    deletes.pre.departed = Some("a-1".to_owned());
    assert!(rules(deletes, &snapshot(own(), Vec::new())).contains(&"Backup"));
}

/// A deleted EtcdBackup takes along what it stored where its spec says so.
#[test]
fn the_newest_backups_stay_as_many_as_the_schedule_keeps() {
    let uid = "uid-of-a-20261125033000";
    let backups = |names: &[&str]| {
        let made = names
            .iter()
            .enumerate()
            .map(|(number, name)| ScheduledBackup {
                created: Millis(i64::try_from(number).unwrap_or_default()),
                ..child(name, "uid-a", ScheduledState::Succeeded)
            });
        made.collect::<Vec<_>>()
    };
    let limited = |limit: Option<i64>| Resource {
        spec: json!({"policy": {"schedule": "@daily"}, "template": template(), "successfulBackupsHistoryLimit": limit}),
        ..own()
    };
    let all = backups(&[NAME, "a-20261126033000", "a-20261127033000"]);
    for (limit, wanted) in [
        (None, &["Backup"][..]),
        (Some(3), &["Backup"]),
        (Some(2), &[]),
    ] {
        let snapshot = snapshot(limited(limit), all.clone());
        assert_eq!(rules(deletes(NAME, uid), &snapshot), wanted, "{limit:?}");
    }
    let only = snapshot(limited(Some(1)), backups(&[NAME]));
    assert_eq!(rules(deletes(NAME, uid), &only), ["Backup"]);
}

#[test]
fn no_backup_is_named_by_a_time_that_has_not_come() {
    let tells = |name: &str| {
        let run = ScheduledRun {
            id: name.to_owned(),
            at: String::new(),
        };
        let status = Box::new(BackupScheduleStatus {
            run: Some(run),
            ..BackupScheduleStatus::default()
        });
        let mut tells = action(Effect::Schedule(ScheduleEffect::UpdateStatus { status }));
        tells.pre.resource_version = Some("7".to_owned());
        tells
    };
    let alone = snapshot(own(), Vec::new());
    for name in [NAME, "a-20261125032959"] {
        assert_eq!(rules(makes(name, template()), &alone), [""; 0], "{name}");
        assert_eq!(rules(tells(name), &alone), [""; 0], "{name}");
    }
    for name in ["a-20261125033001", "a-20270101000000", "a-120261125033000"] {
        assert_eq!(rules(makes(name, template()), &alone), ["Backup"], "{name}");
        assert_eq!(rules(tells(name), &alone), ["Backup"], "{name}");
    }
    // By the clock of then it was due.
    let mut set_back = alone;
    set_back.resource.status = json!({"run": {"id": "a-20261125033001"}});
    let known = "a-20261125033001";
    assert_eq!(rules(makes(known, template()), &set_back), [""; 0]);
    assert_eq!(rules(tells(known), &set_back), [""; 0]);
    assert_eq!(
        rules(makes("a-20261125033002", template()), &set_back),
        ["Backup"]
    );
}
