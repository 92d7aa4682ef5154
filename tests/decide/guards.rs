//! Histories in which what is hard to take back waits for a backup whose store is away now and then.
//!
//! What must hold of them is the invariants'.

use simulator::{Plan, simulate};

use super::goal::{is_goal, is_hopeless};
use super::invariants::{Promise, judge, unsafe_deed};
use super::{Court, RESTORED, check, history, seeds};

/// Safety only, because a restore that people edit in the middle may not come to its end: what waits for a backup waits, however its store does.
#[test]
fn no_risky_act_goes_ahead_of_the_backup_that_is_asked_for() {
    let seeds = seeds(RESTORED);
    check(&seeds, Plan::with_guards, Court::Safety);
    eprintln!(
        "{} histories in which risky acts wait for a backup",
        seeds.len()
    );
}

/// A module that asks for no backup goes ahead, and the histories must show it.
#[test]
fn a_module_that_waits_for_no_backup_is_found_out() {
    let rash = |snapshot: &contract::Snapshot| {
        let mut snapshot = snapshot.clone();
        snapshot.guards = contract::Observed::Absent;
        reconciler::reconcile(&snapshot)
    };
    let mut found = 0;
    for seed in 1..=30 {
        let plan = Plan::with_guards(seed);
        let history = simulate(&plan, &mut { rash }, &is_goal, &is_hopeless, false);
        let promise = Promise::RiskWaitsForItsBackup;
        let mut deeds = history.facts.iter().filter_map(judge);
        found += u32::from(deeds.any(|violation| violation.promise == promise));
    }
    eprintln!("of 30 histories {found} find out a module that waits for no backup");
    assert!(found > 5);
}

/// Else the promise about backups before risky acts would be kept by never acting.
#[test]
fn clusters_stop_and_upgrade_once_the_backup_is_taken() {
    let (mut waited, mut stopped) = (0, 0);
    for seed in 1..=30 {
        let words = history(&Plan::with_guards(seed), true).words;
        let is_taken = |line: &String| line.ends_with("the backup that is waited for is taken");
        let after = words.iter().skip_while(|line| !is_taken(line));
        waited += u32::from(after.clone().next().is_some());
        stopped += u32::from(after.clone().any(|line| line.contains("does Delete")));
    }
    eprintln!("of 30 histories {waited} had a backup before an act, {stopped} went on to stop");
    assert!(waited > 8 && stopped > 5);
}

/// Safety does not rest on the module here either: one that takes every EtcdRestore for a consent is stopped by the envelope,
/// and no copy of the data goes.
#[test]
fn a_module_that_gives_up_living_clusters_unasked_is_stopped() {
    let rash = |snapshot: &contract::Snapshot| {
        let mut snapshot = snapshot.clone();
        let id = snapshot.resource.status.get("clusterId").cloned();
        if let (Some(id), contract::Observed::Seen(restores)) = (id, &mut snapshot.restores) {
            for restore in restores {
                restore.spec["replaces"] = id.clone();
            }
        }
        reconciler::reconcile(&snapshot)
    };
    let mut stopped = 0;
    for seed in 1..=40 {
        let plan = Plan::with_restores(seed);
        let told = simulate(&plan, &mut { rash }, &is_goal, &is_hopeless, true);
        assert_eq!(told.facts.iter().find_map(unsafe_deed), None, "seed {seed}");
        let mut lines = told.words.iter();
        stopped += u32::from(lines.any(|line| line.contains("refused UpdateStatus")));
    }
    eprintln!("of 40 histories {stopped} stop a module that gives living clusters up");
    assert!(stopped > 3);
}
