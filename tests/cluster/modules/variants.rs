//! Modules to roll out: the stock one under another digest, and small ones with one fault each.

use anyhow::{Context, Result};
use contract::{Description, SCHEMA};
use host::module::seal;
use small::Text;

pub(crate) use small::NOTHING;

/// The same module with another digest: a section that nothing reads, with `mark` in it.
pub(crate) fn marked(module: &[u8], mark: &str) -> Result<Vec<u8>> {
    const NAME: &str = "mark";
    let length = u8::try_from(1 + NAME.len() + mark.len())
        .ok()
        .filter(|length| *length < 0x80)
        .context("the mark is too long for one byte of length")?;
    let name_length = u8::try_from(NAME.len())?;
    Ok([
        module,
        &[0, length, name_length],
        NAME.as_bytes(),
        mark.as_bytes(),
    ]
    .concat())
}

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
