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

/// Two voters and a learner on etcd of this version, whose third member was replaced.
fn replacing(version: &str) -> World {
    let mut world = healthy(2)
        .wanting(3)
        .spec("version", json!(version))
        .with_learner(2, true);
    for pod in world.pods() {
        pod.image = format!("quay.io/coreos/etcd:v{version}");
    }
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.version = version.to_owned();
        }
    }
    world.keeping(Some("2")).settle()
}

fn kept(decision: &contract::Decision) -> Option<IntOrString> {
    let mut actions = decision.actions.iter();
    actions.find_map(|action| match &action.effect {
        Effect::Apply { object } => match &**object {
            Child::PodDisruptionBudget(budget) => budget.spec.as_ref()?.min_available.clone(),
            _ => None,
        },
        _ => None,
    })
}

/// Before 3.5.19 a learner may be Ready, and an eviction that counted it took one of two voters.
#[test]
fn a_budget_keeps_one_more_beside_a_learner_that_may_be_ready() {
    for (version, wanted) in [
        ("3.4.34", Some(3)),
        ("3.5.18", Some(3)),
        ("3.5.19", None),
        ("3.6.16", None),
    ] {
        let decision = replacing(version).decide();
        assert_eq!(kept(&decision), wanted.map(IntOrString::Int), "{version}");
    }
    let raised = replacing("3.4.34").keeping(Some("3"));
    let done = effects(&raised.decide());
    assert_eq!(done, [format!("Promote {}", id(2))], "it is written once");
    let mut voting = raised.settle();
    voting.rows()[2].learner = false;
    assert_eq!(kept(&voting.decide()), Some(IntOrString::Int(2)));
}

#[test]
fn the_pod_of_a_learner_is_made_once_the_budget_keeps_one_more() {
    let mut world = replacing("3.4.34").without_pod(2).without_volume(2);
    world.rows()[2].name = String::new();
    world.status.member_records.truncate(2);
    let mut world = world.settle();
    let pod = "Apply Pod shop-m2";
    let early = effects(&world.decide());
    assert!(position(&early, APPLIED).is_some(), "{early:?}");
    assert_eq!(position(&early, pod), None, "{early:?}");
    let then = effects(&world.clone().keeping(Some("3")).decide());
    assert!(position(&then, pod).is_some(), "{then:?}");
    assert_eq!(position(&then, APPLIED), None, "{then:?}");
    // Another one would wait for the same.
    world.snapshot.objects.disruption_budgets = Observed::Unknown("forbidden".to_owned());
    assert_eq!(effects(&world.later(400).decide()), [""; 0]);
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
    assert_eq!(kept(&lowered), Some(IntOrString::Int(3)));
}
