//! Reads what the API server stores into a type of the contract.
//!
//! Knows nothing of what it reads.

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
