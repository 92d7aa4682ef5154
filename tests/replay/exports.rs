//! Files that are passed on: cut out of recordings with their module inside, and free of secrets.

use std::fs;
use std::path::Path;

use contract::Snapshot;
use host::recorder::Recording;
use serde_json::json;

use crate::command::{check, text};
use crate::fixtures::{module, recorded, snapshots};

fn read(file: &Path) -> (Recording, Vec<String>) {
    let mut recording = Recording::open(file).expect("it is a recording");
    let mut clusters = Vec::new();
    while let Some(frame) = recording.next_frame().expect("it can be read") {
        for record in frame.records() {
            clusters.push(record.expect("a record").cluster.uid);
        }
    }
    (recording, clusters)
}

/// Snapshots of two lives, told apart by their names and UIDs.
fn two_lives() -> Vec<Snapshot> {
    let mut lives = snapshots(1..3);
    let half = lives.len() / 2;
    for (index, snapshot) in lives.iter_mut().enumerate() {
        let life = if index < half { "one" } else { "two" };
        snapshot.resource.uid = format!("uid-{life}");
        snapshot.resource.name = life.to_owned();
    }
    lives
}

#[test]
fn a_cut_holds_one_cluster_and_replays_by_the_module_inside() {
    let lives = two_lives();
    let directory = recorded(&lives);
    let alone = tempfile::tempdir().expect("a temporary directory");
    let file = alone.path().join("bug.jsonl.zst");
    let namespace = &lives[0].resource.namespace;
    let cluster = format!("{namespace}/two");
    let cut = |to: &Path, code, words: &[&str]| {
        check(
            &[
                "record",
                "cut",
                text(directory.path()),
                "--cluster",
                &cluster,
                "--to",
                text(to),
            ],
            code,
            words,
        )
    };
    cut(&file, 0, &["1 module inside"]);
    let (recording, clusters) = read(&file);
    assert!(!clusters.is_empty() && clusters.iter().all(|uid| uid == "uid-two"));
    let (_, module) = module();
    assert!(recording.header().carried().contains_key(module.digest()));
    check(&["replay", text(&file)], 0, &["all equal", "fuel included"]);
    let count = clusters.len();
    fs::copy(&file, alone.path().join("copy.jsonl.zst")).expect("it can be copied");
    let twice = format!("{} decisions replayed", 2 * count);
    check(&["replay", text(alone.path())], 0, &[&twice, "all equal"]);
    // Beside what it was cut out of it is not read again.
    fs::copy(&file, directory.path().join("bug.jsonl.zst")).expect("it can be copied");
    let all = format!("{} decisions replayed", lives.len());
    check(&["replay", text(directory.path())], 0, &[&all]);
    cut(&file, 2, &["cannot be written"]);
}

#[test]
fn a_cut_of_a_time_takes_what_lies_within() {
    let lives = snapshots(1..2);
    let directory = recorded(&lives);
    let file = directory.path().join("cut.jsonl.zst");
    let middle = lives[lives.len() / 2].now;
    let within = lives.iter().filter(|one| one.now <= middle).count();
    let until = host::output::time(middle).replace(" UTC", "Z");
    check(
        &[
            "record",
            "cut",
            text(directory.path()),
            "--until",
            &until,
            "--to",
            text(&file),
            "--output",
            "json",
        ],
        0,
        &[&format!("\"decisions\": {within}")],
    );
    assert_eq!(read(&file).1.len(), within);
    let nobody = directory.path().join("nobody.jsonl.zst");
    check(
        &[
            "record",
            "cut",
            text(directory.path()),
            "--cluster",
            "no/body",
            "--to",
            text(&nobody),
        ],
        2,
        &["no record is of that cluster"],
    );
    assert!(!nobody.exists());
}

