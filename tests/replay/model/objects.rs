//! The model of Kubernetes held against recordings.
//!
//! What the real API server carried out is carried out by the model, in the state that the snapshot saw, and what stands
//! then must be what the next snapshot shows. What it refused because the world had changed since the snapshot, the model
//! must refuse in the state that a later snapshot shows, and with the same meaning.
//!
//! What Kubernetes refuses by rules that the model does not have (quotas, webhooks, validation) is not compared; nor is an
//! object that somebody else took away or replaced before the next snapshot, but those are counted.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;

use contract::{Action, OutcomeKind, PastOutcome, Snapshot};
use simulator::Ground;

use super::standing::{Key, Met, Object, STATUS, meet, objects};
use super::{Step, is_alone};

/// How the API server, and the envelope after a fresh read, say what the model says in fewer words.
const WORDS: [(&str, &[&str]); 4] = [
    (
        "the object has been modified",
        &["has been modified", " changed: resourceVersion"],
    ),
    ("already exists", &["already exists"]),
    (
        "the UID does not match",
        &["UID in precondition", "uid mismatch"],
    ),
    ("not found", &["not found"]),
];

/// How far changes of objects were compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Changes that the API server carried out.
    pub(crate) done: usize,
    /// Changes that it refused because the object had changed, gone or come.
    pub(crate) refused: usize,
    /// Refusals of which no snapshot showed the cause before the same was let in, or before the recording ended.
    pub(crate) unseen: usize,
    /// Objects that were seen afterwards and compared.
    pub(crate) stood: usize,
    /// Objects that somebody else took away or replaced meanwhile.
    pub(crate) gone: usize,
    /// Statuses that are another one: somebody else wrote them meanwhile.
    pub(crate) rewritten: usize,
}

/// What is known of one cluster so far.
#[derive(Default)]
pub(super) struct Known {
    expected: Option<Expected>,
    /// What was refused for a cause that no snapshot has shown yet: caches may be as old as before for some looks.
    refused: Vec<Refused>,
}

/// What a decision leaves.
struct Expected {
    /// Its record.
    after: u64,
    /// Its time, in milliseconds.
    at: i64,
    /// As the model has them, those that were changed.
    objects: BTreeMap<Key, Object>,
}

/// What was refused because of something that the snapshot did not show.
struct Refused {
    /// Its record.
    by: u64,
    action: Action,
    /// The API server's words, or the envelope's after a fresh read.
    message: String,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            done,
            refused,
            unseen,
            stood,
            gone,
            rewritten,
        } = self;
        write!(
            f,
            "{done} changes of objects, {refused} refused for what had changed, the cause of {unseen} unseen; {stood} objects \
             afterwards, {gone} of them taken away and {rewritten} rewritten by others"
        )
    }
}

impl Compared {
    pub(super) const fn is_seldom_unseen(&self) -> bool {
        self.unseen <= 1 + self.refused / 10
            && self.gone * 20 <= self.stood
            && self.rewritten * 100 <= self.stood
    }
}

impl Known {
    pub(super) fn compare(
        &mut self,
        step: &Step,
        compared: &mut Compared,
        differences: &mut Vec<String>,
    ) {
        let Step { of, snapshot, .. } = step;
        if snapshot.resource.kind != contract::KIND {
            return;
        }
        let expected = self.expected.take();
        // Objects that could not be read are not known to have changed.
        let Ok(ground) = Ground::of(snapshot) else {
            return;
        };
        if let Some(expected) = expected.filter(|one| is_alone(one.at, snapshot.now.0)) {
            expected.meet(of, snapshot, compared, differences);
        }
        let earlier = mem::take(&mut self.refused);
        let unexplained = earlier
            .into_iter()
            .filter(|one| !one.is_explained(step, &ground, compared, differences));
        self.refused = unexplained.chain(Refused::of(step)).collect();
        self.expected = Some(Expected::of(step, ground, compared, differences));
    }

