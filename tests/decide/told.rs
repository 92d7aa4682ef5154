//! Histories in words: one that failed, made as small as it still fails, and those of a seed that is asked for.
//!
//! Does not judge them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use simulator::Plan;

use super::once_failed::OnceFailed;
use super::{Court, Promise, Violation, history, number};

/// Before what belongs into `once_failed.yaml`.
pub(super) const PRINTED: &str = "\nfor once_failed.yaml:\n";

/// Leaves out of a failing plan what it does not need to fail in the same way.
fn smallest(plan: Plan, promise: Promise, court: Court) -> Plan {
    let fails = |plan: &Plan| {
        court
            .judge(plan)
            .is_some_and(|violation| violation.promise == promise)
    };
    match plan.smaller().into_iter().find(fails) {
        Some(smaller) => smallest(smaller, promise, court),
        None => plan,
    }
}

/// A failing history in words.
pub(super) fn tell(plan: Plan, violation: &Violation, court: Court) -> String {
    let plan = smallest(plan, violation.promise, court);
    let what = court
        .judge(&plan)
        .map_or_else(String::new, |violation| violation.what);
    let told = catch_unwind(AssertUnwindSafe(|| court.history(&plan, true)));
    let words = told.map_or_else(
        |_| "it panics".to_owned(),
        |history| history.words.join("\n"),
    );
    let case = serde_yaml::to_string(&[OnceFailed {
        what: violation.promise.to_string(),
        court,
        plan: plan.clone(),
    }]);
    format!(
        "promise broken: {}\n{what}\n{plan}\n{words}{PRINTED}{}",
        violation.promise,
        case.expect("a plan is a document")
    )
}

/// Prints the histories of `SIMULATOR_TELL`, if that is set: as drawn, and of each kind that is drawn beside.
#[test]
fn a_seed_is_told_in_words() {
    let seed = number("SIMULATOR_TELL", 0);
    for plan in [
        Plan::of_seed,
        Plan::with_doubts,
        Plan::with_doubts_beside,
        Plan::with_turns,
        Plan::with_restores,
        Plan::with_guards,
        Plan::with_strangers,
        Plan::with_recreations,
        Plan::with_evictions,
        Plan::with_unheard_members,
        Plan::with_idle_clients,
        Plan::with_numbered_members,
        Plan::with_claims_that_stay,
        Plan::with_kept_members,
    ] {
        let plan = plan(seed);
        let told = history(&plan, true);
        assert!(!told.words.is_empty());
        if seed > 0 {
            eprintln!("{plan}{}\n", told.words.join("\n"));
        }
    }
}
