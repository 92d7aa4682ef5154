//! A condition that turns: since when it holds, and the event that tells of it.
//!
//! Knows no cluster. What says the same as before keeps its times.

use contract::{Condition, ConditionStatus, EventType, Millis, Reason};

use super::{AVAILABLE, BLOCKED, CERTIFICATES, Claim, SCALING};
use crate::clock;

/// Keeps the time of the last transition where the status is the same, and conditions of others as they are.
pub(super) fn merge(conditions: &mut Vec<Condition>, now: Millis, claims: Vec<Claim>) {
    for claim in claims {
        let Claim {
            kind,
            status,
            reason,
            message,
        } = claim;
        let old = conditions.iter().position(|old| old.kind == kind);
        let same = old.is_some_and(|at| {
            let old = &conditions[at];
            old.status == status && old.reason == reason.name() && old.message == message
        });
        if same {
            continue;
        }
        let transition = old
            .map(|at| &conditions[at])
            .filter(|old| old.status == status)
            .and_then(|old| old.last_transition_time.clone())
            .unwrap_or_else(|| clock::spell(now));
        let next = Condition {
            kind: kind.to_owned(),
            status,
            last_update_time: Some(clock::spell(now)),
            last_transition_time: Some(transition),
            reason: reason.name().to_owned(),
            message,
        };
        match old {
            Some(at) => conditions[at] = next,
            None => conditions.push(next),
        }
    }
}

/// The event of a condition that turned, if people should hear of it.
pub(crate) fn event(
    old: Option<&Condition>,
    new: &Condition,
) -> Option<(EventType, String, String)> {
    let turned = old.map(|old| old.status) != Some(new.status)
        || old.map(|old| &old.reason) != Some(&new.reason);
    if !turned {
        return None;
    }
    let at_zero = [Reason::ScaledToZero, Reason::WakingUp]
        .iter()
        .any(|reason| reason.name() == new.reason);
    let bad = match (new.kind.as_str(), new.status) {
        (AVAILABLE, ConditionStatus::False) if at_zero => false,
        (BLOCKED, ConditionStatus::True) => true,
        (SCALING, ConditionStatus::False) if new.reason == Reason::EvenSize.name() => true,
        // What else is wrong with them blocks, and is told as that.
        (CERTIFICATES, ConditionStatus::False)
            if new.reason == Reason::CertificateExpiring.name() =>
        {
            true
        }
        (AVAILABLE, ConditionStatus::False)
            if old.is_some_and(|old| old.status == ConditionStatus::True) =>
        {
            true
        }
        (AVAILABLE, ConditionStatus::True)
            if old.is_some_and(|old| old.status != ConditionStatus::True) =>
        {
            false
        }
        (_, ConditionStatus::True | ConditionStatus::False | ConditionStatus::Unknown) => {
            return None;
        }
    };
    let kind = if bad {
        EventType::Warning
    } else {
        EventType::Normal
    };
    Some((kind, new.reason.clone(), new.message.clone()))
}
