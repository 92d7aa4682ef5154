//! How many members evictions leave, whoever joins or leaves.

use contract::{Child, Effect, ObjectKind, Observed, OutcomeKind, PastOutcome, Reason};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use crate::fixture::{World, effects, healthy, id, reports};

const APPLIED: &str = "Apply PodDisruptionBudget shop";

impl World {
    fn keeping(mut self, kept: Option<&str>) -> Self {
        if let Observed::Seen(budgets) = &mut self.snapshot.objects.disruption_budgets {
            budgets[0].min_available = kept.map(str::to_owned);
        }
        self
    }
}

/// Three voters whose pods hold their data and are to be made anew, so that a fourth is about to vote.
fn about_to_be_four() -> World {
    healthy(3)
        .on_empty_dir()
        .shaped_in_pods()
        .spec("pod", json!({ "labels": { "team": "two" } }))
        .with_learner(3, true)
        .later(60)
        .settle()
}

fn position(effects: &[String], wanted: &str) -> Option<usize> {
    effects.iter().position(|effect| effect.starts_with(wanted))
}

/// One let two members of three be evicted, because five had been there when it wrote its budget.
#[test]
fn a_budget_is_right_before_a_member_leaves() {
    let effects = effects(&healthy(5).wanting(3).keeping(None).decide());
    assert_eq!(effects[0], APPLIED);
    assert_eq!(effects[1], format!("RemoveMember {}", id(4)));
}

/// A request that arrives late is refused by the API server where something was written since.
#[test]
fn a_budget_is_written_onto_the_version_that_was_seen() {
    let mut world = healthy(5).wanting(3).keeping(None);
    if let Observed::Seen(budgets) = &mut world.snapshot.objects.disruption_budgets {
        budgets[0].resource_version = "77".to_owned();
    }
    let decision = world.decide();
    let budget = Some(ObjectKind::PodDisruptionBudget);
    let mut actions = decision.actions.iter();
    let written = actions.find(|action| action.effect.kind() == budget);
    let version = written.unwrap().pre.object_version.as_deref();
    assert_eq!(version, Some("77"));
}

#[test]
fn a_budget_is_raised_before_a_learner_gets_its_vote() {
    let effects = effects(&about_to_be_four().decide());
    let (raised, voted) = (position(&effects, APPLIED), position(&effects, "Promote"));
    assert!(raised.is_some() && raised < voted, "{effects:?}");
    assert_eq!(
        effects.iter().filter(|effect| *effect == APPLIED).count(),
        1
    );
}

/// Two writes in each pass that undo each other would go on as long as etcd refuses the vote.
#[test]
fn a_raised_budget_stays_until_the_learner_votes() {
    let raised = about_to_be_four().keeping(Some("3"));
    assert_eq!(position(&effects(&raised.decide()), APPLIED), None);
    let alone = healthy(3).keeping(Some("3"));
    assert_eq!(effects(&alone.decide()), [APPLIED]);
}

/// What else around the members fails waits at the end, and holds up nothing.
#[test]
fn no_vote_is_given_ahead_of_a_budget_that_could_not_be_written() {
    let mut world = about_to_be_four();
    world.snapshot.outcomes = vec![PastOutcome {
        effect: "Apply".to_owned(),
        kind: Some(ObjectKind::PodDisruptionBudget),
        target: "shop".to_owned(),
        outcome: OutcomeKind::Failed,
        message: "connection refused".to_owned(),
    }];
    let effects = effects(&world.decide());
    let (raised, voted) = (position(&effects, APPLIED), position(&effects, "Promote"));
    assert!(raised.is_some() && raised < voted, "{effects:?}");
}

#[test]
fn no_vote_is_given_while_nobody_knows_what_the_budget_keeps() {
    let mut world = about_to_be_four();
    let why = "forbidden".to_owned();
    world.snapshot.objects.disruption_budgets = Observed::Unknown(why);
    let decision = world.decide();
    assert_eq!(position(&effects(&decision), "Promote"), None);
    assert!(reports(&decision, Reason::KubernetesUnreadable));
}

/// Found by the simulator: it got its vote, its node was cut off before anybody looked, and the size was edited down.
#[test]
fn a_budget_that_counts_a_learner_stays_while_nobody_confirms_who_votes() {
    let cut_off = healthy(3).with_learner(3, true).wanting(1).without_list();
    let raised = cut_off.keeping(Some("3"));
    assert_eq!(position(&effects(&raised.decide()), APPLIED), None);
}

/// The members that are remembered come back with their votes, whatever is asked for meanwhile.
#[test]
fn a_budget_is_not_lowered_while_nobody_confirms_who_votes() {
    let edited = healthy(5).wanting(3).without_list();
    assert_eq!(position(&effects(&edited.decide()), APPLIED), None);
    let lowered = edited.keeping(Some("2")).decide();
    let kept = lowered
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            Effect::Apply { object } => match &**object {
                Child::PodDisruptionBudget(budget) => budget.spec.as_ref()?.min_available.clone(),
                _ => None,
            },
            _ => None,
        });
    assert_eq!(kept, Some(IntOrString::Int(3)));
}
