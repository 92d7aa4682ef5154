//! How large a member's data is and how far it is behind, in figures for people.
//!
//! They move all the time, and a status that follows them would never rest: a figure is written anew once it has moved so
//! far that a person would read something else in it. It does not know what follows from them.

use contract::EndpointStatus;

use crate::assess::{Living, Member};

/// A data file that has changed by less, in bytes, reads the same: one that has just been made doubles again and again.
const MIB: u64 = 1 << 20;

/// Who is so few entries behind is not behind.
const NEAR: i64 = 1_000;

/// The log's end, as far as any member of the cluster knows.
pub(super) fn newest(living: &Living<'_>) -> u64 {
    let answers = living.members.iter().filter_map(|member| member.answer);
    answers
        .map(|status| status.raft_index)
        .max()
        .unwrap_or_default()
}

/// Bytes of the member's data file.
pub(super) fn db_size(member: &Member<'_>) -> Option<i64> {
    let old = member.record.and_then(|record| record.db_size);
    let new = member.answer.map(|status| status.db_size);
    match (old, new) {
        (Some(old), Some(new)) if old.abs_diff(new) < MIB.max(old.unsigned_abs() / 10) => Some(old),
        (_, Some(new)) => Some(new),
        (old, None) => old,
    }
}

/// Entries that the member has yet to apply of a log that ends at `newest`.
pub(super) fn raft_lag(member: &Member<'_>, newest: u64) -> i64 {
    let old = member.record.map_or(0, |record| record.raft_lag);
    let behind = |status: &EndpointStatus| {
        let entries = newest.saturating_sub(status.raft_applied_index);
        i64::try_from(entries).unwrap_or(i64::MAX)
    };
    match member.answer.map(behind) {
        None => old.max(0),
        Some(new) if new < NEAR => 0,
        Some(new) if new < old.saturating_mul(2) && old < new.saturating_mul(2) => old,
        Some(new) => new,
    }
}
