//! Histories of one key, and whether some order of their operations explains all answers: linearizability.
//!
//! Checked by stateright's tester. Knows no etcd: whoever talked to one says what was asked, when, and what was answered.

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

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

/// A key as it should be.
#[derive(Clone, Debug, Default)]
struct Key(Option<u64>);

impl SequentialSpec for Key {
    type Op = Asked;
    type Ret = Answered;

    fn invoke(&mut self, asked: &Asked) -> Answered {
        match *asked {
            Asked::Get => Answered::Got(self.0),
            Asked::Put(value) => {
                self.0 = Some(value);
                Answered::Put
            }
            Asked::Swap(from, to) => {
                let swaps = self.0 == from;
                if swaps {
                    self.0 = Some(to);
                }
                Answered::Swapped(swaps)
            }
        }
    }
}

/// Who is never answered again acts under a number of its own, beyond those of all clients.
const UNANSWERED: usize = 1_000_000;

/// Whether some order explains all answers.
pub(crate) fn is_linearizable(operations: &[Operation]) -> bool {
    // Where a beginning and an end are at one time the two may have overlapped.
    let mut instants: Vec<(u64, bool, usize)> = Vec::new();
    for (number, operation) in operations.iter().enumerate() {
        instants.push((operation.began, false, number));
        instants.extend(operation.ended.map(|(at, _)| (at, true, number)));
    }
    instants.sort_unstable();
    let mut tester = LinearizabilityTester::new(Key::default());
    for (_, is_end, number) in instants {
        let operation = &operations[number];
        let noted = match operation.ended {
            Some((_, answered)) if is_end => tester.on_return(operation.client, answered).map(drop),
            Some(_) => tester
                .on_invoke(operation.client, operation.asked)
                .map(drop),
            None => tester
                .on_invoke(UNANSWERED + number, operation.asked)
                .map(drop),
        };
        noted.expect("a client asks one thing at a time");
    }
    tester.is_consistent()
}
