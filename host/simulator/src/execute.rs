//! Carries out decisions as the host does: fresh reads, the envelope's leave, then the effect, in order, stopping at
//! the first that is refused or fails.
//!
//! Owns that order and what goes wrong on the way. What an effect does to the world is [`effect`]'s.

mod effect;
mod etcd;

use contract::{Action, OutcomeKind, PastOutcome};

use crate::plan::Mishap;
use crate::timers::Timer;
use crate::world::World;

/// What became of a decision.
pub(crate) struct Execution {
    pub(crate) outcomes: Vec<PastOutcome>,
    /// The operator ended in the middle of it.
    pub(crate) ended: bool,
}

/// The operator's requests that are still on their way.
#[derive(Clone, Default)]
pub(crate) struct InFlight {
    pub(crate) count: u32,
}

impl World {
    /// `meanwhile` is what others do before each action.
    pub(crate) fn execute(
        &mut self,
        actions: &[Action],
        flight: &mut InFlight,
        meanwhile: &mut dyn FnMut(&mut Self),
    ) -> Execution {
        let mut outcomes: Vec<PastOutcome> = Vec::with_capacity(actions.len());
        let mut stopped = false;
        for action in actions {
            if stopped {
                outcomes.push(outcome(action, OutcomeKind::Skipped, ""));
                continue;
            }
            // Reads and calls take their time, and the world goes on.
            let until = self.now + self.rng.i64(1..8);
            self.advance(until);
            meanwhile(self);
            let number = flight.count;
            flight.count += 1;
            let mishap = self
                .plan
                .mishaps
                .iter()
                .find(|(at, _)| *at == number)
                .map(|(_, mishap)| *mishap);
            if let Some(mishap) = mishap {
                self.tell(|_| format!("MISHAP with the next action {mishap}"));
            }
            if mishap == Some(Mishap::EndsBefore) {
                return Execution {
                    outcomes: Vec::new(),
                    ended: true,
                };
            }
            let reads = envelope::reads(action);
            if let Err(refusal) = envelope::check(action, &self.fresh(&reads)) {
                self.tell(|_| {
                    format!(
                        "    refused {} {}: {refusal}",
                        action.effect.name(),
                        action.effect.target()
                    )
                });
                self.meet(action);
                outcomes.push(outcome(action, OutcomeKind::Refused, &refusal.to_string()));
                stopped = true;
                continue;
            }
            let done = match mishap {
                Some(Mishap::NeverArrives) => Err("connection refused"),
                Some(Mishap::Conflict) => Err("the object has been modified"),
                Some(Mishap::Late(late)) if !action.effect.is_telling() => {
                    let sent = (action.clone(), Box::new(self.truth()));
                    self.late.push(Some(sent));
                    self.timers
                        .set(self.now + late, Timer::Land(self.late.len() - 1));
                    Err("timed out")
                }
                Some(Mishap::AnswerLost | Mishap::Late(_)) => {
                    self.effect(action).and(Err("timed out"))
                }
                Some(Mishap::EndsAfter) => {
                    // Whether it succeeded is for the next instance to find out.
                    let _ = self.effect(action);
                    return Execution {
                        outcomes: Vec::new(),
                        ended: true,
                    };
                }
                Some(Mishap::EndsBefore) | None => self.effect(action),
            };
            match done {
                Ok(()) => outcomes.push(outcome(action, OutcomeKind::Done, "")),
                Err(why) => {
                    self.tell(|_| {
                        format!(
                            "    failed {} {}: {why}",
                            action.effect.name(),
                            action.effect.target()
                        )
                    });
                    outcomes.push(outcome(action, OutcomeKind::Failed, why));
                    stopped = true;
                }
            }
        }
        Execution {
            outcomes,
            ended: false,
        }
    }

    /// A request arrives that nobody waits for any more. The API server judges by itself.
    pub(crate) fn land(&mut self, index: usize) {
        if let Some((action, sent)) = self.late.get_mut(index).and_then(Option::take) {
            self.tell(|_| {
                format!(
                    "LATE  {} {} arrives",
                    action.effect.name(),
                    action.effect.target()
                )
            });
            // The answer goes nowhere.
            self.landing = Some(sent);
            let _ = self.effect(&action);
            self.landing = None;
        }
    }
}

fn outcome(action: &Action, outcome: OutcomeKind, message: &str) -> PastOutcome {
    PastOutcome {
        effect: action.effect.name().to_owned(),
        kind: action.effect.kind(),
        target: action.effect.target(),
        outcome,
        message: message.to_owned(),
    }
}
