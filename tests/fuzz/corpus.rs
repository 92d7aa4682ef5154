//! The committed documents of each target, and how they are made; and those that living worlds make anew in each run. Those
//! with a name in place of a number are written by hand: an object of each kind.

use std::fs;
use std::path::{Path, PathBuf};

use contract::{Decision, Effect, Resource, Snapshot};
use host::recorder::{Record, Recording};
use serde_json::{Value, json};

use crate::proofs;
use crate::targets::Target;
use crate::worlds::worlds;

/// Documents of a target that come from the golden recordings.
const TAKEN: usize = 24;
/// No document is larger than this, so that the corpus stays small.
const LARGEST: usize = 24_000;

/// The documents of this target, by name: those that are committed, then those of living worlds.
pub(crate) fn documents(target: Target) -> Vec<(String, Vec<u8>)> {
    let mut documents = committed(target);
    documents.extend(of_worlds(target));
    documents
}

/// What is seen and decided in the worlds, of which each is at a moment where the reconciler acts.
fn of_worlds(target: Target) -> Vec<(String, Vec<u8>)> {
    let mut documents = Vec::new();
    for (name, _, snapshot) in worlds() {
        let bytes = match target {
            Target::Snapshot => serde_json::to_vec(snapshot),
            Target::Decision => serde_json::to_vec(&reconciler::reconcile(snapshot)),
            Target::Resource => Ok(object_of(&snapshot.resource)),
            Target::Recording | Target::Child | Target::Proof => continue,
        };
        documents.push((name.clone(), bytes.expect("it is JSON")));
    }
    documents
}

fn committed(target: Target) -> Vec<(String, Vec<u8>)> {
    let folder = folder(target);
    if std::env::var("CORPUS").is_ok_and(|what| what == "write") {
        write(target, &folder);
    }
    let entries = fs::read_dir(&folder).expect("the corpus is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 20, "{} documents", paths.len());
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a file");
        (path.display().to_string(), bytes)
    };
    paths.into_iter().map(read).collect()
}

fn folder(target: Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target.name())
}

fn write(target: Target, folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let (header, records) = golden();
    let documents: Vec<Vec<u8>> = match target {
        Target::Snapshot => of_records(&records, |record| {
            Some(record.snapshot.get().as_bytes().to_vec())
        }),
        Target::Decision => of_records(&records, |record| {
            let answer = record.answer.as_ref()?.get();
            (answer.len() > 200).then(|| answer.as_bytes().to_vec())
        }),
        Target::Recording => {
            let mut written = of_records(&records, |record| {
                let line = serde_json::to_string(record).ok()?;
                Some(format!("{header}\n{line}\n").into_bytes())
            });
            let packed = written[0].clone();
            written.push(zstd::encode_all(&packed[..], 3).expect("zstd"));
            written
        }
        Target::Resource => of_records(&records, |record| Some(resource(record))),
        Target::Child => children(&records),
        Target::Proof => proofs::documents(),
    };
    for (number, document) in documents.iter().chain(&odd()).enumerate() {
        let path = folder.join(format!("{number:02}.bin"));
        fs::write(path, document).expect("it can be written");
    }
}

/// As many documents as are taken, from all over the recordings.
fn of_records(records: &[Record], take: impl Fn(&Record) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = records.iter().filter_map(take).collect();
    all.retain(|document| document.len() < LARGEST);
    let step = all.len().div_ceil(TAKEN).max(1);
    all.into_iter().step_by(step).collect()
}

/// Objects that are written, as many as are taken, from all over the recordings and the worlds; pods as they run.
fn children(records: &[Record]) -> Vec<Vec<u8>> {
    let answers = records.iter().filter_map(|record| record.answer.as_ref());
    let recorded = answers.filter_map(|answer| serde_json::from_str(answer.get()).ok());
    let living = worlds()
        .iter()
        .map(|(_, _, seen)| reconciler::reconcile(seen));
    let decisions = recorded.chain(living);
    let effects = decisions.flat_map(|decision: Decision| decision.actions);
    let mut written: Vec<Value> = effects
        .filter_map(|action| {
            if let Effect::Apply { object } = action.effect {
                Some(json!(object))
            } else {
                None
            }
        })
        .collect();
    for pod in written.iter_mut().filter_map(|child| child.get_mut("pod")) {
        pod["metadata"]["uid"] = json!("uid-of-a-pod");
        pod["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        pod["spec"]["nodeName"] = json!("node-1");
        pod["status"] = running();
    }
    let step = written.len().div_ceil(TAKEN).max(1);
    let taken = written.into_iter().step_by(step);
    taken.map(|child| child.to_string().into_bytes()).collect()
}

/// The status of a pod that ran before and is not ready.
fn running() -> Value {
    let ended =
        json!({"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-01T00:00:20Z"});
    json!({
        "phase": "Running", "podIP": "203.0.113.7",
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"},
            {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:30Z"},
        ],
        "containerStatuses": [{
            "name": "etcd", "image": "etcd", "imageID": "", "ready": false, "restartCount": 2,
            "state": {"running": {"startedAt": "2026-01-01T00:00:21Z"}},
            "lastState": {"terminated": ended},
        }],
    })
}

/// The resource of a record, as the API server holds it.
fn resource(record: &Record) -> Vec<u8> {
    let snapshot: Snapshot =
        serde_json::from_str(record.snapshot.get()).expect("a snapshot was recorded");
    object_of(&snapshot.resource)
}

fn object_of(resource: &Resource) -> Vec<u8> {
    let object = json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {
            "name": resource.name, "namespace": resource.namespace, "uid": resource.uid,
            "resourceVersion": resource.resource_version, "generation": resource.generation,
            "labels": resource.labels, "annotations": resource.annotations,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": resource.spec, "status": resource.status,
    });
    object.to_string().into_bytes()
}

/// The first line and the records of the golden recordings, without the modules they carry.
fn golden() -> (String, Vec<Record>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut records = Vec::new();
    let mut header = String::new();
    for schema in 1..=contract::SCHEMA {
        let file = folder.join(format!("schema-{schema}.jsonl.zst"));
        let mut recording = Recording::open(&file).expect("a recording");
        let mut first: Value = json!(recording.header());
        first["modules"] = json!({});
        header = first.to_string();
        while let Some(frame) = recording.next_frame().expect("it can be read") {
            records.extend(frame.records().map(|record| record.expect("a record")));
        }
    }
    (header, records)
}

/// Bytes that readers stumble over.
fn odd() -> Vec<Vec<u8>> {
    vec![
        b"{}".to_vec(),
        b"null".to_vec(),
        b"[1,2,3]".to_vec(),
        b"\xff\xfe\x00".to_vec(),
        b"{\"schema\":1,\"schema\":1}".to_vec(),
        [b"[".repeat(10_000), b"{".to_vec()].concat(),
        b"{\"schema\":1e400}".to_vec(),
        b"\x28\xb5\x2f\xfd\x00\x00".to_vec(),
    ]
}
