//! The sealed module's two exports: bytes in, the reconciler's judgement, bytes out.
//!
//! Decides nothing itself. It imports nothing, so a panic is a bare trap whose backtrace is in the host's log.

#[cfg(target_arch = "wasm32")]
mod memory;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static HEAP: memory::Heap = memory::Heap::new();

wit_bindgen::generate!({ path: "wit", world: "reconciler" });

struct Sealed;

impl Guest for Sealed {
    fn describe() -> Vec<u8> {
        // A plain struct of strings and numbers always has a JSON form; an empty answer is refused by the host.
        serde_json::to_vec(&reconciler::describe()).unwrap_or_default()
    }

    fn reconcile(snapshot: Vec<u8>) -> Result<Vec<u8>, String> {
        let snapshot = serde_json::from_slice(&snapshot)
            .map_err(|error| format!("the snapshot cannot be read: {error}"))?;
        serde_json::to_vec(&reconciler::reconcile(&snapshot))
            .map_err(|error| format!("the decision cannot be written: {error}"))
    }
}

export!(Sealed);
