//! Documents that people write, as YAML or JSON: how they are read, and which of their fields got lost.

use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize as _;
use serde_json::Value;

/// Reads all documents of a file; - is standard input.
///
/// # Errors
/// When it cannot be read, or is no YAML.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<Value>> {
    let shown = file.display();
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text))
    };
    read.with_context(|| format!("{shown} cannot be read"))?;
    serde_yaml::Deserializer::from_str(&text)
        .map(Value::deserialize)
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("{shown} is not YAML"))
}

/// Fields that were sent and are not there any more, by their paths. Nothing is lost of a null.
pub(crate) fn lost(path: &str, sent: Option<&Value>, kept: Option<&Value>) -> Vec<String> {
    match (sent, kept) {
        (None | Some(Value::Null), _) => Vec::new(),
        (Some(_), None) => vec![path.to_owned()],
        (Some(Value::Object(sent)), Some(Value::Object(kept))) => sent
            .iter()
            .flat_map(|(key, value)| lost(&format!("{path}.{key}"), Some(value), kept.get(key)))
            .collect(),
        (Some(Value::Array(sent)), Some(Value::Array(kept))) => sent
            .iter()
            .enumerate()
            .flat_map(|(at, value)| lost(&format!("{path}[{at}]"), Some(value), kept.get(at)))
            .collect(),
        (Some(_), Some(_)) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_that_nobody_knows_are_named_with_their_paths() {
        let sent = json!({"size": 3, "sise": 5, "pod": {"labls": {}, "annotations": null}, "list": [{"a": 1}, {"b": 1}]});
        let kept = json!({"size": 3, "pod": {}, "list": [{"a": 1}, {}]});
        let found = lost("spec", Some(&sent), Some(&kept));
        assert_eq!(found, ["spec.list[1].b", "spec.pod.labls", "spec.sise"]);
        assert!(lost("spec", Some(&sent), Some(&sent)).is_empty());
    }
}
