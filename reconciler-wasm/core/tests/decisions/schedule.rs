//! Schedules of backups: when an EtcdBackup is made, what is missed, and which ones go.

mod drawn;
mod refused;

use contract::{
    BackupScheduleStatus, Decision, Effect, FindingKind, Millis, Observed, OutcomeKind,
    PastOutcome, Reason, Resource, ScheduleEffect, ScheduleView, ScheduledBackup, ScheduledRun,
    ScheduledState, Snapshot,
};
use serde_json::{Value, json};

/// 2026-11-25T03:00:00Z.
const CREATED: Millis = Millis::seconds(1_795_575_600);
const UID: &str = "uid-of-nightly";

struct Schedule {
    snapshot: Snapshot,
    status: BackupScheduleStatus,
}

fn template() -> Value {
    json!({
        "source": {"clusterURL": "http://my-cluster:2379"},
        "destination": {"objectURLTemplate": "s3://backups/{{ .Name }}.db"},
    })
}

fn of(schedule: &str) -> Schedule {
    with(&json!({"schedule": schedule, "backupTemplate": template()}))
}

fn with(spec: &Value) -> Schedule {
    let stored = Resource {
        api_version: "etcd.improbable.io/v1alpha1".to_owned(),
        kind: "EtcdBackupSchedule".to_owned(),
        namespace: "infra".to_owned(),
        name: "nightly".to_owned(),
        uid: UID.to_owned(),
        resource_version: "7".to_owned(),
        generation: 1,
        created: CREATED,
        spec: spec.clone(),
        ..Resource::default()
    };
    let resource = stored.dialect().read(stored);
    let backups = Observed::Seen(Vec::new());
    Schedule {
        snapshot: Snapshot {
            schedule: Some(Box::new(ScheduleView { backups })),
            ..Snapshot::bare(resource, CREATED, "0".repeat(32))
        },
        status: BackupScheduleStatus::default(),
    }
}

/// One that the schedule made so many seconds after its own creation.
fn backup(name: &str, state: ScheduledState, created: i64) -> ScheduledBackup {
    ScheduledBackup {
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        owner: Some(UID.to_owned()),
        created: Millis(CREATED.0 + created * 1000),
        deleted: false,
        state,
        stored: None,
    }
}

impl Schedule {
    /// One decision so many seconds after the creation; its status is the next one's memory.
    fn decide(&mut self, after: i64) -> Decision {
        self.snapshot.now = Millis(CREATED.0 + after * 1000);
        self.snapshot.resource.status = serde_json::to_value(&self.status).unwrap();
        let decision = reconciler::reconcile(&self.snapshot);
        envelope::permit(&decision, &self.snapshot).unwrap();
        for action in &decision.actions {
            if let Effect::Schedule(ScheduleEffect::UpdateStatus { status }) = &action.effect {
                self.status = (**status).clone();
            }
        }
        decision
    }

    /// As [`Self::decide`], where only the memory matters.
    fn look(&mut self, after: i64) {
        let Decision { .. } = self.decide(after);
    }

    fn backups(&mut self) -> &mut Vec<ScheduledBackup> {
        match &mut self.snapshot.schedule.as_mut().unwrap().backups {
            Observed::Seen(backups) => backups,
            Observed::Absent | Observed::Unknown(_) => panic!("unknown"),
        }
    }

    fn has(&mut self, name: &str, state: ScheduledState, created: i64) -> &mut ScheduledBackup {
        self.backups().push(backup(name, state, created));
        self.backups().last_mut().unwrap()
    }
}

