//! One history from its first pass to its end.
//!
//! Owns the operator's loop: when it looks, what its caches hold, what it remembers between passes. What is decided
//! comes from the caller.

mod rival;
mod words;

use std::hash::{Hash, Hasher};

use contract::{Decision, EtcdClusterStatus, Finding, OutcomeKind, PastOutcome, Snapshot};
use serde::Deserialize;

use self::words::{in_words, tell_pass};

use crate::execute::InFlight;
use crate::fact::{End, Fact, History, Truth};
use crate::plan::{Fault, Plan};
use crate::world::World;

/// How long after the last fault a history may take.
const PATIENCE: i64 = 2_400_000;
/// How long a cluster that cannot come back is watched: longer than the longest patience that may run out, half an hour.
const VIGIL: i64 = 1_900_000;
/// Passes without an action at the goal, or where it can never be reached, that count as rest.
const RESTING: u32 = 3;
/// So many passes in a row that act on a world which did not move are a loop.
const SPINNING: u32 = 12;
/// An operator's restart takes so long.
const RESTART: i64 = 1_500;
/// Passes that no history needs.
const MANY: u32 = 3_000;

/// Lets a history happen. `decide` is the module, `is_goal` says whether the world is as wanted, `is_hopeless`
/// whether it can never be again; with `tell` the history is also told in words.
pub fn simulate(
    plan: &Plan,
    decide: &mut dyn FnMut(&Snapshot) -> Decision,
    is_goal: &dyn Fn(&Truth) -> bool,
    is_hopeless: &dyn Fn(&Truth) -> bool,
    tell: bool,
) -> History {
    run(plan, Operator::new(), decide, is_goal, is_hopeless, tell)
}

/// The same with an operator that decides on old snapshots: after that many looks, how many looks old the one is. What is
/// judged whole is judged by the same old snapshot, as a host does.
pub fn simulate_behind(
    plan: &Plan,
    age: fn(usize) -> usize,
    decide: &mut dyn FnMut(&Snapshot) -> Decision,
    is_goal: &dyn Fn(&Truth) -> bool,
    is_hopeless: &dyn Fn(&Truth) -> bool,
) -> History {
    let mut operator = Operator::new();
    operator.behind = Some(Behind {
        seen: Vec::new(),
        age,
    });
    run(plan, operator, decide, is_goal, is_hopeless, false)
}

fn run(
    plan: &Plan,
    mut operator: Operator,
    decide: &mut dyn FnMut(&Snapshot) -> Decision,
    is_goal: &dyn Fn(&Truth) -> bool,
    is_hopeless: &dyn Fn(&Truth) -> bool,
    tell: bool,
) -> History {
    let mut world = World::new(plan, tell);
    let calm = plan.calm_from();
    let (mut rest, mut still) = (0, 0);
    let last = loop {
        operator.wait(&mut world);
        let Some(pass) = operator.pass(&mut world, decide) else {
            continue;
        };
        let now = world.now;
        if now < calm {
            continue;
        }
        let truth = world.truth();
        let rests = |before: u32, is_so: bool| {
            if pass.acted || !is_so { 0 } else { before + 1 }
        };
        rest = rests(rest, is_goal(&truth));
        still = rests(still, is_hopeless(&truth));
        let given_up = now >= calm + VIGIL && still >= RESTING;
        if rest >= RESTING || given_up || now >= calm + PATIENCE || operator.passes >= MANY {
            break pass;
        }
    };
    let findings = last.findings.iter();
    let last_words = findings.clone().map(in_words).collect();
    let reasons = findings.map(|finding| finding.reason).collect();
    let truth = world.truth();
    let World {
        facts,
        words,
        now,
        kube,
        ..
    } = world;
    let end = End {
        at: now,
        calm,
        truth,
        rested: rest >= RESTING,
        still: still >= RESTING,
        reasons,
        passes: operator.passes,
        last_words,
        status: EtcdClusterStatus::deserialize(&kube.resource.status).unwrap_or_default(),
        generation: kube.resource.generation,
    };
    History {
        facts,
        end,
        words: words.unwrap_or_default(),
    }
}

