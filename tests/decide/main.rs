//! Histories of the simulated world against the reconciler: every promise holds in every one of them.
//!
//! `SIMULATOR_HISTORIES` says how many, `SIMULATOR_SEEDS` how many for the properties, `SIMULATOR_FIRST_SEED` where to begin, `SIMULATOR_TELL` names one seed whose
//! history is told in words. The plan of a failing history is printed as YAML, and belongs into `once_failed.yaml`.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use simulator::{Deed, Fact, History, Plan, Truth, simulate};

mod court;
mod cut_off;
mod dialects;
mod evictions;
mod foresight;
mod goal;
mod guards;
mod hopeless;
mod idle;
mod invariants;
mod linear;
mod mad;
mod model;
mod moves;
mod once_failed;
mod orders;
mod properties;
mod raised;
mod recreations;
mod shelf;
mod sizes;
mod strangers;
mod told;
mod unheard;

use court::Court;
use goal::{is_goal, is_hopeless};
use invariants::{Promise, Violation, violations};
use told::tell;

/// Snapshots are made of many small pieces: half of the time went into the allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Histories of a plain `cargo test`, and of one with `--profile proof`.
const HISTORIES: u64 = if cfg!(debug_assertions) { 500 } else { 100_000 };

/// The smaller kinds are shares of so many, for all of them together would take as long again.
const OF_OTHERS: u64 = HISTORIES / 4;

/// Of so many histories one is lived through with a module gone mad, too.
const MAD: u64 = 50;
/// One in so many is judged with restores, by the promises of safety.
const RESTORED: u64 = 16;
/// One in so many is lived through with a wrong clock or a second operator, and one with objects of others.
const DOUBTED: u64 = 32;

/// The history of a plan under the reconciler itself.
fn history(plan: &Plan, tell: bool) -> History {
    Court::All.history(plan, tell)
}

/// Judges the histories of those seeds on all processors; answers those that break a promise.
fn run(seeds: &[u64], plan: fn(u64) -> Plan, court: Court) -> Vec<(u64, Violation)> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicU64::new(0);
    let work = || {
        let mut found = Vec::new();
        let take = || usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
        while let Some(seed) = seeds.get(take()) {
            found.extend(
                court
                    .judge(&plan(*seed))
                    .map(|violation| (*seed, violation)),
            );
        }
        found
    };
    let mut found: Vec<(u64, Violation)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a worker catches every panic"))
            .collect()
    });
    found.sort_by_key(|(seed, _)| *seed);
    found
}

fn check(seeds: &[u64], plan: fn(u64) -> Plan, court: Court) {
    let found = run(seeds, plan, court);
    let Some((seed, violation)) = found.first() else {
        return;
    };
    let all: Vec<u64> = found.iter().map(|(seed, _)| *seed).collect();
    panic!(
        "{} of {} histories fail: seeds {all:?}\n{}",
        found.len(),
        seeds.len(),
        tell(plan(*seed), violation, court)
    );
}

/// The seeds of a run of a smaller kind, of which one in so many is lived through.
fn seeds(one_in: u64) -> Vec<u64> {
    seeds_of(number("SIMULATOR_HISTORIES", OF_OTHERS) / one_in)
}

fn seeds_of(count: u64) -> Vec<u64> {
    let first = number("SIMULATOR_FIRST_SEED", 1);
    (first..first + count).collect()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| {
        let number = text.parse::<u64>();
        let number =
            number.unwrap_or_else(|_| panic!("{variable} is {text:?}, which is no number"));
        assert!(
            (1..=u64::MAX / 2).contains(&number),
            "{variable} is {text}: give a number from 1 to {}",
            u64::MAX / 2
        );
        number
    })
}

#[test]
#[expect(clippy::print_stdout, reason = "what runs it reads the pace")]
fn no_history_breaks_a_promise() {
    let seeds = seeds_of(number("SIMULATOR_HISTORIES", HISTORIES));
    let began = Instant::now();
    check(&seeds, Plan::of_seed, Court::All);
    let took = began.elapsed();
    let (first, count) = (seeds[0], seeds.len());
    let rate = count as u128 * 60_000 / took.as_millis().max(1);
    println!("{count} histories from seed {first} on in {took:.1?}: {rate} a minute");
}

/// The lease is no fence: who lost it may still act, and a clock may tell anything.
#[test]
fn no_wrong_clock_and_no_second_operator_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_doubts, Court::All);
    eprintln!(
        "{} histories with wrong clocks and second operators",
        seeds.len()
    );
}

/// Safety only, as of restores: what is told beside a wrong clock or another operator may be late.
#[test]
fn no_doubt_beside_restores_backups_or_turns_loses_a_write_or_leaves_the_envelope() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_doubts_beside, Court::Safety);
    eprintln!(
        "{} histories with wrong clocks and second operators beside restores, backups before acts or turns of TLS",
        seeds.len()
    );
}

/// The address of every member changes in such a turn, and each is started twice. Handshakes are not modelled.
#[test]
fn no_turn_of_tls_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_turns, Court::All);
    eprintln!(
        "{} histories in which TLS is turned on and off",
        seeds.len()
    );
}

/// Half of all deeds of a stop, an upgrade or a turn come after the first forty actions, which other plans have mishaps among.
#[test]
fn no_late_trouble_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_late_trouble, Court::All);
    eprintln!("{} histories with late trouble", seeds.len());
}

