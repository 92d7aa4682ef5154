//! The command line: exit codes, and words that a stranger understands.

use std::path::Path;
use std::process::{Command, Output};

use tests::sealed::sealed;

use crate::fixtures::{only_file, recorded, snapshots};

fn binnacle(arguments: &[&str]) -> Output {
    Command::new(&sealed().binary)
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// Runs `binnacle` and wants this exit code and all of `words` on one of its outputs.
pub(crate) fn check(arguments: &[&str], code: i32, words: &[&str]) -> String {
    let output = binnacle(arguments);
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    for word in words {
        assert!(told.contains(word), "{word:?} is not in: {told}");
    }
    told
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

#[test]
fn replay_says_equal_cut_off_and_unreadable_by_its_exit_code() {
    let directory = recorded(&snapshots(1..4));
    let file = only_file(directory.path());
    check(
        &["replay", text(directory.path())],
        0,
        &["all equal", "fuel included"],
    );
    check(
        &["replay", text(&file), "-o", "json"],
        0,
        &["\"differing\": 0"],
    );
    let content = std::fs::read(&file).expect("it is there");
    std::fs::write(&file, &content[..content.len() - 5]).expect("it can be written");
    check(
        &["replay", text(&file)],
        0,
        &["cut off after record", "read up to its last whole frame"],
    );
    std::fs::write(&file, "no recording").expect("it can be written");
    check(&["replay", text(&file)], 2, &["not a recording"]);
    check(&["replay", "/nowhere"], 2, &["/nowhere cannot be read"]);
}

#[test]
fn replay_with_another_module_shows_the_actions_that_differ() {
    let directory = recorded(&snapshots(1..2));
    let file = only_file(directory.path());
    let lines = zstd::decode_all(&std::fs::read(&file).expect("it is there")[..]).expect("zstd");
    let lines = String::from_utf8(lines).expect("JSON is UTF-8");
    let (from, to) = (
        "\"answer\":{\"schema\":1,\"actions\":[",
        "\"answer\":{\"schema\":1,\"actions\": [",
    );
    assert!(lines.contains(from), "answers begin with their actions");
    let altered = directory.path().join("altered.jsonl");
    std::fs::write(&altered, lines.replace(from, to)).expect("it can be written");
    check(
        &["replay", text(&altered)],
        1,
        &["differ", "Record 1", "says the same in other bytes"],
    );
}

/// A module that does nothing at all differs in few ways, however many decisions there are.
#[test]
fn differences_are_grouped_by_cause_with_counts_and_examples() {
    let snapshots = snapshots(1..12);
    let directory = recorded(&snapshots);
    let path = text(directory.path());
    let idle = directory.path().join("idle.wasm");
    std::fs::write(&idle, doing_nothing()).expect("it can be written");
    let idle = text(&idle);
    let of = format!("of {} decisions differ, in", snapshots.len());
    let told = check(
        &["replay", path, "--module", idle],
        1,
        &[
            &of,
            "Apply Pod missing",
            "UpdateStatus missing",
            "Record 1 ",
        ],
    );
    assert!(told.lines().count() < snapshots.len() * 2, "{told}");
    let stock = text(&sealed().file);
    check(
        &["replay", path, "--module", stock, "--against", idle],
        1,
        &[&of, "against"],
    );
    check(
        &["replay", path, "--module", idle, "--against", idle],
        0,
        &["all equal"],
    );
    check(
        &["replay", path, "--module", idle, "--sequence", "2"],
        1,
        &["1 of 1 decision differs", "Record 2 "],
    );
    check(
        &["replay", path, "--sequence", "999999"],
        2,
        &["no record 999999"],
    );
    let json = check(&["replay", path, "--module", idle, "-o", "json"], 1, &[]);
    let tally: serde_json::Value = serde_json::from_str(&json).expect("one document");
    let counts = tally["ways"].as_object().expect("ways").values();
    let sum: u64 = counts.filter_map(|way| way["count"].as_u64()).sum();
    assert_eq!(Some(sum), tally["differing"].as_u64());
}

/// A module that answers everything with an empty decision.
fn doing_nothing() -> Vec<u8> {
    host::module::seal(&small::answering(small::NOTHING.as_bytes())).expect("it fits the world")
}

#[test]
fn explain_tells_who_when_what_and_what_became_of_it() {
    let directory = recorded(&snapshots(1..2));
    let path = text(directory.path());
    check(&["explain", path], 0, &["SEQ", "WHAT WAS DONE"]);
    check(
        &["explain", path, "--at", "1"],
        0,
        &[
            "Decision 1 on the EtcdCluster",
            "What was seen",
            "Wanted: ",
            "What was decided",
            "What comes next",
        ],
    );
    check(
        &["explain", path, "--at", "1", "-o", "json"],
        0,
        &["\"words\"", "\"snapshot\""],
    );
    check(
        &["explain", path, "--at", "999999"],
        2,
        &["no record 999999"],
    );
    // Recordings of two operators, as `binnacle record pull` lays them down.
    let both = tempfile::tempdir().expect("a temporary directory");
    for name in ["one", "other"] {
        let folder = both.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        for entry in std::fs::read_dir(directory.path()).expect("it can be listed") {
            let from = entry.expect("an entry").path();
            let to = folder.join(from.file_name().expect("a name"));
            if from.is_file() {
                std::fs::copy(from, to).expect("it is copied");
            }
        }
    }
    check(
        &["explain", text(both.path()), "--at", "1"],
        2,
        &["several recordings have a record 1", "other"],
    );
    // One cut out of both has two of that number, and neither is kept back.
    let cut = both.path().join("cut.jsonl.zst");
    check(
        &["record", "cut", text(both.path()), "--to", text(&cut)],
        0,
        &[],
    );
    check(
        &["explain", text(&cut), "--at", "1"],
        0,
        &["2 records have the number 1"],
    );
    check(
        &["replay", path, "--sequence", "999999"],
        2,
        &["no record 999999"],
    );
}

#[test]
fn a_recording_without_a_decision_is_no_answer() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("binnacle-000000000001.jsonl");
    let header = r#"{"formatVersion":1,"schema":1,"host":"0.1.0","engine":"e","created":0,"module":"sha256:0"}"#;
    std::fs::write(&file, format!("{header}\n")).expect("it is written");
    for verb in ["explain", "replay"] {
        check(&[verb, text(&file)], 2, &[]);
    }
}

/// Records of a newer schema under an older header were once replayed as equal.
#[test]
fn what_a_later_binnacle_wrote_is_refused_in_the_header_and_in_each_record() {
    let directory = recorded(&snapshots(1..2));
    let file = only_file(directory.path());
    let lines = zstd::decode_all(&std::fs::read(&file).expect("it is there")[..]).expect("zstd");
    let lines = String::from_utf8(lines).expect("JSON is UTF-8");
    let (header, record) = lines.split_once('\n').expect("a header and a record");
    let newer = |line: &str| line.replacen("\"schema\":1", "\"schema\":2", 1);
    for lines in [
        format!("{}\n{record}", newer(header)),
        format!("{header}\n{}", newer(record)),
    ] {
        std::fs::remove_file(&file).ok();
        let altered = directory.path().join("altered.jsonl");
        std::fs::write(&altered, lines).expect("it can be written");
        for verb in ["replay", "explain"] {
            let words = ["a recording of schema 2", "reads up to 1"];
            check(&[verb, text(&altered)], 2, &words);
        }
    }
}

#[test]
fn a_program_that_asks_for_json_gets_the_refusal_as_json() {
    let nowhere: [&[&str]; 4] = [
        &["replay", "/nowhere"],
        &["explain", "/nowhere"],
        &["module", "inspect", "/nowhere"],
        &["module", "seal", "/nowhere", "--to", "/nowhere"],
    ];
    for verb in nowhere {
        let output = binnacle(&[verb, &["-o", "json"]].concat());
        assert_eq!(output.status.code(), Some(2));
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let error = told["error"].as_str().expect("an error");
        assert!(error.contains("/nowhere"), "{error}");
    }
}

#[test]
fn inspect_shows_what_a_module_is() {
    let file = text(&sealed().file);
    let digest = host::module::digest(&sealed().bytes);
    check(
        &["module", "inspect", file],
        0,
        &[
            &digest,
            "Imports  none",
            "Exports  describe, reconcile",
            "schema 1",
            "Usable",
        ],
    );
    check(
        &["module", "inspect", file, "-o", "json"],
        0,
        &["\"imports\": []", &digest],
    );
    check(
        &["module", "inspect", "Cargo.toml"],
        2,
        &["not WebAssembly"],
    );
}
