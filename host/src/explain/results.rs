//! Joins a decision's actions with what became of each.

use contract::{Action, Decision};

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