#[test]
fn a_recording_is_free_of_secrets_and_one_that_is_not_is_told() {
    let directory = recorded(&snapshots(1..2));
    check(
        &["record", "check", text(directory.path())],
        0,
        &["No Secret data was found"],
    );

    let mut lives = snapshots(1..2);
    lives.truncate(3);
    lives[1].resource.spec["pod"] =
        json!({"etcdEnv": [{"name": "PASSWORD", "value": "correct horse battery"}]});
    let told = recorded(&lives);
    check(&["record", "check", text(told.path())], 0, &["3 records"]);
    let secrets = told.path().join("secrets.json");
    let of = json!({"items": [{"metadata": {"name": "login"}, "data": {"password": "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"}}]});
    fs::write(&secrets, of.to_string()).expect("it can be written");
    check(
        &[
            "record",
            "check",
            text(told.path()),
            "--secrets",
            text(&secrets),
        ],
        1,
        &["record 2: it holds what looks like password of the Secret login"],
    );

    lives[2].resource.spec["key"] = json!("-----BEGIN PRIVATE KEY-----\nMII");
    let keyed = recorded(&lives);
    check(
        &["record", "check", text(keyed.path()), "--output", "json"],
        1,
        &["a private key in PEM", "\"seq\": 3"],
    );
}

/// Fresh eyes hid a value in fields that are dropped in reading, cut the file in its middle, and compared with nothing.
#[test]
fn nothing_passes_that_was_not_looked_through() {
    let directory = recorded(&snapshots(1..3));
    let file = crate::fixtures::only_file(directory.path());
    let secrets = directory.path().join("secrets.json");
    let of = json!({"items": [{"metadata": {"name": "login"}, "data": {"password": "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"}}]});
    fs::write(&secrets, of.to_string()).expect("it can be written");
    let lines = zstd::decode_all(&fs::read(&file).expect("it is there")[..]).expect("zstd");
    let lines = String::from_utf8(lines).expect("JSON is UTF-8");
    let hidden = directory.path().join("hidden.jsonl");
    let extra = r#""extra":"correct \u0068orse battery","#;
    for (field, with) in [
        ("\"cluster\":", format!("{extra}\"cluster\":")),
        (
            "{\"formatVersion\":1,",
            format!("{{\"formatVersion\":1,{extra}"),
        ),
    ] {
        fs::write(&hidden, lines.replacen(field, &with, 1)).expect("it can be written");
        check(
            &[
                "record",
                "check",
                text(&hidden),
                "--secrets",
                text(&secrets),
            ],
            1,
            &["it holds what looks like password of the Secret login"],
        );
    }
    let mut damaged = fs::read(&file).expect("it is there");
    let last = damaged.len() - 8;
    damaged[last] ^= 0x10;
    fs::write(&file, damaged).expect("it can be written");
    check(
        &["record", "check", text(&file)],
        1,
        &["what follows the damage cannot be looked through"],
    );
    fs::write(&secrets, json!({"items": []}).to_string()).expect("it can be written");
    check(
        &["record", "check", text(&file), "--secrets", text(&secrets)],
        2,
        &["no value to look for"],
    );
}

/// A field that the contract does not know could hold anything.
#[test]
fn a_snapshot_with_a_field_beyond_the_contract_is_told() {
    let directory = recorded(&snapshots(1..2));
    let file = crate::fixtures::only_file(directory.path());
    let lines = zstd::decode_all(&fs::read(&file).expect("it is there")[..]).expect("zstd");
    let lines = String::from_utf8(lines).expect("JSON is UTF-8");
    let altered = directory.path().join("altered.jsonl");
    let with = lines.replacen("\"snapshot\":{", "\"snapshot\":{\"loot\":\"x\",", 1);
    fs::write(&altered, with).expect("it can be written");
    check(
        &["record", "check", text(&altered)],
        1,
        &["the snapshot holds .loot", "1 finding"],
    );
}

/// What was recorded once is read and decided for ever: by its own module, which it carries, and by today's.
#[test]
fn golden_recordings_of_every_schema_are_decided_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    for schema in 1..=contract::SCHEMA {
        let file = folder.join(format!("schema-{schema}.jsonl.zst"));
        check(&["replay", text(&file)], 0, &["all equal", "byte by byte"]);
        check(&["record", "check", text(&file)], 0, &[]);
        let (_, today) = module();
        let mut recording = Recording::open(&file).expect("it is a recording");
        assert_eq!(recording.header().schema, schema);
        while let Some(frame) = recording.next_frame().expect("it can be read") {
            for record in frame.records() {
                let record = record.expect("a record");
                let decided = today.decide(record.snapshot.get().as_bytes());
                decided.unwrap_or_else(|failure| panic!("record {}: {failure}", record.seq));
            }
        }
    }
}
