//! The model held against recordings: what real members and a real API server answered is asked of the model, in the state
//! that the snapshot saw, and both must answer the same and leave the same.
//!
//! Owns the way through the recordings. What is asked of etcd is [`members`]', what is asked of Kubernetes [`objects`]'.

#[path = "model/members.rs"]
mod members;
#[path = "model/objects.rs"]
mod objects;
#[path = "model/standing.rs"]
mod standing;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use contract::{Action, Decision, PastOutcome, Snapshot};
use host::lease;
use host::recorder::{Record, Recording, recordings};

/// How far model and recordings were compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Changes of members.
    pub(crate) members: members::Compared,
    /// Changes of Kubernetes' objects.
    pub(crate) objects: objects::Compared,
    /// Where the model is not as reality was, in words.
    pub(crate) differences: Vec<String>,
}

/// What is known of one cluster so far.
#[derive(Default)]
struct Known {
    members: members::Known,
    objects: objects::Known,
}

/// One look, and what came of what was decided then.
struct Step {
    /// Where it stands, for people.
    of: String,
    seq: u64,
    snapshot: Snapshot,
    /// The actions with their outcomes.
    acts: Vec<(Action, PastOutcome)>,
}

impl Compared {
    /// Whether nothing differs, and what no snapshot shows seldom explains an answer.
    pub(crate) fn agrees(&self) -> bool {
        self.differences.is_empty()
            && self.members.is_seldom_unseen()
            && self.objects.is_seldom_unseen()
    }
}

/// Compares all recordings of these folders or files.
pub(crate) fn compare(of: &[PathBuf]) -> Result<Compared> {
    let mut compared = Compared::default();
    for place in of {
        let mut clusters: BTreeMap<String, Known> = BTreeMap::new();
        for file in recordings(place)? {
            let mut recording = Recording::open(&file)?;
            while let Some(frame) = recording.next_frame()? {
                for record in frame.records() {
                    let record = record?;
                    let known = clusters.entry(record.cluster.uid.clone()).or_default();
                    let step = Step::of(&record)
                        .with_context(|| format!("record {} of {}", record.seq, file.display()))?;
                    let differences = &mut compared.differences;
                    known
                        .members
                        .compare(&step, &mut compared.members, differences);
                    known
                        .objects
                        .compare(&step, &mut compared.objects, differences);
                }
            }
        }
        for known in clusters.into_values() {
            known.objects.end(&mut compared.objects);
        }
    }
    Ok(compared)
}

impl Step {
    fn of(record: &Record) -> Result<Self> {
        let decision: Option<Decision> = match &record.answer {
            Some(answer) => Some(serde_json::from_str(answer.get())?),
            None => None,
        };
        let actions = decision
            .map(|decision| decision.actions)
            .unwrap_or_default();
        let outcomes = record.results.iter().map(|result| result.outcome.clone());
        Ok(Self {
            of: format!("record {} of {}", record.seq, record.cluster.name),
            seq: record.seq,
            snapshot: serde_json::from_str(record.snapshot.get())?,
            acts: actions.into_iter().zip(outcomes).collect(),
        })
    }
}

/// Whoever stood still longer than its lease is not the only one who acted meanwhile.
fn is_alone(since: i64, now: i64) -> bool {
    u128::try_from(now - since).is_ok_and(|past| past < lease::DURATION.as_millis())
}
