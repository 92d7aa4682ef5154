//! Edits of a document: of its JSON where it has some, of its bytes in any case.
//!
//! All follow from what the fuzzer draws, so that equal draws make equal bytes.

use bolero::TypeGenerator;
use serde_json::{Value, json};

/// One edit: where, what, and with what.
#[derive(Clone, Copy, Debug, TypeGenerator)]
pub(crate) struct Edit {
    place: u16,
    what: u8,
    with: u16,
}

/// The document after these edits.
pub(crate) fn edited(document: &[u8], edits: &[Edit]) -> Vec<u8> {
    let (of_bytes, of_json): (Vec<&Edit>, Vec<&Edit>) =
        edits.iter().partition(|edit| edit.what >= 0xe0);
    let mut bytes = document.to_vec();
    if let Ok(mut value) = serde_json::from_slice::<Value>(document) {
        for edit in of_json {
            edit.apply(&mut value);
        }
        bytes = value.to_string().into_bytes();
    }
    for edit in of_bytes {
        edit.damage(&mut bytes);
    }
    bytes
}

impl Edit {
    fn apply(self, value: &mut Value) {
        let count = count(value);
        let other = nth(value, usize::from(self.with) % count).cloned();
        let Some(place) = nth_mut(value, &mut (usize::from(self.place) % count)) else {
            return;
        };
        match self.what % 14 {
            0 => *place = Value::Null,
            1 => *place = json!(i64::from(self.with) - 40),
            2 => *place = json!(i64::MIN),
            3 => *place = json!(u64::MAX),
            4 => *place = json!(f64::from(self.with) * 0.3),
            5 => *place = json!(""),
            6 => *place = json!("\u{0}é\u{202e}".repeat(usize::from(self.with % 300))),
            7 => *place = json!([]),
            8 => *place = json!({}),
            9 => *place = json!(self.with.is_multiple_of(2)),
            10 => shrink(place, usize::from(self.with)),
            11 => grow(place, usize::from(self.with)),
            12 => *place = (0..self.with % 200).fold(Value::Null, |inner, _| json!([inner])),
            _ => *place = other.unwrap_or_default(),
        }
    }

    fn damage(self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        // Documents are longer than a place can say.
        let at = usize::from(self.place) * bytes.len() / (usize::from(u16::MAX) + 1);
        let [byte, length] = self.with.to_be_bytes();
        match self.what % 4 {
            0 => bytes[at] = byte,
            1 => bytes.truncate(at),
            2 => {
                bytes.splice(at..at, std::iter::repeat_n(byte, usize::from(length)));
            }
            _ => {
                let end = (at + usize::from(length)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
}

/// Something is missing.
fn shrink(place: &mut Value, which: usize) {
    match place {
        Value::Array(list) if !list.is_empty() => {
            list.remove(which % list.len());
        }
        Value::Object(fields) if !fields.is_empty() => {
            let key = fields.keys().nth(which % fields.len()).cloned();
            key.map(|key| fields.remove(&key));
        }
        Value::String(text) => text.truncate(text.floor_char_boundary(which % (text.len() + 1))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            *place = Value::Null
        }
    }
}

/// Something is there twice, or too much.
fn grow(place: &mut Value, which: usize) {
    match place {
        Value::Array(list) => {
            let Some(one) = list.get(which % list.len().max(1)).cloned() else {
                return list.push(Value::Null);
            };
            list.extend(std::iter::repeat_n(one, which % 50 + 1));
        }
        Value::Object(fields) => {
            fields.insert(format!("field{which}"), json!(which));
        }
        Value::String(text) => *text = text.repeat(which % 9 + 2),
        Value::Number(number) => {
            let grown = number.as_i64().unwrap_or_default();
            *place = json!(grown.wrapping_mul(i64::try_from(which).unwrap_or(i64::MAX)));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// How many values there are, itself among them.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0_usize,
    }
}

fn nth(value: &Value, index: usize) -> Option<&Value> {
    fn find<'a>(value: &'a Value, left: &mut usize) -> Option<&'a Value> {
        if *left == 0 {
            return Some(value);
        }
        *left -= 1;
        match value {
            Value::Array(list) => list.iter().find_map(|inner| find(inner, left)),
            Value::Object(fields) => fields.values().find_map(|inner| find(inner, left)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }
    find(value, &mut { index })
}

fn nth_mut<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|inner| nth_mut(inner, left)),
        Value::Object(fields) => fields.values_mut().find_map(|inner| nth_mut(inner, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
