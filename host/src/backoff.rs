//! Growing delays between attempts, spread so that many do not return at once.

use std::time::Duration;

/// Delays that double from the first to the longest.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// After the first failure.
    pub first: Duration,
    /// Never longer than this.
    pub longest: Duration,
}

impl Backoff {
    /// The delay after this many earlier failures, shortened by a random part of up to a quarter.
    #[must_use]
    pub fn delay(self, failures: u32) -> Duration {
        self.spread(failures, rand::random())
    }

    fn spread(self, failures: u32, part: u8) -> Duration {
        let delay = self
            .first
            .saturating_mul(1 << failures.min(16))
            .min(self.longest);
        delay - delay * u32::from(part) / 1024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_their_limit_and_are_spread() {
        let first = Duration::from_millis(500);
        let longest = Duration::from_secs(30);
        let backoff = Backoff { first, longest };
        assert_eq!(backoff.spread(0, 0), first);
        assert_eq!(backoff.spread(1, 0), first * 2);
        assert_eq!(backoff.spread(40, 0), longest);
        assert!(backoff.spread(40, 255) < longest);
        assert!(backoff.spread(40, 255) > longest / 2);
    }
}
