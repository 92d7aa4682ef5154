//! What a ReconcilerModule's status says: its phase, one condition, and how its module does.
//!
//! Pure: takes the status before and gives the one to store.

use contract::{
    Condition, ConditionStatus, ModulePhase, ModuleRole, Reason, ReconcilerModuleStatus,
};

use super::assign::Assigned;
use super::entry::{Attempt, Entry, FellBack, Place, Standing};
use crate::module::ABI;
use crate::roster::Counts;

/// Type of the condition.
const CONDITION: &str = "Ready";
/// A condition's message is for people; this much of it.
const LONGEST_MESSAGE: usize = 1024;

/// Where a module stands, in one word, one reason and one sentence.
struct Verdict {
    phase: ModulePhase,
    reason: Reason,
    message: String,
}

/// The status of one object. `now` is the time as RFC 3339.
pub(super) fn status(
    entry: &Entry,
    assigned: &Assigned,
    before: &ReconcilerModuleStatus,
    now: &str,
) -> ReconcilerModuleStatus {
    let Verdict {
        phase,
        reason,
        message,
    } = verdict(entry, assigned);
    let standing = entry.standing.as_ref();
    let mut status = ReconcilerModuleStatus {
        phase,
        observed_generation: Some(entry.resource.generation),
        conditions: vec![condition(phase, reason, message, before, now)],
        fell_back_from: entry.fell_back.as_ref().map(|fell| fell.digest.clone()),
        ..ReconcilerModuleStatus::default()
    };
    match (standing, &entry.attempt) {
        (Some(standing), _) => describe(standing, &mut status),
        (None, Attempt::Refused { self_test, .. }) => status.self_test.clone_from(self_test),
        (None, Attempt::Loading | Attempt::Done) => {}
    }
    status
}

/// Whether two statuses tell people the same, but for how often.
pub(super) fn is_same_but_for_counts(
    one: &ReconcilerModuleStatus,
    other: &ReconcilerModuleStatus,
) -> bool {
    let without = |status: &ReconcilerModuleStatus| {
        let mut status = status.clone();
        status.decisions = 0;
        status.failures = 0;
        status.differences = 0;
        for count in status.differences_by_kind.values_mut() {
            *count = 0;
        }
        status.fuel = None;
        status
    };
    without(one) == without(other)
}

fn verdict(entry: &Entry, assigned: &Assigned) -> Verdict {
    let name = &entry.resource.name;
    let said = |phase, reason, message| Verdict {
        phase,
        reason,
        message,
    };
    if let Some(FellBack { digest, why }) = &entry.fell_back {
        let why = why.as_ref().map_or_else(
            || "it failed more often than its failureLimit allows".to_owned(),
            Clone::clone,
        );
        return said(
            ModulePhase::FellBack,
            Reason::ModuleFellBack,
            format!(
                "Module {digest} was taken out of its role: {why}. {} It is tried again when the spec changes.",
                rest(entry, assigned)
            ),
        );
    }
    match &entry.attempt {
        Attempt::Loading => {
            let what = "The module is being fetched, checked and compiled.".to_owned();
            return said(ModulePhase::Loading, Reason::NotYetObserved, what);
        }
        Attempt::Refused { why, again, .. } => {
            let again = match again {
                Some(_) => " It is tried again.",
                None if entry.follows_its_source() => {
                    " It is tried again when its source holds something else."
                }
                None => " Change the spec to have it tried again.",
            };
            return said(
                ModulePhase::Refused,
                Reason::ModuleRefused,
                format!("{why}. {}{again}", rest(entry, assigned)),
            );
        }
        Attempt::Done => {}
    }
    if assigned.waiting.contains(name) {
        let holder = assigned.holder.as_deref().unwrap_or_default();
        return said(
            ModulePhase::Waiting,
            Reason::ModuleWaiting,
            format!(
                "The ReconcilerModule {holder} is older and has the role Active. Delete it, or give one of the two another role."
            ),
        );
    }
    let standing = entry.standing.as_ref();
    let mut message = standing
        .map(|standing| in_role(standing, name, assigned))
        .unwrap_or_default();
    let is_kept = entry
        .standing
        .as_ref()
        .is_some_and(|standing| standing.origin.kept.is_some());
    if let Some(why) = entry.sighting.other().filter(|_| !is_kept) {
        message.push_str(&format!(
            " Its source does not give it any more, which changes nothing: {why}."
        ));
    }
    message.push_str(&waiting(name, assigned));
    said(ModulePhase::InRole, Reason::ModuleInRole, message)
}

/// Who waits for the role of this one; empty when nobody does.
fn waiting(name: &str, assigned: &Assigned) -> String {
    if assigned.holder.as_deref() != Some(name) || assigned.waiting.is_empty() {
        return String::new();
    }
    format!(
        " The younger ReconcilerModule {} asks for the same role and waits.",
        assigned.waiting.join(" and ")
    )
}

