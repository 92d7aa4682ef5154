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
        |history| shortened(&history.words),
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

/// As many lines a pass takes at most that is told once for all that are like it.
const LONGEST: usize = 24;

/// The words, and of what is said again and again at other times only the first and the last.
fn shortened(words: &[String]) -> String {
    let mut lines = Vec::new();
    let mut rest = words;
    while !rest.is_empty() {
        let (length, times) = (1..=LONGEST)
            .map(|length| (length, times(rest, length)))
            .find(|(_, times)| *times > 3)
            .unwrap_or((1, 1));
        let (all, then) = rest.split_at(length * times);
        lines.extend_from_slice(&all[..length]);
        if times > 1 {
            lines.push(format!(
                "            ... and so {} times more, at last",
                times - 2
            ));
            lines.extend_from_slice(&all[length * (times - 1)..]);
        }
        rest = then;
    }
    lines.join("\n")
}

/// How often that many lines come in a row, but for their times.
fn times(words: &[String], length: usize) -> usize {
    let Some(first) = words.get(..length) else {
        return 0;
    };
    let is_again = |lines: &&[String]| {
        first
            .iter()
            .map(|line| what(line))
            .eq(lines.iter().map(|line| what(line)))
    };
    words.chunks_exact(length).take_while(is_again).count()
}

/// A line without its time.
fn what(line: &str) -> &str {
    line.split_once(" ms ").map_or(line, |(_, what)| what)
}

type Kind = (&'static str, fn(u64) -> Plan);

/// The kinds that are drawn, as docs/proof.md calls them.
const KINDS: [Kind; 18] = [
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
    ("volumes of other sizes", Plan::with_sizes),
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
            eprintln!("{kind}\n{plan}{}\n", shortened(&told.words));
        }
    }
}

#[test]
fn what_is_said_again_and_again_is_told_once_and_at_last() {
    let line = |at: u32, what: &str| format!("{at:>8} ms  {what}");
    let once = [line(0, "pass a"), line(1, "does b")];
    let again = (1..50).flat_map(|pass| [line(pass * 10, "pass a"), line(pass * 10 + 5, "does c")]);
    let words: Vec<String> = once
        .into_iter()
        .chain(again)
        .chain([line(500, "pass d")])
        .collect();
    let told = shortened(&words);
    let told: Vec<&str> = told.lines().map(str::trim_start).collect();
    let expected = [
        "0 ms  pass a",
        "1 ms  does b",
        "10 ms  pass a",
        "15 ms  does c",
        "... and so 47 times more, at last",
        "490 ms  pass a",
        "495 ms  does c",
        "500 ms  pass d",
    ];
    assert_eq!(told, expected);
}
