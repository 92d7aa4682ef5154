//! The module's two exports: bytes in, the judgement, bytes out. Decides nothing itself.

use super::{describe, reconcile};

wit_bindgen::generate!({ path: "../../../reconciler-wasm/wit", world: "reconciler" });

struct Sealed;

impl Guest for Sealed {
    fn describe() -> Vec<u8> {
        // A plain struct of strings and numbers always has a JSON form; an empty answer is refused by the host.
        serde_json::to_vec(&describe()).unwrap_or_default()
    }

    fn reconcile(snapshot: Vec<u8>) -> Result<Vec<u8>, String> {
        let snapshot = serde_json::from_slice(&snapshot)
            .map_err(|error| format!("the snapshot cannot be read: {error}"))?;
        serde_json::to_vec(&reconcile(&snapshot))
            .map_err(|error| format!("the decision cannot be written: {error}"))
    }
}

export!(Sealed);
