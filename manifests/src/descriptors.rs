//! The form fields of a kind in consoles: one for each field of its schema, with title, explanation and widget.
//!
//! Reads the schema alone, so that a new field has its descriptor by itself.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::{Value, json};

/// Descriptors of everything below `root` (`spec` or `status`), outer fields before inner ones.
///
/// A field with a widget of its own is shown as a whole.
pub(crate) fn of(schema: &JSONSchemaProps, root: &str, widgets: &[(&str, &str)]) -> Vec<Value> {
    let mut found = Vec::new();
    let part = schema
        .properties
        .iter()
        .flatten()
        .find(|(name, _)| *name == root);
    if let Some((_, part)) = part {
        collect(part, root, root, widgets, &mut found);
    }
    found
}

fn collect(
    schema: &JSONSchemaProps,
    root: &str,
    at: &str,
    widgets: &[(&str, &str)],
    found: &mut Vec<Value>,
) {
    for (name, field) in schema.properties.iter().flatten() {
        let path = format!("{at}.{name}");
        let widget = widgets
            .iter()
            .find(|(hinted, _)| *hinted == path)
            .map(|(_, widget)| *widget);
        let kind = field.type_.as_deref().unwrap_or_default();
        found.push(json!({
            "path": path.strip_prefix(&format!("{root}.")).unwrap_or(&path),
            "displayName": title(name),
            "description": field.description.as_deref().unwrap_or_default(),
            "x-descriptors": [widget.unwrap_or_else(|| by_type(kind))],
        }));
        if widget.is_none() {
            collect(field, root, &path, widgets, found);
        }
    }
}

fn by_type(kind: &str) -> &'static str {
    match kind {
        "boolean" => "urn:alm:descriptor:com.tectonic.ui:booleanSwitch",
        "integer" => "urn:alm:descriptor:com.tectonic.ui:number",
        "object" | "array" => "urn:alm:descriptor:com.tectonic.ui:advanced",
        _ => "urn:alm:descriptor:text",
    }
}

/// `throughMinors` as "Through minors"; abbreviations stay as they are.
fn title(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(at + 1);
        let begins_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || after.is_some_and(|after| after.is_lowercase())
            });
        if begins_word {
            words.push(' ');
        }
        let is_word = begins_word && after.is_some_and(|after| after.is_lowercase());
        if at == 0 {
            words.extend(letter.to_uppercase());
        } else if is_word {
            words.extend(letter.to_lowercase());
        } else {
            words.push(*letter);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::KINDS;

    #[test]
    fn titles_are_words_and_keep_abbreviations() {
        for (name, expected) in [
            ("size", "Size"),
            ("throughMinors", "Through minors"),
            ("TLS", "TLS"),
            ("clusterID", "Cluster ID"),
            ("DNSTimeoutInSecond", "DNS timeout in second"),
            ("persistentVolumeClaimSpec", "Persistent volume claim spec"),
        ] {
            assert_eq!(title(name), expected);
        }
    }

    /// A misspelt path would leave its field without the widget and say nothing.
    #[test]
    fn every_widget_belongs_to_a_field() {
        for kind in &KINDS {
            let crd = (kind.definition)().expect("a definition");
            let schema = crd
                .spec
                .versions
                .first()
                .and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
            let schema = schema.expect("a schema");
            for (path, widget) in kind.widgets {
                let (root, _) = path.split_once('.').expect("a path below spec or status");
                let used = of(schema, root, kind.widgets).iter().any(|one| {
                    path.ends_with(one["path"].as_str().unwrap_or("?"))
                        && one["x-descriptors"][0] == *widget
                });
                assert!(used, "{path} is no field of {}", kind.title);
            }
        }
    }
}
