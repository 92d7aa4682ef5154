//! The objects that a snapshot shows, and how those of the model compare with the real ones.

use std::collections::BTreeMap;

use contract::{ObjectKind, Objects, Observed, Snapshot};
use host::refused;
use serde::Serialize;
use serde_json::{Value, json};

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
pub(super) const STATUS: Key = ("status", String::new());

/// Kind and name.
pub(super) type Key = (&'static str, String);

/// An object, as far as nobody but its writer changes it.
#[derive(Debug)]
pub(super) struct Object {
    /// Empty where only the API server knows it.
    uid: String,
    /// It is going, or gone.
    deleted: bool,
    fields: BTreeMap<&'static str, Value>,
}

/// How an object of the model compares with the real one.
pub(super) enum Met {
    Same,
    /// Somebody else took it away.
    Gone,
    Other(String),
}

impl Object {
    fn is(&self, real: &Self) -> bool {
        self.uid.is_empty() || self.uid == real.uid
    }

    /// One that is gone.
    pub(super) fn without(before: Option<&Self>) -> Self {
        Self {
            uid: before.map(|before| before.uid.clone()).unwrap_or_default(),
            deleted: true,
            fields: BTreeMap::new(),
        }
    }

    /// With what it has no longer, by name; and without the uid that is the model's own.
    pub(super) fn since(mut self, before: Option<&Self>) -> Self {
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

pub(super) fn meet(model: &Object, real: Option<&Object>) -> Met {
    match real {
        None if model.deleted => Met::Same,
        None => Met::Gone,
        Some(real) if real.deleted || !model.is(real) => {
            if model.deleted {
                Met::Same
            } else {
                Met::Gone
            }
        }
        Some(_) if model.deleted => Met::Other("stands, in the model it is going".to_owned()),
        Some(real) => {
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

pub(super) fn objects(snapshot: &Snapshot) -> BTreeMap<Key, Object> {
    let Objects {
        pods,
        volumes,
        services,
        disruption_budgets,
        foreign: _,
    } = &snapshot.objects;
    let mut status = snapshot.resource.status.clone();
    if let Value::Object(fields) = &mut status {
        // These two are the host's own.
        fields.remove("decidedBy");
        if let Some(Value::Array(conditions)) = fields.get_mut("conditions") {
            conditions.retain(|condition| condition["type"] != refused::CONDITION);
        }
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
