//! Facts that no history shows while promises are kept: each is brought about here, and its neighbour is not.
//!
//! That they are judged is shown by the invariants' own tests.

use contract::{
    Action, Decision, Effect, EventType, ObjectKind, ObjectPrecondition, Preconditions, Report,
    SCHEMA, Snapshot, names,
};
use simulator::{Branch, Fact, Fault, OldPods, Plan, Planned, simulate};

use super::goal::{is_goal, is_hopeless};
use super::invariants::{Promise, judge};
use super::model::{formed, plan};

/// Decides nothing but those effects.
pub(crate) fn decision(snapshot: &Snapshot, effects: Vec<Effect>) -> Decision {
    let pre = Preconditions {
        resource_uid: snapshot.resource.uid.clone(),
        ..Preconditions::default()
    };
    let action = |effect| Action {
        effect,
        pre: pre.clone(),
    };
    Decision {
        schema: SCHEMA,
        actions: effects.into_iter().map(action).collect(),
        requeue: None,
        report: Report {
            findings: Vec::new(),
        },
    }
}

fn event() -> Effect {
    Effect::Event {
        kind: EventType::Normal,
        reason: "Again".to_owned(),
        note: "and again".to_owned(),
    }
}

/// What is broken in the history of a module that says the same thing at each look that is a multiple of this.
fn told_again(plan: &Plan, each: u32) -> Vec<Promise> {
    let mut looks = 0_u32;
    let mut decide = |snapshot: &Snapshot| {
        looks += 1;
        let effects = looks.is_multiple_of(each).then(event);
        decision(snapshot, effects.into_iter().collect())
    };
    let history = simulate(plan, &mut decide, &is_goal, &is_hopeless, false);
    promises(&history.facts)
}

fn promises(facts: &[Fact]) -> Vec<Promise> {
    let broken = facts.iter().filter_map(judge);
    broken.map(|violation| violation.promise).collect()
}

#[test]
fn a_module_that_does_the_same_in_each_pass_spins() {
    assert_eq!(told_again(&plan(1), 1), [Promise::NothingSpins]);
    assert_eq!(told_again(&plan(1), 2), []);
}

/// It does what the reconciler does, and at every second look at which that does nothing it says something.
#[test]
fn a_module_that_acts_at_the_goal_though_nothing_moved_is_found_out() {
    let stirs = |each: Option<u32>| {
        let mut quiet = 0_u32;
        let mut decide = |snapshot: &Snapshot| {
            let decided = reconciler::reconcile(snapshot);
            if !decided.actions.is_empty() {
                return decided;
            }
            quiet += 1;
            if each.is_some_and(|each| quiet.is_multiple_of(each)) {
                return decision(snapshot, vec![event()]);
            }
            decided
        };
        let history = simulate(&plan(3), &mut decide, &is_goal, &is_hopeless, false);
        promises(&history.facts)
    };
    let mut found = stirs(Some(2));
    found.dedup();
    assert_eq!(found, [Promise::GoalsAreRest]);
    assert_eq!(stirs(None), []);
}

/// Who cannot see what became of its acts does them again.
#[test]
fn a_module_whose_caches_stand_still_does_not_spin() {
    let mut blind = plan(1);
    blind.faults.push(Planned {
        at: 0,
        lasts: 600_000,
        fault: Fault::StaleCache,
    });
    let until_it_sees = |snapshot: &Snapshot| {
        let is_blind = snapshot.now.0 < BEGINNING + 600_000;
        decision(snapshot, is_blind.then(event).into_iter().collect())
    };
    let told = simulate(
        &blind,
        &mut { until_it_sees },
        &is_goal,
        &is_hopeless,
        false,
    );
    assert_eq!(promises(&told.facts), []);
    let told = simulate(
        &plan(1),
        &mut { until_it_sees },
        &is_goal,
        &is_hopeless,
        false,
    );
    assert_eq!(promises(&told.facts), [Promise::NothingSpins]);
}