fn made(decision: &Decision) -> Vec<&str> {
    let effects = decision.actions.iter().map(|action| &action.effect);
    effects
        .filter_map(|effect| match effect {
            Effect::Schedule(ScheduleEffect::CreateBackup { name, .. }) => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

fn deleted(decision: &Decision) -> Vec<&str> {
    let effects = decision.actions.iter().map(|action| &action.effect);
    effects
        .filter_map(|effect| match effect {
            Effect::Schedule(ScheduleEffect::DeleteBackup { name }) => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

fn events(decision: &Decision) -> Vec<(&str, &str)> {
    let effects = decision.actions.iter().map(|action| &action.effect);
    effects
        .filter_map(|effect| match effect {
            Effect::Event { reason, note, .. } => Some((reason.as_str(), note.as_str())),
            _ => None,
        })
        .collect()
}

fn first(decision: &Decision) -> (FindingKind, Reason, &str) {
    let finding = decision.report.findings.first().unwrap();
    (finding.kind, finding.reason, &finding.message)
}

#[test]
fn a_backup_is_made_at_its_time_of_the_template_and_written_down_before() {
    let mut nightly = of("CRON_TZ=Europe/London 30 3 * * *");
    let early = nightly.decide(0);
    assert_eq!(made(&early), [""; 0]);
    assert_eq!(
        nightly.status.next_schedule_time.as_deref(),
        Some("2026-11-25T03:30:00Z")
    );
    assert_eq!(early.requeue.unwrap().after, Millis::seconds(1800));

    let due = nightly.decide(1800);
    assert_eq!(made(&due), ["nightly-20261125033000"]);
    let effects: Vec<&str> = due
        .actions
        .iter()
        .map(|action| action.effect.name())
        .collect();
    assert_eq!(effects, ["UpdateScheduleStatus", "CreateScheduledBackup"]);
    let run = nightly.status.run.clone().unwrap();
    assert_eq!(run.at, "2026-11-25T03:30:00Z");
    let Effect::Schedule(ScheduleEffect::CreateBackup { spec, .. }) = &due.actions[1].effect else {
        panic!("{:?}", due.actions[1]);
    };
    assert_eq!(**spec, template());
    assert_eq!(due.actions[1].pre.run.as_deref(), Some(run.id.as_str()));

    nightly.has(&run.id, ScheduledState::UnderWay, 1801);
    let there = nightly.decide(1802);
    assert_eq!(made(&there), [""; 0]);
    assert_eq!(events(&there)[0].0, "ScheduledBackupMade");
    let status = &nightly.status;
    assert_eq!(status.run, None);
    assert_eq!(status.last_backup.as_deref(), Some(run.id.as_str()));
    assert_eq!(
        status.last_schedule_time.as_deref(),
        Some("2026-11-25T03:30:00Z")
    );
    assert_eq!(
        status.next_schedule_time.as_deref(),
        Some("2026-11-26T03:30:00Z")
    );
    assert_eq!(status.active, [run.id]);
    assert_eq!((status.missed, &status.last_successful_time), (0, &None));

    let stored = "2026-11-25T03:30:04Z".to_owned();
    let backup = &mut nightly.backups()[0];
    backup.state = ScheduledState::Succeeded;
    backup.stored = Some(stored.clone());
    nightly.look(1805);
    nightly.backups().clear();
    nightly.look(1806);
    let last = nightly.status.last_successful_time.clone();
    assert_eq!(
        last,
        Some(stored),
        "it is not forgotten with the EtcdBackup"
    );
}

/// Whoever comes after a crash finds what was meant.
#[test]
fn a_crash_between_the_two_neither_loses_a_backup_nor_makes_another() {
    let mut often = of("@every 60s");
    often.look(0);
    often.look(60);
    let name = often.status.run.clone().unwrap().id;
    assert_eq!(name, "nightly-20261125030100");
    // It was not made.
    assert_eq!(made(&often.decide(95)), [name.as_str()]);
    assert_eq!(
        made(&often.decide(200)),
        [name.as_str()],
        "and is no other later"
    );
    // It was, and is over meanwhile.
    often.has(&name, ScheduledState::Succeeded, 96);
    often.status.next_schedule_time = Some("2026-11-25T03:05:00Z".to_owned());
    let there = often.decide(201);
    assert_eq!(made(&there), [""; 0]);
    assert_eq!(often.status.last_backup, Some(name));
}

#[test]
fn what_was_missed_is_told_and_made_good_by_one() {
    let mut often = of("@every 1m");
    often.look(0);
    let late = often.decide(60 * 10 + 30);
    assert_eq!(made(&late), ["nightly-20261125031030"]);
    assert_eq!(often.status.missed, 9);
    let told = events(&late);
    assert_eq!(told[0].0, "BackupsMissed");
    assert!(
        told[0]
            .1
            .starts_with("9 more EtcdBackups were due since 2026-11-25T03:01:00Z"),
        "{told:?}"
    );
    assert_eq!(
        often.status.next_schedule_time.as_deref(),
        Some("2026-11-25T03:11:00Z")
    );
}

#[test]
fn none_is_made_while_the_one_before_is_under_way() {
    let mut often = of("@every 1m");
    often.look(0);
    often.has("nightly-20261125030000", ScheduledState::UnderWay, 0);
    let due = often.decide(60);
    assert_eq!(made(&due), [""; 0]);
    let (kind, reason, words) = first(&due);
    assert_eq!(
        (kind, reason),
        (FindingKind::Waiting, Reason::BackupUnderWay)
    );
    assert!(
        words.contains("nightly-20261125030000 of before is still under way"),
        "{words}"
    );
    assert_eq!(made(&often.decide(150)), [""; 0]);
    often.backups()[0].state = ScheduledState::Failed;
    let after = often.decide(190);
    assert_eq!(made(&after), ["nightly-20261125030310"]);
    assert_eq!(often.status.missed, 2);
    // One that somebody deletes holds nobody up, nor does one of somebody else.
    let mut other = of("@every 1m");
    other.look(0);
    other.has("a", ScheduledState::UnderWay, 0).deleted = true;
    other.has("b", ScheduledState::UnderWay, 0).owner = None;
    assert_eq!(made(&other.decide(60)).len(), 1);
}

#[test]
fn of_those_that_are_over_the_newest_stay_as_many_as_the_limits_say() {
    let spec = json!({
        "schedule": "@daily", "backupTemplate": template(),
        "successfulBackupsHistoryLimit": 2, "failedBackupsHistoryLimit": 0,
    });
    let mut limited = with(&spec);
    limited.has("s1", ScheduledState::Succeeded, 1);
    limited.has("s2", ScheduledState::Succeeded, 2);
    limited.has("s3", ScheduledState::Succeeded, 3);
    limited.has("s0", ScheduledState::Succeeded, 0).owner = Some("somebody".to_owned());
    limited.has("f1", ScheduledState::Failed, 4);
    limited.has("u1", ScheduledState::UnderWay, 0);
    limited.has("g1", ScheduledState::Failed, 0).deleted = true;
    let decision = limited.decide(10);
    assert_eq!(deleted(&decision), ["s1", "f1"]);
    assert_eq!(events(&decision)[0].0, "HistoryLimited");
    let all = [ScheduledState::Succeeded, ScheduledState::Failed];
    let mut unlimited = of("@daily");
    for (number, state) in all.iter().cycle().take(40).enumerate() {
        unlimited.has(&format!("b{number}"), *state, 1);
    }
    assert_eq!(deleted(&unlimited.decide(10)), [""; 0]);
}

#[test]
fn an_unknown_list_is_no_empty_one() {
    let mut often = of("@every 1m");
    often.look(0);
    for unknown in [Observed::Unknown("silent".to_owned()), Observed::Absent] {
        often.snapshot.schedule.as_mut().unwrap().backups = unknown;
        let decision = often.decide(60);
        assert_eq!((made(&decision), deleted(&decision)), (vec![], vec![]));
        assert_eq!(first(&decision).1, Reason::BackupWaiting);
        assert!(decision.requeue.is_some());
    }
}

#[test]
fn an_edit_takes_effect_at_once() {
    let mut schedule = of("0 4 * * *");
    schedule.look(0);
    let edited = of("5 3 * * *");
    schedule.snapshot.resource.spec = edited.snapshot.resource.spec;
    schedule.look(60);
    assert_eq!(
        schedule.status.next_schedule_time.as_deref(),
        Some("2026-11-25T03:05:00Z")
    );
    let edited = of("@every 30s");
    schedule.snapshot.resource.spec = edited.snapshot.resource.spec;
    schedule.look(61);
    assert_eq!(
        schedule.status.next_schedule_time.as_deref(),
        Some("2026-11-25T03:01:31Z")
    );
}

#[test]
fn a_suspended_schedule_makes_nothing_and_misses_nothing() {
    let mut each = template();
    each["backupPolicy"] = json!({"suspend": true});
    let mut suspended = with(&json!({"schedule": "@every 1m", "backupTemplate": each}));
    suspended.look(0);
    let later = suspended.decide(1000);
    assert_eq!(made(&later), [""; 0]);
    assert_eq!(first(&later).1, Reason::BackupsSuspended);
    assert_eq!(suspended.status.missed, 0);
    let resumed = of("@every 1m").snapshot.resource.spec;
    suspended.snapshot.resource.spec = resumed;
    assert_eq!(made(&suspended.decide(1001)), [""; 0]);
    assert_eq!(suspended.status.missed, 0);
}

#[test]
fn a_name_that_is_somebody_elses_is_left_out_and_told() {
    let mut often = of("@every 1m");
    often.look(0);
    often.look(60);
    let name = often.status.run.clone().unwrap().id;
    often.has(&name, ScheduledState::Succeeded, 0).owner = None;
    let decision = often.decide(61);
    assert_eq!(made(&decision), [""; 0]);
    assert_eq!(events(&decision)[0].0, "ForeignObject");
    assert_eq!((often.status.missed, often.status.run.clone()), (1, None));
    assert_eq!(often.status.last_backup, None);
}

#[test]
fn one_that_could_not_be_made_is_tried_again_with_words() {
    let mut often = of("@every 1m");
    often.look(0);
    often.look(60);
    let run: ScheduledRun = often.status.run.clone().unwrap();
    often.snapshot.outcomes = vec![PastOutcome {
        effect: "CreateScheduledBackup".to_owned(),
        kind: None,
        target: run.id.clone(),
        outcome: OutcomeKind::Failed,
        message: "exceeded quota".to_owned(),
    }];
    let decision = often.decide(61);
    assert_eq!(made(&decision), [run.id.as_str()]);
    assert!(
        first(&decision).2.contains("exceeded quota"),
        "{:?}",
        first(&decision)
    );
    assert!(decision.requeue.unwrap().after >= Millis::seconds(30));
}

/// Found by reading: the envelope refuses to make one while they are suspended, and so the whole decision.
#[test]
fn one_that_could_not_be_made_is_left_out_once_backups_are_suspended() {
    let mut schedule = of("@every 1m");
    schedule.look(0);
    assert_eq!(made(&schedule.decide(60)).len(), 1);
    assert!(schedule.status.run.is_some());
    let mut each = template();
    each["backupPolicy"] = json!({"suspend": true});
    let suspended = with(&json!({"schedule": "@every 1m", "backupTemplate": each}));
    schedule.snapshot.resource.spec = suspended.snapshot.resource.spec;
    let decision = schedule.decide(70);
    assert_eq!(made(&decision), [""; 0]);
    assert_eq!(
        (schedule.status.run.as_ref(), schedule.status.missed),
        (None, 1)
    );
    let (reason, words) = events(&decision)[0];
    assert_eq!(reason, "BackupsSuspended");
    assert!(words.contains("is left out"), "{words}");
}
