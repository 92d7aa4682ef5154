//! What a pure reconciler promises of single decisions and of its way with old, missing and half-executed ones.
//!
//! P2, that it can touch nothing, is shown where modules are loaded; P7, that it converges, by [`crate::model`] as well.
//! Snapshots come from simulated histories, as they are or [`mutated`] into states that no history reached.

mod judged;
mod mutated;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use contract::{Decision, Effect, Millis, Report, SCHEMA, Snapshot};
use simulator::{
    Fact, Fault, History, Mishap, OldPods, Plan, Planned, Release, simulate, simulate_behind,
};

use crate::goal::{is_goal, is_hopeless};
use crate::invariants::{unsafe_deed, violations};
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

/// P4.
#[test]
fn p4_at_the_goal_nothing_is_left_to_do() {
    let mut rested = 0;
    for seed in seeds() {
        let plan = Plan::of_seed(seed);
        let mut last = None;
        let mut decide = |snapshot: &Snapshot| {
            last = Some(snapshot.clone());
            reconciler::reconcile(snapshot)
        };
        let History { end, .. } = simulate(&plan, &mut decide, &is_goal, &is_hopeless, false);
        let Some(mut snapshot) = last.filter(|_| end.rested && !end.truth.paused) else {
            continue;
        };
        rested += 1;
        for later in [0, 1_000, 60_000, 3_600_000] {
            snapshot.now = Millis(snapshot.now.0 + later);
            let Decision { actions, .. } = reconciler::reconcile(&snapshot);
            // What time alone makes due: certificates, and what a rotation leaves when its grace is over.
            let issues = |effect: &Effect| matches!(effect, Effect::Issue { .. });
            let is_upkeep = later > 0
                && actions.iter().any(|action| issues(&action.effect))
                && actions
                    .iter()
                    .all(|action| issues(&action.effect) || action.effect.is_telling());
            let names: Vec<&str> = actions.iter().map(|action| action.effect.name()).collect();
            assert!(
                names.is_empty() || is_upkeep,
                "seed {seed}, {later} ms later: {names:?}"
            );
        }
    }
    assert!(rested > 10, "only {rested} histories came to rest");
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
    each_snapshot(|snapshot, what| {
        let decision = reconciler::reconcile(snapshot);
        if let Some(why) = judged::hurries(snapshot, &decision) {
            panic!("{what}: {why}\n{:?}", decision.actions);
        }
    });
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

/// The plans whose every action is crashed around: birth, growth, shrinking, replacement, an upgrade, certificates,
/// adoption, size 0.
fn walks() -> Vec<(&'static str, Plan)> {
    let upgrade = Plan {
        version: Some(Release::new(5, 35)),
        ..quiet(3, &[(60_000, Fault::Version(Release::new(6, 16)))])
    };
    vec![
        ("birth of 3", quiet(3, &[])),
        ("3 to 5", quiet(3, &[(20_000, Fault::Resize(5))])),
        ("5 to 3", quiet(5, &[(20_000, Fault::Resize(3))])),
        ("a disk lost", quiet(3, &[(20_000, Fault::Wipe(1))])),
        (
            "a claim deleted",
            quiet(3, &[(20_000, Fault::DeleteClaim(0))]),
        ),
        (
            "a claim that goes with its pod, and another pod policy",
            quiet(
                1,
                &[(20_000, Fault::CondemnClaim(0)), (20_500, Fault::Label(1))],
            ),
        ),
        ("another pod policy", quiet(3, &[(20_000, Fault::Label(1))])),
        (
            "to 0 and back",
            quiet(3, &[(20_000, Fault::Resize(0)), (60_000, Fault::Resize(3))]),
        ),
        ("an upgrade", upgrade),
        (
            "certificates",
            Plan {
                tls: true,
                ..quiet(3, &[])
            },
        ),
        (
            "adoption",
            Plan {
                old: Some(OldPods::Renewed),
                numbered: false,
                ..quiet(3, &[])
            },
        ),
    ]
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

/// P8: the operator ends before and after each single action of each walk.
#[test]
fn p8_a_crash_between_any_two_actions_is_harmless() {
    for (what, walk) in walks() {
        let mut tried = 0;
        let mut decide = |snapshot: &Snapshot| {
            let decision = reconciler::reconcile(snapshot);
            tried += u32::try_from(decision.actions.len()).unwrap_or(u32::MAX);
            decision
        };
        let calm = simulate(&walk, &mut decide, &is_goal, &is_hopeless, false);
        assert_eq!(violations(&calm), [], "{what}");
        for number in 0..tried {
            for mishap in [Mishap::EndsBefore, Mishap::EndsAfter] {
                let mut plan = walk.clone();
                plan.mishaps.push((number, mishap));
                let found = violations(&history(&plan, false));
                assert_eq!(found, [], "{what}, {mishap:?} action {number}");
            }
        }
        eprintln!("{what}: {tried} actions, each with a crash before and after it");
    }
}

/// P9: decisions on snapshots up to eight looks old, for most of the history. They stay within the envelope, which judges
/// them by the same snapshot; what each action meets is what there is by then.
#[test]
fn p9_a_stale_snapshot_is_harmless() {
    // After that many looks it sees again what there is, and has to come to its goal.
    let age = |looks: usize| if looks < 400 { looks * 5 % 9 } else { 0 };
    let mut stale = 0;
    for seed in seeds() {
        let plan = Plan::of_seed(seed).without_lost_disks();
        let mut latest = Millis(i64::MIN);
        let mut decide = |snapshot: &Snapshot| {
            let decision = reconciler::reconcile(snapshot);
            stale += u32::from(snapshot.now < latest && !decision.actions.is_empty());
            latest = latest.max(snapshot.now);
            decision
        };
        let found = simulate_behind(&plan, age, &mut decide, &is_goal, &is_hopeless);
        let broken = found.facts.iter().find(|fact| {
            let is_refused = matches!(fact, Fact::Refused { .. });
            is_refused || unsafe_deed(fact).is_some()
        });
        assert_eq!(broken, None, "seed {seed}");
        assert!(
            found.end.rested || is_hopeless(&found.end.truth),
            "seed {seed} does not come to rest: {:?}",
            found.end
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