/// The simulator's clock at first, in milliseconds.
const BEGINNING: i64 = 1_767_225_600_000;

#[test]
fn a_decision_that_the_envelope_does_not_know_is_refused() {
    let decided = |schema: u32| {
        let mut branch = Branch::new(&plan(1));
        let mut decided = 0;
        branch.step(simulator::Choice::Look, |snapshot| {
            decided += 1;
            Decision {
                schema,
                ..decision(snapshot, vec![event()])
            }
        });
        assert_eq!(decided, 1);
        promises(&branch.take_facts())
    };
    let refused = Promise::DecisionsAreWithinTheEnvelope;
    assert_eq!(decided(SCHEMA + 1), [refused]);
    assert_eq!(decided(SCHEMA), []);
}

/// No module gets so far: what is deleted here is what the envelope would have kept.
#[test]
fn whoever_deletes_what_is_somebody_elses_trespasses() {
    let start = formed(&plan(3));
    let name = start.snapshot().resource.name;
    for (kind, name, intrusion) in [
        (ObjectKind::Service, names::client_service(&name), 2),
        (
            ObjectKind::PodDisruptionBudget,
            names::disruption_budget(&name),
            3,
        ),
        (ObjectKind::Secret, names::authorities_secret(&name), 4),
    ] {
        let deleted = |fault: Option<Fault>| {
            let mut branch = start.clone();
            if let Some(fault) = fault {
                let silent = |snapshot: &Snapshot| decision(snapshot, Vec::new());
                branch.step(simulator::Choice::Suffer(fault, 0), silent);
            }
            branch.take_facts();
            granted(&mut branch, kind, &name).ok()?;
            Some(promises(&branch.take_facts()))
        };
        let trespass = vec![Promise::OthersKeepTheirs];
        assert_eq!(deleted(Some(Fault::Intrude(intrusion))), Some(trespass));
        let own = match kind {
            ObjectKind::PodDisruptionBudget => Some(vec![Promise::BudgetsGuard]),
            // Without certificates there is no Secret that is its own.
            ObjectKind::Secret => None,
            ObjectKind::Service
            | ObjectKind::Pod
            | ObjectKind::PersistentVolumeClaim
            | ObjectKind::ReplicaSet => Some(Vec::new()),
        };
        assert_eq!(deleted(None), own, "{name}");
    }
}

/// Its pod has another name than the member.
#[test]
fn whoever_deletes_the_pods_that_replica_sets_keep_takes_the_quorum() {
    let mut left = plan(3);
    (left.old, left.numbered) = (Some(OldPods::Kept), true);
    let mut branch = Branch::new(&left);
    let seen = branch.snapshot();
    let pods: Vec<String> = seen
        .old_children()
        .pods
        .iter()
        .map(|pod| pod.name.clone())
        .collect();
    let mut deleted = |pod: &str| {
        assert_eq!(granted(&mut branch, ObjectKind::Pod, pod), Ok(()));
        promises(&branch.take_facts())
    };
    assert_eq!(deleted(&pods[0]), []);
    assert_eq!(deleted(&pods[1]), [Promise::QuorumsStay]);
}

/// Deletes what is there under that name, whose ever it is.
fn granted(branch: &mut Branch, kind: ObjectKind, name: &str) -> Result<(), &'static str> {
    let mut action = delete(&branch.snapshot(), kind, name);
    let found = branch.fresh(&envelope::reads(&action)).object;
    let uid = found.seen().map(|head| head.uid.clone());
    action.pre.object = uid.map(|uid| ObjectPrecondition::Present { uid });
    branch.arrive(&action)
}

fn delete(snapshot: &Snapshot, kind: ObjectKind, name: &str) -> Action {
    let effect = Effect::Delete {
        kind,
        name: name.to_owned(),
        grace_seconds: None,
    };
    let mut decision = decision(snapshot, vec![effect]);
    decision.actions.remove(0)
}
