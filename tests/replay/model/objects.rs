//! The model of Kubernetes held against recordings.
//!
//! What the real API server carried out is carried out by the model, in the state that the snapshot saw, and what stands
//! then must be what the next snapshot shows. What it refused because the world had changed since the snapshot, the model
//! must refuse in the state that the next snapshot shows, and with the same meaning.
//!
//! What Kubernetes refuses by rules that the model does not have (quotas, webhooks, validation) is not compared; nor is an
//! object that somebody else took away or replaced before the next snapshot, but those are counted.

use std::collections::BTreeMap;
use std::fmt;

use contract::{Action, ObjectKind, Objects, Observed, OutcomeKind, Snapshot};
use serde::Serialize;
use serde_json::{Value, json};
use simulator::Ground;

use super::{Step, is_alone};

/// How the API server says what the model says in fewer words.
const WORDS: [(&str, &[&str]); 4] = [
    ("the object has been modified", &["has been modified"]),
    ("already exists", &["already exists"]),
    (
        "the UID does not match",
        &["UID in precondition", "uid mismatch"],
    ),
    ("not found", &["not found"]),
];

/// Fields of projections that nobody but their writer changes, and in which the API server fills in nothing.
const POD: [&str; 9] = [
    "owner",
    "labels",
    "annotations",
    "image",
    "claim",
    "initialCluster",
    "initialClusterState",
    "peerSecret",
    "serverSecret",
];
const CLAIM: [&str; 4] = ["owner", "labels", "annotations", "requested"];
const SERVICE: [&str; 5] = ["owner", "labels", "selector", "ports", "publishNotReady"];
const BUDGET: [&str; 3] = ["owner", "minAvailable", "selector"];
/// That of the cluster.
const STATUS: Key = ("status", String::new());

/// How far changes of objects were compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Changes that the API server carried out.
    pub(crate) done: usize,
    /// Changes that it refused because the object had changed, gone or come.
    pub(crate) refused: usize,
    /// Refusals whose cause the next snapshot does not show any more.
    pub(crate) unseen: usize,
    /// Objects that were seen afterwards and compared.
    pub(crate) stood: usize,
    /// Objects that somebody else took away or replaced meanwhile.
    pub(crate) gone: usize,
}

/// What is known of one cluster so far.
#[derive(Default)]
pub(super) struct Known {
    expected: Option<Expected>,
}

/// What a decision leaves.
struct Expected {
    /// Its record.
    after: u64,
    /// Its time, in milliseconds.
    at: i64,
    /// As the model has them, those that were changed.
    objects: BTreeMap<Key, Option<Object>>,
    /// What was refused, and in which words.
    refused: Option<(Action, String)>,
}

type Key = (&'static str, String);

/// An object, as far as nobody but its writer changes it.
#[derive(Debug)]
struct Object {
    /// Empty where only the API server knows it.
    uid: String,
    deleted: bool,
    fields: BTreeMap<&'static str, Value>,
}

/// How an object of the model compares with the real one.
enum Met {
    Same,
    /// Somebody else took it away.
    Gone,
    Other(String),
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            done,
            refused,
            unseen,
            stood,
            gone,
        } = self;
        write!(
            f,
            "{done} changes of objects, {refused} refused for what had changed, the cause of {unseen} unseen; {stood} objects \
             afterwards, {gone} of them taken away by others"
        )
    }
}

impl Compared {
    pub(super) const fn is_seldom_unseen(&self) -> bool {
        self.unseen * 20 <= self.refused && self.gone * 20 <= self.stood
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
            expected.meet(of, snapshot, &ground, compared, differences);
        }
        self.expected = Some(Expected::of(step, ground, compared, differences));
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
        let mut refused = None;
        for (action, past) in &step.acts {
            match past.outcome {
                OutcomeKind::Done => match model.act(action) {
                    None => {}
                    Some(Ok(())) => {
                        compared.done += 1;
                        changed.push(key(action));
                    }
                    Some(Err(words)) => differences.push(format!(
                        "{}: {} {} was done, the model says: {words}",
                        step.of, past.effect, past.target
                    )),
                },
                OutcomeKind::Refused | OutcomeKind::Failed if meaning(&past.message).is_some() => {
                    refused = Some((action.clone(), past.message.clone()));
                }
                // The envelope's own reasons, the API server's rules that the model does not have, and lost answers.
                OutcomeKind::Refused | OutcomeKind::Failed | OutcomeKind::Skipped => {}
            }
        }
        let (before, mut after) = (objects(&step.snapshot), objects(&model.look()));
        let objects = changed.into_iter().map(|key| {
            let object = after
                .remove(&key)
                .map(|object| object.since(before.get(&key)));
            (key, object)
        });
        Self {
            after: step.seq,
            at: step.snapshot.now.0,
            objects: objects.collect(),
            refused,
        }
    }

    fn meet(
        self,
        of: &str,
        snapshot: &Snapshot,
        ground: &Ground,
        compared: &mut Compared,
        differences: &mut Vec<String>,
    ) {
        let after = self.after;
        let real = objects(snapshot);
        for (key, model) in self.objects {
            compared.stood += 1;
            match meet(model.as_ref(), real.get(&key)) {
                Met::Same => {}
                Met::Gone => compared.gone += 1,
                Met::Other(how) => {
                    let (kind, name) = key;
                    differences.push(format!("{of}: after record {after} {kind} {name} {how}"));
                }
            }
        }
        let Some((action, message)) = self.refused else {
            return;
        };
        compared.refused += 1;
        match ground.clone().act(&action) {
            Some(Err(words)) if meaning(&message) == Some(words) => {}
            Some(Ok(())) | None => compared.unseen += 1,
            Some(Err(words)) => differences.push(format!(
                "{of}: after record {after} {} {} was refused with {message:?}, the model says: {words}",
                action.effect.name(),
                action.effect.target()
            )),
        }
    }
}

