//! How one answer to a snapshot differs from another, in terms of actions, and which differences have one cause.
//!
//! Knows two answers; whether one of them was recorded, and which is right, is not its business.

use std::collections::BTreeSet;

use contract::{Action, Decision};
use serde::Serialize;
use serde_json::Value;

use crate::module::{Answer, Failure};
use crate::recorder::RecordedFailure;

/// Places within one action that are shown.
const PLACES: usize = 6;
/// Longest value that is shown whole.
const LONGEST: usize = 120;

/// In which way an answer differs from the one before.
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
    /// What is other, without names: many differences share it.
    pub cause: String,
    /// Which part: an action, or the path of a field.
    pub what: String,
    /// As recorded; none when it was not there.
    pub recorded: Option<String>,
    /// As decided again; none when it is not there.
    pub replayed: Option<String>,
}

impl Difference {
    /// What the difference comes to without names and values, such as `Delete Pod added; report other`. Differences of one
    /// cause read the same.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Self::Answer { changes } => {
                let causes: BTreeSet<&str> =
                    changes.iter().map(|change| change.cause.as_str()).collect();
                causes.into_iter().collect::<Vec<_>>().join("; ")
            }
            Self::Fuel { .. } => "same answer, other fuel".to_owned(),
            Self::Failure { recorded, replayed } => {
                format!("{} instead of {}", end(replayed), end(recorded))
            }
        }
    }
}

fn end(failure: &Option<RecordedFailure>) -> &str {
    failure
        .as_ref()
        .map_or("an answer", |failure| failure.name.as_str())
}

/// How `other` differs from `one`, both answers to the same snapshot; none when they are equal or fail alike.
#[must_use]
pub fn between(
    one: Result<&Answer, &Failure>,
    other: Result<&Answer, &Failure>,
) -> Option<Difference> {
    match (one, other) {
        (Ok(one), Ok(other)) if one.bytes == other.bytes => None,
        (Ok(one), Ok(other)) => Some(Difference::Answer {
            changes: changes(&one.decision, &other.decision),
        }),
        (Err(one), Err(other)) if one.name() == other.name() => None,
        (one, other) => Some(Difference::Failure {
            recorded: one.err().map(RecordedFailure::from),
            replayed: other.err().map(RecordedFailure::from),
        }),
    }
}

/// The parts in which two decisions differ; one that says so if only their text does.
#[must_use]
pub fn changes(recorded: &Decision, replayed: &Decision) -> Vec<Change> {
    let mut changes = action_changes(&recorded.actions, &replayed.actions);
    let rest = |decision: &Decision| serde_json::json!({ "requeue": decision.requeue, "report": decision.report });
    for part in ["requeue", "report"] {
        let (one, other) = (&rest(recorded)[part], &rest(replayed)[part]);
        places(part, &format!("{part} other"), one, other, &mut changes);
    }
    if changes.is_empty() {
        changes.push(Change {
            cause: "same decision in other bytes".to_owned(),
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
                cause: format!("{} missing", sort(action)),
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
            let cause = format!("{} other", sort(action));
            places(&name, &cause, &value(action), &value(other), &mut within);
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
        cause: format!("{} added", sort(action)),
        what: label(action),
        recorded: None,
        replayed: Some("decided".to_owned()),
    }
}

/// `Apply Pod`, `UpdateStatus`: what it does, without to whom.
fn sort(action: &Action) -> String {
    let kind = action.effect.kind().map(contract::ObjectKind::name);
    let words = [Some(action.effect.name()), kind];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// `Apply Pod example-x1`, `UpdateStatus`.
fn label(action: &Action) -> String {
    let (sort, target) = (sort(action), action.effect.target());
    if target.is_empty() {
        sort
    } else {
        format!("{sort} {target}")
    }
}

/// Our own types always have a JSON form.
fn value(action: &Action) -> Value {
    serde_json::to_value(action).unwrap_or_default()
}

/// The paths at which two documents differ, as deep as they can be told apart.
fn places(path: &str, cause: &str, recorded: &Value, replayed: &Value, found: &mut Vec<Change>) {
    let at = |key: &str| format!("{path} {key}");
    match (recorded, replayed) {
        (one, other) if one == other => {}
        (Value::Object(one), Value::Object(other)) => {
            let added = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(added) {
                let (one, other) = (one.get(key), other.get(key));
                places(
                    &at(key),
                    cause,
                    one.unwrap_or(&Value::Null),
                    other.unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                places(&at(&index.to_string()), cause, one, other, found);
            }
        }
        (one, other) => found.push(Change {
            cause: cause.to_owned(),
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
