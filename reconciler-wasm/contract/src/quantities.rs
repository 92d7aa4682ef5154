//! Quantities as people write them: where YAML says `cpu: 2`, the API server keeps a number
//! (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>).
//!
//! Knows where they are in a document, and not what they amount to.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads `limits` and `requests`, here or under `resources`, whose values may be numbers.
///
/// # Errors
/// As the type has them.
pub(crate) fn with_numbers<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Some(mut value) = Option::<Value>::deserialize(deserializer)? else {
        return Ok(None);
    };
    spell(&mut value);
    if let Some(resources) = value.get_mut("resources") {
        spell(resources);
    }
    serde_json::from_value(value)
        .map(Some)
        .map_err(Error::custom)
}

/// Reads a text that YAML may have made a number of.
///
/// # Errors
/// As the type has them.
pub(crate) fn number_or_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Some(value) = Option::<Value>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let text = if value.is_number() {
        Value::String(value.to_string())
    } else {
        value
    };
    serde_json::from_value(text)
        .map(Some)
        .map_err(Error::custom)
}

fn spell(resources: &mut Value) {
    for list in ["limits", "requests"] {
        let quantities = resources.get_mut(list).and_then(Value::as_object_mut);
        for quantity in quantities.into_iter().flat_map(|list| list.values_mut()) {
            if quantity.is_number() {
                *quantity = Value::String(quantity.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::PodPolicy;

    #[test]
    fn quantities_are_numbers_or_strings() {
        let pod: PodPolicy = serde_json::from_value(json!({
            "resources": {"limits": {"cpu": 2, "memory": "1Gi"}, "requests": {"cpu": 0.5}},
            "persistentVolumeClaimSpec": {"resources": {"requests": {"storage": 1_073_741_824}}},
        }))
        .expect("a pod policy");
        let said = serde_json::to_value(&pod).expect("a document");
        assert_eq!(
            said["resources"],
            json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "0.5"}})
        );
        assert_eq!(
            said["persistentVolumeClaimSpec"]["resources"]["requests"]["storage"],
            "1073741824"
        );
        let wrong = json!({"resources": {"limits": {"cpu": true}}});
        assert!(serde_json::from_value::<PodPolicy>(wrong).is_err());
    }
}
