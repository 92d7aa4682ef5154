//! P4: where nothing is left to be wished for, nothing is left to do, however long one looks.
//!
//! Begins from each look at a world that was at its goal before it and after it, once all faults are over. What happens
//! between two looks of a history is for the judges of histories.

use std::cell::RefCell;
use std::collections::BTreeSet;

use contract::{Decision, Effect, Millis, Snapshot};
use simulator::{History, Plan, Truth, simulate};

use super::seeds;
use crate::goal::{is_goal, is_hopeless};

/// What a history looked at, and after which looks it was at its goal.
#[derive(Default)]
struct Looks {
    snapshots: Vec<Snapshot>,
    at_goal: BTreeSet<usize>,
}

/// Each look at the goal once all is calm: nothing is stale or on its way out of a fault then.
fn looks_at_the_goal(plan: &Plan) -> (Vec<Snapshot>, History) {
    let looks = RefCell::new(Looks::default());
    let mut decide = |snapshot: &Snapshot| {
        looks.borrow_mut().snapshots.push(snapshot.clone());
        reconciler::reconcile(snapshot)
    };
    let notes_goal = |truth: &Truth| {
        let is_goal = is_goal(truth);
        if is_goal && !truth.paused {
            let mut looks = looks.borrow_mut();
            let last = looks.snapshots.len() - 1;
            looks.at_goal.insert(last);
        }
        is_goal
    };
    let history = simulate(plan, &mut decide, &notes_goal, &is_hopeless, false);
    let Looks { snapshots, at_goal } = looks.into_inner();
    let calm = snapshots[0].now.0 + plan.calm_from();
    let is_at_goal = |number: &usize| at_goal.contains(number) && snapshots[*number].now.0 > calm;
    let both =
        (1..snapshots.len()).filter(|number| is_at_goal(&(number - 1)) && is_at_goal(number));
    let at_goal = both.map(|number| snapshots[number].clone()).collect();
    (at_goal, history)
}

#[test]
fn p4_at_the_goal_nothing_is_left_to_do() {
    let (mut rested, mut told, mut looked) = (0, 0, 0);
    for seed in seeds() {
        let plan = Plan::of_seed(seed);
        let (looks, History { end, .. }) = looks_at_the_goal(&plan);
        assert!(
            end.rested || is_hopeless(&end.truth),
            "seed {seed}: {end:?}"
        );
        rested += u32::from(end.rested);
        for (number, mut snapshot) in looks.into_iter().enumerate() {
            looked += 1;
            let Decision { actions, .. } = reconciler::reconcile(&snapshot);
            let names: Vec<&str> = actions.iter().map(|action| action.effect.name()).collect();
            // That it came to its goal may still be to be told.
            let is_telling = actions.iter().all(|action| action.effect.is_telling());
            assert!(
                is_telling,
                "seed {seed}, look {number} at the goal: {names:?}"
            );
            if !actions.is_empty() {
                told += 1;
                continue;
            }
            for later in [1_000, 60_000, 3_600_000] {
                snapshot.now = Millis(snapshot.now.0 + later);
                let Decision { actions, .. } = reconciler::reconcile(&snapshot);
                // What time alone makes due: certificates, and what a rotation leaves when its grace is over.
                let issues = |effect: &Effect| matches!(effect, Effect::Issue { .. });
                let is_upkeep = actions.iter().any(|action| issues(&action.effect))
                    && actions
                        .iter()
                        .all(|action| issues(&action.effect) || action.effect.is_telling());
                let names: Vec<&str> = actions.iter().map(|action| action.effect.name()).collect();
                assert!(
                    names.is_empty() || is_upkeep,
                    "seed {seed}, look {number} at the goal, {later} ms later: {names:?}"
                );
            }
        }
    }
    eprintln!("{looked} looks at the goal, at {told} of them that is still told");
    assert!(rested > 10, "only {rested} histories came to rest");
    assert!(
        looked > told + rested,
        "only {looked} looks, {told} of them with something to tell"
    );
}
