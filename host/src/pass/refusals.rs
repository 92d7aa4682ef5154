//! What is said of refusals: in words, as outcomes, and on the resource once one is no race any more.
//!
//! Refuses nothing itself.

use contract::{Decision, OutcomeKind, PastOutcome};
use envelope::Refusal;
use tracing::warn;

use super::Passes;
use crate::execute::Pass;
use crate::observe::Memory;
use crate::refused;

/// Passes in a row in which one rule refuses an action, before the resource says so.
const TOLD_AFTER: u32 = 3;

impl Passes {
    /// An action that the envelope refused on a fresh read: once it may be a race, again and again it is the module.
    pub(super) async fn tell_of_refusal(
        &self,
        pass: &Pass<'_>,
        refused: Option<&Refusal>,
        memory: &mut Memory,
    ) {
        let Some(refusal) = refused else {
            memory.refused = None;
            self.executor.clear_refused(pass, memory).await;
            return;
        };
        let rule: &'static str = refusal.into();
        self.metrics.count_refusal(rule, pass.module);
        let times = match memory.refused {
            Some((before, times)) if before == rule => times.saturating_add(1),
            Some(_) | None => 1,
        };
        memory.refused = Some((rule, times));
        if times >= TOLD_AFTER && !refused::stands(&pass.resource.status) {
            let words = in_words(std::slice::from_ref(refusal));
            warn!(
                refusal = words,
                times, "The same rule refuses the module in each pass"
            );
            self.executor
                .mark_refused(pass, refused::reason(), &words, memory)
                .await;
        }
    }
}

/// The rules that were broken, by their names and in words.
pub(super) fn in_words(refusals: &[Refusal]) -> String {
    let words = refusals.iter().map(|refusal| {
        let rule: &'static str = refusal.into();
        format!("{rule}: {refusal}")
    });
    words.collect::<Vec<String>>().join("; ")
}

/// A decision that was refused as a whole: every action of it.
pub(super) fn refused_outcomes(decision: &Decision, words: &str) -> Vec<PastOutcome> {
    let outcome = |action: &contract::Action| PastOutcome {
        effect: action.effect.name().to_owned(),
        kind: action.effect.kind(),
        target: action.effect.target(),
        outcome: OutcomeKind::Refused,
        message: words.to_owned(),
    };
    decision.actions.iter().map(outcome).collect()
}
