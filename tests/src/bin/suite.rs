//! Runs every check in order with live output and ends with one line: `N passed, N failed`.
//!
//! Knows which checks there are and how to count them. What they mean is theirs.
#![expect(clippy::print_stdout, reason = "this is a command line")]

use std::io::{BufRead, BufReader, IsTerminal};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use ::tests::pace;
use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand, TargetKind};
use clap::Parser;

/// Runs the checks of this repository.
#[derive(Parser)]
enum Arguments {
    /// Whatever needs no cluster.
    Check,
    /// The same, then the suites that start a real Kubernetes.
    Test,
}

/// One program to run.
struct Step {
    title: String,
    program: &'static str,
    arguments: Vec<String>,
    counts: Counts,
}

/// What a step adds to the sum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// One: it succeeds or it does not.
    Itself,
    /// The tests it reports.
    ItsTests,
}

/// Wants the machine for itself, so it has a verb of its own: `make olm`.
const APART: &str = "olm";

/// Computes for minutes, so it is built for speed.
const PROOF: &str = "decide";

/// The test of it that is measured as well, so nothing runs beside it.
const HISTORIES: &str = "no_history_breaks_a_promise";

/// How many lines of what a failed test said are told again at the end. All of them stand where it failed.
const LINES: usize = 20;

/// How many passed, and those that did not.
#[derive(Default)]
struct Sum {
    passed: usize,
    failed: Vec<Failure>,
    /// The name of the failed test whose words the harness is telling.
    telling: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Failure {
    name: String,
    words: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let started = Instant::now();
    let mut sum = Sum::default();
    match steps(&arguments) {
        Ok(steps) => steps.iter().for_each(|step| run(step, &mut sum)),
        Err(error) => sum.fail(&format!("the list of checks: {error:#}")),
    }
    if !sum.failed.is_empty() {
        println!("\nFailed:");
    }
    for Failure { name, words } in &sum.failed {
        println!("  {name}");
        words.iter().for_each(|line| println!("    {line}"));
    }
    println!("\nAll of it took {} s.", started.elapsed().as_secs());
    println!("{} passed, {} failed", sum.passed, sum.failed.len());
    ExitCode::from(u8::from(!sum.failed.is_empty()))
}

/// The steps, cheapest first.
fn steps(arguments: &Arguments) -> Result<Vec<Step>> {
    let metadata = MetadataCommand::new()
        .no_deps()
        .exec()
        .context("cargo cannot read this workspace")?;
    let mut steps = vec![
        cargo("format", Counts::Itself, "fmt --all -- --check"),
        cargo(
            "lints",
            Counts::Itself,
            "clippy --all-targets -- --deny warnings",
        ),
        // To cargo a suite that a plain `cargo test` leaves out is none of all targets.
        cargo(
            "lints of the suites on real servers",
            Counts::Itself,
            &format!(
                "clippy --package tests{} -- --deny warnings",
                suites_apart(&metadata)
                    .map(|suite| format!(" --test {suite}"))
                    .collect::<String>()
            ),
        ),
        Step {
            title: "sealed module".to_owned(),
            program: "make",
            arguments: vec!["--no-print-directory".to_owned(), "wasm".to_owned()],
            counts: Counts::Itself,
        },
        cargo(
            "tests without a cluster",
            Counts::ItsTests,
            &format!(
                "test --no-fail-fast --lib --bins --tests{}",
                others(&metadata)
            ),
        ),
        cargo(
            "a hundred thousand histories of the decision",
            Counts::ItsTests,
            &format!(
                "test --profile proof --package {PROOF} --test {PROOF} -- --nocapture --exact {HISTORIES}"
            ),
        ),
        cargo(
            "other histories, branches and properties of the decision",
            Counts::ItsTests,
            &format!(
                "test --no-fail-fast --profile proof --package {PROOF} -- --nocapture --exact --skip {HISTORIES}"
            ),
        ),
    ];
    if has_cargo_deny() {
        steps.push(cargo(
            "licences, bans, sources",
            Counts::Itself,
            "deny --log-level error check bans licenses sources",
        ));
    } else {
        println!(
            "cargo-deny is not here, so licences are not looked at; to have it: cargo install --locked cargo-deny"
        );
    }
    match arguments {
        Arguments::Check => {}
        Arguments::Test => {
            let live = suites_apart(&metadata).filter(|suite| *suite != APART);
            steps.extend(live.map(|suite| {
                cargo(
                    &format!("suite `{suite}` on real servers"),
                    Counts::ItsTests,
                    &format!("test --no-fail-fast --package tests --test {suite}"),
                )
            }));
        }
    }
    Ok(steps)
}

/// The packages that a plain `cargo test` tests, without the one that is built for speed, as arguments.
fn others(metadata: &Metadata) -> String {
    let packages = metadata.workspace_default_packages().into_iter();
    packages
        .filter(|package| package.name.as_str() != PROOF)
        .map(|package| format!(" --package {}", package.name))
        .collect()
}

fn cargo(title: &str, counts: Counts, arguments: &str) -> Step {
    let arguments = arguments.split(' ').map(str::to_owned).collect();
    Step {
        title: title.to_owned(),
        program: "cargo",
        arguments,
        counts,
    }
}

/// The suites that a plain `cargo test` leaves out (`test = false`).
fn suites_apart(metadata: &Metadata) -> impl Iterator<Item = &str> {
    let targets = metadata
        .packages
        .iter()
        .flat_map(|package| &package.targets);
    targets
        .filter(|target| target.kind.contains(&TargetKind::Test) && !target.test)
        .map(|target| target.name.as_str())
}

fn has_cargo_deny() -> bool {
    Command::new("cargo")
        .args(["deny", "--version"])
        .output()
        .is_ok_and(|answer| answer.status.success())
}

/// Runs one step, shows what it prints, and adds to the sum.
fn run(step: &Step, sum: &mut Sum) {
    let started = Instant::now();
    println!("\n{}", heading(&step.title));
    let before = (sum.passed, sum.failed.len());
    let succeeded = match output_of(step, sum) {
        Ok(succeeded) => succeeded,
        Err(error) => {
            println!("{error:#}");
            false
        }
    };
    match (succeeded, step.counts) {
        (true, Counts::Itself) => sum.passed += 1,
        (true, Counts::ItsTests) => {}
        // Tests that failed have been counted; whatever else ended the step has not.
        (false, Counts::Itself | Counts::ItsTests) if sum.failed.len() > before.1 => {}
        (false, Counts::Itself | Counts::ItsTests) => sum.fail(&step.title),
    }
    println!(
        "{}: {} passed, {} failed, {} s",
        step.title,
        sum.passed - before.0,
        sum.failed.len() - before.1,
        started.elapsed().as_secs()
    );
}

/// Whether the step's program succeeded. Its tests are counted on the way.
fn output_of(step: &Step, sum: &mut Sum) -> Result<bool> {
    let mut child = Command::new(step.program)
        .args(&step.arguments)
        // A failed assertion says enough; its way through the test harness hides it.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} cannot be started", step.program))?;
    let output = child.stdout.take().context("the program has no output")?;
    for line in BufReader::new(output).lines() {
        let line = line.context("the program's output cannot be read")?;
        println!("{line}");
        if let Some(pace) = pace::told(&line) {
            // What could not be written down was checked all the same.
            note(pace).unwrap_or_else(|error| println!("{error:#}"));
        }
        if step.counts == Counts::ItsTests {
            count(&line, sum);
        }
    }
    Ok(child
        .wait()
        .context("the program's end cannot be seen")?
        .success())
}

/// Keeps the pace of the histories beside the figures of the benchmarks.
fn note(pace: f64) -> Result<()> {
    let target = MetadataCommand::new().no_deps().exec()?.target_directory;
    let file = target.join("bench.json");
    pace::note(file.as_std_path(), pace)?;
    println!(
        "{}: {pace}, {} aimed at; written to {file}",
        pace::HISTORIES,
        pace::AIM
    );
    Ok(())
}

impl Sum {
    fn fail(&mut self, name: &str) {
        self.failed.push(Failure {
            name: name.to_owned(),
            words: Vec::new(),
        });
    }

