//! How often a cluster's module may tell people something: in bursts, and slowly over time.
//!
//! One decision is bounded by [`crate::permit`], and with it how many objects come to be; this bounds what many of them, one
//! after the other, tell. Knows no clock: whoever asks says what time it is.

use contract::{Effect, Millis};

use crate::Refusal;

/// What is left of both budgets of one cluster.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    events: Budget,
    statuses: Budget,
}

/// So many at once; one more after each span.
#[derive(Clone, Copy, Debug)]
struct Budget {
    what: &'static str,
    most: u32,
    span: Millis,
    left: u32,
    counted: Millis,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            events: Budget::new("events of late", 64, Millis(2_000)),
            statuses: Budget::new("status updates of late", 240, Millis(500)),
        }
    }
}

impl Pace {
    /// Takes what the effect costs: one event or one status update; every other effect is free.
    ///
    /// # Errors
    /// There were too many of late. Nothing may be told then.
    pub fn spend(&mut self, effect: &Effect, now: Millis) -> Result<(), Refusal> {
        if matches!(effect, Effect::Event { .. }) {
            self.events.spend(now)
        } else if effect.is_telling() {
            self.statuses.spend(now)
        } else {
            Ok(())
        }
    }
}

impl Budget {
    const fn new(what: &'static str, most: u32, span: Millis) -> Self {
        Self {
            what,
            most,
            span,
            left: most,
            counted: Millis(0),
        }
    }

    fn spend(&mut self, now: Millis) -> Result<(), Refusal> {
        let (since, span) = (now.0.saturating_sub(self.counted.0), self.span.0);
        if since < 0 || self.left == self.most {
            // A clock that was set back owes nobody anything.
            self.counted = now;
        } else {
            let come = u32::try_from(since / span).unwrap_or(self.most);
            self.left = self.left.saturating_add(come).min(self.most);
            self.counted = Millis(now.0 - since % span);
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let limit = usize::try_from(self.most).unwrap_or(usize::MAX);
                Err(Refusal::TooMany {
                    what: self.what,
                    found: limit + 1,
                    limit,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::{EtcdClusterStatus, EventType};

    use super::*;

    fn event() -> Effect {
        Effect::Event {
            kind: EventType::Normal,
            reason: "Flood".to_owned(),
            note: "x".to_owned(),
        }
    }

    /// How many of a thousand are let pass, one each `every` milliseconds.
    fn passed(pace: &mut Pace, effect: &Effect, every: i64) -> usize {
        let tries = 0..1_000;
        tries
            .filter(|number| pace.spend(effect, Millis(5_000 + number * every)).is_ok())
            .count()
    }

    #[test]
    fn a_flood_ends_after_its_burst_and_a_trickle_never() {
        assert_eq!(passed(&mut Pace::default(), &event(), 0), 64);
        assert_eq!(passed(&mut Pace::default(), &event(), 100), 64 + 50 - 1);
        assert_eq!(passed(&mut Pace::default(), &event(), 2_000), 1_000);
    }

    #[test]
    fn status_updates_have_their_own_budget_and_deeds_none() {
        let mut pace = Pace::default();
        assert_eq!(passed(&mut pace, &event(), 0), 64);
        let status = Effect::UpdateStatus {
            status: Box::new(EtcdClusterStatus::default()),
        };
        assert_eq!(passed(&mut pace, &status, 0), 240);
        let deed = Effect::Promote {
            member: contract::MemberId(1),
        };
        assert_eq!(passed(&mut pace, &deed, 0), 1_000);
    }

    #[test]
    fn a_clock_that_is_set_back_neither_blocks_nor_fills() {
        let mut pace = Pace::default();
        assert_eq!(passed(&mut pace, &event(), 0), 64);
        assert!(pace.spend(&event(), Millis(0)).is_err());
        assert!(pace.spend(&event(), Millis(2_000)).is_ok());
        assert!(pace.spend(&event(), Millis(2_100)).is_err());
    }
}
