//! What reads foreign bytes, and what must hold of each answer.

use std::fs;
use std::sync::OnceLock;

use contract::{Decision, Resource, Snapshot};
use host::observe::project;
use host::recorder::Recording;
use simulator::{Branch, Choice, Plan};

/// One reader.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// The sealed module's: bytes to a snapshot, and the decision on it.
    Snapshot,
    /// The host's: a module's answer.
    Decision,
    /// The host's: a file that is said to be a recording.
    Recording,
    /// The host's: a custom resource as the API server may hold it.
    Resource,
}

impl Target {
    /// The folder of its corpus.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Decision => "decision",
            Self::Recording => "recording",
            Self::Resource => "resource",
        }
    }

    /// Reads the bytes and does with them what is done in production.
    pub(crate) fn read(self, bytes: &[u8]) {
        match self {
            Self::Snapshot => {
                if let Ok(snapshot) = serde_json::from_slice(bytes) {
                    decide(&snapshot);
                }
            }
            Self::Decision => {
                if let Ok(decision) = host::module::read(bytes) {
                    judge(&decision);
                }
            }
            Self::Recording => read_recording(bytes),
            Self::Resource => {
                if let Ok(object) = serde_json::from_slice(bytes) {
                    let snapshot = Snapshot {
                        resource: project::resource(object),
                        ..world().1.clone()
                    };
                    decide(&snapshot);
                }
            }
        }
    }
}

/// Each snapshot is answered, twice in the same words, and never with an action for somebody else's resource.
fn decide(snapshot: &Snapshot) {
    let decision = reconciler::reconcile(snapshot);
    let bytes = serde_json::to_vec(&decision).expect("a decision is JSON");
    let again = reconciler::reconcile(snapshot);
    assert_eq!(
        bytes,
        serde_json::to_vec(&again).expect("a decision is JSON")
    );
    let read = host::module::read(&bytes).expect("the host reads what the module wrote");
    assert_eq!(read, decision);
    let is_its = |uid: &str| uid == snapshot.resource.uid;
    for action in &decision.actions {
        assert!(is_its(&action.pre.resource_uid), "{action:?}");
    }
    let kept: Resource = serde_json::from_value(serde_json::json!(snapshot.resource))
        .expect("a resource is read as it was written");
    assert_eq!(kept, snapshot.resource);
}

/// The envelope answers, and what it lets pass does not hurt the members.
fn judge(decision: &Decision) {
    let (branch, snapshot) = world();
    if envelope::permit(decision, snapshot).is_err() {
        return;
    }
    for action in &decision.actions {
        // The answer is not the question: that there is one is.
        let _ = envelope::check(action, &branch.fresh(&envelope::reads(action)));
    }
    let mut branch = branch.clone();
    branch.step(Choice::Look, |_| decision.clone());
    assert!(branch.truth().confirmed, "the quorum is lost: {decision:?}");
}

fn read_recording(bytes: &[u8]) {
    let file = tempfile::NamedTempFile::with_suffix(".jsonl").expect("a file");
    fs::write(file.path(), bytes).expect("it can be written");
    let Ok(mut recording) = Recording::open(file.path()) else {
        return;
    };
    let _ = recording.header().carried();
    while let Ok(Some(frame)) = recording.next_frame() {
        for record in frame.records().flatten() {
            let _ = serde_json::from_str::<Snapshot>(record.snapshot.get());
        }
    }
}

/// A healthy cluster of three, and what is seen of it.
fn world() -> &'static (Branch, Snapshot) {
    static WORLD: OnceLock<(Branch, Snapshot)> = OnceLock::new();
    WORLD.get_or_init(|| {
        let mut branch = Branch::new(&Plan {
            seed: 5,
            size: 3,
            version: None,
            through: false,
            claims: true,
            local: false,
            tls: false,
            old: None,
            faults: Vec::new(),
            mishaps: Vec::new(),
        });
        while branch.rests() < 2 || !branch.truth().confirmed {
            branch.step(Choice::Look, reconciler::reconcile);
        }
        let snapshot = branch.snapshot();
        (branch, snapshot)
    })
}
