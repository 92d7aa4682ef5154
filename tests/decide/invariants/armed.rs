//! For every promise the smallest fact, or end of a history, that breaks it, and beside it one that is harmless.
//!
//! Shows that each judge can fire, and that it fires for what it says. What breaks a promise by a fact alone is
//! [`deeds`]' and [`members`]', by the end of a history [`ends`]' and [`losses`]'. It does not know whether the simulator
//! ever states such a fact.

mod deeds;
mod ends;
mod losses;
mod members;

use contract::{ClusterId, MemberId};
use simulator::{Deed, End, Fact, History, MemberTruth, Release, Truth};

use super::{Promise, violations};
use crate::court::{Court, answered};

/// One that breaks a promise, and its near neighbour that does not.
struct Armed<T> {
    promise: Promise,
    /// What happens in the first.
    what: &'static str,
    breaks: T,
    harmless: T,
}

/// Whether that court can find the promise broken.
pub(crate) fn can_break(court: Court, promise: Promise) -> bool {
    let finds = |fact: &Fact| {
        let found = court.judge_fact(fact);
        found.is_some_and(|violation| violation.promise == promise)
    };
    let judges_ends = matches!(court, Court::All | Court::Formed);
    judges_ends || facts().iter().any(|armed| finds(&armed.breaks))
}

fn facts() -> Vec<Armed<Fact>> {
    deeds::facts().into_iter().chain(members::facts()).collect()
}

fn histories() -> Vec<Armed<History>> {
    ends::histories()
        .into_iter()
        .chain(losses::histories())
        .collect()
}

fn broken(history: &History) -> Vec<Promise> {
    let found = violations(history).into_iter();
    found.map(|violation| violation.promise).collect()
}

#[test]
fn each_promise_about_facts_is_broken_by_the_smallest_one_and_not_by_its_neighbour() {
    let facts = facts();
    for Armed {
        promise,
        what,
        breaks,
        harmless,
    } in &facts
    {
        let with = |fact: &Fact| broken(&at_rest(vec![fact.clone()], cluster(3)));
        assert_eq!(with(breaks), [*promise], "{what}");
        assert_eq!(with(harmless), [], "not {what}");
    }
    eprintln!("{} facts that break a promise", facts.len());
}

#[test]
fn each_promise_about_ends_is_broken_by_the_smallest_one_and_not_by_its_neighbour() {
    let histories = histories();
    for Armed {
        promise,
        what,
        breaks,
        harmless,
    } in &histories
    {
        assert_eq!(broken(breaks), [*promise], "{what}");
        assert_eq!(broken(harmless), [], "not {what}");
    }
    eprintln!("{} ends that break a promise", histories.len());
}

#[test]
fn a_panic_is_a_broken_promise_and_an_answer_is_not() {
    let found = answered(|| panic!("a snapshot that nobody thought of"));
    let promise = found.map(|violation| violation.promise);
    assert_eq!(promise, Some(Promise::SnapshotsAreAnswered));
    assert_eq!(answered(|| None), None);
}

/// Whoever adds a promise says what breaks it.
#[test]
fn no_promise_is_without_something_that_breaks_it() {
    let facts = facts().into_iter().map(|armed| armed.promise);
    let ends = histories().into_iter().map(|armed| armed.promise);
    let panics = std::iter::once(Promise::SnapshotsAreAnswered);
    let mut shown: Vec<Promise> = facts.chain(ends).chain(panics).collect();
    shown.sort_unstable();
    shown.dedup();
    assert_eq!(shown, Promise::ALL);
}

