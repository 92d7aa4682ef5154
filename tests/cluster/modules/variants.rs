//! Modules to roll out: small ones with one fault each.

use anyhow::Result;
use contract::{Description, SCHEMA};
use host::module::seal;
use small::Text;

pub(crate) use small::NOTHING;

/// A module that answers every snapshot with this text.
pub(crate) fn answering(answer: &str) -> Result<Vec<u8>> {
    Ok(seal(&small::answering(answer.as_bytes()))?)
}

/// A module that traps.
pub(crate) fn trapping() -> Result<Vec<u8>> {
    trapping_of(SCHEMA)
}

/// A module for snapshots that no host of today writes.
pub(crate) fn of_a_newer_schema() -> Result<Vec<u8>> {
    trapping_of(SCHEMA + 6)
}

/// A component that asks for the clock.
pub(crate) fn importing() -> Result<Vec<u8>> {
    Ok(wat::parse_str(
        r#"(component (import "wasi:clocks/wall-clock@0.2.0" (instance)))"#,
    )?)
}

fn trapping_of(schema: u32) -> Result<Vec<u8>> {
    let description = serde_json::to_string(&Description {
        name: "small".to_owned(),
        version: "0.0.1".to_owned(),
        oldest_schema: schema,
        newest_schema: schema,
        decision_schema: SCHEMA,
        minimum_host: "0.1.0".to_owned(),
    })?;
    let text = Text {
        description: &description,
        ..Text::default()
    };
    Ok(seal(&text.core())?)
}
