//! Seeds the defects of `mutants.yaml` into the reconciler and the envelope, one at a time, and says which check finds
//! each of them out.
//!
//! Works on a copy of this repository in the target folder. Knows no check by name: it runs the cases of the crate that the
//! defect is in, then the histories, the explored branches and the properties of this crate.
#![expect(clippy::print_stdout, reason = "this is a command line")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use serde::Deserialize;

const LIST: &str = include_str!("mutants.yaml");
/// Tests that look for defects. Only these: whatever reads the source itself would find every defect.
const SUITES: [Suite; 3] = [
    Suite {
        package: "reconciler",
        programs: &["--tests"],
        of: "reconciler-wasm",
    },
    Suite {
        package: "envelope",
        programs: &["--lib"],
        of: "host/envelope",
    },
    Suite {
        package: "decide",
        programs: &["--profile=proof", "--test", "decide"],
        of: "",
    },
];
/// Histories that a defect has to show itself in, and those whose snapshots the properties are asked of.
const HISTORIES: [(&str, &str); 2] = [("SIMULATOR_HISTORIES", "3000"), ("SIMULATOR_SEEDS", "40")];
/// Where the page has its table.
const MARKS: [&str; 2] = ["<!-- mutants -->\n", "<!-- end of mutants -->"];

/// Seeds defects into the reconciler and the envelope, and looks which check finds them out.
#[derive(Parser)]
struct Arguments {
    /// The page in whose table the rows of these defects are written anew; rows of others stay.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Only defects with these words; may be given again.
    #[arg(long, value_name = "WORDS")]
    only: Vec<String>,
}

/// A defect, and where it is seeded.
#[derive(Deserialize)]
struct Mutant {
    family: String,
    defect: String,
    file: PathBuf,
    from: String,
    to: String,
}

impl Mutant {
    /// How its row in the table begins.
    fn row(&self) -> String {
        format!("| {} | {} | ", self.family, self.defect)
    }

    fn seeded(&self, text: &str) -> Result<String> {
        let places = text.matches(&self.from).count();
        ensure!(
            places == 1,
            "{}: {:?} is there {places} times; bring mutants.yaml up to date",
            self.file.display(),
            self.from
        );
        Ok(text.replacen(&self.from, &self.to, 1))
    }
}

/// Test programs of one package.
struct Suite {
    package: &'static str,
    programs: &'static [&'static str],
    /// The folder whose defects they look for.
    of: &'static str,
}

/// The first test that failed, and how long finding it took.
type Found = Option<(String, u64)>;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Answers how many defects nothing found out.
fn run(arguments: &Arguments) -> Result<usize> {
    let mutants: Vec<Mutant> = serde_yaml::from_str(LIST).context("mutants.yaml is no list")?;
    let only = &arguments.only;
    let is_chosen = |mutant: &&Mutant| {
        only.is_empty() || only.iter().any(|words| mutant.defect.contains(words))
    };
    let chosen: Vec<&Mutant> = mutants.iter().filter(is_chosen).collect();
    ensure!(
        !chosen.is_empty(),
        "no defect of mutants.yaml has the words {:?}",
        arguments.only
    );
    let copy = Copy::make()?;
    let mut rows: BTreeMap<usize, (&Mutant, Found)> = BTreeMap::new();
    // The decision cases are asked about all defects first: they are quick.
    for (round, suite) in SUITES.iter().enumerate() {
        let left = chosen.iter().enumerate();
        let left: Vec<(usize, &&Mutant)> = left
            .filter(|(number, mutant)| {
                !rows.contains_key(number) && mutant.file.starts_with(suite.of)
            })
            .collect();
        if left.is_empty() {
            continue;
        }
        if let Some(test) = copy.first_failure(suite)? {
            bail!("{test} fails on the source as it is");
        }
        let is_last = round + 1 == SUITES.len();
        for (number, mutant) in left {
            let found = copy.with(mutant, suite)?;
            let told = match &found {
                Some((test, seconds)) => format!("found out by {test} after {seconds} s"),
                None if is_last => "SURVIVED".to_owned(),
                None => format!("not found out by the tests of {}", suite.package),
            };
            println!(
                "[{}/{}] {}: {} - {told}",
                number + 1,
                chosen.len(),
                mutant.family,
                mutant.defect
            );
            if found.is_some() || is_last {
                rows.insert(number, (*mutant, found));
            }
            // Whoever ends this early has what was found so far.
            if let Some(page) = &arguments.write {
                write(page, &mutants, rows.values())?;
            }
        }
    }
    let survived = rows.values().filter(|(_, found)| found.is_none()).count();
    println!("{} of {} found out", chosen.len() - survived, chosen.len());
    Ok(survived)
}

