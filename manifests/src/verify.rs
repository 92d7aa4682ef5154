//! Judges bundles and catalogs as they stand in their files, by the rules of OLM and of its catalogs.
//!
//! Shares nothing with what writes them but the name of the package, so that a mistake in writing is not believed here.

mod bundle;
mod card;
mod catalog;

pub(crate) use bundle::bundle;
pub(crate) use catalog::{catalog, other};

use serde_json::Value;

use crate::fault::{Fault, line_with};

/// A file under judgement and what was found so far.
struct Judged<'a> {
    file: String,
    text: &'a str,
    found: Vec<Fault>,
}

impl<'a> Judged<'a> {
    fn new(file: impl Into<String>, text: &'a str) -> Self {
        Self {
            file: file.into(),
            text,
            found: Vec::new(),
        }
    }

    /// Notes a fault where `word` first stands.
    fn say(&mut self, word: &str, what: impl Into<String>, remedy: &str) {
        self.found.push(Fault {
            file: self.file.clone(),
            line: line_with(self.text, word),
            what: what.into(),
            remedy: remedy.to_owned(),
        });
    }

    /// As [`Self::say`], unless `holds`.
    fn expect(&mut self, holds: bool, word: &str, what: impl Into<String>, remedy: &str) {
        if !holds {
            self.say(word, what, remedy);
        }
    }

    /// The YAML documents of the file; a fault with its line where there is none.
    fn documents(&mut self) -> Vec<Value> {
        use serde::Deserialize as _;
        let mut documents = Vec::new();
        for document in serde_yaml::Deserializer::from_str(self.text) {
            match Value::deserialize(document) {
                Ok(value) => documents.push(value),
                Err(error) => {
                    self.found.push(Fault {
                        file: self.file.clone(),
                        line: error.location().map_or(1, |at| at.line()),
                        what: format!("this is no YAML: {error}"),
                        remedy: "Take it back with `make generate`".to_owned(),
                    });
                    break;
                }
            }
        }
        documents
    }
}

/// The text of a field; empty where there is none.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The items of a list; none where there is no list.
fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
