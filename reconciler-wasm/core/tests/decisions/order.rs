//! In which order a pass's actions are tried when one of them was not done last time.

use contract::{ObjectKind, Observed, OutcomeKind, PastOutcome};

use crate::fixture::{World, effects, healthy, member};

fn refused(kind: ObjectKind, target: &str) -> PastOutcome {
    PastOutcome {
        effect: "Apply".to_owned(),
        kind: Some(kind),
        target: target.to_owned(),
        outcome: OutcomeKind::Failed,
        message: "admission webhook \"policy\" denied the request".to_owned(),
    }
}

fn stopped(size: usize) -> World {
    let world = (0..size).fold(healthy(size), |world, index| {
        world.silent(index).without_pod(index)
    });
    world.without_list()
}

/// A policy may refuse a budget for as long as it stands, and the first refusal ends a pass.
#[test]
fn a_budget_that_is_refused_keeps_no_member_from_coming_back_without_a_list() {
    for size in [1, 3] {
        let mut world = stopped(size);
        world.snapshot.objects.disruption_budgets = Observed::Seen(Vec::new());
        world.snapshot.outcomes = vec![refused(ObjectKind::PodDisruptionBudget, "shop")];
        let effects = effects(&world.decide());
        let budget = "Apply PodDisruptionBudget shop".to_owned();
        assert_eq!(effects.last(), Some(&budget), "{effects:?}");
        assert_eq!(effects.len(), size + 1, "{effects:?}");
    }
}

/// What was refused goes last of all, so that each of those beside it is tried in its turn.
#[test]
fn a_pod_that_is_refused_lets_another_one_be_tried() {
    let mut world = stopped(3);
    world.snapshot.outcomes = vec![refused(ObjectKind::Pod, &member(0))];
    let effects = effects(&world.decide());
    let order = [1, 2, 0].map(|index| format!("Apply Pod {}", member(index)));
    assert_eq!(effects, order);
}