pub(crate) struct Pass {
    pub(crate) acted: bool,
    findings: Vec<Finding>,
}

#[derive(Clone)]
pub(crate) struct Operator {
    next: i64,
    outcomes: Vec<PastOutcome>,
    previous: Option<Snapshot>,
    flight: InFlight,
    passes: u32,
    /// Passes in a row in which nothing was to be done and nothing had changed.
    idle: u32,
    /// Passes in a row in which something was done though nothing but the status had changed.
    spinning: u32,
    /// How far the world had moved at the last pass.
    moves: u64,
    /// The same and what clients wrote, if that pass saw what there was and nothing was to be done.
    quiet: Option<(u64, usize)>,
    /// Restarts and echoes of the plan that happened already.
    seen: Vec<usize>,
    /// Its caches lag behind now and then.
    lags: bool,
    /// Another instance that takes itself for the leader, too.
    rival: Option<Box<Self>>,
    /// It decides on what it saw a while ago.
    behind: Option<Behind>,
}

/// What an operator saw so far, and how many looks before the last one it is with its decisions.
#[derive(Clone)]
struct Behind {
    seen: Vec<Snapshot>,
    age: fn(usize) -> usize,
}

impl Behind {
    fn look(&mut self, newest: &Snapshot) -> Snapshot {
        self.seen.push(newest.clone());
        let looks = self.seen.len();
        let age = (self.age)(looks).min(looks - 1);
        self.seen[looks - 1 - age].clone()
    }
}

impl Operator {
    pub(crate) fn new() -> Self {
        Self {
            next: 0,
            outcomes: Vec::new(),
            previous: None,
            flight: InFlight::default(),
            passes: 0,
            idle: 0,
            spinning: 0,
            moves: 0,
            quiet: None,
            seen: Vec::new(),
            lags: false,
            rival: None,
            behind: None,
        }
    }

    /// Lets time pass until the next look is due: at the wished time, or soon after a change.
    pub(crate) fn wait(&mut self, world: &mut World) {
        loop {
            if world.changed && self.next > world.now {
                let late = if is_during(world, Fault::SlowWatches) {
                    1_000
                } else {
                    100
                };
                self.next = self.next.min(world.now + late);
                self.idle = 0;
            }
            match world.timers.next_at() {
                Some(at) if at <= self.next => world.advance(at),
                Some(_) | None => {
                    world.advance(self.next);
                    return;
                }
            }
        }
    }

