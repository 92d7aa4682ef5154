//! A claim template changed on a living cluster: what grows, what is refused, what only new members get.

use contract::{ObjectKind, OutcomeKind, PastOutcome, Reason};
use serde_json::json;

use crate::fixture::{World, effects, healthy, member, reports, written};

fn asking(storage: &str) -> World {
    healthy(3)
        .spec(
            "pod",
            json!({ "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": storage } } } }),
        )
        .settle()
}

impl World {
    fn refused(mut self) -> Self {
        self.snapshot.outcomes = vec![PastOutcome {
            effect: "Apply".to_owned(),
            kind: Some(ObjectKind::PersistentVolumeClaim),
            target: member(0),
            outcome: OutcomeKind::Failed,
            message: "the storage class does not allow it".to_owned(),
        }];
        // An instant at which nothing is tried again.
        self.snapshot.now.0 -= self.snapshot.now.0.rem_euclid(600_000) - 300_000;
        self
    }
}

#[test]
fn volumes_grow_to_what_the_spec_asks_for() {
    let decision = asking("2Gi").decide();
    let all = [0, 1, 2].map(|index| format!("Apply PersistentVolumeClaim {}", member(index)));
    assert_eq!(effects(&decision), all);
    assert!(reports(&decision, Reason::VolumeGrowing));
}

#[test]
fn the_same_size_in_other_letters_changes_nothing() {
    assert_eq!(effects(&asking("1024Mi").decide()), [""; 0]);
}

#[test]
fn a_volume_does_not_shrink_and_that_is_said() {
    let decision = asking("512Mi").decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::AcceptedNotUsed));
}

#[test]
fn a_refused_growth_is_told_with_the_way_out_and_not_asked_for_in_each_pass() {
    let mut world = asking("2Gi").refused();
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let status = written(&decision).unwrap();
    let blocked = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "Blocked")
        .unwrap();
    assert_eq!(blocked.reason, "VolumeNotGrown");
    assert!(blocked.message.contains("allowVolumeExpansion"));
    // The next pass knows it from the status alone.
    world.status = status;
    world.snapshot.outcomes.clear();
    let mut world = world.settle();
    assert_eq!(world.decide().actions, []);
    // Another spec is another question.
    world.snapshot.resource.generation += 1;
    assert_eq!(effects(&world.decide()).len(), 3);
}