/// A copy of this repository, built in a target folder of its own.
struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn make() -> Result<Self> {
        let source = repository();
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| source.join("target"), PathBuf::from)
            .join("mutants");
        let root = target.join("source");
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        let listed = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(&source)
            .output()
            .context("git cannot be started")?;
        for file in String::from_utf8(listed.stdout)?.lines() {
            let to = root.join(file);
            fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
            fs::copy(source.join(file), to).with_context(|| format!("{file} cannot be copied"))?;
        }
        Ok(Self { root, target })
    }

    /// Which of those tests finds this defect out.
    fn with(&self, mutant: &Mutant, suite: &Suite) -> Result<Found> {
        let path = self.root.join(&mutant.file);
        let whole = fs::read_to_string(&path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        fs::write(&path, mutant.seeded(&whole)?)?;
        let began = Instant::now();
        let found = self
            .first_failure(suite)
            .with_context(|| mutant.defect.clone());
        fs::write(&path, whole)?;
        Ok(found?.map(|test| (test, began.elapsed().as_secs())))
    }

    /// The first test of those programs that fails.
    fn first_failure(&self, suite: &Suite) -> Result<Option<String>> {
        for program in self.build(suite)? {
            if let Some(test) = self.first_failure_of(&program)? {
                return Ok(Some(test));
            }
        }
        Ok(None)
    }

    /// The first test of that program that fails. It is ended there: one is enough.
    fn first_failure_of(&self, program: &Path) -> Result<Option<String>> {
        let mut tests = Command::new(program)
            .env("RUST_BACKTRACE", "0")
            .envs(HISTORIES)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the tests cannot be started")?;
        let told = tests.stdout.take().context("the tests say nothing")?;
        let failed = BufReader::new(told)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
                Some(name.rsplit("::").next().unwrap_or(name).to_owned())
            });
        if failed.is_some() {
            tests.kill().context("the tests cannot be ended")?;
        }
        let status = tests.wait()?;
        // A test program that ends without a word was ended by what it tested.
        Ok(failed.or_else(|| (!status.success()).then(|| "an abort".to_owned())))
    }

    /// Where cargo put the test programs.
    fn build(&self, suite: &Suite) -> Result<Vec<PathBuf>> {
        let package = suite.package;
        let built = Command::new("cargo")
            .args([
                "test",
                "--no-run",
                "--message-format=json",
                "--package",
                package,
            ])
            .args(suite.programs)
            .env("CARGO_TARGET_DIR", &self.target)
            // Each program is built for one run.
            .env("CARGO_PROFILE_PROOF_LTO", "off")
            .env("CARGO_PROFILE_PROOF_CODEGEN_UNITS", "16")
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .output()
            .context("cargo cannot be started")?;
        if !built.status.success() {
            bail!("{}", String::from_utf8_lossy(&built.stderr));
        }
        let messages = String::from_utf8_lossy(&built.stdout);
        let programs: Vec<PathBuf> = messages
            .lines()
            .filter_map(|line| {
                let message: serde_json::Value = serde_json::from_str(line).ok()?;
                // Beside its tests cargo builds a package's programs, of which this is one.
                message
                    .pointer("/profile/test")?
                    .as_bool()
                    .filter(|is| *is)?;
                Some(PathBuf::from(message.get("executable")?.as_str()?))
            })
            .collect();
        ensure!(
            !programs.is_empty(),
            "cargo built no test program of {package}"
        );
        Ok(programs)
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of these defects as they were found out just now, those of all others as the page has them.
fn write<'m>(
    page: &Path,
    mutants: &[Mutant],
    found: impl Iterator<Item = &'m (&'m Mutant, Found)>,
) -> Result<()> {
    let text =
        fs::read_to_string(page).with_context(|| format!("{} cannot be read", page.display()))?;
    let (before, table, after) = parts(&text).context("the page has no marks")?;
    let found: BTreeMap<String, String> = found
        .map(|(mutant, found)| {
            let by = found
                .as_ref()
                .map_or_else(|| "nothing".to_owned(), |(test, _)| format!("`{test}`"));
            let start = mutant.row();
            let row = format!("{start}{by} |");
            (start, row)
        })
        .collect();
    let mut written = "| family | defect | found out by |\n|---|---|---|\n".to_owned();
    for mutant in mutants {
        let start = mutant.row();
        let known = table.lines().find(|line| line.starts_with(&start));
        if let Some(row) = found.get(&start).map(String::as_str).or(known) {
            written.push_str(row);
            written.push('\n');
        }
    }
    let [start, end] = MARKS;
    fs::write(page, format!("{before}{start}{written}{end}{after}"))?;
    Ok(())
}

/// What is before the table, the table, and what is after it.
fn parts(page: &str) -> Option<(&str, &str, &str)> {
    let [start, end] = MARKS;
    let (before, rest) = page.split_once(start)?;
    let (table, after) = rest.split_once(end)?;
    Some((before, table, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defect_has_its_place() {
        let mutants: Vec<Mutant> = serde_yaml::from_str(LIST).expect("a list");
        assert!(mutants.len() >= 100, "only {} defects", mutants.len());
        for mutant in mutants {
            let path = repository().join(&mutant.file);
            let text = fs::read_to_string(&path).expect("a file of this repository");
            let seeded = mutant.seeded(&text).expect("one place");
            assert_ne!(seeded, text, "{}", mutant.defect);
        }
    }

    /// A defect that nobody was asked about would pass for one that was found out.
    #[test]
    fn every_defect_has_its_row_and_was_found_out() {
        let mutants: Vec<Mutant> = serde_yaml::from_str(LIST).expect("a list");
        let page = fs::read_to_string(repository().join("docs/proof.md")).expect("the page");
        let (_, table, _) = parts(&page).expect("the table");
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows.len(), mutants.len());
        for (mutant, row) in mutants.iter().zip(rows) {
            assert!(row.starts_with(&mutant.row()), "{row}");
            assert!(!row.ends_with("| nothing |"), "{row}");
        }
    }
}
