//! The directory of recordings: bounded, numbered on, self-contained.

use std::fs;
use std::path::Path;

use contract::Snapshot;
use host::recorder::{Limits, Recording, module_file, recordings};

use crate::fixtures::{WIDE, module, record, recorder, snapshots, write};

fn size(directory: &Path) -> u64 {
    let files = recordings(directory).expect("there are recordings");
    files
        .iter()
        .map(|file| fs::metadata(file).expect("it is there").len())
        .sum()
}

fn seqs(directory: &Path) -> Vec<u64> {
    let mut seqs = Vec::new();
    for file in recordings(directory).expect("there are recordings") {
        let mut recording = Recording::open(&file).expect("a recording");
        while let Some(frame) = recording.next_frame().expect("readable") {
            seqs.extend(frame.records().map(|record| record.expect("a record").seq));
        }
    }
    seqs
}

#[test]
fn the_oldest_records_go_when_the_bound_is_met() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let kept = tests::sealed::sealed().bytes.len() as u64;
    // Room for the module and a little more; each record is a frame, each few frames a segment.
    let limits = Limits {
        bytes: kept + 64_000,
        frame_bytes: 1,
        ..WIDE
    };
    let recorder = recorder(directory.path(), limits);
    let snapshots: Vec<Snapshot> = snapshots(1..4);
    for _ in 0..20 {
        for snapshot in &snapshots {
            write(&recorder, record(snapshot));
        }
    }
    recorder.flush();
    assert_eq!(recorder.dropped(), 0);
    let last = recorder.written();
    drop(recorder);
    let segment = limits.bytes / 16;
    assert!(size(directory.path()) + kept <= limits.bytes + 2 * segment);
    let seqs = seqs(directory.path());
    assert_eq!(seqs.last(), Some(&last));
    assert!(
        seqs.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "no gap in what is left"
    );
    assert!(
        module_file(directory.path(), module().1.digest()).exists(),
        "its module is still used"
    );
}

#[test]
fn numbers_go_on_after_a_restart_and_after_a_crash() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let snapshot = &snapshots(1..2)[0];
    for _ in 0..3 {
        let recorder = recorder(directory.path(), WIDE);
        recorder.record(record(snapshot));
        recorder.record(record(snapshot));
    }
    assert_eq!(seqs(directory.path()), [1, 2, 3, 4, 5, 6]);
    let newest = recordings(directory.path())
        .expect("there are recordings")
        .pop()
        .expect("three");
    let content = fs::read(&newest).expect("it is there");
    fs::write(&newest, &content[..content.len() - 1]).expect("it can be written");
    let recorder = recorder(directory.path(), WIDE);
    assert_eq!(
        recorder.record(record(snapshot)),
        5,
        "5 and 6 were lost with their frame"
    );
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let (engine, module) = module();
    let header = host::recorder::Header::new(
        engine.hash(),
        module.digest().to_owned(),
        contract::Millis(0),
    );
    let refused = host::recorder::Recorder::open(file.path(), WIDE, header).expect_err("a refusal");
    assert!(
        refused
            .to_string()
            .contains(&file.path().display().to_string()),
        "{refused}"
    );
}
