//! What a module says of itself before it is used.

use serde::{Deserialize, Serialize};

/// The answer of `describe()`, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The module's name, for people.
    pub name: String,
    /// The module's own version (semantic versioning).
    pub version: String,
    /// The oldest snapshot schema it reads.
    pub oldest_schema: u32,
    /// The newest snapshot schema it reads.
    pub newest_schema: u32,
    /// The schema of its decisions.
    pub decision_schema: u32,
    /// The lowest host version that can execute its decisions.
    pub minimum_host: String,
}
