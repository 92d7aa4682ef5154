//! The end of a backup: what is stored stays, or goes with it where the spec asks for that.

use super::*;

const OWN: &str = "etcd.database.coreos.com/stored-backups";
const STORED: [&str; 4] = [
    "etcd.backup_v1_2026-11-18-08:00:00",
    "etcd.backup_v2_2026-11-18-09:00:00",
    "etcd.backup_vip",
    "etcd.backup",
];

/// A periodic backup whose spec says this of its end, and that holds these finalizers.
fn periodic(when_deleted: Value, finalizers: &[&str]) -> Backup {
    let rest = EtcdBackupStatus {
        succeeded: true,
        next_backup: Some("2026-11-18T12:06:40Z".to_owned()),
        ..EtcdBackupStatus::default()
    };
    let policy = json!({"backupIntervalInSecond": 3600, "whenDeleted": when_deleted});
    let mut one = backup(policy).remembering(&rest).storing(&STORED);
    one.0.resource.finalizers = finalizers.iter().map(|name| (*name).to_owned()).collect();
    one
}

fn going(mut one: Backup) -> Backup {
    one.0.resource.deleted = Some(Millis(CREATED));
    one
}

fn only(decision: &Decision) -> &BackupEffect {
    match effects(decision).as_slice() {
        [effect] if decision.actions.len() == 1 => effect,
        others => panic!("{others:?}"),
    }
}

/// What the condition says that tells of the end.
fn progress(decision: &Decision) -> String {
    let told = status(decision).conditions.into_iter();
    let mut told = told.filter(|one| one.kind == "Progressing");
    told.next().unwrap().message
}

#[test]
fn what_goes_with_its_object_holds_it_by_a_finalizer_alone() {
    let hold = BackupEffect::Hold {
        finalizer: OWN.to_owned(),
    };
    let release = BackupEffect::Release {
        finalizer: OWN.to_owned(),
    };
    assert_eq!(*only(&periodic(json!("Delete"), &["other"]).decide()), hold);
    assert_eq!(*only(&periodic(json!("Retain"), &[OWN]).decide()), release);
    assert_eq!(*only(&periodic(json!(null), &[OWN]).decide()), release);
    for rest in [
        periodic(json!("Delete"), &[OWN]),
        periodic(json!("Retain"), &[]),
        periodic(json!(null), &["other"]),
    ] {
        assert!(deleted(&rest.decide()).is_empty());
    }
}

#[test]
fn all_that_has_its_names_goes_before_it_and_then_it_does() {
    let one = going(periodic(json!("Delete"), &[OWN]));
    assert_eq!(deleted(&one.decide()), STORED[..2]);
    let empty = one.storing(&["etcd.backup_vip", "etcd.backup"]).decide();
    assert!(matches!(only(&empty), BackupEffect::Release { finalizer } if finalizer == OWN));
}

/// The same object without the field, or one whose finalizer somebody took off.
#[test]
fn what_does_not_ask_for_it_goes_and_leaves_everything() {
    let retained = going(periodic(json!("Retain"), &[OWN])).decide();
    assert!(matches!(only(&retained), BackupEffect::Release { finalizer } if finalizer == OWN));
    let unheld = going(periodic(json!("Delete"), &["other"])).decide();
    assert_eq!(effects(&unheld), Vec::<&BackupEffect>::new());
    assert_eq!(reasons(&unheld), [Reason::Deleting]);
}

/// Another's object under the name of one that never succeeded is not its own.
#[test]
fn of_one_that_is_taken_once_exactly_its_key_goes_if_it_stored_it() {
    let once = |succeeded| {
        let memory = EtcdBackupStatus {
            succeeded,
            reason: if succeeded { "" } else { "no" }.to_owned(),
            ..EtcdBackupStatus::default()
        };
        let one = backup(json!({"whenDeleted": "Delete"})).remembering(&memory);
        let mut one = going(one.storing(&["etcd.backup"]));
        one.0.resource.finalizers = vec![OWN.to_owned()];
        one.decide()
    };
    assert_eq!(deleted(&once(true)), ["etcd.backup"]);
    assert!(matches!(only(&once(false)), BackupEffect::Release { .. }));
}

#[test]
fn a_store_that_does_not_answer_holds_it_and_the_way_out_is_told() {
    let mut silent = going(periodic(json!("Delete"), &[OWN]));
    silent.view().stored = Observed::Unknown("no route to host".to_owned());
    let decision = silent.decide();
    assert!(deleted(&decision).is_empty());
    let words = progress(&decision);
    assert!(
        words.contains("no route to host")
            && words.contains("spec.backupPolicy.whenDeleted to Retain"),
        "{words}"
    );
}

#[test]
fn what_is_under_way_ends_first() {
    let memory = EtcdBackupStatus {
        succeeded: true,
        run: Some(BackupRun {
            id: "r1".to_owned(),
            ..BackupRun::default()
        }),
        rehearsal_run: Some(contract::RehearsalRun {
            id: "r2".to_owned(),
            key: STORED[1].to_owned(),
            ..contract::RehearsalRun::default()
        }),
        ..EtcdBackupStatus::default()
    };
    let running = TransferState::Running {
        bytes: 1,
        bytes_per_second: 1,
        trouble: Some("the store refused to connect".to_owned()),
    };
    let one = going(periodic(json!("Delete"), &[OWN])).remembering(&memory);
    let moving = one.moving("r1", running).decide();
    assert_eq!(deleted(&moving), Vec::<&str>::new());
    // A store that hangs holds up the backup for long.
    let words = progress(&moving);
    assert!(
        words.contains("the store refused to connect") && words.contains("whenDeleted to Retain"),
        "{words}"
    );
    let one = going(periodic(json!("Delete"), &[OWN])).remembering(&memory);
    let decision = one.decide();
    let told = status(&decision);
    assert!(told.run.is_none() && told.rehearsal_run.is_some_and(|run| run.over));
    assert!(matches!(
        effects(&decision)[1],
        BackupEffect::EndRehearsal { run } if run == "r2"
    ));
}
