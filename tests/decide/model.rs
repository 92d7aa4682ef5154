//! Bounded model checking: all that can happen within a budget of stale looks, crashes, lost answers and faults.
//!
//! The world is the simulator's, the decision is the very function that is sealed, and every branch is followed to its
//! goal. Which worlds are explored is [`branches`]'s. What is explored here by every choice, the histories of [`crate`] draw at random and far beyond the budget.

mod branches;

use std::fmt;
use std::hash::{Hash, Hasher};

use contract::{Condition, ConditionStatus, EtcdClusterStatus, Reason};
use serde::Deserialize;
use simulator::{Branch, Choice, Fault, Mishap, Plan};
use stateright::{Checker, Model, Property};

use crate::goal::{is_goal, is_hopeless};
use crate::invariants::{Promise, Violation, busy_while_hopeless, judge};

/// Looks from the last choice to the goal; the slowest ways wait out every patience there is.
const LOOKS: u16 = 150;
/// Looks without an action at the goal that count as rest.
const RESTING: u32 = 2;
/// Looks without an action that end a history without a quorum.
const HOPELESS: u32 = 8;

/// What may still go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Budget {
    stale: u8,
    mishaps: u8,
    faults: u8,
}

#[derive(Clone)]
struct State {
    branch: Branch,
    fingerprint: u64,
    left: Budget,
    looks: u16,
    broken: Option<Violation>,
}

impl State {
    fn new(branch: Branch, left: Budget) -> Self {
        Self {
            fingerprint: branch.fingerprint(),
            branch,
            left,
            looks: 0,
            broken: None,
        }
    }

    fn is_at_rest(&self) -> bool {
        if self.branch.is_awaiting() {
            return false;
        }
        let truth = self.branch.truth();
        let rests = self.branch.rests();
        (rests >= RESTING && is_goal(&truth))
            || (rests >= HOPELESS && is_hopeless(&truth) && !self.tells_of_loss().is_empty())
    }

    /// The conditions in which people read that the quorum is lost.
    fn tells_of_loss(&self) -> Vec<Condition> {
        let lost = [Reason::QuorumLost, Reason::DataLost].map(Reason::name);
        let mut told = self.conditions();
        told.retain(|one| lost.contains(&&*one.reason));
        if self.branch.truth().said_available != Some(false) {
            told.clear();
        }
        told
    }

    /// Whether nothing can be done any more but by a person, who is told so.
    fn is_blocked(&self) -> bool {
        let told = self.tells_of_loss();
        is_hopeless(&self.branch.truth()) && told.iter().any(|one| one.kind == "Blocked")
    }

    fn is_at_goal(&self) -> bool {
        is_goal(&self.branch.truth())
    }

    /// What holds by the status.
    fn conditions(&self) -> Vec<Condition> {
        let status = self.branch.snapshot().resource.status;
        let status = EtcdClusterStatus::deserialize(status).unwrap_or_default();
        let mut conditions = status.conditions;
        conditions.retain(|one| one.status == ConditionStatus::True);
        conditions
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        (self.fingerprint, self.left) == (other.fingerprint, other.left)
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.fingerprint, self.left, self.broken.is_some()).hash(hasher);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms: {:?}", self.branch.now(), self.branch.truth())
    }
}

/// Where it begins, and what may happen from there.
struct Exploration {
    start: Branch,
    budget: Budget,
    faults: Vec<(Fault, i64)>,
    ends: Ends,
}

/// Whether that is an end once nothing is left that may go wrong.
type Ends = fn(&State) -> bool;

const MISHAPS: [Mishap; 5] = [
    Mishap::EndsBefore,
    Mishap::EndsAfter,
    Mishap::AnswerLost,
    Mishap::NeverArrives,
    // Several looks later, and long before any patience is over.
    Mishap::Late(2_000),
];

