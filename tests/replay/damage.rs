//! Recordings that were cut, flipped, or never were any.

use std::fs;
use std::path::Path;

use host::recorder::{ReadError, Recording};

use crate::command::{check, text};
use crate::fixtures::{WIDE, only_file, record, recorded, recorder, snapshots};

/// Numbers of all records that can be read, and where it broke off.
fn read(file: &Path) -> Result<(Vec<u64>, Option<String>), ReadError> {
    let mut recording = Recording::open(file)?;
    let mut seqs = Vec::new();
    while let Some(frame) = recording.next_frame()? {
        for record in frame.records() {
            seqs.push(record?.seq);
        }
    }
    Ok((seqs, recording.broken().map(ToString::to_string)))
}

/// A file with a frame for each of these records.
fn framed(records: u64) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recorder = recorder(directory.path(), WIDE);
    let snapshot = &snapshots(1..2)[0];
    for _ in 0..records {
        recorder.record(record(snapshot));
        recorder.flush();
    }
    directory
}

#[test]
fn what_was_recorded_is_read_back() {
    let snapshots = snapshots(1..4);
    let directory = recorded(&snapshots);
    let mut recording = Recording::open(&only_file(directory.path())).expect("it is a recording");
    assert_eq!(recording.header().format_version, 1);
    let mut wanted = snapshots.iter();
    while let Some(frame) = recording.next_frame().expect("it can be read") {
        for record in frame.records() {
            let record = record.expect("a record");
            let snapshot = wanted.next().expect("no more records than snapshots");
            assert_eq!(
                record.snapshot.get(),
                serde_json::to_string(snapshot).expect("JSON")
            );
            assert!(record.answer.is_some() && record.fuel.is_some());
        }
    }
    assert_eq!(wanted.next(), None);
    assert_eq!(recording.broken(), None);
}

/// `zstd -dc | jq` is how people look into recordings without us; what it prints replays too.
#[test]
fn an_unpacked_recording_is_a_recording() {
    let snapshots = snapshots(1..3);
    let directory = recorded(&snapshots);
    let file = only_file(directory.path());
    let lines = zstd::decode_all(&fs::read(&file).expect("it is there")[..]).expect("zstd");
    let plain = directory.path().join("plain.jsonl");
    fs::write(&plain, &lines).expect("it can be written");
    assert_eq!(
        read(&plain).expect("readable"),
        read(&file).expect("readable")
    );
    fs::write(&plain, &lines[..lines.len() - 10]).expect("it can be written");
    let (seqs, broken) = read(&plain).expect("readable");
    assert_eq!(seqs.len(), snapshots.len() - 1);
    assert_eq!(broken, None, "the last line alone is missing");
}

