//! The condition that says which part of the spec is accepted and not in effect.

use contract::{ConditionStatus, Finding, Reason};

use super::{Claim, claim};
use crate::step::Step;

const SPEC_APPLIED: &str = "SpecApplied";

/// Whether all that the spec asks for is in effect; what is accepted and not used is named with its reason.
pub(super) fn spec_applied(step: &Step) -> Claim {
    let left_out: Vec<&Finding> = step
        .findings
        .iter()
        .filter(|finding| finding.reason == Reason::AcceptedNotUsed)
        .collect();
    let Some(first) = left_out.first() else {
        return claim(
            SPEC_APPLIED,
            ConditionStatus::True,
            Reason::AsSpecified,
            "Nothing in the spec is left out.".to_owned(),
        );
    };
    let messages: Vec<&str> = left_out
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    claim(
        SPEC_APPLIED,
        ConditionStatus::False,
        first.reason,
        messages.join(" "),
    )
}
