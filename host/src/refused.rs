//! The one condition that the host writes itself: a module's answer to this cluster was refused, or there was none.
//!
//! Pure: takes a stored status and gives the status to store. All other conditions are the module's.

use contract::{Condition, ConditionStatus, Reason};
use serde_json::{Value, json};

/// Type of the condition.
pub const CONDITION: &str = "DecisionRefused";
/// A condition's message is for people; this much of it.
const LONGEST_MESSAGE: usize = 1024;

/// The status with the condition standing; none when it stands so already. What else is in the status stays, however
/// malformed it is.
#[must_use]
pub fn with(status: &Value, reason: &str, message: &str, now: &str) -> Option<Value> {
    let message: String = message.chars().take(LONGEST_MESSAGE).collect();
    let before = standing(status);
    let is_same = before.is_some_and(|condition| {
        condition.get("reason").and_then(Value::as_str) == Some(reason)
            && condition.get("message").and_then(Value::as_str) == Some(&message)
    });
    if is_same {
        return None;
    }
    let since =
        before.and_then(|condition| condition.get("lastTransitionTime").and_then(Value::as_str));
    let condition = Condition {
        kind: CONDITION.to_owned(),
        status: ConditionStatus::True,
        last_update_time: Some(now.to_owned()),
        last_transition_time: Some(since.unwrap_or(now).to_owned()),
        reason: reason.to_owned(),
        message,
    };
    let mut conditions = others(status);
    conditions.push(json!(condition));
    Some(replace(status, conditions))
}

/// The status without the condition; none when it has none.
#[must_use]
pub fn without(status: &Value) -> Option<Value> {
    standing(status)?;
    Some(replace(status, others(status)))
}

/// Whether the condition stands.
#[must_use]
pub fn stands(status: &Value) -> bool {
    standing(status).is_some()
}

/// Whether a condition of a status that the module wrote is the host's, taken over from the status before.
#[must_use]
pub fn is_hosts(condition: &Condition) -> bool {
    condition.kind == CONDITION
}

/// The event's and the condition's reason where the envelope refused.
#[must_use]
pub const fn reason() -> &'static str {
    Reason::DecisionRefused.name()
}

fn standing(status: &Value) -> Option<&Value> {
    status
        .get("conditions")?
        .as_array()?
        .iter()
        .find(|condition| is_named(condition))
}

fn is_named(condition: &Value) -> bool {
    condition.get("type").and_then(Value::as_str) == Some(CONDITION)
}

fn others(status: &Value) -> Vec<Value> {
    let conditions = status.get("conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .filter(|condition| !is_named(condition))
        .cloned()
        .collect()
}

fn replace(status: &Value, conditions: Vec<Value>) -> Value {
    let mut fields = status.as_object().cloned().unwrap_or_default();
    fields.insert("conditions".to_owned(), Value::Array(conditions));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T00:00:00Z";
    const LATER: &str = "2026-01-01T00:01:00Z";

    #[test]
    fn the_condition_stands_beside_the_others_and_goes_again() {
        let status =
            json!({"phase": "Running", "conditions": [{"type": "Available", "status": "True"}]});
        let refused = with(&status, "Trap", "it trapped", NOW).expect("it was not there");
        assert_eq!(refused["phase"], "Running");
        assert_eq!(refused["conditions"][0]["type"], "Available");
        assert_eq!(refused["conditions"][1]["reason"], "Trap");
        assert_eq!(without(&refused), Some(status));
    }

    #[test]
    fn the_same_refusal_is_not_written_again() {
        let refused = with(&Value::Null, "Trap", "it trapped", NOW).expect("it was not there");
        assert_eq!(with(&refused, "Trap", "it trapped", LATER), None);
    }

    #[test]
    fn another_refusal_keeps_the_time_of_the_transition() {
        let refused = with(&Value::Null, "Trap", "it trapped", NOW).expect("it was not there");
        let other = with(&refused, "OutOfFuel", "it loops", LATER).expect("it differs");
        assert_eq!(other["conditions"][0]["lastTransitionTime"], NOW);
        assert_eq!(other["conditions"][0]["lastUpdateTime"], LATER);
    }

    #[test]
    fn a_status_without_the_condition_needs_no_write() {
        assert_eq!(without(&Value::Null), None);
        assert_eq!(without(&json!({"conditions": "not a list"})), None);
    }
}
