//! What is hard to take back waits for a backup where an EtcdBackup asks for it.

use contract::{
    BackupBefore, BackupRun, EtcdBackupStatus, Observed, Reason, Resource, Restoration,
    RestorationStage, RiskyAct,
};
use serde_json::json;

use crate::fixture::{NAME, NAMESPACE, World, effects, healthy, member, reports, written};

/// The time of the fixture.
const NOW: &str = "2026-11-18T11:06:40Z";

fn guard(acts: &[&str], status: &EtcdBackupStatus) -> Resource {
    Resource {
        kind: "EtcdBackup".to_owned(),
        namespace: NAMESPACE.to_owned(),
        name: "nightly".to_owned(),
        uid: "uid-nightly".to_owned(),
        spec: json!({
            "clusterRef": {"name": NAME}, "storageType": "S3",
            "s3": {"path": "bucket/etcd.backup", "awsSecret": "aws"}, "backupPolicy": {"before": acts},
        }),
        status: json!(status),
        ..Resource::default()
    }
}

/// A backup that ended then, after five seconds.
fn stored(at: &str) -> EtcdBackupStatus {
    EtcdBackupStatus {
        succeeded: true,
        last_success_date: Some(at.to_owned()),
        duration_milliseconds: Some(5_000),
        ..EtcdBackupStatus::default()
    }
}

fn failed(at: &str) -> EtcdBackupStatus {
    EtcdBackupStatus {
        reason: "the store refuses these credentials".to_owned(),
        last_failure_date: Some(at.to_owned()),
        ..EtcdBackupStatus::default()
    }
}

impl World {
    fn guarded(mut self, guards: &[Resource]) -> Self {
        self.snapshot.guards = Observed::Seen(guards.to_vec());
        self
    }

    fn waiting_for(mut self, act: RiskyAct, target: &str) -> Self {
        self.status.backup_before = Some(BackupBefore {
            act,
            target: target.to_owned(),
            since: NOW.to_owned(),
        });
        self
    }
}

const ALL: [&str; 3] = ["upgrade", "scaleToZero", "restore"];
const IMAGE: &str = "quay.io/coreos/etcd:v3.6.17";

fn upgrading() -> World {
    healthy(3).spec("version", json!("3.6.17"))
}

fn said(world: &World) -> String {
    let decision = world.decide();
    let findings = decision.report.findings.iter();
    findings
        .filter(|finding| finding.reason == Reason::BackupBeforeChange)
        .map(|finding| finding.message.clone())
        .collect()
}

/// Found by the simulator: cut off for two seconds, a member was given the new image by the first look after it.
#[test]
fn a_member_that_runs_and_is_down_waits_for_the_backup_as_well() {
    let image = format!("SetImage Pod {}", member(2));
    let moved = |world: &World| {
        let effects = effects(&world.decide());
        effects.iter().any(|effect| effect.starts_with(&image))
    };
    let mut down = upgrading().silent(2);
    down.pods()[2].running = true;
    assert!(moved(&down), "nobody asks for a backup");
    let mut asked = down.guarded(&[guard(&ALL, &EtcdBackupStatus::default())]);
    assert!(!moved(&asked));
    asked.pods()[2].running = false;
    assert!(moved(&asked), "its image may be what keeps it down");
}

#[test]
fn an_act_waits_for_a_backup_that_began_after_the_wish() {
    for (world, act, target) in [
        (upgrading(), RiskyAct::Upgrade, IMAGE),
        (healthy(3).wanting(0), RiskyAct::ScaleToZero, ""),
    ] {
        let asked = |status: &EtcdBackupStatus| world.clone().guarded(&[guard(&ALL, status)]);
        let decision = asked(&EtcdBackupStatus::default()).decide();
        assert!(effects(&decision).is_empty(), "{:?}", effects(&decision));
        assert!(reports(&decision, Reason::BackupBeforeChange));
        let wish = written(&decision).unwrap().backup_before.unwrap();
        assert_eq!(
            (wish.act, wish.target.as_str(), wish.since.as_str()),
            (act, target, NOW)
        );
        // One that began before the wish has not what was written since.
        for old in ["2026-11-18T11:06:00Z", "2026-11-18T11:06:43Z"] {
            let early = asked(&stored(old)).waiting_for(act, target).later(60);
            assert!(effects(&early.decide()).is_empty(), "{old}");
        }
        let taken = asked(&stored("2026-11-18T11:07:00Z"))
            .waiting_for(act, target)
            .later(60);
        assert!(!effects(&taken.decide()).is_empty());
        let refused = asked(&failed("2026-11-18T11:07:00Z"))
            .waiting_for(act, target)
            .later(60);
        assert!(effects(&refused.decide()).is_empty());
        let words = said(&refused);
        assert!(
            words.contains("nightly") && words.contains("refuses these credentials"),
            "{words}"
        );
    }
}

