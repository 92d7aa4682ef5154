//! What people read of a cluster after a look at the world as it is, beside what is so at that moment.
//!
//! Judges nothing, and knows no look at anything older.

use contract::{Action, Condition, ConditionStatus, Effect, EtcdClusterStatus};
use serde_json::Value;

use crate::fact::Fact;
use crate::world::World;

/// The condition that says whether a quorum serves.
const AVAILABLE: &str = "Available";

impl World {
    /// Notes what these actions, which were decided on all there is, leave people to read.
    pub(crate) fn note_said(&mut self, actions: &[Action]) {
        let written = actions.iter().find_map(|action| {
            if let Effect::UpdateStatus { status } = &action.effect {
                Some(status)
            } else {
                None
            }
        });
        let (said_available, said_ready) = match written {
            Some(status) => said(status),
            None => stands(&self.kube.resource.status),
        };
        if !said_available && said_ready.is_empty() {
            return;
        }
        let cluster = written
            .and_then(|status| status.cluster_id)
            .or_else(|| self.recorded());
        let fact = Fact::Said {
            at: self.now,
            available: said_available,
            ready: said_ready,
            confirmed: self.is_served(cluster),
            serving: self.serving_voters(cluster),
        };
        self.facts.push(fact);
    }
}

fn said(status: &EtcdClusterStatus) -> (bool, Vec<String>) {
    (
        is_available(&status.conditions),
        status.members.ready.clone(),
    )
}

/// The same of a status that was stored. Read at each look, so without making a whole status of it.
fn stands(status: &Value) -> (bool, Vec<String>) {
    let ready = listed(
        status
            .get("members")
            .and_then(|members| members.get("ready")),
    );
    let ready = ready.filter_map(Value::as_str).map(str::to_owned);
    (stands_available(status) == Some(true), ready.collect())
}

/// What the condition says in a status that was stored, if it stands there.
pub(crate) fn stands_available(status: &Value) -> Option<bool> {
    let mut conditions = listed(status.get("conditions"));
    let available = conditions.find(|condition| condition["type"] == AVAILABLE)?;
    Some(available["status"] == "True")
}

fn is_available(conditions: &[Condition]) -> bool {
    let mut named = conditions
        .iter()
        .filter(|condition| condition.kind == AVAILABLE);
    named.any(|condition| condition.status == ConditionStatus::True)
}

fn listed(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
