//! Learners that name a leader and do not hear of it.

use contract::{LEARNER_UNHEARD, MemberHealth, Observed, OutcomeKind, PastOutcome, Reason};

use crate::fixture::{World, effects, healthy, id, reports};

/// A cluster of three with a learner that names its leader.
fn growing() -> World {
    healthy(3).wanting(5).with_learner(3, true).settle()
}

/// The same, when its vote was asked for and the host saw that its leader does not reach it.
fn unheard(world: World) -> World {
    let mut world = world;
    world.snapshot.outcomes = vec![PastOutcome {
        effect: "Promote".to_owned(),
        kind: None,
        target: id(3).to_string(),
        outcome: OutcomeKind::Failed,
        message: format!("{LEARNER_UNHEARD} within 3s"),
    }];
    world
}

fn behind(world: World) -> World {
    let mut world = world;
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[3].status {
        status.raft_index = 1_000;
    }
    world
}

fn removal() -> String {
    format!("RemoveMember {}", id(3))
}

/// etcd promotes by what the leader once heard of a learner, and from one voter to two that would cost the quorum.
#[test]
fn a_learner_that_its_leader_does_not_reach_is_told_and_tried_again() {
    let decision = unheard(growing().later(60)).decide();
    assert!(effects(&decision).contains(&format!("Promote {}", id(3))));
    let mut told = decision.report.findings.iter();
    let told = told.any(|finding| {
        finding.reason == Reason::LearnerCatchingUp
            && finding.message.contains("receives nothing from it")
            && finding.message.contains("network policy")
    });
    assert!(told, "{:?}", decision.report);
    assert!(!reports(&decision, Reason::ScalingUp));
    assert!(!reports(&decision, Reason::ActionFailed));
    assert_eq!(decision.requeue.map(|requeue| requeue.after.0), Some(2_000));
}

#[test]
fn a_learner_that_its_leader_does_not_reach_makes_room_when_its_time_is_over() {
    let heard = growing().later(200).decide();
    assert!(!effects(&heard).contains(&removal()));
    let decision = unheard(growing().later(200)).decide();
    assert!(effects(&decision).contains(&removal()));
    assert!(reports(&decision, Reason::LearnerStuck));
}

/// It would hold up every other change of members for ever.
#[test]
fn a_learner_that_never_gets_the_log_makes_room_after_half_an_hour() {
    let early = behind(growing().later(1_700)).decide();
    assert!(!effects(&early).contains(&removal()));
    assert!(reports(&early, Reason::LearnerCatchingUp));
    let late = behind(growing().later(1_900)).decide();
    assert!(effects(&late).contains(&removal()));
    let caught_up = growing().later(1_900).decide();
    assert!(!effects(&caught_up).contains(&removal()));
}

/// etcd commits no removal without them, and the envelope would refuse it again and again.
#[test]
fn nobody_is_taken_out_while_too_few_voters_answer() {
    let world = growing().wanting(3).silent(1).silent(2);
    let decision = world.decide();
    assert!(!effects(&decision).contains(&removal()));
    let mut told = decision.report.findings.iter();
    let told = told.any(|finding| finding.message.contains("1 of 3 do"));
    assert!(told, "{:?}", decision.report);
}

/// A voter that was promoted while it was cut off says of itself that it is a learner, and has a vote that nobody gets.
#[test]
fn a_voter_that_takes_itself_for_a_learner_is_not_healthy() {
    let mut world = healthy(3);
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[2].status {
        status.learner = true;
    }
    let status = world.settle().status;
    let healths: Vec<_> = status
        .member_records
        .iter()
        .map(|record| record.health)
        .collect();
    let (healthy, unhealthy) = (MemberHealth::Healthy, MemberHealth::Unhealthy);
    assert_eq!(healths, [healthy, healthy, unhealthy]);
}