/// Found by the simulator: a clock fell nine years behind, a restore was asked for, and the backup of before seemed younger.
#[test]
fn what_is_stored_counts_for_no_later_act_by_a_clock_that_fell_behind() {
    let asked = |world: World, at: &str| world.guarded(&[guard(&ALL, &stored(at))]).decide();
    let wish = |world: World, at: &str| {
        let decision = asked(world, at);
        assert!(effects(&decision).is_empty(), "{at}");
        written(&decision).unwrap().backup_before.unwrap()
    };
    let before = "2035-11-18T11:06:40Z";
    let first = wish(upgrading(), before);
    assert_eq!(first.since, before);
    // One of this clock's has been stored: the next one counts.
    let mut world = upgrading().later(60);
    world.status.backup_before = Some(first);
    let second = wish(world.clone(), "2026-11-18T11:07:20Z");
    assert_eq!(second.since, "2026-11-18T11:07:40Z");
    world.status.backup_before = Some(second);
    let decision = asked(world.later(60), "2026-11-18T11:07:50Z");
    assert!(!effects(&decision).is_empty());
}

#[test]
fn what_is_under_way_counts_for_no_later_act_by_a_clock_that_fell_behind() {
    let began = "2035-11-18T11:06:40Z";
    let under_way = EtcdBackupStatus {
        run: Some(BackupRun {
            started_at: began.to_owned(),
            ..BackupRun::default()
        }),
        ..EtcdBackupStatus::default()
    };
    let decision = upgrading().guarded(&[guard(&ALL, &under_way)]).decide();
    assert!(effects(&decision).is_empty());
    let wish = written(&decision).unwrap().backup_before.unwrap();
    assert_eq!(wish.since, began);
    // The clock is right again, and that one ends.
    let ended = "2035-11-18T11:06:45Z";
    let mut world = upgrading().later(9 * 365 * 86_400 + 2 * 86_400 + 60);
    world.status.backup_before = Some(wish);
    let decision = world.guarded(&[guard(&ALL, &stored(ended))]).decide();
    assert!(effects(&decision).is_empty());
}

/// Else it would wait until that time has come.
#[test]
fn a_wish_of_a_clock_that_was_ahead_is_asked_for_anew() {
    let asking = guard(&ALL, &EtcdBackupStatus::default());
    let mut world = upgrading().guarded(&[asking]);
    world.status.backup_before = Some(BackupBefore {
        act: RiskyAct::Upgrade,
        target: IMAGE.to_owned(),
        since: "2035-11-18T11:06:40Z".to_owned(),
    });
    let wish = written(&world.decide()).unwrap().backup_before.unwrap();
    assert_eq!(wish.since, NOW);
}

#[test]
fn nothing_waits_for_backups_that_nobody_asks_for() {
    let moves = |world: World| !effects(&world.decide()).is_empty();
    assert!(moves(upgrading()));
    let none = EtcdBackupStatus::default();
    assert!(moves(upgrading().guarded(&[guard(&["restore"], &none)])));
    let mut of_another = guard(&ALL, &none);
    of_another.spec["clusterRef"]["name"] = json!("another");
    assert!(moves(upgrading().guarded(&[of_another])));
    let mut going = guard(&ALL, &none);
    going.deleted = Some(contract::Millis(1));
    assert!(moves(upgrading().guarded(&[going])));
    let mut unknown = upgrading();
    unknown.snapshot.guards = Observed::Unknown("silent".to_owned());
    assert!(!moves(unknown));
}

