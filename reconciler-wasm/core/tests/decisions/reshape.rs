//! A changed `spec.pod` on a living cluster: whose pod is made again next, who makes room for whom, what is waited for.

mod going;
mod stuck;

use contract::{Effect, Observed, Reason, names};
use serde_json::{Value, json};

use crate::fixture::{World, effects, healthy, id, member, reports};

/// A policy of pods on claims, with a label.
fn labelled(label: &str) -> Value {
    json!({
        "labels": { "team": label },
        "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": "1Gi" } } },
    })
}

impl World {
    /// All pods were made from today's spec.
    pub(crate) fn shaped(mut self) -> Self {
        let shape = self.shape();
        for pod in self.pods() {
            pod.annotations
                .insert(names::SHAPE_ANNOTATION.to_owned(), shape.clone());
        }
        self
    }

    /// The shape of a pod that is made now.
    fn shape(&self) -> String {
        let without = self.clone().without_pod(0);
        let made = without.decide();
        let shape = made.actions.iter().find_map(|action| match &action.effect {
            Effect::Apply { object } => object
                .metadata()
                .annotations
                .as_ref()?
                .get(names::SHAPE_ANNOTATION)
                .cloned(),
            _ => None,
        });
        shape.unwrap_or_else(|| panic!("no pod is made: {:?}", effects(&made)))
    }
}

fn changed(size: usize) -> World {
    healthy(size)
        .spec("pod", labelled("one"))
        .shaped()
        .spec("pod", labelled("two"))
        .settle()
}

#[test]
fn a_changed_policy_makes_one_followers_pod_again_on_its_disk() {
    let decision = changed(3).decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m1"]);
    assert!(reports(&decision, Reason::Reshaping));
    let pre = &decision
        .actions
        .iter()
        .find(|action| matches!(action.effect, Effect::Delete { .. }))
        .unwrap()
        .pre;
    assert_eq!(pre.touches, Some(id(1)));
    assert_eq!(pre.healthy_voters, Some(2));
}

#[test]
fn the_same_policy_makes_no_pod_again() {
    let decision = healthy(3).spec("pod", labelled("one")).shaped().settle();
    assert_eq!(effects(&decision.decide()), [""; 0]);
}

#[test]
fn what_shapes_no_pod_makes_none_again() {
    let mut policy = labelled("one");
    let world = healthy(3).spec("pod", policy.clone()).shaped();
    policy["busyboxImage"] = json!("busybox");
    let decision = world.spec("pod", policy).settle().decide();
    assert_eq!(effects(&decision), [""; 0]);
}

#[test]
fn pods_without_a_shape_are_left_as_they_are() {
    let decision = healthy(3).spec("pod", labelled("two")).settle().decide();
    assert_eq!(effects(&decision), [""; 0]);
}

#[test]
fn the_leader_hands_over_before_its_pod_is_made_again() {
    let mut world = changed(3);
    let shape = world.shape();
    for pod in world.pods().iter_mut().filter(|pod| pod.name != member(0)) {
        pod.annotations
            .insert(names::SHAPE_ANNOTATION.to_owned(), shape.clone());
    }
    assert_eq!(effects(&world.decide()), [format!("MoveLeader {}", id(1))]);
}

#[test]
fn a_sole_member_is_made_again_without_a_quorum_to_spare() {
    let decision = changed(1).decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m0"]);
    let delete = decision
        .actions
        .iter()
        .find(|action| matches!(action.effect, Effect::Delete { .. }));
    assert_eq!(delete.unwrap().pre.healthy_voters, Some(0));
}

#[test]
fn the_next_pod_waits_until_the_one_before_has_caught_up() {
    let mut world = changed(3);
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[2].status {
        status.raft_applied_index = 0;
    }
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[0].status {
        status.raft_index = 2_000_000;
    }
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::CatchingUp));
}

#[test]
fn nobody_is_touched_while_a_member_is_down() {
    let decision = changed(3).silent(2).settle().decide();
    assert_eq!(effects(&decision), [""; 0]);
}

#[test]
fn a_pod_that_a_wrong_policy_keeps_down_is_made_again_from_the_right_one() {
    let mut world = changed(3).silent(2);
    let pod = &mut world.pods()[2];
    pod.running = false;
    pod.ready = false;
    pod.unschedulable = Some("no node has the label".to_owned());
    assert_eq!(
        effects(&world.settle().decide()),
        ["Delete Pod shop-m2"],
        "it has nothing to lose"
    );
}

#[test]
fn with_data_in_the_pods_a_new_member_joins_before_an_old_one_leaves() {
    let world = || {
        healthy(3)
            .on_empty_dir()
            .shaped_in_pods()
            .spec("pod", json!({ "labels": { "team": "two" } }))
            .later(60)
            .settle()
    };
    let decision = world().decide();
    assert!(
        effects(&decision)[0].starts_with("AddLearner shop-"),
        "{:?}",
        effects(&decision)
    );
}

#[test]
fn claims_asked_for_later_move_data_out_of_the_pods() {
    let decision = healthy(3)
        .on_empty_dir()
        .shaped_in_pods()
        .spec("pod", labelled("one"))
        .later(60)
        .settle()
        .decide();
    assert!(
        effects(&decision)[0].starts_with("AddLearner shop-"),
        "{:?}",
        effects(&decision)
    );
}

impl World {
    /// As [`Self::shaped`], where no pod can be made again on its disk.
    pub(crate) fn shaped_in_pods(mut self) -> Self {
        let policy = self.snapshot.resource.spec["pod"].clone();
        let shape = healthy(3).spec("pod", policy).shape();
        for pod in self.pods() {
            pod.annotations
                .insert(names::SHAPE_ANNOTATION.to_owned(), shape.clone());
        }
        self
    }
}
