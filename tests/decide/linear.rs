//! Histories of one key, and whether some order of their operations explains all answers: linearizability.
//!
//! Checked by todc-utils, with the algorithm of Wing and Gong and a memory of what was tried: its time grows with what
//! overlaps, and not with the number of orders. Knows no etcd: whoever talked to one says what was asked, when, and what was
//! answered.

use std::fmt;

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::Specification;

/// What a client asked for. Values are unique in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The value, in a read that a quorum confirms.
    Get,
    /// The value from now on.
    Put(u64),
    /// The same, if the value is still the one that was read.
    Swap(Option<u64>, u64),
}

/// What it was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Got(Option<u64>),
    Put,
    Swapped(bool),
}

/// One operation. Without an answer it may have happened at any time since, or never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) client: usize,
    pub(crate) asked: Asked,
    /// When, in microseconds of one clock.
    pub(crate) began: u64,
    pub(crate) ended: Option<(u64, Answered)>,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (client, began, asked) = (self.client, self.began, self.asked);
        write!(f, "client {client}, from {began} us: {asked:?}, ")?;
        match self.ended {
            Some((at, answered)) => write!(f, "at {at} us {answered:?}"),
            None => write!(f, "never answered"),
        }
    }
}

/// A key as it should be.
struct Key;

impl Specification for Key {
    type State = Option<u64>;
    type Operation = Operation;

    fn init() -> Option<u64> {
        None
    }

    fn apply(operation: &Operation, value: &Option<u64>) -> (bool, Option<u64>) {
        let (right, then) = match operation.asked {
            Asked::Get => (Answered::Got(*value), *value),
            Asked::Put(to) => (Answered::Put, Some(to)),
            Asked::Swap(from, to) if *value == from => (Answered::Swapped(true), Some(to)),
            Asked::Swap(..) => (Answered::Swapped(false), *value),
        };
        match operation.ended {
            Some((_, answered)) if answered != right => (false, *value),
            Some(_) | None => (true, then),
        }
    }
}

/// Whether some order explains all answers.
pub(crate) fn is_linearizable(operations: &[Operation]) -> bool {
    // Where a beginning and an end are at one time the two may have overlapped. Who was never answered may have acted after
    // everybody else, which is as good as never.
    let mut instants: Vec<(u64, bool, usize)> = Vec::new();
    for (number, operation) in operations.iter().enumerate() {
        let ended = operation.ended.map_or(u64::MAX, |(at, _)| at);
        instants.extend([(operation.began, false, number), (ended, true, number)]);
    }
    instants.sort_unstable();
    let actions: Vec<_> = instants
        .into_iter()
        .map(|(_, is_end, number)| {
            let operation = operations[number];
            let action = if is_end {
                Action::Response(operation)
            } else {
                Action::Call(operation)
            };
            (number, action)
        })
        .collect();
    actions.is_empty() || WGLChecker::<Key>::is_linearizable(History::from_actions(actions))
}
