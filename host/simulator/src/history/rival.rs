//! Two instances that both act, for a moment: a leader that was frozen, or a lease that is no fence.
//!
//! Owns when the other one looks. What it does is the operator's own loop.

use contract::{Decision, Snapshot};

use super::{Operator, is_during};
use crate::plan::Fault;
use crate::world::World;

impl Operator {
    /// Another instance begins where this one stands, and ends when its time is over.
    pub(super) fn meet_rival(&mut self, world: &World) {
        if self.lags || !is_during(world, Fault::Rival) {
            self.rival = None;
        } else if self.rival.is_none() {
            self.rival = Some(Box::new(Self {
                lags: true,
                ..self.clone()
            }));
        }
    }

    /// Looks, decides and acts between two actions of another instance, or does not get to it.
    pub(super) fn meddle(
        &mut self,
        world: &mut World,
        decide: &mut dyn FnMut(&Snapshot) -> Decision,
    ) {
        if world.rng.bool() {
            return;
        }
        let changed = world.changed;
        world.tell(|_| "the other operator looks".to_owned());
        self.pass(world, decide);
        world.tell(|_| "the other operator has looked".to_owned());
        world.changed |= changed;
    }
}
