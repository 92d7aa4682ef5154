//! Which EtcdBackups of a schedule are kept: of those that are over the newest ones, as many as the spec says. What was
//! stored by one that goes is no matter of this.

use contract::{Effect, EventType, Reason, ScheduleEffect, ScheduledBackup, ScheduledState};

use super::{Course, Plan};
use crate::pre::{self, ActionExt as _};

/// Deletions of one pass.
const AT_ONCE: usize = 16;

/// Deletes the oldest beyond the limits. `own` are those of the schedule that are not going already.
pub(super) fn keep(course: &mut Course<'_>, plan: &Plan, own: &[&ScheduledBackup]) {
    let mut gone = Vec::new();
    for (state, limit) in [
        (ScheduledState::Succeeded, plan.succeeded),
        (ScheduledState::Failed, plan.failed),
    ] {
        let Some(limit) = limit else { continue };
        let mut over: Vec<&ScheduledBackup> = own
            .iter()
            .copied()
            .filter(|backup| backup.state == state)
            .collect();
        over.sort_by(|one, other| (other.created, &other.name).cmp(&(one.created, &one.name)));
        gone.extend(over.into_iter().skip(limit));
    }
    gone.sort_by(|one, other| (one.created, &one.name).cmp(&(other.created, &other.name)));
    gone.truncate(AT_ONCE);
    if gone.is_empty() {
        return;
    }
    for backup in &gone {
        let name = backup.name.clone();
        let effect = Effect::Schedule(ScheduleEffect::DeleteBackup { name });
        let action = pre::action(&course.snapshot.resource, effect).present(&backup.uid);
        course.actions.push(action);
    }
    let names: Vec<&str> = gone.iter().map(|backup| backup.name.as_str()).collect();
    let words = format!(
        "Deleting EtcdBackups beyond the history limits: {}",
        names.join(", ")
    );
    course.tell(EventType::Normal, Reason::HistoryLimited, words);
}
