//! Tables that would strand somebody, each with the line and the words of its refusal.

use super::*;

const DIGEST: &str = "quay.io/binnacle/binnacle@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Four releases, of which the second and the fourth are in prod.
fn good() -> String {
    let entry = |version: &str, testing: &str, prod: Option<&str>, newest: bool| {
        let edge = |channel: &str, replaces: &str| {
            let line = if replaces.is_empty() {
                String::new()
            } else {
                format!("replaces = \"binnacle.v{replaces}\"\n")
            };
            format!("[release.channels.{channel}]\n{line}")
        };
        let bundle = if newest {
            ""
        } else {
            "bundle = \"sha256:00\"\n"
        };
        format!(
            "[[release]]\nversion = \"{version}\"\ncreated = \"2026-01-31T12:00:00Z\"\nimage = \"{DIGEST}\"\nupgrades-from = \"0.1.0\"\n{bundle}{}{}\n",
            edge("testing", testing),
            prod.map(|replaces| edge("prod", replaces))
                .unwrap_or_default(),
        )
    };
    [
        entry("0.1.0", "", None, false),
        entry("0.2.0", "0.1.0", Some(""), false),
        entry("0.3.0", "0.2.0", None, false),
        entry("0.4.0", "0.3.0", Some("0.2.0"), true),
    ]
    .concat()
}

fn said(text: &str) -> Vec<String> {
    match Table::parse(text) {
        Ok(table) => faults(&table, text)
            .iter()
            .map(ToString::to_string)
            .collect(),
        Err(fault) => vec![fault.to_string()],
    }
}

/// Changes one entry of the good table and expects exactly one refusal, with this line and these words.
fn check(from: &str, to: &str, line: usize, words: &str) {
    let text = good();
    assert!(text.contains(from), "{from} is not in the table");
    let said = said(&text.replacen(from, to, 1));
    assert_eq!(said.len(), 1, "{said:#?}");
    let wanted = format!("manifests/releases.toml:{line}: {words}");
    assert!(
        said[0].starts_with(&wanted),
        "{} does not begin with {wanted}",
        said[0]
    );
    assert!(
        said[0].len() > wanted.len() + 10,
        "{} has no remedy",
        said[0]
    );
}

#[test]
fn a_chain_with_promoted_releases_is_taken() {
    assert_eq!(said(&good()), Vec::<String>::new());
}

#[test]
fn a_gap_is_refused() {
    check(
        "replaces = \"binnacle.v0.3.0\"",
        "replaces = \"binnacle.v0.2.5\"",
        33,
        "0.4.0 replaces binnacle.v0.2.5, which is no release of this table: a gap",
    );
    check(
        "replaces = \"binnacle.v0.3.0\"",
        "replaces = \"binnacle.v0.1.0\"",
        33,
        "0.4.0 replaces binnacle.v0.1.0 and leaves a gap",
    );
    check(
        "replaces = \"binnacle.v0.3.0\"\n",
        "",
        33,
        "0.4.0 replaces nothing in testing",
    );
}

#[test]
fn a_loop_is_refused() {
    check(
        "replaces = \"binnacle.v0.3.0\"",
        "replaces = \"binnacle.v0.4.0\"",
        33,
        "0.4.0 replaces binnacle.v0.4.0, which leads back to it: a loop",
    );
}

#[test]
fn a_foreign_package_is_refused() {
    check(
        "replaces = \"binnacle.v0.3.0\"",
        "replaces = \"etcd.v0.9.4\"",
        33,
        "etcd.v0.9.4 belongs to the package etcd, and this is binnacle",
    );
}

#[test]
fn an_image_without_a_digest_is_refused() {
    check(
        DIGEST,
        "quay.io/binnacle/binnacle:v0.1.0",
        4,
        "the image quay.io/binnacle/binnacle:v0.1.0 has no digest",
    );
}

