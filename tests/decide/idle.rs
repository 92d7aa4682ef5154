//! Histories in which clients fall silent, so that a member that got its data as a snapshot serves nobody by itself.

use simulator::{Deed, Fact, Plan, simulate};

use super::goal::{is_goal, is_hopeless};
use super::{Court, DOUBTED, check, history, seeds};

#[test]
fn new_members_of_an_idle_cluster_come_to_serve() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_idle_clients, Court::All);
    eprintln!("{} histories with idle clients", seeds.len());
}

/// Else the promise would be kept because no member is ever silent.
#[test]
fn without_an_entry_that_changes_nothing_they_would_not() {
    let silent = |snapshot: &contract::Snapshot| {
        let mut decision = reconciler::reconcile(snapshot);
        let is_noop = |action: &contract::Action| action.effect.name() == "AppendNoop";
        decision.actions.retain(|action| !is_noop(action));
        decision
    };
    let (mut served, mut stranded) = (0, 0);
    for seed in 1..=100 {
        let plan = Plan::with_idle_clients(seed);
        let is_noop = |fact: &Fact| matches!(fact, Fact::Deed { deed, .. } if *deed == Deed::Wrote("AppendNoop"));
        served += u32::from(history(&plan, false).facts.iter().any(is_noop));
        let told = simulate(&plan, &mut { silent }, &is_goal, &is_hopeless, false);
        stranded += u32::from(!super::violations(&told).is_empty());
    }
    eprintln!("in {served} of 100 histories members wait for an entry; {stranded} fail without it");
    assert!(served > 10 && stranded > 10);
}
