//! Histories in which members serve clients and one another, and only the operator does not reach them.

use contract::MemberId;
use simulator::{Deed, Fact, Fault, Plan, Truth};

use super::{Court, DOUBTED, check, history, seeds};

#[test]
fn no_member_out_of_the_operators_reach_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_unheard_members, Court::All);
    eprintln!("{} histories with members that are not heard", seeds.len());
}

/// Else the promise would be kept because the operator hears of everybody in time.
#[test]
fn members_that_serve_are_replaced_when_they_are_not_heard() {
    let mut replaced = 0;
    for seed in 1..=200 {
        let mut plan = Plan::with_unheard_members(seed);
        plan.faults
            .retain(|planned| matches!(planned.fault, Fault::Unheard(_)));
        let facts = history(&plan, false).facts;
        replaced += u32::from(facts.iter().any(is_removal_of_who_serves));
    }
    eprintln!("in {replaced} of 200 histories somebody is replaced who serves");
    assert!(replaced > 4);
}

fn is_removal_of_who_serves(fact: &Fact) -> bool {
    let serves = |id: MemberId, before: &Truth| {
        let mut members = before.members.iter();
        members.any(|member| member.id == id && member.healthy && !member.learner)
    };
    matches!(
        fact,
        Fact::Deed { deed: Deed::Removed(id), before, .. } if serves(*id, before)
    )
}
