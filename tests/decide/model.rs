//! Bounded model checking: all that can happen within a budget of stale looks, crashes, lost answers and faults.
//!
//! The world is the simulator's, the decision is the very function that is sealed, and every branch is followed to its
//! goal. What is explored here by every choice, the histories of [`crate`] draw at random and far beyond the budget.

use std::fmt;
use std::hash::{Hash, Hasher};

use simulator::{Branch, Choice, Fault, Mishap, Plan, Release};
use stateright::{Checker, Model, Property};

use crate::goal::{is_goal, is_hopeless};
use crate::invariants::{Promise, Violation, judge};
use crate::number;

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
        (rests >= RESTING && is_goal(&truth)) || (rests >= HOPELESS && is_hopeless(&truth))
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
}

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
            broken: facts.iter().find_map(judge),
            ..State::new(branch, left)
        };
        if state.looks == LOOKS && !state.is_at_rest() {
            state.broken = Some(Violation {
                promise: Promise::GoalsAreReached,
                what: format!("after {LOOKS} looks: {state:?}"),
            });
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no promise is broken", |_, state: &State| {
                state.broken.is_none()
            }),
            Property::sometimes(
                "the budget is used up and the goal reached",
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

fn explore(what: &str, start: Branch, budget: (u8, u8, u8), faults: &[Fault]) {
    let (stale, mishaps, faults_left) = budget;
    let exploration = Exploration {
        start,
        budget: Budget {
            stale,
            mishaps,
            faults: faults_left,
        },
        faults: faults.iter().map(|fault| (*fault, 0)).collect(),
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

/// Budgets of stale looks and mishaps, one after the other: both at once have far more branches.
const APART: [(u8, u8); 2] = [(1, 0), (0, 1)];

/// Each of the budgets: with `SIMULATOR_PROVE` all at once, else one after the other.
fn explore_within(what: &str, start: &Branch, faults: &[Fault]) {
    let count = u8::from(!faults.is_empty());
    let budgets: &[(u8, u8)] = if number("SIMULATOR_PROVE", 0) == 0 {
        &APART
    } else {
        &[(1, 1)]
    };
    for (stale, mishaps) in budgets {
        explore(what, start.clone(), (*stale, *mishaps, count), faults);
    }
}

#[test]
fn every_birth_within_the_budget_forms() {
    for size in 1..=3 {
        let what = format!("birth of {size}");
        explore_within(&what, &Branch::new(&plan(size)), &[]);
    }
}

#[test]
fn every_lost_disk_within_the_budget_is_replaced() {
    let disks = [Fault::Wipe(0), Fault::Wipe(1), Fault::DeleteClaim(2)];
    explore_within("a disk lost of 3", &formed(&plan(3)), &disks);
}

/// One or two members have no disk to spare, and come back on theirs.
#[test]
fn every_lost_pod_of_a_small_cluster_within_the_budget_comes_back() {
    for size in 1..=2 {
        let what = format!("a pod lost of {size}");
        explore_within(&what, &formed(&plan(size)), &[Fault::DeletePod(0)]);
    }
}

#[test]
fn every_resize_within_the_budget_ends_at_its_size() {
    for (from, to) in [(1, 3), (3, 1), (2, 1), (1, 2), (2, 3), (3, 2)] {
        let what = format!("{from} to {to}");
        explore_within(&what, &formed(&plan(from)), &[Fault::Resize(to)]);
    }
}

#[test]
fn every_upgrade_within_the_budget_ends_at_its_version() {
    for size in 1..=3 {
        let old = Plan {
            version: Some(Release::new(5, 35)),
            ..plan(size)
        };
        let edit = Fault::Version(Release::new(6, 16));
        let what = format!("3.5 to 3.6, {size} members");
        explore_within(&what, &formed(&old), &[edit]);
    }
}

/// At rest nothing is decided, so only in the middle of something does a decision from before a fault meet what it left.
#[test]
fn every_second_trouble_within_the_budget_finds_an_end() {
    let middles: [(&str, i64, Fault, &[Fault]); 4] = [
        ("1 to 3, and back", 1, Fault::Resize(3), &[Fault::Resize(1)]),
        (
            "3 to 1, and a disk lost",
            3,
            Fault::Resize(1),
            &[Fault::Wipe(0), Fault::Wipe(1), Fault::Wipe(2)],
        ),
        ("3 to 1, and back", 3, Fault::Resize(1), &[Fault::Resize(3)]),
        (
            "a disk lost of 3, and a pod",
            3,
            Fault::Wipe(0),
            &[Fault::DeletePod(1)],
        ),
    ];
    for (what, size, first, second) in middles {
        let mut start = formed(&plan(size));
        start.step(Choice::Strike(first, 0), reconciler::reconcile);
        for (stale, mishaps) in APART {
            explore(what, start.clone(), (stale, mishaps, 1), second);
        }
    }
}

#[test]
fn every_consent_within_the_budget_goes_on_from_its_survivor() {
    let mut lost = formed(&plan(3));
    lost.step(Choice::Suffer(Fault::Wipe(0), 0), reconciler::reconcile);
    lost.step(Choice::Suffer(Fault::Wipe(1), 0), reconciler::reconcile);
    while lost.rests() < HOPELESS {
        lost.step(Choice::Look, reconciler::reconcile);
    }
    assert!(is_hopeless(&lost.truth()), "{:?}", lost.truth());
    // Together, and with a consent at any moment, the budgets have more branches than an hour.
    for (stale, mishaps) in APART {
        explore(
            "consent",
            lost.clone(),
            (stale, mishaps, 1),
            &[Fault::Consent],
        );
    }
    if number("SIMULATOR_PROVE", 0) > 0 {
        lost.step(Choice::Strike(Fault::Consent, 0), reconciler::reconcile);
        explore("consent at once", lost, (1, 1, 0), &[]);
    }
}
