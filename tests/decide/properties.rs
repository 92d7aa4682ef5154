//! What a pure reconciler promises of single decisions and of its way with old, missing and half-executed ones.
//!
//! P2, that it can touch nothing, is shown where modules are loaded; P7, that it converges, by [`crate::model`] as well.
//! Snapshots come from simulated histories, as they are or [`mutated`] into states that no history reached.

mod goals;
mod judged;
mod mutated;
mod walks;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use contract::{Decision, Millis, Report, SCHEMA, Snapshot};
use simulator::{Fact, Fault, Plan, Planned, simulate, simulate_behind};

use crate::goal::{is_goal, is_hopeless};
use crate::invariants::unsafe_deed;
use crate::{history, number};

/// Variants of each snapshot.
const VARIANTS: u64 = 3;

/// Histories whose snapshots are looked at one by one.
fn seeds() -> Range<u64> {
    let count = if cfg!(debug_assertions) { 30 } else { 150 };
    let first = number("SIMULATOR_FIRST_SEED", 1);
    first..first + number("SIMULATOR_SEEDS", count)
}

/// Every snapshot of a history, in order.
fn snapshots(plan: &Plan) -> Vec<Snapshot> {
    let mut seen = Vec::new();
    let mut decide = |snapshot: &Snapshot| {
        seen.push(snapshot.clone());
        reconciler::reconcile(snapshot)
    };
    simulate(plan, &mut decide, &is_goal, &is_hopeless, false);
    seen
}

/// What a real cluster was seen as, and what somebody wrote by hand to be odd.
fn collected() -> Vec<(String, Snapshot)> {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/snapshot");
    let odd = concat!(env!("CARGO_MANIFEST_DIR"), "/odd");
    let mut collected = Vec::new();
    // Beside recorded ones the corpus has bytes that are no snapshot, to be refused by whoever reads them.
    for (folder, least, may_be_none) in [(recorded, 20, true), (odd, 12, false)] {
        let before = collected.len();
        for file in files(folder) {
            let bytes = std::fs::read(&file).expect("it can be read");
            let name = file.display().to_string();
            match serde_json::from_slice(&bytes) {
                Ok(snapshot) => collected.push((name, snapshot)),
                Err(why) => assert!(may_be_none, "{name}: {why}"),
            }
        }
        let found = collected.len() - before;
        assert!(found >= least, "{folder} has {found} snapshots");
    }
    collected
}

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut files: Vec<_> = paths.collect();
    files.sort();
    files
}

/// Hands out snapshots of all seeds and those that were collected, as they are and mutated, each with words to find it again.
fn each_snapshot(mut look: impl FnMut(&Snapshot, &str)) {
    for (file, snapshot) in &collected() {
        look(snapshot, file);
        for variant in 0..VARIANTS {
            let what = format!("variant {variant} of {file}");
            look(&mutated::mutated(snapshot, variant), &what);
        }
    }
    for seed in seeds() {
        for (number, snapshot) in snapshots(&Plan::of_seed(seed)).iter().enumerate() {
            look(snapshot, &format!("snapshot {number} of seed {seed}"));
            for variant in 0..VARIANTS {
                let stranger = mutated::mutated(snapshot, variant);
                let what = format!("variant {variant} of snapshot {number} of seed {seed}");
                look(&stranger, &what);
            }
        }
    }
}

fn bytes(decision: &Decision) -> Vec<u8> {
    serde_json::to_vec(decision).expect("a decision is JSON")
}

/// P1. Equal fuel is shown where recordings are replayed through the sealed module.
#[test]
fn p1_equal_snapshots_get_equal_decisions_to_the_byte() {
    each_snapshot(|snapshot, what| {
        let crossed = serde_json::to_vec(snapshot).expect("a snapshot is JSON");
        let crossed: Snapshot = serde_json::from_slice(&crossed).expect("what was written");
        let (here, there) = (
            reconciler::reconcile(snapshot),
            reconciler::reconcile(&crossed),
        );
        assert_eq!(bytes(&here), bytes(&there), "{what}");
    });
}

/// P3. How much fuel that takes is bounded where modules are called.
#[test]
fn p3_every_snapshot_is_answered() {
    each_snapshot(|snapshot, what| {
        let answered = catch_unwind(AssertUnwindSafe(|| reconciler::reconcile(snapshot)));
        assert!(answered.is_ok(), "{what}: a panic");
    });
}

/// P5.
#[test]
fn p5_no_decision_costs_the_quorum_of_what_it_saw() {
    let mut changes = 0;
    each_snapshot(|snapshot, what| {
        let decision = reconciler::reconcile(snapshot);
        changes += judged::quorum_relevant(&decision);
        if let Some(why) = judged::costs_quorum(snapshot, &decision) {
            panic!("{what}: {why}\n{:?}", decision.actions);
        }
    });
    assert!(changes > 100, "only {changes} decisions bore on a quorum");
}

