//! The shape of source files: each says what it owns, none is long, none knows the machine it was written on.

use std::path::Path;

use crate::repository::{assert_none, files, read, texts};

/// Lines of a file without its tests. A longer one has two ideas.
const LONGEST: usize = 400;

#[test]
fn every_source_file_opens_with_what_it_owns() {
    let wrong: Vec<_> = texts("rs")
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(file, _)| file)
        .collect();
    assert_none(&wrong, "files that do not open with `//!`");
}

#[test]
fn no_source_file_is_long() {
    let wrong: Vec<_> = texts("rs")
        .into_iter()
        .filter(|(file, _)| !is_test(file))
        .map(|(file, text)| {
            (
                file,
                text.lines()
                    .take_while(|line| *line != "#[cfg(test)]")
                    .count(),
            )
        })
        .filter(|(_, lines)| *lines > LONGEST)
        .map(|(file, lines)| format!("{file}: {lines} lines without its tests"))
        .collect();
    assert_none(&wrong, &format!("files over {LONGEST} lines"));
}

/// Whether the file is a test as a whole: the module `tests` of a crate, or in a crate's folder `tests`.
fn is_test(file: &str) -> bool {
    let path = Path::new(file);
    let nested = path.strip_prefix("tests").is_err()
        && path.components().any(|part| part.as_os_str() == "tests");
    nested || path.file_stem().is_some_and(|stem| stem == "tests")
}

/// A path of one machine works on no other.
#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    // Put together here so that this file does not find itself.
    let folders = ["root", "home", "work", "Users"].map(|folder| format!("/{folder}/"));
    let text_files = [
        "rs", "toml", "md", "yaml", "yml", "json", "sh", "go", "mod", "wit", "lock", "",
    ];
    let mut wrong = Vec::new();
    for file in files() {
        let extension = Path::new(&file)
            .extension()
            .and_then(|found| found.to_str())
            .unwrap_or_default();
        if !text_files.contains(&extension) {
            continue;
        }
        for (number, line) in read(&file).lines().enumerate() {
            if folders.iter().any(|folder| names_folder(line, folder)) {
                wrong.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none(&wrong, "absolute paths of one machine");
}

/// Whether `folder` begins a path in `line`, rather than being in the middle of a longer one.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !(before.is_alphanumeric() || "._-}>)$*".contains(before)))
    })
}
