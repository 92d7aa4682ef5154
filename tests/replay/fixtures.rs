//! Snapshots of lives with and without faults, and recordings made of them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use contract::{Decision, OutcomeKind, PastOutcome, Snapshot};
use host::module::{Answer, Engine, Failure, Module, cache_directory};
use host::recorder::{ClusterName, DecidedBy, Header, Limits, Record, Recorder};
use simulator::{Plan, simulate};
use tests::sealed::sealed;

/// Passes that are kept of each simulated life.
const PASSES: usize = 60;

/// The sealed module, ready to decide.
pub(crate) fn module() -> &'static (Engine, Module) {
    static MODULE: OnceLock<(Engine, Module)> = OnceLock::new();
    MODULE.get_or_init(|| {
        let engine = Engine::new(cache_directory(None).as_deref()).expect("an engine starts");
        let module = Module::load(&engine, &sealed().bytes).expect("our own module is good");
        (engine, module)
    })
}

/// What a host would have seen in some simulated lives.
pub(crate) fn snapshots(seeds: std::ops::Range<u64>) -> Vec<Snapshot> {
    let mut seen = Vec::new();
    for seed in seeds {
        let mut kept = 0;
        let mut decide = |snapshot: &Snapshot| {
            if kept < PASSES {
                seen.push(snapshot.clone());
                kept += 1;
            }
            reconciler::reconcile(snapshot)
        };
        let _ = simulate(
            &Plan::of_seed(seed),
            &mut decide,
            &|_| true,
            &|_| false,
            false,
        );
    }
    assert!(!seen.is_empty(), "a life has at least one pass");
    seen
}

/// Snapshots whose resource nobody can follow.
pub(crate) fn odd_snapshots() -> Vec<Snapshot> {
    let [first, ..] = &snapshots(1..2)[..] else {
        panic!("a life has at least one pass")
    };
    let specs = [
        serde_json::json!({ "size": -1 }),
        serde_json::json!({ "size": "three" }),
        serde_json::json!({ "size": 3, "version": "banana" }),
        serde_json::json!({ "size": 3, "pod": [] }),
        serde_json::json!("not even an object"),
        serde_json::Value::Null,
    ];
    let with = |spec: &serde_json::Value| {
        let mut snapshot = first.clone();
        snapshot.resource.spec = spec.clone();
        snapshot
    };
    let mut odd: Vec<Snapshot> = specs.iter().map(with).collect();
    let mut unreadable = first.clone();
    unreadable.resource.status = serde_json::json!({ "phase": 7, "members": "all" });
    odd.push(unreadable);
    odd
}

/// A recorder whose frames are closed by hand or when they are large.
pub(crate) fn recorder(directory: &Path, limits: Limits) -> Recorder {
    let (engine, module) = module();
    let header = Header::new(
        engine.hash(),
        module.digest().to_owned(),
        contract::Millis(0),
    );
    let recorder = Recorder::open(directory, limits, header).expect("the directory is writable");
    recorder.keep_module(module.digest(), sealed().bytes.clone());
    recorder
}

/// Limits that no test of another thing meets.
pub(crate) const WIDE: Limits = Limits {
    bytes: 1 << 30,
    frame_bytes: 256 << 10,
    frame_age: Duration::from_secs(3600),
};

/// Decides and makes the record a host would make, with every action done.
pub(crate) fn record(snapshot: &Snapshot) -> Record {
    let (_, module) = module();
    let bytes = serde_json::to_vec(snapshot).expect("a snapshot has a JSON form");
    let decided = module.decide(&bytes);
    record_of(snapshot, bytes, &decided)
}

/// The record of a decision that was had in some way.
pub(crate) fn record_of(
    snapshot: &Snapshot,
    bytes: Vec<u8>,
    decided: &Result<Answer, Failure>,
) -> Record {
    let (engine, module) = module();
    let resource = &snapshot.resource;
    let cluster = ClusterName {
        uid: resource.uid.clone(),
        namespace: resource.namespace.clone(),
        name: resource.name.clone(),
    };
    let results = decided
        .as_ref()
        .map(|answer| done(&answer.decision))
        .unwrap_or_default();
    let hash = engine.hash();
    let by = DecidedBy {
        module: module.digest(),
        engine: &hash,
    };
    Record::new(
        cluster,
        "watch:Pod".to_owned(),
        snapshot.now,
        by,
        bytes,
        decided,
        &results,
    )
    .expect("a snapshot is JSON")
}

fn done(decision: &Decision) -> Vec<PastOutcome> {
    let outcome = |action: &contract::Action| PastOutcome {
        effect: action.effect.name().to_owned(),
        kind: action.effect.kind(),
        target: action.effect.target(),
        outcome: OutcomeKind::Done,
        message: String::new(),
    };
    decision.actions.iter().map(outcome).collect()
}

/// A directory of recordings with these snapshots decided, written and closed.
pub(crate) fn recorded(snapshots: &[Snapshot]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recorder = recorder(directory.path(), WIDE);
    for snapshot in snapshots {
        write(&recorder, record(snapshot));
    }
    recorder.flush();
    assert_eq!(recorder.written(), snapshots.len() as u64);
    directory
}

/// Records one after the other, at the pace of the disk.
pub(crate) fn write(recorder: &Recorder, record: Record) -> u64 {
    let seq = recorder.record(record);
    if seq.is_multiple_of(100) {
        recorder.flush();
    }
    seq
}

/// The only recording in a directory.
pub(crate) fn only_file(directory: &Path) -> PathBuf {
    let files = host::recorder::recordings(directory).expect("there are recordings");
    let [file] = &files[..] else {
        panic!("one file, not {files:?}")
    };
    file.clone()
}
