//! A history that can be taken apart: one world and one operator, moved by one choice at a time.
//!
//! For whoever explores all that can happen instead of what a seed draws. The world, the operator's loop and the checks
//! are those of [`crate::simulate`]; only who chooses is another. Time passes as it does there: by itself until the
//! operator looks, and latencies are drawn from what there is, so that equal choices make equal worlds.

use std::hash::{DefaultHasher, Hash, Hasher};

use contract::{Action, Decision, Snapshot};
use envelope::{Fresh, Reads};

use crate::fact::{Fact, Truth};
use crate::history::Operator;
use crate::plan::{Fault, Mishap, Plan, Planned};
use crate::world::World;

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The operator looks, decides and acts.
    Look,
    /// It decides on what it saw the last time, and acts on what there is now.
    LookBack,
    /// It looks, and something goes wrong with its action of that number, counted from 0 in this look.
    Stumble(u32, Mishap),
    /// Something goes wrong, or a person edits, and nobody has looked yet; how many milliseconds it lasts, where it does.
    Strike(Fault, i64),
    /// The same, and the operator looks at once.
    Suffer(Fault, i64),
}

/// One of many histories, at one moment.
#[derive(Clone)]
pub struct Branch {
    world: World,
    operator: Operator,
    rests: u32,
}

impl Branch {
    /// The beginning of a plan's history.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            world: World::new(plan, false),
            operator: Operator::new(),
            rests: 0,
        }
    }

    /// Lets the choice happen, and then time until the operator is to look again: none after [`Choice::Strike`]. Answers how
    /// many actions were tried.
    pub fn step(&mut self, choice: Choice, mut decide: impl FnMut(&Snapshot) -> Decision) -> u32 {
        let at = self.world.now;
        match choice {
            Choice::Look => {}
            Choice::LookBack => self.world.plan.faults.push(Planned {
                at,
                lasts: 0,
                fault: Fault::Echo,
            }),
            Choice::Stumble(number, mishap) => {
                let number = self.operator.actions_tried() + number;
                self.world.plan.mishaps.push((number, mishap));
            }
            Choice::Strike(fault, lasts) => {
                self.befall(fault, lasts);
                self.rests = 0;
                return 0;
            }
            Choice::Suffer(fault, lasts) => self.befall(fault, lasts),
        }
        let before = self.operator.actions_tried();
        self.world.draw_anew();
        let acted = self.operator.pass(&mut self.world, &mut decide);
        self.rests = match acted {
            Some(pass) if !pass.acted => self.rests + 1,
            Some(_) | None => 0,
        };
        self.operator.wait(&mut self.world);
        self.operator.actions_tried() - before
    }

    fn befall(&mut self, fault: Fault, lasts: i64) {
        let at = self.world.now;
        self.world.plan.faults.push(Planned { at, lasts, fault });
        self.world.moves += 1;
        self.world.begin_fault(self.world.plan.faults.len() - 1);
    }

    /// A request arrives that no envelope has let pass; the API server and etcd judge it by themselves.
    ///
    /// # Errors
    /// Why it was not granted.
    pub fn arrive(&mut self, action: &Action) -> Result<(), &'static str> {
        self.world.effect(action)
    }

    /// What the operator would see at this moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.world.clone().snapshot(None, false, &[])
    }

    /// What a fresh read before an action would show at this moment.
    #[must_use]
    pub fn fresh(&self, reads: &Reads) -> Fresh {
        self.world.fresh(reads)
    }

    /// Looks in a row in which nothing was to be done.
    #[must_use]
    pub const fn rests(&self) -> u32 {
        self.rests
    }

    /// Whether a request of the operator is still to arrive, of which it does not know.
    #[must_use]
    pub fn is_awaiting(&self) -> bool {
        self.world.late.iter().any(Option::is_some)
    }

    /// The time since the beginning, in milliseconds.
    #[must_use]
    pub const fn now(&self) -> i64 {
        self.world.now
    }

    /// The world as it is.
    #[must_use]
    pub fn truth(&self) -> Truth {
        self.world.truth()
    }

    /// What happened since this was last asked.
    pub fn take_facts(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.world.facts)
    }

    /// Equal for branches that go on equally: how they came to be does not count.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.world.hash_into(&mut hasher);
        self.operator.hash_into(&mut hasher);
        // Of what was planned only what is still to come counts.
        let (tried, now) = (self.operator.actions_tried(), self.world.now);
        let Plan {
            faults, mishaps, ..
        } = &self.world.plan;
        for planned in faults.iter().filter(|one| one.ends() > now) {
            (planned.at, planned.lasts, planned.fault).hash(&mut hasher);
        }
        for (number, mishap) in mishaps.iter().filter(|(number, _)| *number >= tried) {
            (number - tried, mishap).hash(&mut hasher);
        }
        self.rests.min(3).hash(&mut hasher);
        hasher.finish()
    }
}