/// Else the promises about votes would hold of anything.
#[test]
fn the_judge_of_votes_finds_out_a_mad_module() {
    let (mut costly, mut hasty) = (0, 0);
    each_snapshot(|snapshot, _| {
        let decision = crate::mad::decide(snapshot);
        costly += u32::from(judged::costs_quorum(snapshot, &decision).is_some());
        hasty += u32::from(judged::hurries(snapshot, &decision).is_some());
    });
    eprintln!("{costly} decisions that cost a quorum, {hasty} that hurry");
    assert!(costly > 20 && hasty > 20);
}

/// P6.
#[test]
fn p6_one_membership_change_at_a_time_and_learners_first() {
    let mut changing = 0;
    each_snapshot(|snapshot, what| {
        let decision = reconciler::reconcile(snapshot);
        let mut actions = decision.actions.iter();
        changing += u32::from(actions.any(|action| action.effect.is_membership_change()));
        if let Some(why) = judged::hurries(snapshot, &decision) {
            panic!("{what}: {why}\n{:?}", decision.actions);
        }
    });
    eprintln!("{changing} decisions changed the members");
    assert!(changing > 100);
}

/// A cluster on claims in which nothing goes wrong but these, none of which lasts.
pub(crate) fn quiet(size: i64, faults: &[(i64, Fault)]) -> Plan {
    Plan {
        seed: 7,
        size,
        version: None,
        through: false,
        claims: true,
        local: false,
        tls: false,
        old: None,
        numbered: false,
        faults: faults
            .iter()
            .map(|(at, fault)| Planned {
                at: *at,
                lasts: 0,
                fault: *fault,
            })
            .collect(),
        mishaps: Vec::new(),
    }
}

/// P7: after the last thing that goes wrong each history comes to its goal and rests there, or can never come to it.
#[test]
fn p7_every_history_converges() {
    let (mut whole, mut hopeless) = (0, 0);
    for seed in seeds() {
        let end = history(&Plan::of_seed(seed), false).end;
        let is_lost = is_hopeless(&end.truth);
        assert!(end.rested || is_lost, "seed {seed}: {end:?}");
        assert!(is_goal(&end.truth) || is_lost, "seed {seed}: {end:?}");
        whole += u32::from(!is_lost);
        hopeless += u32::from(is_lost);
    }
    eprintln!("{whole} histories come to their goal, {hopeless} never can");
    assert!(whole > hopeless);
}

/// P9: decisions on snapshots up to eight looks old, for most of the history. They stay within the envelope, which judges
/// them by the same snapshot; what each action meets is what there is by then.
#[test]
fn p9_a_stale_snapshot_is_harmless() {
    // After that many looks it sees again what there is, and has to come to its goal.
    let age = |looks: usize| if looks < 400 { looks * 5 % 9 } else { 0 };
    let mut stale = 0;
    let mut lived = |plan: &Plan| {
        let mut latest = Millis(i64::MIN);
        let mut decide = |snapshot: &Snapshot| {
            let decision = reconciler::reconcile(snapshot);
            stale += u32::from(snapshot.now < latest && !decision.actions.is_empty());
            latest = latest.max(snapshot.now);
            decision
        };
        simulate_behind(plan, age, &mut decide, &is_goal, &is_hopeless)
    };
    let mut judge = |what: &str, plan: &Plan| {
        let found = lived(plan);
        let broken = found.facts.iter().find(|fact| {
            let is_refused = matches!(fact, Fact::Refused { .. });
            is_refused || unsafe_deed(fact).is_some()
        });
        assert_eq!(broken, None, "{what}");
        assert!(
            found.end.rested || is_hopeless(&found.end.truth),
            "{what} does not come to rest: {:?}",
            found.end
        );
    };
    for seed in seeds() {
        let plan = Plan::of_seed(seed);
        judge(&format!("seed {seed}"), &plan);
        judge(
            &format!("seed {seed} without lost disks"),
            &plan.without_lost_disks(),
        );
    }
    eprintln!("{stale} decisions on stale snapshots asked for something");
    assert!(stale > 100, "only {stale}");
}

/// P10: two of three snapshots are never seen.
#[test]
fn p10_missed_snapshots_are_harmless() {
    for seed in seeds() {
        let mut looks = 0_u32;
        let mut decide = |snapshot: &Snapshot| {
            looks += 1;
            if looks.is_multiple_of(3) {
                return reconciler::reconcile(snapshot);
            }
            Decision {
                schema: SCHEMA,
                actions: Vec::new(),
                requeue: None,
                report: Report {
                    findings: Vec::new(),
                },
            }
        };
        let plan = Plan::of_seed(seed);
        let found = simulate(&plan, &mut decide, &is_goal, &is_hopeless, false);
        let broken = found.facts.iter().find_map(unsafe_deed);
        assert_eq!(broken, None, "seed {seed}");
        assert!(
            found.end.rested || is_hopeless(&found.end.truth),
            "seed {seed} does not come to rest: {:?}",
            found.end
        );
    }
}
