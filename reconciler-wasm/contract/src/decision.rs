//! The decision: what to do, when to look again and why, and the report.

use serde::{Deserialize, Serialize};

use crate::{Action, Millis, Reason, Report};

/// The module's answer to one snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Decision {
    /// The schema this was written in; see [`crate::SCHEMA`].
    pub schema: u32,
    /// To be executed in this order, stopping at the first that is refused or fails. At most one of them is
    /// relevant to the quorum.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// When to look again if nothing changes; none means at the next change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requeue: Option<Requeue>,
    /// What was found.
    pub report: Report,
}

/// When to look again, and what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requeue {
    /// A span from now.
    pub after: Millis,
    /// What is waited for.
    pub why: Reason,
}
