//! Joins a decision's actions with what became of each.

use contract::{Action, Decision, OutcomeKind};

use crate::recorder::{ActionResult, Record};

/// An action and its result; none when the recording has none of it.
pub(super) fn of<'a>(
    decision: &'a Decision,
    record: &'a Record,
) -> impl Iterator<Item = (usize, &'a Action, Option<&'a ActionResult>)> {
    let result = |index| record.results.iter().find(move |result| result.i == index);
    decision
        .actions
        .iter()
        .enumerate()
        .map(move |(index, action)| (index, action, result(index)))
}

/// The first result that is not a success.
pub(super) fn first_failure(record: &Record) -> Option<&ActionResult> {
    record
        .results
        .iter()
        .find(|result| match result.outcome.outcome {
            OutcomeKind::Refused | OutcomeKind::Failed => true,
            OutcomeKind::Done | OutcomeKind::Skipped => false,
        })
}
