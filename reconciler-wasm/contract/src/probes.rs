//! How patient the kubelet is with a member: three times in seconds, and what is sound of them.
//!
//! What is asked, and where, is no matter of the spec.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// How long the kubelet is patient with a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProbePolicy {
    /// Seconds after its start in which a member that gives no answer is left alone, 0 to 3600: more for a large data file on
    /// a slow disk. Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_seconds: Option<i32>,
    /// Seconds without an answer after which the container of a member is started anew, 30 to 3600, rounded up to tens.
    /// Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_seconds: Option<i32>,
    /// Seconds without an answer after which clients are not led to a member, 1 to 60. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_seconds: Option<i32>,
}

impl ProbePolicy {
    /// What `startupSeconds` may be.
    pub const STARTUP: RangeInclusive<i32> = 0..=3600;
    /// What `livenessSeconds` may be: a busy member can be silent for some of them, and lives.
    pub const LIVENESS: RangeInclusive<i32> = 30..=3600;
    /// What `readinessSeconds` may be.
    pub const READINESS: RangeInclusive<i32> = 1..=60;

    /// The first field that is out of its bounds, with its value and the bounds.
    #[must_use]
    pub fn why_unsound(&self) -> Option<(&'static str, i32, RangeInclusive<i32>)> {
        let Self {
            startup_seconds,
            liveness_seconds,
            readiness_seconds,
        } = self;
        [
            ("startupSeconds", startup_seconds, Self::STARTUP),
            ("livenessSeconds", liveness_seconds, Self::LIVENESS),
            ("readinessSeconds", readiness_seconds, Self::READINESS),
        ]
        .into_iter()
        .find_map(|(field, seconds, bounds)| {
            let seconds = seconds.filter(|seconds| !bounds.contains(seconds))?;
            Some((field, seconds, bounds))
        })
    }
}
