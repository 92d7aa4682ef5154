//! Where the verbs that answer people print: text or JSON on standard output, what else is to be said on standard error.

use std::fmt;
use std::io::{self, Write as _};

use contract::{Dialect, Millis};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document.
    Json,
}

/// Prints text as it is.
///
/// # Errors
/// When standard output cannot be written to.
pub fn print(text: impl fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    heard(write!(out, "{text}").and_then(|()| out.flush()))
}

/// Prints one JSON document.
///
/// # Errors
/// When standard output cannot be written to.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from);
    heard(written.and_then(|()| writeln!(out)))
}

/// Whoever closes the pipe, as `head` does, has heard enough.
fn heard(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Says something beside the answer, on standard error.
pub fn note(words: impl fmt::Display) {
    // Where even standard error is closed, nobody listens.
    let _ = writeln!(io::stderr(), "{words}");
}

/// Says why there is no answer, in the form in which the answer was asked for.
pub fn fail(format: Format, why: &impl fmt::Display) {
    let told = match format {
        Format::Text => false,
        Format::Json => print_json(&serde_json::json!({ "error": why.to_string() })).is_ok(),
    };
    if !told {
        note(format_args!("error: {why}"));
    }
}

/// How far a transfer of `bytes` bytes has come. Hidden by itself where standard error is no terminal.
#[must_use]
pub fn bar(what: &str, bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let template = "{bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {msg}";
    // The template is fixed and right; a bar of another look would do too.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(what.to_owned())
}

/// An instant as people write it, in UTC.
#[must_use]
pub fn time(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(
        |_| format!("{} ms", at.0),
        |time| time.strftime("%Y-%m-%d %H:%M:%S%.3f UTC").to_string(),
    )
}

/// A span as people say it: its two largest units at most.
#[must_use]
pub fn span(span: Millis) -> String {
    let (seconds, millis) = (span.0 / 1000, span.0 % 1000);
    match seconds {
        ..1 => format!("{millis} ms"),
        1..60 if millis != 0 => format!(
            "{seconds}.{} s",
            format!("{millis:03}").trim_end_matches('0')
        ),
        1..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..86400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        86400.. => two(seconds / 86400, "d", seconds % 86400 / 3600, "h"),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

/// `1 member`, `3 members`.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", grouped(number))
    }
}

/// What a name is followed by where another group than the first is meant, which is the one that goes without saying.
#[must_use]
pub fn of_group(dialect: Dialect) -> String {
    match dialect {
        Dialect::Coreos => String::new(),
        Dialect::Improbable => format!(" of {}", dialect.group()),
    }
}

/// Digits in groups of three: `518,400`.
#[must_use]
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    let groups: Vec<_> = groups.into_iter().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Rows of cells in columns, two spaces apart, without trailing blanks.
#[must_use]
pub fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn line<const N: usize>(row: &[String; N], widths: &[usize; N]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(&format!("{cell:<width$}  "));
    }
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_spans_read_as_people_write_them() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(518_400), "518,400");
        assert_eq!(count(1, "decision"), "1 decision");
        assert_eq!(span(Millis(250)), "250 ms");
        assert_eq!(span(Millis(1500)), "1.5 s");
        assert_eq!(span(Millis(60_000)), "1 min");
        assert_eq!(span(Millis(7_380_000)), "2 h 3 min");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["SEQ".to_owned(), "WHAT".to_owned()],
            ["12345".to_owned(), "-".to_owned()],
        ];
        assert_eq!(table(&rows), "SEQ    WHAT\n12345  -\n");
    }
}