#[test]
fn an_image_with_a_tag_or_a_blank_is_refused() {
    let (repository, digest) = DIGEST.split_once('@').expect("a digest");
    check(
        DIGEST,
        &format!("{repository}:v1@{digest}"),
        4,
        "the image quay.io/binnacle/binnacle:v1@sha256:",
    );
    check(
        DIGEST,
        &format!("quay.io/ binnacle@{digest}"),
        4,
        "the image quay.io/ binnacle@sha256:",
    );
    let with_port = DIGEST.replacen("quay.io", "quay.io:5000", 1);
    assert_eq!(
        said(&good().replace(DIGEST, &with_port)),
        Vec::<String>::new()
    );
}

#[test]
fn a_candidate_in_prod_is_refused() {
    let text = good().replace("0.4.0\"\ncreated", "0.4.0-rc.1\"\ncreated");
    let said = said(&text);
    assert_eq!(said.len(), 1, "{said:#?}");
    let words = "manifests/releases.toml:35: 0.4.0-rc.1 is a candidate by its own name and stands in prod. Promote";
    assert!(said[0].starts_with(words), "{said:#?}");
}

#[test]
fn a_release_that_is_deprecated_without_a_word_is_refused() {
    check(
        "bundle = \"sha256:00\"\n",
        "bundle = \"sha256:00\"\ndeprecated = \" \"\n",
        7,
        "0.1.0 is deprecated without a word why",
    );
}

#[test]
fn a_duplicate_is_refused() {
    let said = said(&good().replacen("version = \"0.2.0\"", "version = \"0.1.0\"", 1));
    assert!(
        said.iter()
            .any(|fault| fault.contains("0.1.0 is there twice. Remove one")),
        "{said:#?}"
    );
}

#[test]
fn a_downgrade_is_refused() {
    let said = said(&good().replacen("version = \"0.3.0\"", "version = \"0.0.9\"", 1));
    assert!(
        said.iter()
            .any(|fault| fault.contains("0.0.9 stands after 0.2.0, which would be a downgrade")),
        "{said:#?}"
    );
}

/// The good table, but its newest release takes over from this version on.
fn newest_from(version: &str) -> String {
    let text = good();
    let last = text
        .rfind("upgrades-from = \"0.1.0\"")
        .expect("the newest release");
    let (before, newest) = text.split_at(last);
    [before, &newest.replacen("0.1.0", version, 1)].concat()
}

/// A release of testing whose users could never get to prod.
#[test]
fn a_promotion_that_strands_a_release_of_testing_is_refused() {
    let said = said(&newest_from("0.4.0"));
    for words in [
        "whoever runs 0.3.0 goes to 0.4.0 at once in testing, and that takes over from 0.4.0 on. Say upgrades-from = \"0.3.0\"",
        "whoever runs 0.2.0 goes to 0.4.0 at once in prod, and that takes over from 0.4.0 on. Say upgrades-from = \"0.2.0\"",
        "whoever runs 0.3.0 has no way to 0.4.0 in prod. Say upgrades-from = \"0.3.0\"",
    ] {
        assert!(
            said.iter().any(|one| one.contains(words)),
            "{words}: {said:#?}"
        );
    }
}

/// `replaces` is an edge, too, and takes people past what the release promises to take over.
#[test]
fn a_promotion_past_the_promise_is_refused() {
    let said = said(&newest_from("0.3.0"));
    assert_eq!(said.len(), 1, "{said:#?}");
    let words = "manifests/releases.toml:32: whoever runs 0.2.0 goes to 0.4.0 at once in prod, and that takes over from 0.3.0 on";
    assert!(said[0].starts_with(words), "{said:#?}");
}

#[test]
fn text_that_is_no_table_is_refused_with_its_line() {
    check("image = ", "imago = ", 4, "unknown field `imago`");
    let broken = said("[[release]]\nversion = \n");
    assert!(
        broken[0].starts_with("manifests/releases.toml:2: "),
        "{broken:?}"
    );
}
