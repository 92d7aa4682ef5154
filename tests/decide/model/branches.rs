//! The worlds whose branches are explored, and what may go wrong in each.
//!
//! Knows no rule of the exploration; that is [`super`]'s.

use simulator::{Branch, Choice, Fault, Plan, Release};

use super::{Ends, HOPELESS, State, explore, formed, plan};
use crate::goal::is_hopeless;
use crate::number;

/// Budgets of stale looks and mishaps, one after the other: both at once have far more branches.
const APART: [(u8, u8); 2] = [(1, 0), (0, 1)];

/// Each of the budgets: with `SIMULATOR_PROVE` all at once, else one after the other.
fn explore_within(what: &str, start: &Branch, faults: &[Fault]) {
    let count = u8::from(!faults.is_empty());
    let budgets: &[(u8, u8)] = if number("SIMULATOR_PROVE", 0) == 0 {
        &APART
    } else {
        &[(1, 1)]
    };
    for (stale, mishaps) in budgets {
        let budget = (*stale, *mishaps, count);
        explore(what, start.clone(), budget, faults, State::is_at_goal);
    }
}

#[test]
fn every_birth_within_the_budget_forms() {
    for size in 1..=3 {
        let what = format!("birth of {size}");
        explore_within(&what, &Branch::new(&plan(size)), &[]);
    }
}

#[test]
fn every_lost_disk_within_the_budget_is_replaced() {
    let disks = [Fault::Wipe(0), Fault::Wipe(1), Fault::DeleteClaim(2)];
    explore_within("a disk lost of 3", &formed(&plan(3)), &disks);
}

/// One or two members have no disk to spare, and come back on theirs.
#[test]
fn every_lost_pod_of_a_small_cluster_within_the_budget_comes_back() {
    for size in 1..=2 {
        let what = format!("a pod lost of {size}");
        explore_within(&what, &formed(&plan(size)), &[Fault::DeletePod(0)]);
    }
}

#[test]
fn every_resize_within_the_budget_ends_at_its_size() {
    for (from, to) in [(1, 3), (3, 1), (2, 1), (1, 2), (2, 3), (3, 2)] {
        let what = format!("{from} to {to}");
        explore_within(&what, &formed(&plan(from)), &[Fault::Resize(to)]);
    }
}

#[test]
fn every_upgrade_within_the_budget_ends_at_its_version() {
    for size in 1..=3 {
        let old = Plan {
            version: Some(Release::new(5, 35)),
            ..plan(size)
        };
        let edit = Fault::Version(Release::new(6, 16));
        let what = format!("3.5 to 3.6, {size} members");
        explore_within(&what, &formed(&old), &[edit]);
    }
}

/// One or two members have no quorum without one of them: nobody but a person can go on.
#[test]
fn every_lost_disk_of_a_small_cluster_within_the_budget_is_told_and_destroys_nothing() {
    for size in 1..=2 {
        let what = format!("a disk lost of {size}");
        let disks: Vec<Fault> = (0..size).map(Fault::Wipe).collect();
        let start = formed(&plan(size.into()));
        for (stale, mishaps) in APART {
            let budget = (stale, mishaps, 1);
            explore(&what, start.clone(), budget, &disks, State::is_blocked);
        }
    }
}

/// What begins, what comes in its middle, and how that may end.
type Middle = (&'static str, i64, Fault, &'static [Fault], Ends);

/// At rest nothing is decided, so only in the middle of something does a decision from before a fault meet what it left.
#[test]
fn every_second_trouble_within_the_budget_finds_an_end() {
    let (three, one) = (Fault::Resize(3), Fault::Resize(1));
    let disks = &[Fault::Wipe(0), Fault::Wipe(1), Fault::Wipe(2)];
    // The one that stays may be the one whose disk goes.
    let somehow: Ends = |state| state.is_at_goal() || is_hopeless(&state.branch.truth());
    let middles: [Middle; 4] = [
        (
            "1 to 3, and back",
            1,
            three,
            &[Fault::Resize(1)],
            State::is_at_goal,
        ),
        ("3 to 1, and a disk lost", 3, one, disks, somehow),
        (
            "3 to 1, and back",
            3,
            one,
            &[Fault::Resize(3)],
            State::is_at_goal,
        ),
        (
            "a disk lost of 3, and a pod",
            3,
            Fault::Wipe(0),
            &[Fault::DeletePod(1)],
            State::is_at_goal,
        ),
    ];
    for (what, size, first, second, ends) in middles {
        let mut start = formed(&plan(size));
        start.step(Choice::Strike(first, 0), reconciler::reconcile);
        for (stale, mishaps) in APART {
            explore(what, start.clone(), (stale, mishaps, 1), second, ends);
        }
    }
}

#[test]
fn every_consent_within_the_budget_goes_on_from_its_survivor() {
    for size in 2..=3 {
        let what = format!("consent, {size} members");
        let mut lost = formed(&plan(size));
        // All disks but one.
        for which in 1..u32::try_from(size).expect("a small size") {
            let wiped = Choice::Suffer(Fault::Wipe(which - 1), 0);
            lost.step(wiped, reconciler::reconcile);
        }
        while lost.rests() < HOPELESS {
            lost.step(Choice::Look, reconciler::reconcile);
        }
        assert!(is_hopeless(&lost.truth()), "{:?}", lost.truth());
        // Together, and with a consent at any moment, the budgets have more branches than an hour.
        for (stale, mishaps) in APART {
            let (start, budget) = (lost.clone(), (stale, mishaps, 1));
            explore(&what, start, budget, &[Fault::Consent], State::is_at_goal);
        }
        if number("SIMULATOR_PROVE", 0) > 0 {
            lost.step(Choice::Strike(Fault::Consent, 0), reconciler::reconcile);
            let what = format!("{what}, at once");
            explore(&what, lost, (1, 1, 0), &[], State::is_at_goal);
        }
    }
}