impl Object {
    fn is(&self, real: &Self) -> bool {
        self.uid.is_empty() || self.uid == real.uid
    }

    /// With what it has no longer, by name; and without the uid that is the model's own.
    fn since(mut self, before: Option<&Self>) -> Self {
        let Some(before) = before else {
            self.uid.clear();
            return self;
        };
        for (field, value) in &mut self.fields {
            let (Value::Object(now), Some(Value::Object(then))) = (value, before.fields.get(field))
            else {
                continue;
            };
            for name in then.keys() {
                now.entry(name).or_insert(Value::Null);
            }
        }
        self
    }
}

fn meet(model: Option<&Object>, real: Option<&Object>) -> Met {
    let model = model.filter(|model| !model.deleted);
    match (model, real) {
        (None, None) => Met::Same,
        (None, Some(real)) if real.deleted => Met::Same,
        (None, Some(_)) => Met::Other("stands, in the model it is going".to_owned()),
        (Some(_), None) => Met::Gone,
        (Some(model), Some(real)) if real.deleted || !model.is(real) => Met::Gone,
        (Some(model), Some(real)) => {
            let pairs = model.fields.iter();
            let mut other = pairs.filter_map(|(field, model)| {
                let real = real.fields.get(field).unwrap_or(&Value::Null);
                (!is_in(model, real)).then(|| format!("has {field} {real}, in the model {model}"))
            });
            other.next().map_or(Met::Same, Met::Other)
        }
    }
}

/// Whether the real field is as the model's. Of labels and annotations there may be more, which others add.
fn is_in(model: &Value, real: &Value) -> bool {
    match (model, real) {
        (Value::Object(model), Value::Object(real)) => model
            .iter()
            .all(|(name, value)| real.get(name).unwrap_or(&Value::Null) == value),
        (Value::Null, Value::Object(_)) => true,
        (model, real) => model == real,
    }
}

/// What the model would say in the API server's stead.
fn meaning(message: &str) -> Option<&'static str> {
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

fn objects(snapshot: &Snapshot) -> BTreeMap<Key, Object> {
    let Objects {
        pods,
        volumes,
        services,
        disruption_budgets,
        foreign: _,
    } = &snapshot.objects;
    let mut status = snapshot.resource.status.clone();
    if let Value::Object(fields) = &mut status {
        // The host writes it.
        fields.remove("decidedBy");
    }
    let said = Object {
        uid: snapshot.resource.uid.clone(),
        deleted: false,
        // In a list, of which there may be no more.
        fields: BTreeMap::from([("status", json!([status]))]),
    };
    let mut all = BTreeMap::from([(STATUS, said)]);
    put(&mut all, ObjectKind::Pod, pods, &POD);
    put(&mut all, ObjectKind::PersistentVolumeClaim, volumes, &CLAIM);
    put(&mut all, ObjectKind::Service, services, &SERVICE);
    put(
        &mut all,
        ObjectKind::PodDisruptionBudget,
        disruption_budgets,
        &BUDGET,
    );
    for (name, secret) in &snapshot.secrets {
        if let Some(secret) = secret.seen() {
            let fields = BTreeMap::from([
                ("owner", json!(secret.owner)),
                ("names", json!(secret.names)),
            ]);
            let object = Object {
                uid: secret.uid.clone(),
                deleted: false,
                fields,
            };
            all.insert((ObjectKind::Secret.name(), name.clone()), object);
        }
    }
    all
}

fn put<T: Serialize>(
    all: &mut BTreeMap<Key, Object>,
    kind: ObjectKind,
    listed: &Observed<Vec<T>>,
    fields: &[&'static str],
) {
    for object in listed.seen().into_iter().flatten() {
        let value = json!(object);
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let object = Object {
            uid: text("uid"),
            deleted: value.get("deleted").is_some(),
            fields: fields
                .iter()
                .map(|field| (*field, value[*field].clone()))
                .collect(),
        };
        all.insert((kind.name(), text("name")), object);
    }
}
