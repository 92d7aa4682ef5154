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

type Kind = (&'static str, fn(u64) -> Plan);

/// The kinds that are drawn, as docs/proof.md calls them.
const KINDS: [Kind; 17] = [
    ("as drawn", Plan::of_seed),
    ("wrong clocks and second operators", Plan::with_doubts),
    (
        "wrong clocks and second operators beside others",
        Plan::with_doubts_beside,
    ),
    ("late trouble", Plan::with_late_trouble),
    (
        "late trouble beside other things",
        Plan::with_late_trouble_beside,
    ),
    ("turns of TLS", Plan::with_turns),
    ("restores", Plan::with_restores),
    ("backups before risky acts", Plan::with_guards),
    ("objects of others", Plan::with_strangers),
    ("made again", Plan::with_recreations),
    ("idle clients", Plan::with_idle_clients),
    ("moves of the images", Plan::with_moves),
    ("evictions", Plan::with_evictions),
    ("out of the operator's reach", Plan::with_unheard_members),
    ("second dialect", Plan::with_numbered_members),
    ("claims that stay", Plan::with_claims_that_stay),
    ("taken over", Plan::with_kept_members),
];

/// Prints the histories of `SIMULATOR_TELL`, if that is set: as drawn, and of each kind that is drawn beside.
#[test]
fn a_seed_is_told_in_words() {
    let seed = number("SIMULATOR_TELL", 0);
    for (kind, plan) in KINDS {
        let plan = plan(seed);
        let told = history(&plan, true);
        assert!(!told.words.is_empty());
        if seed > 0 {
            eprintln!("{kind}\n{plan}{}\n", told.words.join("\n"));
        }
    }
}
