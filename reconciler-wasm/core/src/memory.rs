//! What earlier passes remembered, with times that a wrong clock told set right.
//!
//! A patience that counts from a time to come would not run out before that, which may be years. Does not know which
//! clock was wrong: what it reads as now is all that it goes by.

use contract::{EtcdClusterStatus, Millis};

use crate::clock;

/// Brings each time that lies in the future back to `now`. Whether there was one: then the memory must be written,
/// because what is only set right in passing never begins to count.
pub(crate) fn set_right(memory: &mut EtcdClusterStatus, now: Millis) -> bool {
    let is_set_right = |time: &mut String| {
        let lies_ahead = clock::read(time).is_some_and(|at| at > now);
        if lies_ahead {
            *time = clock::spell(now);
        }
        lies_ahead
    };
    let records = memory.member_records.iter_mut();
    let records = records.flat_map(|record| [&mut record.since, &mut record.role_since]);
    let cure = memory.space_cure.iter_mut();
    let cure = cure.flat_map(|cure| [&mut cure.since, &mut cure.tried_at]);
    let birth = memory.birth.iter_mut().map(|birth| &mut birth.started_at);
    let sleep = memory.asleep_since.iter_mut();
    records
        .chain(cure)
        .chain(birth)
        .chain(sleep)
        .map(is_set_right)
        .fold(false, |any, one| any | one)
}
