//! The outcome of a replay, for people.

use std::fmt::Write as _;
use std::time::Duration;

use super::difference::{Change, Difference};
use super::tally::{Tally, Told};
use crate::output::{count, grouped, time};
use crate::recorder::RecordedFailure;

pub(super) fn text(tally: &Tally, took: Duration) -> String {
    let mut text = String::new();
    for told in tally.told() {
        tell(told, &mut text);
    }
    let untold = tally.differing() - tally.told().len();
    if untold > 0 {
        line(
            &mut text,
            &format!("… and {} more that differ.\n", grouped(untold)),
        );
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
        return format!("{} of {decisions} differ.", grouped(tally.differing()));
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

fn origin(tally: &Tally, took: Duration) -> String {
    let modules: Vec<&str> = tally.modules().iter().map(String::as_str).collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a rate for the eye"
    )]
    let rate = (tally.decisions() as f64 / took.as_secs_f64().max(0.001)) as usize;
    format!(
        "{}, module {}, {:.1} s, {} decisions/s",
        count(tally.clusters(), "cluster"),
        if modules.is_empty() {
            "none".to_owned()
        } else {
            modules.join(" and ")
        },
        took.as_secs_f64(),
        grouped(rate),
    )
}

fn tell(told: &Told, text: &mut String) {
    line(
        text,
        &format!("Record {}  {}  {}", told.seq, time(told.now), told.cluster),
    );
    match &told.difference {
        Difference::Answer { changes } => {
            for change in changes {
                tell_change(change, text);
            }
        }
        Difference::Fuel { recorded, replayed } => {
            line(text, "  same answer, other fuel");
            two(text, &grouped_fuel(*recorded), &grouped_fuel(*replayed));
        }
        Difference::Failure { recorded, replayed } => {
            line(text, "  decision");
            two(
                text,
                &outcome(recorded.as_ref()),
                &outcome(replayed.as_ref()),
            );
        }
    }
    text.push('\n');
}

fn tell_change(change: &Change, text: &mut String) {
    let Change {
        what,
        recorded,
        replayed,
    } = change;
    line(text, &format!("  {what}"));
    let words = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
    two(text, &words(recorded), &words(replayed));
}

fn two(text: &mut String, recorded: &str, replayed: &str) {
    line(text, &format!("    recorded  {recorded}"));
    line(text, &format!("    replayed  {replayed}"));
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
