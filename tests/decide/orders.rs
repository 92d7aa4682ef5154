//! Histories of one key that some order explains, and such that none does: what the checker of the testbed must tell apart.

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

use crate::linear::{Answered, Asked, Operation, is_linearizable};

fn answered(client: usize, asked: Asked, began: u64, ended: u64, with: Answered) -> Operation {
    Operation {
        client,
        asked,
        began,
        ended: Some((ended, with)),
    }
}

fn lost(client: usize, asked: Asked, began: u64) -> Operation {
    Operation {
        client,
        asked,
        began,
        ended: None,
    }
}

#[test]
fn overlapping_operations_may_have_happened_in_any_order() {
    assert!(is_linearizable(&[
        answered(0, Asked::Put(1), 0, 10, Answered::Put),
        answered(1, Asked::Put(2), 5, 15, Answered::Put),
        answered(2, Asked::Get, 20, 25, Answered::Got(Some(1))),
    ]));
}

/// What a leader would answer that does not know yet that another one leads.
#[test]
fn a_stale_read_is_found_out() {
    assert!(!is_linearizable(&[
        answered(0, Asked::Put(1), 0, 10, Answered::Put),
        answered(0, Asked::Put(2), 11, 15, Answered::Put),
        answered(1, Asked::Get, 20, 25, Answered::Got(Some(1))),
    ]));
}

#[test]
fn a_lost_write_is_found_out() {
    assert!(!is_linearizable(&[
        answered(0, Asked::Put(1), 0, 10, Answered::Put),
        answered(1, Asked::Get, 20, 25, Answered::Got(None)),
    ]));
}

#[test]
fn two_swaps_of_one_value_are_found_out() {
    assert!(!is_linearizable(&[
        answered(0, Asked::Swap(None, 1), 0, 10, Answered::Swapped(true)),
        answered(1, Asked::Swap(None, 2), 5, 15, Answered::Swapped(true)),
    ]));
}

#[test]
fn what_was_never_answered_may_have_happened_or_not_and_late() {
    let write = lost(0, Asked::Put(1), 0);
    let before = answered(1, Asked::Get, 5, 6, Answered::Got(None));
    let after = answered(1, Asked::Get, 100, 101, Answered::Got(Some(1)));
    assert!(is_linearizable(&[write, before]));
    assert!(is_linearizable(&[write, before, after]));
    let undone = answered(1, Asked::Get, 110, 111, Answered::Got(None));
    assert!(!is_linearizable(&[write, after, undone]));
}

/// Operations of some clients on a key that does as it should: each acts at some moment between its beginning and its end.
/// One in `lost` writes gets no answer, and happens or not.
fn drawn(
    draw: &mut fastrand::Rng,
    operations: usize,
    clients: usize,
    lost: usize,
) -> Vec<Operation> {
    let mut free = vec![0; clients];
    let mut drafts = Vec::new();
    for value in 0..operations {
        let client = draw.usize(..clients);
        let began = free[client] + draw.u64(..20);
        let acts = began + draw.u64(..20);
        let ended = acts + draw.u64(..20);
        free[client] = ended + 1;
        drafts.push((acts, began, ended, client, value as u64));
    }
    drafts.sort_unstable();
    let mut held = Held::default();
    let mut history = Vec::new();
    for (_, began, ended, client, value) in drafts {
        let asked = match draw.u8(..4) {
            0 | 1 => Asked::Get,
            2 => Asked::Put(value),
            // Most of them of what is there, so that some succeed.
            _ if draw.u8(..4) > 0 => Asked::Swap(held.0, value),
            _ => Asked::Swap(None, value),
        };
        let is_unanswered = asked != Asked::Get && draw.usize(..lost) == 0;
        let with = if is_unanswered && draw.bool() {
            None
        } else {
            Some(held.invoke(&asked))
        };
        history.push(match with {
            Some(with) if !is_unanswered => self::answered(client, asked, began, ended, with),
            Some(_) | None => self::lost(client, asked, began),
        });
    }
    history
}

