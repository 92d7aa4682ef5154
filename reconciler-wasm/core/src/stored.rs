//! Reads what the API server stores into a type of the contract.
//!
//! Does not know what its fields mean.

use contract::{Finding, FindingKind, Reason, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads `value`.
///
/// # Errors
/// What cannot be read, with its path. The path is looked for only then, because to keep track of it takes longer than
/// to read.
pub(crate) fn read<T: DeserializeOwned>(
    value: &Value,
) -> Result<T, serde_path_to_error::Error<serde_json::Error>> {
    T::deserialize(value).or_else(|_| serde_path_to_error::deserialize(value))
}

/// Reads a spec.
///
/// # Errors
/// Why it cannot be followed: what cannot be read, or the words in its place, which say why it could not be said in the
/// types of the domain.
pub(crate) fn spec<T: DeserializeOwned>(stored: &Value) -> Result<T, String> {
    if let Value::String(why) = stored {
        return Err(format!("{why}."));
    }
    read(stored)
        .map_err(|error| format!("spec.{} cannot be read: {}.", error.path(), error.inner()))
}

/// Reads the status that an earlier pass left, which `tells` one thing from another.
///
/// # Errors
/// A status that holds something and cannot be read: without memory nothing may be started.
pub(crate) fn remembered<T>(resource: &Resource, tells: &str) -> Result<T, Finding>
where
    T: DeserializeOwned + Default,
{
    if resource.status.is_null() {
        return Ok(T::default());
    }
    read(&resource.status).map_err(|error| Finding {
        kind: FindingKind::Blocked,
        reason: Reason::UnreadableStatus,
        message: format!(
            "status.{} cannot be read: {}. Nothing is done, because the status is what tells {tells}. Correct that field.",
            error.path(),
            error.inner()
        ),
        member: None,
    })
}