#[test]
fn a_recording_cut_anywhere_is_read_up_to_its_last_whole_frame() {
    let directory = framed(4);
    let file = only_file(directory.path());
    let whole = fs::read(&file).expect("it is there");
    let (seqs, broken) = read(&file).expect("readable");
    assert_eq!((seqs.len(), broken), (4, None));
    let mut most = 0;
    for length in 1..whole.len() {
        fs::write(&file, &whole[..length]).expect("it can be written");
        match read(&file) {
            Ok((seqs, broken)) => {
                assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
                most = most.max(seqs.len());
                if let Some(words) = broken {
                    assert!(words.contains("cut off"), "{words}");
                    assert!(
                        words.contains(&format!("after record {}", seqs.len())) || seqs.is_empty(),
                        "{words}"
                    );
                }
            }
            Err(ReadError::NotRecording { .. }) => assert_eq!(most, 0, "the header alone was cut"),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(most, 3);
}

#[test]
fn a_flipped_bit_never_passes_for_a_record() {
    let directory = framed(3);
    let file = only_file(directory.path());
    let whole = fs::read(&file).expect("it is there");
    let good = read(&file).expect("readable").0;
    for place in (0..whole.len()).step_by(7) {
        let mut flipped = whole.clone();
        flipped[place] ^= 0x10;
        fs::write(&file, &flipped).expect("it can be written");
        match read(&file) {
            Ok((seqs, broken)) => {
                assert!(good.starts_with(&seqs), "{seqs:?}");
                assert!(
                    broken.is_some() || seqs == good,
                    "byte {place}: silently short"
                );
            }
            Err(ReadError::NotRecording { .. }) => {}
            Err(error) => panic!("byte {place}: {error}"),
        }
    }
}

#[test]
fn what_is_no_recording_is_refused_in_words() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("file");
    let check = |content: &[u8], words: &str| {
        fs::write(&file, content).expect("it can be written");
        let told = Recording::open(&file).expect_err("a refusal").to_string();
        assert!(told.contains(words), "{words:?} is not in: {told}");
    };
    check(b"", "not a recording");
    check(b"hello\n", "not a recording");
    check(b"{\"kind\":\"Pod\"}\n", "not a recording");
    let packed = zstd::encode_all(&b"hello\n"[..], 3).expect("zstd");
    check(&packed, "not a recording");
    let header = |format: u32, schema: u32| {
        format!(
            "{{\"formatVersion\":{format},\"schema\":{schema},\"host\":\"9.9.9\",\"something\":\"new\"}}\n"
        )
    };
    check(
        header(1, 99).as_bytes(),
        "schema 99, written by Binnacle 9.9.9",
    );
    check(
        header(99, 1).as_bytes(),
        "format 99, written by Binnacle 9.9.9",
    );
    let missing = Recording::open(&directory.path().join("none")).expect_err("a refusal");
    assert!(matches!(missing, ReadError::Unreadable { .. }), "{missing}");
    let empty = host::recorder::recordings(directory.path()).expect_err("a refusal");
    assert!(matches!(empty, ReadError::Empty { .. }), "{empty}");
}

/// Whoever puts files together may put them in any order: each record stands for itself.
#[test]
fn reordered_frames_are_read_in_their_order_and_replay_equal() {
    let directory = framed(4);
    let file = only_file(directory.path());
    let whole = fs::read(&file).expect("it is there");
    let frames = frames(&whole);
    let (header, records) = frames.split_first().expect("a header");
    let backwards: Vec<u8> = std::iter::once(header)
        .chain(records.iter().rev())
        .flat_map(|frame| frame.iter().copied())
        .collect();
    fs::write(&file, backwards).expect("it can be written");
    assert_eq!(read(&file).expect("readable"), (vec![4, 3, 2, 1], None));
    check(
        &["replay", text(directory.path())],
        0,
        &["4 decisions replayed: all equal"],
    );
    check(&["explain", text(&file), "--at", "2"], 0, &["Decision 2"]);
}

/// The packed frames of a file.
fn frames(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let size = zstd::zstd_safe::find_frame_compressed_size(rest).expect("a whole frame");
        let (frame, after) = rest.split_at(size);
        frames.push(frame);
        rest = after;
    }
    frames
}

/// More lines than the address space of the process that reads them holds.
#[test]
fn a_recording_larger_than_memory_is_read_in_bounded_memory() {
    const FRAME: usize = 60 << 20;
    const FRAMES: usize = 7;
    let directory = framed(1);
    let file = only_file(directory.path());
    let whole = fs::read(&file).expect("it is there");
    let (header, record) = whole.split_at(frames(&whole)[0].len());
    let mut lines = zstd::decode_all(record).expect("zstd");
    lines.pop();
    // Blanks at the end of a line of JSON mean nothing.
    lines.resize(FRAME, b' ');
    lines.push(b'\n');
    let frame = zstd::encode_all(&lines[..], 1).expect("it packs");
    drop(lines);
    let content = [header, &frame.repeat(FRAMES)].concat();
    fs::write(&file, content).expect("it can be written");
    let limited = "ulimit -v 409600; exec \"$0\" explain \"$1\" --at 99";
    let output = std::process::Command::new("sh")
        .args(["-c", limited])
        .arg(&tests::sealed::sealed().binary)
        .arg(&file)
        .output()
        .expect("a shell");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("has no record 99"), "{told}");
}