/// A key that does as it should.
#[derive(Clone, Default)]
struct Held(Option<u64>);

impl SequentialSpec for Held {
    type Op = Asked;
    type Ret = Answered;

    fn invoke(&mut self, asked: &Asked) -> Answered {
        let swaps = matches!(asked, Asked::Swap(from, _) if *from == self.0);
        match *asked {
            Asked::Get => Answered::Got(self.0),
            Asked::Put(to) => {
                self.0 = Some(to);
                Answered::Put
            }
            Asked::Swap(_, to) => {
                self.0 = if swaps { Some(to) } else { self.0 };
                Answered::Swapped(swaps)
            }
        }
    }
}

/// What another checker says, that tries one order after the other and remembers none: stateright's.
fn is_explained_by_an_order(history: &[Operation]) -> bool {
    let mut instants = Vec::new();
    for (number, operation) in history.iter().enumerate() {
        instants.push((operation.began, false, number));
        instants.extend(operation.ended.map(|(at, _)| (at, true, number)));
    }
    instants.sort_unstable();
    let mut tester = LinearizabilityTester::new(Held::default());
    for (_, is_end, number) in instants {
        // Each acts under a number of its own: the beginnings and ends alone say who waited for whom.
        let noted = match history[number].ended {
            Some((_, answered)) if is_end => tester.on_return(number, answered),
            Some(_) | None => tester.on_invoke(number, history[number].asked),
        };
        noted.expect("each begins and ends once");
    }
    tester.is_consistent()
}

/// One answer is not what it was, where there is one that can be another.
fn tamper(draw: &mut fastrand::Rng, history: &mut [Operation]) {
    let values = history.len() as u64;
    let answers = history.iter_mut().filter_map(|one| one.ended.as_mut());
    let mut others: Vec<&mut Answered> = answers
        .map(|(_, answered)| answered)
        .filter(|answered| **answered != Answered::Put)
        .collect();
    if others.is_empty() {
        return;
    }
    let which = draw.usize(..others.len());
    let answered = &mut *others[which];
    *answered = match *answered {
        Answered::Got(Some(value)) => {
            Answered::Got((value > 0).then_some(draw.u64(..value.max(1))))
        }
        Answered::Got(None) => Answered::Got(Some(draw.u64(..values))),
        Answered::Swapped(swapped) => Answered::Swapped(!swapped),
        Answered::Put => Answered::Put,
    };
}

#[test]
fn a_checker_that_tries_every_order_says_the_same() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..5_000 {
        let draw = &mut fastrand::Rng::with_seed(seed);
        let mut history = drawn(draw, 8, 4, 3);
        assert!(is_linearizable(&history), "seed {seed}: it happened");
        if seed % 4 > 0 {
            tamper(draw, &mut history);
        }
        let is_explained = is_explained_by_an_order(&history);
        assert_eq!(is_linearizable(&history), is_explained, "seed {seed}");
        *(if is_explained { &mut right } else { &mut wrong }) += 1;
    }
    eprintln!("{right} histories that an order explains, {wrong} that none does");
    assert!(right > 1_000 && wrong > 1_000, "{right} and {wrong}");
}

/// On real members one key of this kind was given up after two minutes, when orders were tried without a memory.
#[test]
fn a_key_with_many_lost_writes_is_judged() {
    for seed in 0..20 {
        let mut history = drawn(&mut fastrand::Rng::with_seed(seed), 40, 6, 2);
        assert!(is_linearizable(&history), "seed {seed}: it happened");
        // Nobody ever wrote it.
        history.push(answered(
            6,
            Asked::Get,
            5_000,
            5_001,
            Answered::Got(Some(999)),
        ));
        assert!(!is_linearizable(&history), "seed {seed}");
    }
}