fn in_role(standing: &Standing, name: &str, assigned: &Assigned) -> String {
    let digest = standing.place.digest();
    let mut message = match &standing.place {
        Place::Active(_) => format!("Module {digest} decides."),
        Place::Canary(clusters, _) => {
            let older = assigned.lineup.canaries.iter();
            let older: Vec<&str> = older
                .filter_map(|canary| canary.seat.object())
                .take_while(|older| *older != name)
                .collect();
            let but = if older.is_empty() {
                String::new()
            } else {
                format!(
                    ", but for those that the older Canary {} selects, too",
                    older.join(" or ")
                )
            };
            format!("Module {digest} decides for the clusters that match {clusters}{but}.")
        }
        Place::Shadow(_) => {
            format!("Module {digest} is asked beside the one that decides, and not followed.")
        }
    };
    if let Some(why) = &standing.origin.kept {
        message.push_str(&format!(
            " It is the copy that was kept, because its source is of no use: {why}."
        ));
    }
    message
}

/// What stays when the module that was asked for is not in its role.
fn rest(entry: &Entry, assigned: &Assigned) -> String {
    let name = &entry.resource.name;
    let stays = match (&entry.standing, entry.role()) {
        _ if assigned.waiting.contains(name) => decides(assigned),
        (Some(standing), _) => format!("Module {} stays in its role.", standing.place.digest()),
        (None, Some(ModuleRole::Canary)) => {
            format!("No cluster is decided by it. {}", decides(assigned))
        }
        (None, Some(ModuleRole::Shadow)) => "Nothing is compared.".to_owned(),
        (None, Some(ModuleRole::Active) | None) => decides(assigned),
    };
    format!("{stays}{}", waiting(name, assigned))
}

fn decides(assigned: &Assigned) -> String {
    match assigned.lineup.active.object() {
        Some(holder) => format!("The module of the ReconcilerModule {holder} decides."),
        None => "The module that the operator was started with decides.".to_owned(),
    }
}

fn describe(standing: &Standing, status: &mut ReconcilerModuleStatus) {
    let (description, size, counts) = match &standing.place {
        Place::Active(seat) | Place::Canary(_, seat) => (
            seat.module().description(),
            seat.module().size(),
            seat.counts(),
        ),
        Place::Shadow(shadow) => (shadow.description(), shadow.size(), shadow.counts()),
    };
    let (oldest, newest) = (description.oldest_schema, description.newest_schema);
    status.role = Some(standing.place.role());
    status.digest = Some(standing.place.digest().to_owned());
    status.artifact.clone_from(&standing.origin.artifact);
    status.signed_by.clone_from(&standing.origin.signed_by);
    status.module = Some(format!("{} {}", description.name, description.version));
    status.size = i64::try_from(size).ok();
    status.abi = Some(ABI.to_owned());
    status.schemas = Some(if oldest == newest {
        oldest.to_string()
    } else {
        format!("{oldest}-{newest}")
    });
    status.self_test = Some(standing.self_test.clone());
    count(counts, status);
    if let Place::Shadow(shadow) = &standing.place {
        let differences = shadow.differences();
        status.differences = signed(differences.count());
        status.differences_by_kind = differences
            .by_kind
            .into_iter()
            .map(|(kind, count)| (kind, signed(count)))
            .collect();
        status.first_differences = differences.first;
    }
}

fn count(counts: &Counts, status: &mut ReconcilerModuleStatus) {
    status.since = jiff::Timestamp::from_millisecond(counts.since().0)
        .ok()
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    status.decisions = signed(counts.decisions());
    status.failures = signed(counts.failures());
    status.fuel = counts.fuel();
}

fn condition(
    phase: ModulePhase,
    reason: Reason,
    message: String,
    before: &ReconcilerModuleStatus,
    now: &str,
) -> Condition {
    let status = match phase {
        ModulePhase::InRole => ConditionStatus::True,
        ModulePhase::Loading => ConditionStatus::Unknown,
        ModulePhase::Waiting | ModulePhase::Refused | ModulePhase::FellBack => {
            ConditionStatus::False
        }
    };
    let message: String = message.chars().take(LONGEST_MESSAGE).collect();
    let before = before.conditions.iter().find(|one| one.kind == CONDITION);
    let since = before
        .filter(|one| one.status == status)
        .and_then(|one| one.last_transition_time.clone());
    let updated = before
        .filter(|one| one.status == status && one.reason == reason.name() && one.message == message)
        .and_then(|one| one.last_update_time.clone());
    Condition {
        kind: CONDITION.to_owned(),
        status,
        last_update_time: Some(updated.unwrap_or_else(|| now.to_owned())),
        last_transition_time: Some(since.unwrap_or_else(|| now.to_owned())),
        reason: reason.name().to_owned(),
        message,
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
