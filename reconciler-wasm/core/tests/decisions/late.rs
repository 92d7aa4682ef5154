//! Requests of the cluster's birth that are carried out when it is over.

use contract::{Reason, names};

use crate::fixture::{World, effects, healthy, reports};

/// Its own pod is gone with the data; another one of the birth came in its place and founds the cluster anew, with the
/// same ids.
fn founded_anew(state: &str) -> World {
    let mut world = healthy(1).on_empty_dir();
    world.status.member_records[0].disk = Some("uid-of-before".to_owned());
    let state = state.to_owned();
    world.pods()[0]
        .annotations
        .insert(names::INITIAL_STATE_ANNOTATION.to_owned(), state);
    world.settle()
}

#[test]
fn a_pod_of_the_birth_that_comes_late_is_deleted_and_not_believed() {
    let decision = founded_anew("new").decide();
    assert_eq!(effects(&decision), ["Delete Pod shop-m0"]);
    assert!(reports(&decision, Reason::LatePod));
    assert!(reports(&decision, Reason::DataLost));
}

#[test]
fn a_late_pod_is_deleted_once() {
    let mut world = founded_anew("new");
    world.pods()[0].deleted = Some(world.snapshot.now);
    assert_eq!(effects(&world.decide()), [""; 0]);
}

#[test]
fn a_pod_that_can_only_join_is_no_late_one() {
    assert_eq!(effects(&founded_anew("existing").decide()), [""; 0]);
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
