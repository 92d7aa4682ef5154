//! Native, wasm and recording agree; other modules are told by their actions.

use host::module::Source;
use host::replay::{Question, Verdict, replay};

use crate::fixtures::{WIDE, module, odd_snapshots, record_of, recorded, recorder, snapshots};

/// The module is the very reconciler that is tested natively, so what holds natively holds in production.
#[test]
fn the_native_reconciler_and_the_sealed_module_answer_the_same_bytes() {
    let (_, module) = module();
    for snapshot in snapshots(1..20).iter().chain(&odd_snapshots()) {
        let bytes = serde_json::to_vec(snapshot).expect("a snapshot has a JSON form");
        let native = serde_json::to_vec(&reconciler::reconcile(snapshot))
            .expect("a decision has a JSON form");
        let sealed = module.decide(&bytes).expect("a decision");
        assert_eq!(
            String::from_utf8_lossy(&sealed.bytes),
            String::from_utf8_lossy(&native)
        );
    }
}

#[test]
fn a_recording_replays_equal_with_equal_fuel() {
    let snapshots = snapshots(1..10);
    let directory = recorded(&snapshots);
    let (engine, _) = module();
    let tally = replay(engine, &[directory.path().to_owned()], &Question::default())
        .expect("it can be read");
    assert_eq!(tally.decisions(), snapshots.len());
    assert_eq!(tally.equal(), snapshots.len());
    assert_eq!(tally.without_fuel(), 0);
    assert_eq!(Verdict::of(&tally), Verdict::Equal);
}

/// The recorded bytes are the decision; a single other byte in them must not pass as equal.
#[test]
fn an_altered_answer_and_altered_fuel_are_told() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recorder = recorder(directory.path(), WIDE);
    let (engine, module) = module();
    let snapshots = snapshots(1..2);
    for (index, snapshot) in snapshots.iter().take(3).enumerate() {
        let bytes = serde_json::to_vec(snapshot).expect("a snapshot has a JSON form");
        let mut answer = module.decide(&bytes).expect("a decision");
        match index {
            0 => answer.fuel += 1,
            1 => {
                answer.decision.actions.clear();
                answer.decision.requeue = None;
                answer.bytes = serde_json::to_vec(&answer.decision).expect("JSON");
                answer.bytes.insert(1, b' ');
            }
            _ => {}
        }
        recorder.record(record_of(snapshot, bytes, &Ok(answer)));
    }
    recorder.flush();
    let tally = replay(engine, &[directory.path().to_owned()], &Question::default())
        .expect("it can be read");
    assert_eq!((tally.equal(), tally.differing()), (1, 2));
    assert_eq!(Verdict::of(&tally), Verdict::Differs);
}

#[test]
fn a_recorded_failure_that_happens_again_is_equal() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recorder = recorder(directory.path(), WIDE);
    let (engine, module) = module();
    let snapshot = &snapshots(1..2)[0];
    let bytes = br#"{"no":"snapshot"}"#.to_vec();
    let failed = module.decide(&bytes);
    assert!(failed.is_err());
    recorder.record(record_of(snapshot, bytes, &failed));
    recorder.flush();
    let tally = replay(engine, &[directory.path().to_owned()], &Question::default())
        .expect("it can be read");
    assert_eq!(Verdict::of(&tally), Verdict::Equal);
}

/// A recording without its module is of no use to a stranger; the words must say what to do.
#[test]
fn a_recording_without_its_module_names_it() {
    let directory = recorded(&snapshots(1..2));
    std::fs::remove_dir_all(directory.path().join("modules")).expect("it is there");
    let lines = crate::fixtures::only_file(directory.path());
    let (engine, module) = module();
    // The module of this checkout would be found beside the test's own binary otherwise.
    let other = Source {
        path: "other.wasm".into(),
        bytes: b"other".to_vec(),
    };
    let refused = replay(engine, std::slice::from_ref(&lines), &by(other)).expect_err("a refusal");
    assert!(refused.to_string().contains("cannot be used"), "{refused}");
    let named = Source {
        path: "named.wasm".into(),
        bytes: tests::sealed::sealed().bytes.clone(),
    };
    let tally = replay(engine, &[lines], &by(named)).expect("the named module decides");
    assert_eq!(Verdict::of(&tally), Verdict::Equal);
    assert_eq!(
        tally.without_fuel(),
        0,
        "{} is the recorded module",
        module.digest()
    );
}

/// Decided by this module, whatever was recorded.
fn by(module: Source) -> Question {
    Question {
        module: Some(module),
        ..Question::default()
    }
}
