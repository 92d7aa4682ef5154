//! A changed `spec.pod` that makes no pod: refused by the API server, or by the kubelet of the first member that gets it.

use contract::{Decision, OutcomeKind, PastOutcome, SUCCESSOR_REFUSED};

use super::*;
use crate::fixture::written;

/// The last word of the API server on a dry run.
const REFUSAL: &str = "Pod \"shop-m1-x\" is invalid: spec.tolerations[0].operator: Invalid value";

fn said(decision: &Decision, reason: Reason) -> String {
    let mut findings = decision.report.findings.iter();
    findings
        .find(|finding| finding.reason == reason)
        .unwrap_or_else(|| panic!("{reason:?} is not among {:?}", decision.report.findings))
        .message
        .clone()
}

/// The roll has made the pod of `index` anew, and it is down.
fn half_way(index: usize) -> World {
    let mut world = changed(3).silent(index);
    let shape = world.shape();
    let pod = &mut world.pods()[index];
    pod.annotations
        .insert(names::SHAPE_ANNOTATION.to_owned(), shape);
    pod.running = false;
    pod.ready = false;
    world
}

#[test]
fn a_healthy_members_pod_goes_only_where_the_next_one_would_be_taken() {
    let decision = changed(3).decide();
    let mut actions = decision.actions.iter();
    let delete = actions
        .find(|action| matches!(action.effect, Effect::Delete { .. }))
        .expect("a deletion");
    let pod = delete.pre.successor.as_ref().expect("a successor");
    assert_eq!(pod.metadata.name.as_deref(), Some("shop-m1"));
    let labels = pod.metadata.labels.as_ref().expect("labels");
    assert_eq!(labels.get("team").map(String::as_str), Some("two"));
}

#[test]
fn a_pod_that_the_api_server_would_not_create_is_told_and_asked_about_again() {
    let mut world = changed(3);
    world.snapshot.outcomes = vec![PastOutcome {
        effect: "Delete".to_owned(),
        kind: Some(contract::ObjectKind::Pod),
        target: "shop-m1".to_owned(),
        outcome: OutcomeKind::Failed,
        message: format!("{SUCCESSOR_REFUSED} ({REFUSAL})"),
    }];
    let decision = world.decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m1"]);
    let words = said(&decision, Reason::ReshapeStuck);
    assert!(words.contains("spec.tolerations[0].operator"), "{words}");
    assert!(!reports(&decision, Reason::Reshaping));
    assert!(!reports(&decision, Reason::ActionFailed));
    let status = written(&decision).expect("a status");
    let blocked = |kind: &str| {
        let mut conditions = status.conditions.iter();
        conditions
            .find(|condition| condition.kind == kind)
            .map(|condition| condition.reason.clone())
    };
    assert_eq!(blocked("Blocked").as_deref(), Some("ReshapeStuck"));
    // What the old policy makes is there already.
    let back = world.spec("pod", labelled("one")).decide();
    assert_eq!(effects(&back), [""; 0]);
    assert!(!reports(&back, Reason::ReshapeStuck));
}

/// A new member would get the same pod; its disk was given up after five minutes all the same.
#[test]
fn a_member_that_a_wrong_policy_keeps_down_keeps_its_disk() {
    for (waiting, unschedulable, reason) in [
        (
            Some("CreateContainerConfigError: secret \"none\" not found"),
            None,
            Reason::ReshapeStuck,
        ),
        (Some("CrashLoopBackOff: x"), None, Reason::ReshapeStuck),
        (
            None,
            Some("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."),
            Reason::Unschedulable,
        ),
    ] {
        let mut world = half_way(1);
        let pod = &mut world.pods()[1];
        pod.waiting = waiting.map(str::to_owned);
        pod.unschedulable = unschedulable.map(str::to_owned);
        let decision = world.settle().later(3_600).decide();
        assert_eq!(effects(&decision), [""; 0], "{waiting:?}");
        let words = said(&decision, reason);
        assert!(words.contains("set it back"), "{words}");
    }
}

#[test]
fn a_member_that_a_wrong_policy_keeps_down_is_made_again_from_the_old_one() {
    let mut world = half_way(1);
    world.pods()[1].waiting = Some("CreateContainerConfigError: x".to_owned());
    let world = world.settle().later(3_600).spec("pod", labelled("one"));
    assert_eq!(effects(&world.decide()), ["Delete Pod shop-m1"]);
}

/// Others run with that pod, or the disk is on a node that is gone or goes itself: the policy is not what keeps it down.
#[test]
fn a_member_whose_pod_others_run_with_or_whose_node_is_gone_is_replaced() {
    let mut proven = half_way(1);
    let shape = proven.shape();
    proven.pods()[2]
        .annotations
        .insert(names::SHAPE_ANNOTATION.to_owned(), shape);
    let mut tied = half_way(1);
    tied.pods()[1].unschedulable = Some(
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't match PersistentVolume's node \
         affinity."
            .to_owned(),
    );
    let mut condemned = half_way(1);
    condemned.pods()[1].unschedulable =
        Some("persistentvolumeclaim \"shop-m1\" is being deleted".to_owned());
    if let contract::Observed::Seen(claims) = &mut condemned.snapshot.objects.volumes {
        claims[1].deleted = Some(claims[1].created);
    }
    for world in [proven, tied, condemned] {
        let decision = world.settle().later(3_600).decide();
        assert_eq!(effects(&decision)[0], format!("RemoveMember {}", id(1)));
    }
}

/// Found by the simulator: the pod came late, onto a claim that was gone by then, and was to be made again on it.
#[test]
fn a_pod_without_its_claim_is_not_made_again_for_a_changed_spec() {
    let down = |world: World| {
        let mut world = world.silent(1);
        world.pods()[1].running = false;
        world
    };
    let with_claim = effects(&down(changed(3)).decide());
    assert_eq!(with_claim, ["Delete Pod shop-m1"]);
    let without = down(changed(3).without_volume(1)).settle().later(400);
    let first = effects(&without.decide()).first().cloned();
    assert_eq!(first, Some(format!("RemoveMember {}", id(1))));
}