impl Model for Exploration {
    type State = State;
    type Action = Choice;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.start.clone(), self.budget)]
    }

    fn actions(&self, state: &State, choices: &mut Vec<Choice>) {
        if state.broken.is_some() || state.looks >= LOOKS {
            return;
        }
        let left = state.left;
        if left.faults > 0 {
            let faults = self.faults.iter();
            choices.extend(faults.map(|(fault, lasts)| Choice::Strike(*fault, *lasts)));
        }
        if state.is_at_rest() {
            return;
        }
        choices.push(Choice::Look);
        if left.stale > 0 {
            choices.push(Choice::LookBack);
        }
        if left.mishaps > 0 {
            let tried = state
                .branch
                .clone()
                .step(Choice::Look, reconciler::reconcile);
            let numbered = (0..tried).flat_map(|number| MISHAPS.map(|mishap| (number, mishap)));
            choices.extend(numbered.map(|(number, mishap)| Choice::Stumble(number, mishap)));
        }
    }

    fn next_state(&self, before: &State, choice: Choice) -> Option<State> {
        let mut left = before.left;
        let looks = match choice {
            Choice::Look => before.looks + 1,
            Choice::LookBack => {
                left.stale -= 1;
                0
            }
            Choice::Stumble(..) => {
                left.mishaps -= 1;
                0
            }
            Choice::Strike(..) | Choice::Suffer(..) => {
                left.faults -= 1;
                0
            }
        };
        let mut branch = before.branch.clone();
        branch.step(choice, reconciler::reconcile);
        let facts = branch.take_facts();
        let mut state = State {
            looks,
            broken: facts
                .iter()
                .find_map(|fact| judge(fact).or_else(|| busy_while_hopeless(fact))),
            ..State::new(branch, left)
        };
        let unreached = |when: &str| Violation {
            promise: Promise::GoalsAreReached,
            what: format!("{when}: {state:?}\n{:#?}", state.conditions()),
        };
        let is_another_end = left.faults == 0 && state.is_at_rest() && !(self.ends)(&state);
        if is_another_end {
            state.broken = Some(unreached("it rests elsewhere"));
        } else if state.looks == LOOKS && !state.is_at_rest() {
            state.broken = Some(unreached(&format!("after {LOOKS} looks")));
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no promise is broken", |_, state: &State| {
                state.broken.is_none()
            }),
            Property::sometimes(
                "the budget is used up and the end reached",
                |_, state: &State| {
                    let used = Budget {
                        stale: 0,
                        mishaps: 0,
                        faults: 0,
                    };
                    state.left == used && state.is_at_rest()
                },
            ),
        ]
    }
}

/// A plan in which nothing goes wrong but what the exploration chooses.
pub(crate) fn plan(size: i64) -> Plan {
    Plan {
        seed: 1,
        size,
        version: None,
        through: false,
        claims: true,
        local: false,
        tls: false,
        old: None,
        numbered: false,
        faults: Vec::new(),
        mishaps: Vec::new(),
    }
}

/// The same world after it has formed.
pub(crate) fn formed(plan: &Plan) -> Branch {
    let mut branch = Branch::new(plan);
    for _ in 0..LOOKS {
        branch.step(Choice::Look, reconciler::reconcile);
        if branch.rests() >= RESTING && is_goal(&branch.truth()) {
            return branch;
        }
    }
    panic!("it does not form: {:?}", branch.truth());
}

fn explore(what: &str, start: Branch, budget: (u8, u8, u8), faults: &[Fault], ends: Ends) {
    let (stale, mishaps, faults_left) = budget;
    let exploration = Exploration {
        start,
        budget: Budget {
            stale,
            mishaps,
            faults: faults_left,
        },
        faults: faults.iter().map(|fault| (*fault, 0)).collect(),
        ends,
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let checker = exploration.checker().threads(threads).spawn_dfs().join();
    eprintln!(
        "{what}: {} states, {} of them unique, at most {} deep",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    if let Some(path) = checker.discovery("no promise is broken") {
        let broken = path.last_state().broken.clone().expect("it is broken");
        let choices = path.into_actions();
        panic!("{what}: {}\n{}\n{choices:#?}", broken.promise, broken.what);
    }
    checker.assert_properties();
}
