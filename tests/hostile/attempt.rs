//! One file of `modules/`: a module that tries one thing, and the rule that holds it.
//!
//! Most are the reconciler's own answer, right in all but one place, so that nothing but the named rule stands in the way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use contract::{Action, Decision, Effect, ObjectKind, Snapshot};
use serde::Deserialize;
use serde_json::{Value, json};
use simulator::{Branch, Choice};
use small::{Text, answer};

use crate::world::{World, until, words};

/// What the file says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    /// What it tries, as the end of "a module that tries ...".
    tries: String,
    /// The name of the envelope's rule, or of the module's failure, that stops it.
    rule: String,
    /// Rules that it breaks besides.
    #[serde(default)]
    also: Vec<String>,
    /// Passes that are let be before the rule stops it.
    #[serde(default)]
    patience: usize,
    /// Where it tries that.
    #[serde(default)]
    world: World,
    /// The reconciler's own action of this effect and kind is taken.
    like: Option<(String, Option<ObjectKind>)>,
    /// With all the other actions of that decision.
    #[serde(default)]
    whole: bool,
    /// So many of it, where it is more than one; each has its number for `${number}` in what is changed.
    times: Option<usize>,
    /// What stands at these JSON pointers of the action instead; null takes it away.
    #[serde(default)]
    change: BTreeMap<String, Value>,
    /// Actions as they are.
    #[serde(default)]
    actions: Vec<Value>,
    /// The answer as it is.
    answer: Option<String>,
    /// What `${fill}` in it is.
    fill: Option<(String, usize)>,
    /// Instructions before the answer is given; alone, where there is none.
    instructions: Option<String>,
}

/// A module, and the world it is let loose on.
pub(crate) struct Attempt {
    pub(crate) file: String,
    pub(crate) tries: String,
    pub(crate) rule: String,
    pub(crate) also: Vec<String>,
    pub(crate) patience: usize,
    pub(crate) branch: Branch,
    pub(crate) snapshot: Snapshot,
    /// The core module.
    pub(crate) core: Vec<u8>,
}

/// All of the folder, by their names.
pub(crate) fn attempts() -> Vec<Attempt> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile/modules");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| Attempt::read(path)).collect()
}

impl Attempt {
    fn read(path: &Path) -> Self {
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(path).expect("a file");
        let told: File =
            serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut branch = told.world.build();
        let honest = told.like.as_ref().map(|(effect, kind)| {
            let is_it = |given: &Effect| given.name() == effect && given.kind() == *kind;
            branch = until(branch.clone(), |branch| {
                let Decision { actions, .. } = reconciler::reconcile(&branch.snapshot());
                actions.iter().any(|action| is_it(&action.effect))
            });
            let Decision { actions, .. } = reconciler::reconcile(&branch.snapshot());
            let position = actions.iter().position(|action| is_it(&action.effect));
            (actions, position.expect("it was there"))
        });
        let snapshot = branch.snapshot();
        let mut actions = told.actions.clone();
        if let Some((honest, position)) = honest {
            for (number, action) in honest.iter().enumerate() {
                if number == position {
                    let copies = 1..=told.times.unwrap_or(1);
                    actions.extend(copies.map(|copy| changed(action, &told.change, copy)));
                } else if told.whole {
                    actions.push(json!(action));
                }
            }
        }
        let decision = json!({"schema": 1, "actions": actions, "report": {"findings": []}});
        let text = told.answer.clone().unwrap_or_else(|| decision.to_string());
        let fill = told.fill.as_ref();
        let fill = fill.map_or_else(String::new, |(text, times)| text.repeat(*times));
        let mut text = text.replace("${fill}", &fill);
        for (word, value) in words(&branch, &snapshot) {
            text = text.replace(&format!("${{{word}}}"), &value);
        }
        assert!(!text.contains("${"), "{file}: unknown word in {text}");
        let first = told.instructions.as_deref().unwrap_or_default();
        let answers = told.answer.is_some() || !actions.is_empty();
        let reconcile = if answers {
            format!("{first} {}", answer(text.len()))
        } else {
            first.to_owned()
        };
        let core = Text {
            reconcile: &reconcile,
            data: text.as_bytes(),
            ..Text::default()
        };
        Self {
            core: core.core(),
            file: file.into_owned(),
            tries: told.tries,
            rule: told.rule,
            also: told.also,
            patience: told.patience,
            branch,
            snapshot,
        }
    }

    /// Lets the host of the model follow that decision.
    pub(crate) fn follow(&mut self, decision: &Decision) {
        self.branch.take_facts();
        self.branch.step(Choice::Look, |_| decision.clone());
    }
}

/// The action with what is changed about it, as the copy of that number.
fn changed(action: &Action, change: &BTreeMap<String, Value>, copy: usize) -> Value {
    let mut action = json!(action);
    for (pointer, value) in change {
        let value = match value {
            Value::String(text) => json!(text.replace("${number}", &copy.to_string())),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => value.clone(),
        };
        set(&mut action, pointer, value);
    }
    action
}

/// Puts the value where the pointer leads; its last step may be new, and `-` is the end of a list.
fn set(action: &mut Value, pointer: &str, value: Value) {
    let (parent, last) = pointer.rsplit_once('/').expect("a JSON pointer");
    let there = action.to_string();
    let parent = action
        .pointer_mut(parent)
        .unwrap_or_else(|| panic!("no {pointer} in {there}"));
    match parent {
        Value::Array(list) => match last.parse::<usize>() {
            Ok(index) => list[index] = value,
            Err(_) => list.push(value),
        },
        Value::Object(fields) if value.is_null() => {
            let gone = fields.remove(&last.replace("~1", "/"));
            assert!(gone.is_some(), "no {pointer} in {there}");
        }
        Value::Object(fields) => {
            fields.insert(last.replace("~1", "/"), value);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            panic!("{pointer} leads into a value")
        }
    }
}
