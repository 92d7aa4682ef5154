//! How far a transfer is, and what its store said when it was last asked again.
//!
//! Kept with the store that is talked to; whoever follows a transfer reads it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How far it is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    bytes: AtomicI64,
    trouble: Mutex<Option<String>>,
}

impl Progress {
    /// So many bytes more: whatever was wrong has passed.
    pub(super) fn add(&self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        *self.trouble_now() = None;
    }

    /// The store did not do what it was asked for, and is asked again.
    pub(super) fn stumble(&self, why: String) {
        *self.trouble_now() = Some(why);
    }

    /// Bytes so far.
    pub(crate) fn bytes(&self) -> i64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// What keeps it from going on; none where nothing is known to.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble_now().clone()
    }

    fn trouble_now(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_passes_with_the_next_byte() {
        let progress = Progress::default();
        progress.add(3);
        progress.stumble("the store failed".to_owned());
        assert_eq!(progress.trouble().as_deref(), Some("the store failed"));
        progress.add(4);
        assert_eq!((progress.bytes(), progress.trouble()), (7, None));
    }
}
