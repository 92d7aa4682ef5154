//! How a decision differs from the recorded one, in terms of actions.

use contract::{Action, Decision};
use serde::Serialize;
use serde_json::Value;

use crate::module::Module;
use crate::recorder::{Record, RecordedFailure};

/// Places within one action that are shown.
const PLACES: usize = 6;
/// Longest value that is shown whole.
const LONGEST: usize = 120;

/// The comparison of one record.
#[derive(Clone, Debug)]
pub enum Found {
    /// Equal bytes.
    Equal {
        /// Fuel was compared and is equal too. Another module or engine may use another amount.
        fuel_compared: bool,
    },
    /// It failed then and fails in the same way again.
    FailedAlike,
    /// It differs.
    Differs(Box<Difference>),
}

/// In which way a decision differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Difference {
    /// Another answer.
    Answer {
        /// What is other about it.
        changes: Vec<Change>,
    },
    /// The same answer by another path: module and engine are the recorded ones, fuel is not.
    Fuel {
        /// Fuel recorded.
        recorded: u64,
        /// Fuel used on replay.
        replayed: u64,
    },
    /// At least one of the two failed, and not both alike.
    Failure {
        /// How it failed then; none when it answered.
        recorded: Option<RecordedFailure>,
        /// How it fails on replay; none when it answers.
        replayed: Option<RecordedFailure>,
    },
}

/// One part of an answer that is other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Which part: an action, or the path of a field.
    pub what: String,
    /// As recorded; none when it was not there.
    pub recorded: Option<String>,
    /// As decided again; none when it is not there.
    pub replayed: Option<String>,
}

/// Decides one record again.
pub(super) fn compare(record: &Record, module: &Module, engine: &str) -> Found {
    let snapshot = record.snapshot.get().as_bytes();
    let Some(answer) = &record.answer else {
        return compare_failure(record, module);
    };
    match module.answer(snapshot) {
        Ok(again) if again.bytes == answer.get().as_bytes() => {
            let same = record.module == module.digest() && record.engine == engine;
            match record.fuel.filter(|_| same) {
                Some(recorded) if recorded != again.fuel => differs(Difference::Fuel {
                    recorded,
                    replayed: again.fuel,
                }),
                fuel => Found::Equal {
                    fuel_compared: fuel.is_some(),
                },
            }
        }
        Ok(_) => compare_answers(record, answer.get(), module),
        Err(failure) => differs(Difference::Failure {
            recorded: None,
            replayed: Some(RecordedFailure::from(&failure)),
        }),
    }
}

fn differs(difference: Difference) -> Found {
    Found::Differs(Box::new(difference))
}

fn compare_failure(record: &Record, module: &Module) -> Found {
    let recorded = record.failure.clone();
    let replayed = module
        .decide(record.snapshot.get().as_bytes())
        .err()
        .map(|failure| RecordedFailure::from(&failure));
    match (&recorded, &replayed) {
        (Some(then), Some(again)) if then.name == again.name => Found::FailedAlike,
        (Some(_) | None, Some(_) | None) => differs(Difference::Failure { recorded, replayed }),
    }
}

fn compare_answers(record: &Record, recorded: &str, module: &Module) -> Found {
    let replayed = match module.decide(record.snapshot.get().as_bytes()) {
        Ok(answer) => answer.decision,
        Err(failure) => {
            return differs(Difference::Failure {
                recorded: None,
                replayed: Some(RecordedFailure::from(&failure)),
            });
        }
    };
    let changes = match serde_json::from_str::<Decision>(recorded) {
        Ok(recorded) => changes(&recorded, &replayed),
        Err(error) => vec![Change {
            what: "answer".to_owned(),
            recorded: Some(format!("cannot be read: {error}")),
            replayed: Some(output_count(&replayed)),
        }],
    };
    differs(Difference::Answer { changes })
}

fn output_count(decision: &Decision) -> String {
    crate::output::count(decision.actions.len(), "action")
}

/// The parts in which two decisions differ; one that says so if only their text does.
fn changes(recorded: &Decision, replayed: &Decision) -> Vec<Change> {
    let mut changes = action_changes(&recorded.actions, &replayed.actions);
    let rest = |decision: &Decision| serde_json::json!({ "requeue": decision.requeue, "report": decision.report });
    places("", &rest(recorded), &rest(replayed), &mut changes);
    if changes.is_empty() {
        changes.push(Change {
            what: "text of the answer".to_owned(),
            recorded: Some("says the same in other bytes".to_owned()),
            replayed: None,
        });
    }
    changes
}

/// Walks both lists; an action is known again by what it does to whom.
fn action_changes(recorded: &[Action], replayed: &[Action]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut rest = replayed;
    for action in recorded {
        let name = label(action);
        let Some(at) = rest.iter().position(|other| label(other) == name) else {
            changes.push(Change {
                what: name,
                recorded: Some("decided".to_owned()),
                replayed: None,
            });
            continue;
        };
        let (added, found) = rest.split_at(at);
        changes.extend(added.iter().map(added_action));
        if let Some((other, after)) = found.split_first() {
            let mut within = Vec::new();
            places(&name, &value(action), &value(other), &mut within);
            within.truncate(PLACES);
            changes.append(&mut within);
            rest = after;
        }
    }
    changes.extend(rest.iter().map(added_action));
    changes
}

fn added_action(action: &Action) -> Change {
    Change {
        what: label(action),
        recorded: None,
        replayed: Some("decided".to_owned()),
    }
}

/// `Apply Pod example-x1`, `UpdateStatus`.
fn label(action: &Action) -> String {
    let kind = action
        .effect
        .kind()
        .map(contract::ObjectKind::name)
        .unwrap_or_default();
    let words = [action.effect.name(), kind, &action.effect.target()].map(str::to_owned);
    words
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Our own types always have a JSON form.
fn value(action: &Action) -> Value {
    serde_json::to_value(action).unwrap_or_default()
}

/// The paths at which two documents differ, as deep as they can be told apart.
fn places(path: &str, recorded: &Value, replayed: &Value, found: &mut Vec<Change>) {
    let at = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path} {key}")
        }
    };
    match (recorded, replayed) {
        (one, other) if one == other => {}
        (Value::Object(one), Value::Object(other)) => {
            let added = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(added) {
                let (one, other) = (one.get(key), other.get(key));
                places(
                    &at(key),
                    one.unwrap_or(&Value::Null),
                    other.unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                places(&at(&index.to_string()), one, other, found);
            }
        }
        (one, other) => found.push(Change {
            what: path.to_owned(),
            recorded: shown(one),
            replayed: shown(other),
        }),
    }
}

fn shown(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    if text.chars().count() <= LONGEST {
        return Some(text);
    }
    Some(text.chars().take(LONGEST).chain(['…']).collect())
}
