//! Histories that can never have a quorum again: they say so and come to rest.
//!
//! Shows that such histories are drawn, and that unrest in them is found out. Judges none itself.

use contract::{Decision, Effect, Snapshot};
use simulator::{History, Plan, simulate};

use super::goal::{is_goal, is_hopeless};
use super::{Promise, history, violations};

/// Else the promises about them would hold of nothing.
#[test]
fn histories_come_to_rest_without_a_quorum() {
    let (mut lost, mut running) = (0, 0);
    for seed in 1..=300 {
        let History { end, .. } = history(&Plan::of_seed(seed), false);
        let is_still = end.still && !end.rested && !end.truth.confirmed;
        lost += u32::from(is_still);
        running += u32::from(is_still && !end.truth.pods.is_empty());
    }
    eprintln!("of 300 histories {lost} ended without a quorum, {running} of them with pods");
    assert!(running > 10);
}

/// Tells people the same again at each third look, which is too seldom to count as a loop.
#[test]
fn a_module_that_never_rests_without_a_quorum_is_found_out() {
    let is_found_out = |seed: u64| {
        let (mut looks, mut told) = (0, None);
        let mut restless = |snapshot: &Snapshot| -> Decision {
            let mut decision = reconciler::reconcile(snapshot);
            let is_event = |effect: &Effect| matches!(effect, Effect::Event { .. });
            let mut actions = decision.actions.iter();
            if let Some(event) = actions.find(|action| is_event(&action.effect)) {
                told = Some(event.clone());
            }
            looks += 1;
            if looks % 3 == 0 && snapshot.etcd.membership.seen().is_none() {
                decision.actions.extend(told.clone());
            }
            decision
        };
        let history = simulate(
            &Plan::of_seed(seed),
            &mut restless,
            &is_goal,
            &is_hopeless,
            false,
        );
        violations(&history)
            .iter()
            .any(|violation| violation.promise == Promise::LossIsRest)
    };
    assert!((1..=100).any(is_found_out));
}