    /// What no snapshot of the recording explained.
    pub(super) fn end(self, compared: &mut Compared) {
        compared.refused += self.refused.len();
        compared.unseen += self.refused.len();
    }
}

impl Expected {
    fn of(
        step: &Step,
        mut model: Ground,
        compared: &mut Compared,
        differences: &mut Vec<String>,
    ) -> Self {
        let mut changed: Vec<Key> = Vec::new();
        for (action, past) in &step.acts {
            if past.outcome != OutcomeKind::Done {
                continue;
            }
            match model.act(action) {
                None => {}
                Some(Ok(())) => {
                    compared.done += 1;
                    changed.push(key(action));
                }
                Some(Err(words)) => differences.push(format!(
                    "{}: {} {} was done, the model says: {words}",
                    step.of, past.effect, past.target
                )),
            }
        }
        let (before, mut after) = (objects(&step.snapshot), objects(&model.look()));
        let objects = changed.into_iter().map(|key| {
            let was = before.get(&key);
            let object = after.remove(&key);
            let object = object.map_or_else(|| Object::without(was), |object| object.since(was));
            (key, object)
        });
        Self {
            after: step.seq,
            at: step.snapshot.now.0,
            objects: objects.collect(),
        }
    }

    fn meet(
        self,
        of: &str,
        snapshot: &Snapshot,
        compared: &mut Compared,
        differences: &mut Vec<String>,
    ) {
        let after = self.after;
        let real = objects(snapshot);
        for (key, model) in self.objects {
            compared.stood += 1;
            match meet(&model, real.get(&key)) {
                Met::Same => {}
                Met::Gone => compared.gone += 1,
                Met::Other(_) if key == STATUS => compared.rewritten += 1,
                Met::Other(how) => {
                    let (kind, name) = key;
                    differences.push(format!("{of}: after record {after} {kind} {name} {how}"));
                }
            }
        }
    }
}

impl Refused {
    /// The API server's other rules, the envelope's other reasons and lost answers are none of the model's.
    fn of(step: &Step) -> impl Iterator<Item = Self> {
        let refused = step.acts.iter().filter(|(_, past)| {
            matches!(past.outcome, OutcomeKind::Refused | OutcomeKind::Failed)
                && meaning(&past.message).is_some()
        });
        refused.map(|(action, past)| Self {
            by: step.seq,
            action: action.clone(),
            message: past.message.clone(),
        })
    }

    /// Whether the model refuses it by now, or whoever asked again was let in: then no snapshot will show the cause.
    fn is_explained(
        &self,
        step: &Step,
        ground: &Ground,
        compared: &mut Compared,
        differences: &mut Vec<String>,
    ) -> bool {
        let Self {
            by,
            action,
            message,
        } = self;
        let is_done = |(again, past): &(Action, PastOutcome)| {
            past.outcome == OutcomeKind::Done && key(again) == key(action)
        };
        match ground.clone().act(action) {
            None => return true,
            Some(Err(words)) if meaning(message) == Some(words) => {}
            Some(Err(words)) => differences.push(format!(
                "{}: after record {by} {} {} was refused with {message:?}, the model says: {words}",
                step.of,
                action.effect.name(),
                action.effect.target()
            )),
            Some(Ok(())) if step.acts.iter().any(is_done) => compared.unseen += 1,
            Some(Ok(())) => return false,
        }
        compared.refused += 1;
        true
    }
}

/// What the model would say in the API server's stead.
fn meaning(message: &str) -> Option<&'static str> {
    // Names a role that is not found, if that is why.
    if message.contains(" is forbidden: ") {
        return None;
    }
    let mut all = WORDS.iter();
    let found = all.find(|(_, words)| words.iter().any(|words| message.contains(words)));
    found.map(|(model, _)| *model)
}

fn key(action: &Action) -> Key {
    let effect = &action.effect;
    match effect.kind() {
        Some(kind) => (kind.name(), effect.target()),
        None => STATUS,
    }
}
