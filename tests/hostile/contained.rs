//! Every module of `modules/` is contained: by the rule that its file names, without any effect, and so that a person
//! finds out which module and which rule.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::{Decision, Millis};
use envelope::Pace;
use host::key::ClusterKey;
use host::module::Module;
use host::queue::Trigger;
use host::refused;
use host::roster::{Lineup, Seat};
use simulator::Fact;

use crate::api_server::ApiServer;
use crate::attempt::{Attempt, attempts};
use crate::members::Members;
use crate::passes::{caches, passes};
use crate::sealing::{engine, sealed};

/// Passes until the resource says of a refusal on a fresh read that it is no race.
const PASSES: usize = 3;

/// Who stopped it, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It gave no decision.
    Failed(&'static str),
    /// The decision was refused as a whole.
    Whole(BTreeSet<&'static str>),
    /// An action was refused immediately before its effect.
    Action(&'static str),
    Nobody,
}

impl Stopped {
    /// Whether it was that rule, and no other than those named besides.
    pub(crate) fn by(&self, rule: &str, also: &[String]) -> bool {
        match self {
            Self::Failed(name) | Self::Action(name) => *name == rule,
            Self::Whole(names) => {
                let mut others = names.iter().filter(|name| **name != rule);
                names.contains(rule) && others.all(|name| also.iter().any(|also| also == name))
            }
            Self::Nobody => false,
        }
    }
}

/// Asks the module, and what it says the envelope, as the host does.
pub(crate) fn stopped(module: &Module, attempt: &Attempt) -> (Stopped, Option<Decision>) {
    let snapshot = serde_json::to_vec(&attempt.snapshot).expect("a snapshot is JSON");
    let answer = match module.decide(&snapshot) {
        Ok(answer) => answer,
        // Whether the fuel or the clock ends first is the machine's.
        Err(failure) if failure.name() == "OutOfTime" => {
            return (Stopped::Failed("OutOfFuel"), None);
        }
        Err(failure) => return (Stopped::Failed(failure.name()), None),
    };
    let decision = answer.decision;
    if let Err(refusals) = envelope::permit(&decision, &attempt.snapshot) {
        let names = refusals.iter().map(Into::into).collect();
        return (Stopped::Whole(names), Some(decision));
    }
    for action in &decision.actions {
        let fresh = attempt.branch.fresh(&envelope::reads(action));
        if let Err(refusal) = envelope::check(action, &fresh) {
            return (Stopped::Action((&refusal).into()), Some(decision));
        }
        assert!(action.effect.is_telling(), "{}: {action:?}", attempt.file);
    }
    let mut pace = Pace::default();
    for pass in 0..=attempt.patience {
        for action in &decision.actions {
            if let Err(refusal) = pace.spend(&action.effect, attempt.snapshot.now) {
                assert_eq!(pass, attempt.patience, "{}", attempt.file);
                return (Stopped::Action((&refusal).into()), Some(decision));
            }
        }
    }
    (Stopped::Nobody, Some(decision))
}

#[test]
fn every_hostile_module_is_stopped_by_its_rule_and_changes_nothing() {
    let engine = engine();
    let attempts = attempts();
    assert!(attempts.len() >= 25, "only {} modules", attempts.len());
    let mut wrong = Vec::new();
    for mut attempt in attempts {
        let module = Module::load(&engine, &sealed(&attempt.core)).expect("it passes the checks");
        let (stopped, decision) = stopped(&module, &attempt);
        let Attempt {
            file,
            tries,
            rule,
            also,
            ..
        } = &attempt;
        eprintln!("{file}: a module that tries {tries} is stopped by {rule}");
        if !stopped.by(rule, also) {
            wrong.push(format!("{file}: {stopped:?}"));
        }
        let Some(decision) = decision else { continue };
        attempt.follow(&decision);
        let deeds = attempt.branch.take_facts();
        let deed = deeds.iter().find(|fact| matches!(fact, Fact::Deed { .. }));
        wrong.extend(deed.map(|deed| format!("{}: {deed:?}", attempt.file)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same modules in the host itself, one pass after the other.
#[tokio::test(flavor = "multi_thread")]
async fn every_hostile_module_is_named_with_its_rule_in_a_condition_and_a_metric() {
    let engine = engine();
    for attempt in attempts() {
        let Attempt { file, rule, .. } = &attempt;
        let module = Module::load(&engine, &sealed(&attempt.core)).expect("it passes the checks");
        let (stopped, _) = stopped(&module, &attempt);
        let seat = Arc::new(Seat::built_in(module, Millis(0)));
        let digest = seat.digest().to_owned();
        let server = ApiServer::of(&attempt.snapshot.resource, &attempt.branch);
        let members = Members::of(&attempt.snapshot.etcd).await;
        let directory = tempfile::tempdir().expect("a directory");
        let world = caches(&[(&attempt.snapshot, &members)]);
        let client = ApiServer::client(std::slice::from_ref(&server));
        let passes = passes(client, world, directory.path(), Lineup::alone(seat));
        let key = ClusterKey::of_cluster(&attempt.snapshot.resource);
        for _ in 0..attempt.patience + PASSES {
            passes.run(&key, Trigger::Retry).await;
        }
        // Where the host itself says what happened.
        let namespace = format!("/namespaces/{}/", key.namespace);
        let own_status = format!("{namespace}etcdclusters/{}/status", key.name);
        let events = format!("{namespace}events");
        let is_telling = |change: &String| {
            (change.starts_with("PUT ") && change.ends_with(&own_status))
                || (change.starts_with("POST ") && change.ends_with(&events))
        };
        let mut strange = server.changes();
        strange.retain(|change| !is_telling(change));
        assert!(strange.is_empty(), "{file}: {strange:?}");
        let before = refused::with(&attempt.snapshot.resource.status, "", "", "");
        let stored = refused::without(&server.status());
        let untouched = before.as_ref().and_then(refused::without);
        assert_eq!(stored, untouched, "{file}: another status");
        let changes = members.changes();
        assert!(changes.is_empty(), "{file}: {changes:?}");
        let condition = server.condition("DecisionRefused");
        let condition = condition.unwrap_or_else(|| panic!("{file}: nothing says what happened"));
        let told = condition.to_string();
        assert!(told.contains(&digest), "{file}: {told}");
        let page = passes.metrics.render().expect("text");
        let counted = |rule: &&str| -> usize {
            let series =
                format!("binnacle_refusals_total{{reason=\"{rule}\",module=\"{digest}\"}} ");
            let mut counts = page.lines().filter_map(|line| line.strip_prefix(&series));
            counts
                .next()
                .and_then(|count| count.parse().ok())
                .unwrap_or_default()
        };
        let by = match stopped {
            // Whether the fuel or the clock ends first is the machine's.
            Stopped::Failed("OutOfFuel") => vec!["OutOfFuel", "OutOfTime"],
            Stopped::Failed(_) | Stopped::Whole(_) | Stopped::Action(_) | Stopped::Nobody => {
                vec![rule.as_str()]
            }
        };
        let named = by.iter().any(|rule| told.contains(rule));
        let counted: usize = by.iter().map(counted).sum();
        assert!(
            named && counted >= PASSES,
            "{file}: not {by:?} in {PASSES} passes: {told}\n{page}"
        );
    }
}