/// Each of them may go to a store of its own, and one of the stores may be away.
#[test]
fn every_backup_that_is_asked_for_is_waited_for() {
    let taken = stored("2026-11-18T11:07:00Z");
    let mut weekly = guard(&ALL, &EtcdBackupStatus::default());
    weekly.name = "weekly".to_owned();
    let waiting = |weekly: &Resource| {
        upgrading()
            .guarded(&[guard(&ALL, &taken), weekly.clone()])
            .waiting_for(RiskyAct::Upgrade, IMAGE)
            .later(60)
    };
    assert!(effects(&waiting(&weekly).decide()).is_empty());
    assert!(said(&waiting(&weekly)).contains("weekly"));
    weekly.status = json!(taken);
    assert!(!effects(&waiting(&weekly).decide()).is_empty());
}

/// Once it began, a failed backup of later would leave the cluster between two versions.
#[test]
fn what_has_begun_does_not_wait_in_its_middle() {
    let status = EtcdBackupStatus {
        succeeded: false,
        ..stored("2026-11-18T11:07:00Z")
    };
    let world = upgrading()
        .guarded(&[guard(&ALL, &status)])
        .waiting_for(RiskyAct::Upgrade, IMAGE)
        .later(3600);
    let decision = world.decide();
    assert_eq!(effects(&decision).len(), 1);
    // While a member restarts, nobody asks; the wish stays.
    let busy = written(&decision).unwrap_or_else(|| world.status.clone());
    assert!(busy.backup_before.is_some());
    let mut silent = upgrading().silent(1).guarded(&[guard(&ALL, &status)]);
    silent.status.backup_before = busy.backup_before;
    let after = written(&silent.decide()).unwrap();
    assert!(after.backup_before.is_some());
    // Over, it is forgotten.
    let mut settled = healthy(3).waiting_for(RiskyAct::Upgrade, IMAGE);
    settled.snapshot.guards = Observed::Seen(Vec::new());
    assert_eq!(written(&settled.decide()).unwrap().backup_before, None);
    let mut another = upgrading().waiting_for(RiskyAct::Upgrade, "quay.io/coreos/etcd:v3.6.18");
    another.snapshot.guards = Observed::Seen(vec![guard(&ALL, &status)]);
    let wish = written(&another.decide()).unwrap().backup_before.unwrap();
    assert_eq!(wish.target, IMAGE);
}

#[test]
fn a_living_cluster_is_saved_before_it_is_given_up_and_a_dead_one_is_not_waited_for() {
    use crate::restore::{Restored, lost, proven};
    let consented = || {
        let mut restore = proven();
        restore.spec["replaces"] = json!("c1");
        restore
    };
    let none = EtcdBackupStatus::default();
    let begins = |world: &World| {
        let status = written(&world.decide()).unwrap_or_else(|| world.status.clone());
        status.restoration.map(|one: Restoration| one.stage) == Some(RestorationStage::Stopping)
    };
    let living = || healthy(3).with(consented());
    assert!(begins(&living()));
    let held = living().guarded(&[guard(&ALL, &none)]);
    assert!(!begins(&held));
    let status = written(&held.decide()).unwrap();
    let wish = status.backup_before.clone().unwrap();
    assert_eq!(
        (wish.act, wish.target),
        (RiskyAct::Restore, consented().uid)
    );
    let mut saved = living()
        .guarded(&[guard(&ALL, &stored("2026-11-18T11:07:00Z"))])
        .later(60);
    saved.status = status;
    assert!(begins(&saved));
    assert!(begins(
        &lost().with(proven()).guarded(&[guard(&ALL, &none)])
    ));
    // Between two leaders nobody answers for a moment.
    let guarded = living().guarded(&[guard(&ALL, &none)]);
    let between = guarded.without_list().settle();
    assert!(!begins(&between));
    assert!(begins(&between.later(31)));
}

/// etcd's own downgrade rewrites the data files of all members.
#[test]
fn the_way_back_to_a_minor_version_begins_after_the_backup() {
    let back = || healthy(3).spec("version", json!("3.5.35"));
    assert_eq!(effects(&back().decide()), ["Downgrade 3.5"]);
    let asked = back().guarded(&[guard(&ALL, &EtcdBackupStatus::default())]);
    let decision = asked.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::BackupBeforeChange));
}
