//! Specs of clusters, as small as a scenario needs them.

use serde_json::{Value, json};

/// Members that keep their data on volume claims.
#[must_use]
pub fn on_volumes(size: i64) -> Value {
    json!({
        "size": size,
        "version": "3.6.16",
        "pod": {"persistentVolumeClaimSpec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }},
    })
}

/// Members that keep their data in their pods.
#[must_use]
pub fn in_pods(size: i64) -> Value {
    json!({"size": size, "version": "3.6.16"})
}
