//! Histories of one key that some order explains, and such that none does: what the checker of the testbed must tell apart.

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
