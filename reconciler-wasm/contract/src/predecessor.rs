//! The archived coreos etcd-operator beside this one: the lock by which it says that it is at work.
//!
//! Its lock is an Endpoints object, this operator's is a Lease; neither excludes the other. The host reads the lock,
//! decisions and the envelope judge it with the one rule that stands here.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// Name of the Endpoints object that the archived operator locks, in its own namespace.
pub const OLD_LOCK: &str = "etcd-operator";
/// Annotation of that object with the record of its holder.
pub const OLD_LOCK_ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";

/// A lock that nobody renewed for so long is given up whatever the clocks of two machines say.
const FORGOTTEN: Millis = Millis::seconds(24 * 3600);

/// The lock as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldLock {
    /// Namespace of the Endpoints object.
    pub namespace: String,
    /// Who holds it; empty when it was released.
    #[serde(default)]
    pub holder: String,
    /// When it was renewed, by its holder's clock.
    pub renewed: Millis,
    /// How long a renewal lasts.
    pub lasts: Millis,
    /// How long the host has seen it unchanged, by its own clock; never more than `lasts`.
    #[serde(default)]
    pub unchanged_for: Millis,
}

impl OldLock {
    /// Whether its holder may be at work. The holder's clock may be wrong, so a lock counts as given up only when it was
    /// seen unchanged for as long as a renewal lasts, or is a day old.
    #[must_use]
    pub fn may_be_held(&self, now: Millis) -> bool {
        !self.holder.is_empty()
            && self.unchanged_for < self.lasts
            && now.since(self.renewed) < FORGOTTEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(renewed_ago: i64, unchanged_for: i64) -> (OldLock, Millis) {
        let now = Millis::seconds(1_000_000);
        let lock = OldLock {
            namespace: "ns".to_owned(),
            holder: "etcd-operator-0".to_owned(),
            renewed: Millis(now.0 - renewed_ago * 1000),
            lasts: Millis::seconds(15),
            unchanged_for: Millis::seconds(unchanged_for),
        };
        (lock, now)
    }

    #[test]
    fn a_lock_is_given_up_when_it_was_watched_unchanged_whatever_its_holders_clock_says() {
        for renewed_ago in [-3600, 0, 60, 3600] {
            let (lock, now) = lock(renewed_ago, 14);
            assert!(lock.may_be_held(now), "{renewed_ago} s");
            let lock = OldLock {
                unchanged_for: Millis::seconds(15),
                ..lock
            };
            assert!(!lock.may_be_held(now), "{renewed_ago} s");
        }
    }

    #[test]
    fn a_lock_of_yesterday_and_a_released_one_hold_nobody_up() {
        let (old, now) = lock(25 * 3600, 0);
        assert!(!old.may_be_held(now));
        let (released, now) = lock(0, 0);
        let released = OldLock {
            holder: String::new(),
            ..released
        };
        assert!(!released.may_be_held(now));
    }
}
