//! In which order the actions of a pass are tried.
//!
//! The first one that fails ends a pass, so what failed last time and bears on no vote goes to the end, where it holds up
//! nothing else. Knows nothing of what the actions are for.

use contract::{Action, Effect, ObjectKind, OutcomeKind, PastOutcome, Reason};

use super::Step;
use crate::assess::Situation;

/// What an action has to do with the rest of its pass; later ones are tried later once something was not done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// It keeps its place.
    InTurn,
    /// A certificate, which a pod waits for. A wrong clock refuses it.
    Certificate,
    /// A pod: a quota, a policy or a webhook may refuse it for as long as nobody changes that.
    Pod,
    /// What stands around the members.
    Around,
    /// What itself was not done last time.
    Failing,
}

const ISSUE: &str = "Issue";

/// Moves certificates, pods and what stands around them to the end if one of them was not done last time, and that one to
/// the very end. A budget bears on the vote that is given after it.
pub(super) fn hold_back_failing(situation: &Situation<'_>, step: &mut Step) {
    let is_promotion = |action: &Action| matches!(action.effect, Effect::Promote { .. });
    let promotes = step.actions.iter().any(is_promotion);
    let failing: Vec<&PastOutcome> = situation
        .snapshot
        .outcomes
        .iter()
        .filter(|past| is_failing(past, promotes))
        .collect();
    if failing.is_empty() {
        return;
    }
    step.actions.sort_by_key(|action| {
        let effect = &action.effect;
        let place = place(effect, promotes);
        // A clock that refuses one certificate refuses all.
        let has_failed = failing.iter().any(|past| match place {
            Place::InTurn => false,
            Place::Certificate => past.effect == ISSUE,
            Place::Pod | Place::Around | Place::Failing => {
                past.kind == effect.kind() && past.target == effect.target()
            }
        });
        if has_failed { Place::Failing } else { place }
    });
}

fn is_failing(past: &PastOutcome, promotes: bool) -> bool {
    if past.effect == ISSUE {
        return matches!(past.outcome, OutcomeKind::Failed | OutcomeKind::Refused);
    }
    past.effect == "Apply"
        && past.outcome == OutcomeKind::Failed
        && past
            .kind
            .is_some_and(|kind| of_kind(kind, promotes) != Place::InTurn)
}

fn place(effect: &Effect, promotes: bool) -> Place {
    let issuing = Reason::IssuingCertificates.name();
    // The event of an issue follows it and must not be told without it.
    let is_issue = matches!(effect, Effect::Issue { .. })
        || matches!(effect, Effect::Event { reason, .. } if reason == issuing);
    if is_issue {
        return Place::Certificate;
    }
    let kind = effect
        .kind()
        .filter(|_| matches!(effect, Effect::Apply { .. }));
    kind.map_or(Place::InTurn, |kind| of_kind(kind, promotes))
}

fn of_kind(kind: ObjectKind, promotes: bool) -> Place {
    let is_budget = kind == ObjectKind::PodDisruptionBudget;
    if kind == ObjectKind::Pod {
        Place::Pod
    } else if kind == ObjectKind::Service || is_budget && !promotes {
        Place::Around
    } else {
        Place::InTurn
    }
}
