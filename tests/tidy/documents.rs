//! What is written for people names things that are there.

use std::collections::BTreeSet;
use std::path::Path;

use contract::Reason;

use crate::repository::{assert_none, read, root, texts};

#[test]
fn each_reason_is_explained() {
    let text = read("docs/reasons.md");
    let sections: BTreeSet<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(str::trim)
        .collect();
    let reasons: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    let missing: Vec<_> = reasons
        .difference(&sections)
        .map(|reason| format!("no section: {reason}"))
        .collect();
    let stray: Vec<_> = sections
        .difference(&reasons)
        .map(|reason| format!("no such reason: {reason}"))
        .collect();
    assert_none(
        &[missing, stray].concat(),
        "docs/reasons.md and contract/src/report.rs differ",
    );
}

#[test]
fn each_verb_of_make_is_documented() {
    let makefile = read("Makefile");
    let written = ["README.md", "CONTRIBUTING.md"].map(read).concat();
    let wrong: Vec<_> = makefile
        .lines()
        .filter(|line| line.contains(": ") && line.contains("## "))
        .filter_map(|line| line.split_once(':'))
        .map(|(verb, _)| format!("make {verb}"))
        .filter(|verb| !written.contains(&format!("`{verb}`")))
        .collect();
    assert_none(
        &wrong,
        "verbs that neither README.md nor CONTRIBUTING.md names",
    );
}

/// A test, figure or metric that a document names in backticks stands in some source.
#[test]
fn names_in_documents_exist_in_sources() {
    let sources: String = texts("rs").into_iter().map(|(_, text)| text).collect();
    let mut wrong = Vec::new();
    for (file, text) in texts("md") {
        for name in quoted(&text).filter(|name| is_long_name(name)) {
            if !sources.contains(name) {
                wrong.push(format!("{file}: `{name}`"));
            }
        }
    }
    assert_none(&wrong, "names in documents that no source has");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    for (file, text) in texts("md") {
        let folder = root().join(&file);
        let folder = folder.parent().unwrap_or_else(|| Path::new(""));
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !folder.join(path).exists() {
                wrong.push(format!("{file}: {target}"));
            }
        }
    }
    assert_none(&wrong, "links to files that are not there");
}

/// The texts between single backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Whether this is snake case of four words or more: too long to be anything but a name in this repository.
fn is_long_name(word: &str) -> bool {
    word.matches('_').count() >= 3
        && word
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit())
}