    /// What the failed test said that the harness is telling of.
    fn words(&mut self) -> Option<&mut Vec<String>> {
        let name = self.telling.as_ref()?;
        let mut latest = self.failed.iter_mut().rev();
        let told = latest.find(|failure| failure.name == *name)?;
        Some(&mut told.words)
    }
}

/// Reads one line of the test harness: a test that failed, what it said, or a binary's result.
fn count(line: &str, sum: &mut Sum) {
    let failed = line
        .strip_prefix("test ")
        .and_then(|rest| rest.strip_suffix(" ... FAILED"));
    if let Some(name) = failed {
        sum.fail(name.trim_end());
    } else if let Some(result) = line.strip_prefix("test result: ") {
        sum.telling = None;
        sum.passed += result
            .split(['.', ';'])
            .find_map(|part| part.trim().strip_suffix(" passed"))
            .and_then(|number| number.parse::<usize>().ok())
            .unwrap_or_default();
    } else if let Some(name) = line
        .strip_prefix("---- ")
        .and_then(|rest| rest.strip_suffix(" ----"))
    {
        sum.telling = Some(name.trim_end_matches(" stdout").trim_end().to_owned());
    } else if line == "failures:" {
        sum.telling = None;
    } else if let Some(words) = sum.words()
        && words.len() < LINES
        && !line.is_empty()
    {
        words.push(line.to_owned());
    }
}

fn heading(title: &str) -> String {
    if std::io::stdout().is_terminal() {
        format!("\u{1b}[1m== {title}\u{1b}[0m")
    } else {
        format!("== {title}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_and_failures_told_from_the_harness_lines() {
        let mut sum = Sum::default();
        for line in [
            "running 4 tests",
            "test a::holds      ... ok",
            "test a::breaks     ... FAILED",
            "test a::breaks_too ... FAILED",
            "failures:",
            "",
            "---- a::breaks stdout ----",
            "one is not two",
            "---- a::breaks_too ----",
            "three is not four:",
            "at all",
            "",
            "failures:",
            "    a::breaks",
            "    a::breaks_too",
            "test result: FAILED. 2 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ] {
            count(line, &mut sum);
        }
        let failure = |name: &str, words: &[&str]| Failure {
            name: name.to_owned(),
            words: words.iter().map(|line| (*line).to_owned()).collect(),
        };
        assert_eq!(sum.passed, 2);
        assert_eq!(
            sum.failed,
            [
                failure("a::breaks", &["one is not two"]),
                failure("a::breaks_too", &["three is not four:", "at all"]),
            ]
        );
    }
}