/// A promise of safety is one to each court of safety, but for what a module may do within the envelope.
#[test]
fn each_court_judges_the_promises_that_are_its_own() {
    let by_facts = |court: Court| {
        let finds = |promise: &&Promise| {
            let mut facts = facts().into_iter();
            facts.any(|armed| armed.promise == **promise && can_break(court, **promise))
        };
        Promise::ALL
            .iter()
            .filter(finds)
            .copied()
            .collect::<Vec<_>>()
    };
    let without = |promises: &[Promise]| {
        let mut all = by_facts(Court::All);
        all.retain(|promise| !promises.contains(promise));
        all
    };
    let (spinning, stirring) = (Promise::NothingSpins, Promise::GoalsAreRest);
    assert_eq!(by_facts(Court::Safety), without(&[spinning, stirring]));
    let telling = Promise::StatusesAreTrue;
    let within = Promise::DecisionsAreWithinTheEnvelope;
    let guarding = Promise::BudgetsGuard;
    let (waiting, awaiting) = (Promise::RiskWaitsForItsBackup, Promise::PassingAreAwaited);
    assert_eq!(
        by_facts(Court::Mad),
        without(&[
            spinning, stirring, telling, within, guarding, waiting, awaiting
        ])
    );
    assert_eq!(by_facts(Court::Trespass), [Promise::OthersKeepTheirs]);
}

fn id(number: u64) -> MemberId {
    MemberId(number)
}

fn name(number: u64) -> String {
    format!("sim-{number}")
}

/// A healthy voter on its claim.
fn voter(number: u64) -> MemberTruth {
    MemberTruth {
        id: id(number),
        name: name(number),
        learner: false,
        started: true,
        healthy: true,
        intact: true,
        in_pod: false,
        condemned: false,
        full: false,
        label: None,
        secure: false,
        reached_by_tls: false,
        release: Some(Release::new(6, 16)),
        repository: Some(0),
        swaps: false,
        old: false,
    }
}

fn quorum(voters: u64) -> String {
    (voters / 2 + 1).to_string()
}

/// A cluster of so many voters at its goal; the first one leads.
fn cluster(size: u64) -> Truth {
    let names: Vec<String> = (1..=size).map(name).collect();
    Truth {
        size: i64::try_from(size).unwrap_or_default(),
        asked: Some(Release::new(6, 16)),
        wants_claims: true,
        cluster: Some(ClusterId(1)),
        confirmed: true,
        said_available: Some(true),
        leader: Some(id(1)),
        members: (1..=size).map(voter).collect(),
        pods: names.clone(),
        claims: names,
        services: vec!["sim".to_owned(), "sim-client".to_owned()],
        budget: Some(quorum(size)),
        ..Truth::default()
    }
}

impl<T> Armed<T> {
    fn new(promise: Promise, what: &'static str, breaks: T, harmless: T) -> Self {
        Self {
            promise,
            what,
            breaks,
            harmless,
        }
    }
}

/// Whatever is changed of it.
fn but<T>(mut it: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut it);
    it
}

/// With that member, counted from 1, changed.
fn with(truth: Truth, number: usize, change: impl FnOnce(&mut MemberTruth)) -> Truth {
    but(truth, |truth| change(&mut truth.members[number - 1]))
}

fn down(member: &mut MemberTruth) {
    member.healthy = false;
}

/// Beside that many voters a healthy member without a vote.
fn with_learner(size: u64) -> Truth {
    but(cluster(size), |truth| {
        truth
            .members
            .push(but(voter(size + 1), |member| member.learner = true));
        truth.budget = Some(quorum(size + 1));
    })
}

fn deed(deed: Deed, before: Truth) -> Fact {
    Fact::Deed {
        at: 1,
        deed,
        before: Box::new(before),
        lost: Vec::new(),
        late: None,
    }
}

/// A history that came to rest in that world, with a status that says what is so.
fn at_rest(facts: Vec<Fact>, truth: Truth) -> History {
    let end = End {
        at: 2,
        calm: 1,
        status: ends::true_status(&truth),
        truth,
        rested: true,
        still: false,
        reasons: Vec::new(),
        passes: 3,
        last_words: Vec::new(),
        generation: 1,
    };
    History {
        facts,
        end,
        words: Vec::new(),
    }
}