    pub(crate) fn pass(
        &mut self,
        world: &mut World,
        decide: &mut dyn FnMut(&Snapshot) -> Decision,
    ) -> Option<Pass> {
        self.passes += 1;
        let moves = std::mem::replace(&mut self.moves, world.moves);
        let quiet = self.quiet.take();
        world.changed = false;
        if self.happens(world, Fault::Restart) {
            self.restart(world);
            return None;
        }
        let echo = if self.happens(world, Fault::Echo) {
            self.previous.clone()
        } else {
            None
        };
        let stands_still = self.previous.is_some()
            && (!world.api || is_during(world, Fault::StaleCache) || self.lags && world.rng.bool());
        let snapshot = world.snapshot(self.previous.take(), stands_still, &self.outcomes);
        let old = self.behind.as_mut().map(|behind| behind.look(&snapshot));
        let decided_on = echo.as_ref().or(old.as_ref()).unwrap_or(&snapshot);
        let decision = decide(decided_on);
        world.tell(|world| tell_pass(world, decided_on, &decision));
        let Decision {
            schema: _,
            actions,
            requeue,
            report: _,
        } = &decision;
        let mut acted = !actions.is_empty();
        let is_blind = |world: &World| {
            !world.api || is_during(world, Fault::StaleCache) || !world.deaf().is_empty()
        };
        let names = actions.iter().map(|action| action.effect.name());
        let mut before = self.outcomes.iter();
        let has_failed = before.any(|past| past.outcome != OutcomeKind::Done);
        let is_new = !is_blind(world) && !stands_still && echo.is_none() && self.behind.is_none();
        let stand = (world.moves, world.acknowledged.len());
        // Whom it does not hear it replaces after a while, at the goal as well.
        let hears_all = world.kube.unheard.is_empty();
        if is_new && hears_all && quiet == Some(stand) && acted {
            world.facts.push(Fact::Stirred {
                at: world.now,
                effects: names.clone().collect(),
                before: Box::new(world.truth()),
            });
        }
        // What failed before is told for one look more, and so is what another instance told.
        let is_alone = !is_during(world, Fault::Rival);
        let is_quiet = is_new && hears_all && is_alone && !acted && !has_failed;
        self.quiet = is_quiet.then_some(stand);
        let permitted = envelope::permit(&decision, decided_on);
        self.previous = Some(snapshot);
        if let Err(refusals) = permitted {
            let why = refusals.iter().map(ToString::to_string).collect();
            world.facts.push(Fact::Refused { at: world.now, why });
            self.outcomes.clear();
        } else {
            if is_new {
                world.note_said(actions);
            }
            self.meet_rival(world);
            let mut rival = self.rival.take();
            if actions.is_empty()
                && let Some(rival) = &mut rival
            {
                rival.meddle(world, decide);
            }
            let execution = world.execute(actions, &mut self.flight, &mut |world| {
                if let Some(rival) = &mut rival {
                    rival.meddle(world, decide);
                }
            });
            self.rival = rival;
            if execution.ended {
                self.restart(world);
                return None;
            }
            self.outcomes = execution.outcomes;
        }
        acted |= !self.outcomes.is_empty();
        let wrote = self
            .outcomes
            .iter()
            .any(|past| past.outcome == OutcomeKind::Done);
        // Who cannot see what became of its acts does them again.
        self.spinning = if wrote && world.moves == moves && !is_blind(world) {
            self.spinning + 1
        } else {
            0
        };
        if self.spinning == SPINNING {
            world.facts.push(Fact::Spun {
                at: world.now,
                effects: names.collect(),
            });
        }
        let wished = requeue.map_or(30_000, |requeue| requeue.after.0);
        self.idle = if acted { 0 } else { self.idle + 1 };
        // Looking again at the same world is only of use to see patience run out.
        let floor = if self.idle > 1 {
            (250 << (3 * self.idle).min(10)).min(120_000)
        } else {
            20
        };
        self.next = world.now + wished.max(floor);
        Some(Pass {
            acted,
            findings: decision.report.findings,
        })
    }

    /// What became of the last decision's actions.
    pub(crate) fn outcomes(&self) -> &[PastOutcome] {
        &self.outcomes
    }

    /// Actions of all decisions so far.
    pub(crate) const fn actions_tried(&self) -> u32 {
        self.flight.count
    }

    /// What the next passes depend on.
    pub(crate) fn hash_into(&self, hasher: &mut impl Hasher) {
        let Self {
            next,
            outcomes,
            previous,
            flight: _,
            passes: _,
            idle,
            spinning,
            moves: _,
            quiet: _,
            seen: _,
            lags: _,
            rival: _,
            behind: _,
        } = self;
        format!("{next} {outcomes:?} {previous:?} {idle} {spinning}").hash(hasher);
    }

    fn restart(&mut self, world: &mut World) {
        world.tell(|_| "the operator starts again".to_owned());
        self.outcomes.clear();
        self.previous = None;
        self.quiet = None;
        self.next = world.now + RESTART;
        world.changed = false;
    }

    /// Whether a fault of that kind has begun and was not seen yet.
    fn happens(&mut self, world: &World, kind: Fault) -> bool {
        let due = world
            .plan
            .faults
            .iter()
            .enumerate()
            .find(|(index, planned)| {
                planned.fault == kind && planned.at <= world.now && !self.seen.contains(index)
            });
        let index = due.map(|(index, _)| index);
        self.seen.extend(index);
        index.is_some()
    }
}

fn is_during(world: &World, kind: Fault) -> bool {
    world
        .plan
        .faults
        .iter()
        .any(|planned| planned.fault == kind && planned.is_at(world.now))
}
