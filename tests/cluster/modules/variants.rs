//! Modules to roll out: small ones with one fault each.

use anyhow::Result;
use contract::{Description, SCHEMA};
use host::module::seal;

/// A decision to do nothing and to look again at the next change.
pub(crate) const NOTHING: &str = r#"{"schema":1,"actions":[],"report":{"findings":[]}}"#;

/// A module that answers every snapshot with this text.
pub(crate) fn answering(answer: &str) -> Result<Vec<u8>> {
    let length = answer.len();
    let reconcile = format!(
        "(i32.store8 (i32.const 64) (i32.const 0)) (i32.store (i32.const 68) (i32.const 4096)) \
         (i32.store (i32.const 72) (i32.const {length})) (i32.const 64)"
    );
    small(&reconcile, answer, SCHEMA)
}

/// A module that traps.
pub(crate) fn trapping() -> Result<Vec<u8>> {
    small("unreachable", "", SCHEMA)
}

/// A module for snapshots that no host of today writes.
pub(crate) fn of_a_newer_schema() -> Result<Vec<u8>> {
    small("unreachable", "", SCHEMA + 6)
}

/// A component that asks for the clock.
pub(crate) fn importing() -> Result<Vec<u8>> {
    Ok(wat::parse_str(
        r#"(component (import "wasi:clocks/wall-clock@0.2.0" (instance)))"#,
    )?)
}

fn small(reconcile: &str, data: &str, schema: u32) -> Result<Vec<u8>> {
    let description = serde_json::to_vec(&Description {
        name: "small".to_owned(),
        version: "0.0.1".to_owned(),
        oldest_schema: schema,
        newest_schema: schema,
        decision_schema: SCHEMA,
        minimum_host: "0.1.0".to_owned(),
    })?;
    let core = wat::parse_str(format!(
        r#"(module
            (memory (export "memory") 16)
            (global $free (mut i32) (i32.const 65536))
            (data (i32.const 1024) "{}")
            (data (i32.const 4096) "{}")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.get $free)
                (global.set $free (i32.add (global.get $free) (local.get 3))))
            (func (export "describe") (result i32)
                (i32.store (i32.const 32) (i32.const 1024))
                (i32.store (i32.const 36) (i32.const {}))
                (i32.const 32))
            (func (export "reconcile") (param i32 i32) (result i32) {reconcile}))"#,
        escaped(&description),
        escaped(data.as_bytes()),
        description.len(),
    ))?;
    Ok(seal(&core)?)
}

/// Bytes as they are spelled inside quotes in the text format.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}
