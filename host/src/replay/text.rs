//! The outcome of a replay, for people.

use std::fmt::Write as _;
use std::time::Duration;

use super::tally::{Tally, Told};
use crate::difference::{Change, Difference};
use crate::output::{count, grouped, time};
use crate::recorder::RecordedFailure;

/// What the two sides are called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    pub(super) one: &'static str,
    pub(super) other: &'static str,
}

/// A decision as recorded, and decided again.
pub(super) const RECORDED: Sides = Sides {
    one: "recorded",
    other: "replayed",
};
/// Two modules on one recording.
pub(super) const MODULES: Sides = Sides {
    one: "module ",
    other: "against",
};

pub(super) fn text(tally: &Tally, sides: Sides, took: Duration) -> String {
    let mut text = String::new();
    for (cause, way) in tally.by_count() {
        line(
            &mut text,
            &format!("{}: {cause}", count(way.count, "decision")),
        );
        tell(&way.example, sides, &mut text);
    }
    line(&mut text, &verdict(tally));
    line(&mut text, &origin(tally, took));
    text
}

/// Writing to a String cannot fail.
fn line(text: &mut String, words: &str) {
    let _ = writeln!(text, "{words}");
}

fn verdict(tally: &Tally) -> String {
    let decisions = count(tally.decisions(), "decision");
    if tally.decisions() == 0 {
        return "Nothing to replay: no decision could be read.".to_owned();
    }
    if tally.differing() > 0 {
        return format!(
            "{} of {decisions} {}, in {}. To look closer at one: --sequence RECORD.",
            grouped(tally.differing()),
            if tally.differing() == 1 {
                "differs"
            } else {
                "differ"
            },
            count(tally.ways(), "way")
        );
    }
    let fuel = match tally.without_fuel() {
        0 => "byte by byte, fuel included".to_owned(),
        without if without == tally.equal() => {
            "byte by byte; fuel was not compared, because module or engine are not the recorded ones".to_owned()
        }
        without => format!("byte by byte; fuel was not compared in {}", grouped(without)),
    };
    let failed = match tally.failed_alike() {
        0 => String::new(),
        failed => format!(" {} failed then and fail alike.", grouped(failed)),
    };
    format!("{decisions} replayed: all equal, {fuel}.{failed}")
}

/// So many decisions say something about the rate; the time of fewer is mostly the module's loading.
const MANY: usize = 1_000;

fn origin(tally: &Tally, took: Duration) -> String {
    let modules: Vec<&str> = tally.modules().iter().map(String::as_str).collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a rate for the eye"
    )]
    let rate = (tally.decisions() as f64 / took.as_secs_f64().max(0.001)) as usize;
    let rate = if tally.decisions() < MANY {
        "loading included".to_owned()
    } else {
        format!("{} decisions/s", grouped(rate))
    };
    format!(
        "{}, module {}, {:.1} s, {rate}",
        count(tally.clusters(), "cluster"),
        if modules.is_empty() {
            "none".to_owned()
        } else {
            modules.join(" and ")
        },
        took.as_secs_f64(),
    )
}

fn tell(told: &Told, sides: Sides, text: &mut String) {
    let (at, cluster) = (time(told.now), &told.cluster);
    line(text, &format!("  Record {}  {at}  {cluster}", told.seq));
    match &told.difference {
        Difference::Answer { changes } => {
            for change in changes {
                tell_change(change, sides, text);
            }
        }
        Difference::Fuel { recorded, replayed } => {
            line(text, "    same answer, other fuel");
            two(
                text,
                sides,
                &grouped_fuel(*recorded),
                &grouped_fuel(*replayed),
            );
        }
        Difference::Failure { recorded, replayed } => {
            line(text, "    decision");
            two(
                text,
                sides,
                &outcome(recorded.as_ref()),
                &outcome(replayed.as_ref()),
            );
        }
    }
    text.push('\n');
}

fn tell_change(change: &Change, sides: Sides, text: &mut String) {
    let Change {
        cause: _,
        what,
        recorded,
        replayed,
    } = change;
    line(text, &format!("    {what}"));
    let words = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
    two(text, sides, &words(recorded), &words(replayed));
}

fn two(text: &mut String, sides: Sides, one: &str, other: &str) {
    line(text, &format!("      {}  {one}", sides.one));
    line(text, &format!("      {}  {other}", sides.other));
}

fn grouped_fuel(fuel: u64) -> String {
    usize::try_from(fuel).map_or_else(|_| fuel.to_string(), grouped)
}

fn outcome(failure: Option<&RecordedFailure>) -> String {
    failure.map_or_else(
        || "answered".to_owned(),
        |RecordedFailure { name, message }| format!("failed ({name}): {message}"),
    )
}
