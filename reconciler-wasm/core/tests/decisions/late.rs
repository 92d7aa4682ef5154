//! Requests of the cluster's birth that are carried out when it is over.

use contract::{Decision, Effect, Observed, Reason, Service, names};

use crate::fixture::{World, effects, healthy, member, reports};

/// Its own pod is gone with the data; another one of the birth came in its place and is about to found the cluster anew,
/// with the same ids.
fn comes_late(state: &str) -> World {
    let mut world = healthy(1).on_empty_dir().without_list();
    world.status.member_records[0].disk = Some("uid-of-before".to_owned());
    let state = state.to_owned();
    world.pods()[0]
        .annotations
        .insert(names::INITIAL_STATE_ANNOTATION.to_owned(), state);
    world.settle()
}

#[test]
fn a_pod_of_the_birth_that_comes_late_is_deleted_and_not_believed() {
    let decision = comes_late("new").decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m0"]);
    assert!(reports(&decision, Reason::LatePod));
    assert!(reports(&decision, Reason::DataLost));
    let mut of_three = healthy(3).on_empty_dir();
    of_three.status.member_records[0].disk = Some("uid-of-before".to_owned());
    let state = "new".to_owned();
    let annotations = &mut of_three.pods()[0].annotations;
    annotations.insert(names::INITIAL_STATE_ANNOTATION.to_owned(), state);
    let decision = of_three.settle().decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m0"]);
}

/// It founded a cluster of itself: with the ids of the one that has grown since, and without those who joined it.
#[test]
fn who_is_not_in_the_list_of_a_pod_that_came_late_is_kept() {
    let mut world = healthy(2).on_empty_dir();
    world.status.member_records[0].disk = Some("uid-of-before".to_owned());
    world.rows().truncate(1);
    let state = "new".to_owned();
    let annotations = &mut world.pods()[0].annotations;
    annotations.insert(names::INITIAL_STATE_ANNOTATION.to_owned(), state);
    let late = world.settle();
    assert_eq!(effects(&late.decide()), ["Delete Pod shop-m0"]);
}

/// Found by the simulator: what clients wrote while the operator's caches stood still, or the cluster was paused, is in
/// that pod alone.
#[test]
fn the_only_member_that_founded_the_cluster_anew_and_serves_is_kept() {
    let mut world = comes_late("new");
    world.snapshot.etcd = healthy(1).snapshot.etcd;
    let decision = world.decide();
    assert_eq!(effects(&decision), ["AnnotatePod Pod shop-m0"]);
    assert!(!reports(&decision, Reason::LatePod));
    let tells = |decision: &Decision| {
        let mut actions = decision.actions.iter();
        actions.any(
            |action| matches!(&action.effect, Effect::Event { reason, .. } if reason == "DataLost"),
        )
    };
    assert!(tells(&decision));
    // Its status is kept up to date while it is paused; what that tells is told then or never.
    let paused = world.clone().spec("paused", true.into());
    assert!(tells(&paused.decide()));
    world.status.member_records[0].disk = Some(world.pods()[0].uid.clone());
    assert!(!tells(&world.settle().decide()));
}

#[test]
fn a_late_pod_is_deleted_once() {
    let mut world = comes_late("new");
    world.pods()[0].deleted = Some(world.snapshot.now);
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let mut findings = decision.report.findings.iter();
    let late = findings.find(|finding| finding.reason == Reason::LatePod);
    assert!(late.unwrap().message.contains("--force"));
}

#[test]
fn a_pod_that_can_only_join_is_no_late_one() {
    assert_eq!(effects(&comes_late("existing").decide()), [""; 0]);
}

/// Found by the simulator: on its claim such a pod founds the cluster anew if the disk is emptied before it starts.
#[test]
fn a_pod_of_the_birth_that_comes_late_on_a_claim_is_deleted_before_it_runs() {
    let late = |ran: bool, remembered: bool| {
        let mut world = healthy(3);
        let pod = &mut world.pods()[0];
        (pod.ran, pod.running) = (ran, ran);
        pod.annotations
            .insert(names::INITIAL_STATE_ANNOTATION.to_owned(), "new".to_owned());
        if !remembered {
            world.status.member_records[0].disk = None;
        }
        world.silent(0).settle().decide()
    };
    assert_eq!(effects(&late(false, true)), ["Delete Pod shop-m0"]);
    assert!(!reports(&late(true, true), Reason::LatePod));
    assert!(!reports(&late(false, false), Reason::LatePod));
}

type Services = Observed<Vec<Service>>;

/// Found by the simulator: in a cluster of three that was paused before its last member was sealed, that member's disk was
/// emptied while nobody else could be asked. With a second one it elected itself, without what the third one held.
#[test]
fn nobody_is_started_beside_a_member_that_founded_the_cluster_anew() {
    let emptied = |state: &str, services: fn(&World) -> Services| {
        let mut world = healthy(3).without_list().without_pod(0);
        let pod = world.pods().iter_mut().find(|pod| pod.name == member(2));
        let pod = pod.unwrap();
        pod.last_exit = Some(contract::LastExit {
            reason: "Error".to_owned(),
            code: 1,
            message: "member 2a1b has already been bootstrapped".to_owned(),
            at: None,
        });
        let state = state.to_owned();
        pod.annotations
            .insert(names::INITIAL_STATE_ANNOTATION.to_owned(), state);
        let mut world = world.settle();
        world.snapshot.objects.services = services(&world);
        world.decide()
    };
    let as_they_are = |world: &World| world.snapshot.objects.services.clone();
    let held = emptied("new", as_they_are);
    assert_eq!(effects(&held), [""; 0]);
    assert!(reports(&held, Reason::DiskLost));
    let unread = emptied("new", |_| Observed::Unknown("timed out".to_owned()));
    assert_eq!(effects(&unread), [""; 0]);
    assert_eq!(
        effects(&emptied("existing", as_they_are)),
        ["Apply Pod shop-m0"]
    );
    // Found by the simulator: before clients are told of it nothing was written that could be lacking.
    let without_clients = emptied("new", |world| {
        let services = world.snapshot.objects.services.seen().unwrap();
        let others = services.iter().filter(|one| one.name != "shop-client");
        Observed::Seen(others.cloned().collect())
    });
    assert_eq!(effects(&without_clients), ["Apply Pod shop-m0"]);
}