#[test]
fn no_late_trouble_beside_restores_or_backups_loses_a_write_or_leaves_the_envelope() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_late_trouble_beside, Court::Safety);
    eprintln!(
        "{} histories with late trouble beside restores or backups",
        seeds.len()
    );
}

/// Else the promises about second operators would hold of nothing.
#[test]
fn second_operators_do_things() {
    let acts = |seed: u64| {
        let words = history(&Plan::with_doubts(seed), true).words;
        let mut looks = words.split(|line| line.ends_with("the other operator looks"));
        looks.next();
        let deeds = looks.filter_map(|look| look.split(|line| line.ends_with("has looked")).next());
        deeds.flatten().any(|line| line.contains(" does "))
    };
    let count = (1..=100).filter(|seed| acts(*seed)).count();
    eprintln!("of 100 histories with doubts {count} have a second operator that acts");
    assert!(count > 10);
}

/// Safety only: a restore that people edit in the middle may not come to its end, which docs/proof.md says.
#[test]
fn no_restore_loses_a_write_or_leaves_the_envelope() {
    let seeds = seeds(RESTORED);
    check(&seeds, Plan::with_restores, Court::Safety);
    eprintln!("{} histories, a third of them with restores", seeds.len());
}

#[test]
fn one_plan_makes_one_history() {
    for seed in 1..40 {
        let plan = Plan::of_seed(seed);
        assert_eq!(history(&plan, true), history(&plan, true), "seed {seed}");
    }
}

/// Safety does not rest on the module: whatever it decides, the envelope keeps the data and the quorum.
#[test]
fn a_mad_module_loses_nothing() {
    let seeds = seeds(MAD);
    let plan = |seed: u64| {
        let plan = match seed % 4 {
            0 => Plan::with_restores(seed),
            1 => Plan::with_guards(seed),
            2 => Plan::with_turns(seed),
            _ => Plan::of_seed(seed),
        };
        plan.without_lost_disks()
    };
    check(&seeds, plan, Court::Mad);
    eprintln!("{} histories with a module gone mad", seeds.len());
}

/// Else the promises about people who stop a cluster, or consent to a loss, would hold of nothing.
#[test]
fn histories_go_to_size_0_and_back_and_out_of_lost_quorums() {
    let (mut slept, mut woke, mut recovered) = (0, 0, 0);
    for seed in 1..=600 {
        let History { facts, end, .. } = history(&Plan::of_seed(seed), false);
        let deeds = || facts.iter().filter_map(deed);
        let stopped = deeds().any(|(deed, before)| {
            matches!(deed, Deed::DeletedPod(_)) && before.size == 0 && before.claims.len() > 1
        });
        let is_up = end.rested && end.truth.confirmed;
        slept += u32::from(stopped && end.truth.size == 0);
        woke += u32::from(stopped && is_up);
        recovered +=
            u32::from(is_up && deeds().any(|(deed, _)| matches!(deed, Deed::StartedAlone(_))));
    }
    eprintln!("of 600 histories {slept} ended asleep, {woke} woke up, {recovered} were recovered");
    assert!(slept > 5 && woke > 5 && recovered > 2);
}

/// Else the promises about restores would hold of nothing.
#[test]
fn histories_go_on_from_backups() {
    let (mut begun, mut whole) = (0, 0);
    for seed in 1..=300 {
        let History { facts, end, .. } = history(&Plan::with_restores(seed), false);
        let gave_up = facts
            .iter()
            .filter_map(deed)
            .any(|(deed, _)| matches!(deed, Deed::GaveUp));
        begun += u32::from(gave_up);
        whole += u32::from(gave_up && end.rested && end.truth.confirmed);
    }
    eprintln!("of 300 histories {begun} went on from a backup, {whole} of them to a whole cluster");
    assert!(begun > 20 && whole * 10 >= begun * 9);
}

fn deed(fact: &Fact) -> Option<(&Deed, &Truth)> {
    match fact {
        Fact::Deed { deed, before, .. } => Some((deed, &**before)),
        Fact::Refused { .. }
        | Fact::Spun { .. }
        | Fact::Stirred { .. }
        | Fact::Trespassed { .. }
        | Fact::Said { .. }
        | Fact::Elected { .. } => None,
    }
}

/// A disk that is emptied before its member is sealed is founded anew, and the histories must show it.
#[test]
fn a_module_that_seals_nobody_is_found_out() {
    let forgetful = |snapshot: &contract::Snapshot| {
        let mut decision = reconciler::reconcile(snapshot);
        decision
            .actions
            .retain(|action| !matches!(action.effect, contract::Effect::AnnotatePod { .. }));
        decision
    };
    let is_found_out = |seed: u64| {
        let history = simulate(
            &Plan::of_seed(seed),
            &mut { forgetful },
            &is_goal,
            &is_hopeless,
            false,
        );
        violations(&history)
            .iter()
            .any(|violation| violation.promise == Promise::NoWriteIsLost)
    };
    assert!((1..=200).any(is_found_out));
}

/// A module without memory starts over and over.
#[test]
fn a_module_that_writes_no_status_is_found_out() {
    let forgetful = |snapshot: &contract::Snapshot| {
        let mut decision = reconciler::reconcile(snapshot);
        decision
            .actions
            .retain(|action| !matches!(action.effect, contract::Effect::UpdateStatus { .. }));
        decision
    };
    let history = simulate(
        &Plan::of_seed(1),
        &mut { forgetful },
        &is_goal,
        &is_hopeless,
        false,
    );
    assert_ne!(violations(&history), []);
}
