//! A claim template changed on a living cluster: what grows, what is refused, what only new members get.

use contract::{Child, Decision, Effect, ObjectKind, Observed, OutcomeKind, PastOutcome, Reason};
use serde_json::json;

use crate::fixture::{UID, World, effects, healthy, member, reports, written};

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

fn retaining(mut world: World, when: &str) -> World {
    world.snapshot.resource.spec["pod"]["persistentVolumeClaimRetentionPolicy"] =
        json!({ "whenDeleted": when });
    world
}

/// The claims that a decision applies, as JSON.
fn claims(decision: &Decision) -> Vec<serde_json::Value> {
    let objects = decision.actions.iter().filter_map(|action| {
        let Effect::Apply { object } = &action.effect else {
            return None;
        };
        match &**object {
            Child::PersistentVolumeClaim(claim) => Some(serde_json::to_value(claim).unwrap()),
            _ => None,
        }
    });
    objects.collect()
}

#[test]
fn claims_that_are_to_stay_have_no_owner_that_takes_them_along() {
    let decision = retaining(healthy(3), "Retain").decide();
    let applied = claims(&decision);
    assert_eq!(applied.len(), 3);
    for claim in &applied {
        assert!(claim["metadata"]["ownerReferences"].is_null(), "{claim}");
        let annotations = &claim["metadata"]["annotations"];
        assert_eq!(annotations["etcd.database.coreos.com/owner"], json!(UID));
    }
    assert!(
        !reports(&decision, Reason::Reshaping),
        "no pod is made anew"
    );
    let mut kept = retaining(healthy(3), "Retain");
    if let Observed::Seen(volumes) = &mut kept.snapshot.objects.volumes {
        for volume in volumes {
            let owner = ("etcd.database.coreos.com/owner".to_owned(), UID.to_owned());
            volume.annotations = [owner].into();
        }
    }
    assert_eq!(effects(&kept.decide()), [""; 0]);
    let back = retaining(kept, "Delete").decide();
    assert_eq!(claims(&back).len(), 3);
    for claim in claims(&back) {
        assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], json!(UID));
    }
}

#[test]
fn a_claim_of_another_size_keeps_its_owner_and_that_is_said() {
    let world = healthy(3).spec(
        "pod",
        json!({ "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": "512Mi" } } } }),
    );
    let decision = retaining(world, "Retain").decide();
    assert_eq!(effects(&decision), [""; 0]);
    let said = decision.report.findings.iter().any(|finding| {
        finding.reason == Reason::AcceptedNotUsed
            && finding
                .message
                .contains("persistentVolumeClaimRetentionPolicy")
    });
    assert!(said, "{:?}", decision.report);
}
