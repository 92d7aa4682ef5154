//! What the status says of a cluster, and since when: what people and their tools wait for.

mod edited;

use contract::{Condition, ConditionStatus, Observed};
use serde_json::json;

use crate::fixture::{World, healthy, member, written};

/// Bytes.
const MIB: i64 = 1 << 20;

/// The condition after the next decision.
fn condition(world: &World, kind: &str) -> Condition {
    let mut conditions = world.clone().settle().status.conditions.into_iter();
    conditions.find(|one| one.kind == kind).unwrap()
}

/// Tools wait for their generation, and then believe what the conditions say.
#[test]
fn a_generation_is_answered_once_it_is_seen_also_where_it_cannot_be_followed() {
    for (key, value) in [("paused", json!(true)), ("version", json!(36))] {
        let mut world = healthy(3).spec(key, value);
        world.snapshot.resource.generation = 7;
        let status = written(&world.decide()).unwrap();
        assert_eq!(status.observed_generation, Some(7), "{key}");
    }
}

#[test]
fn a_learner_is_a_member_and_is_not_ready() {
    let status = written(&healthy(3).wanting(4).with_learner(3, true).decide()).unwrap();
    assert_eq!((status.size, status.ready_members), (4, 3));
    assert_eq!(status.members.unready, [member(3)]);
}

/// It may be the operator that is cut off: whose container runs and who is silent is not down.
#[test]
fn a_quorum_that_could_not_be_asked_is_unknown_and_not_lost() {
    let mut world = healthy(3).silent(1).silent(2).without_list();
    let available = |world: &World| condition(world, "Available").status;
    assert_eq!(available(&world), ConditionStatus::Unknown);
    for pod in world.pods() {
        pod.running = false;
    }
    assert_eq!(available(&world), ConditionStatus::False);
}

/// What was counted while it was healthy is not what is ready now.
#[test]
fn nobody_is_ready_once_the_quorum_is_lost() {
    let mut world = healthy(3);
    assert_eq!(world.status.ready_members, 3);
    world = world.silent(1).silent(2).without_list();
    for pod in &mut world.pods()[1..] {
        pod.running = false;
    }
    let status = written(&world.decide()).unwrap();
    assert_eq!((status.size, status.ready_members), (3, 0));
    assert!(status.members.ready.is_empty());
    assert_eq!(status.members.unready, [member(0), member(1), member(2)]);
    let mut conditions = status.conditions.iter();
    let available = conditions.find(|one| one.kind == "Available").unwrap();
    assert_eq!(available.status, ConditionStatus::False);
}

#[test]
fn a_condition_holds_since_it_turned_whatever_is_said_of_it_since() {
    let one = healthy(3).silent(1).settle();
    let two = one.clone().later(30).silent(2);
    let (first, second) = (condition(&one, "Degraded"), condition(&two, "Degraded"));
    assert_eq!(first.status, ConditionStatus::True);
    assert_ne!(first.message, second.message);
    assert_eq!(first.last_transition_time, second.last_transition_time);
    assert_ne!(first.last_update_time, second.last_update_time);
}

/// A status that followed them at each moment would never rest.
#[test]
fn sizes_and_lags_are_written_when_they_say_something_else() {
    let told = |db_size: i64, applied: u64| {
        let mut world = healthy(3).settle();
        let Observed::Seen(answer) = &mut world.snapshot.etcd.endpoints[1].status else {
            panic!("it answers");
        };
        answer.db_size = db_size;
        answer.raft_applied_index = applied;
        let record = written(&world.decide()).map(|status| status.member_records[1].clone());
        record.map(|record| (record.db_size, record.raft_lag))
    };
    assert_eq!(told(20_480, 1_000_000), None);
    assert_eq!(told(20_480, 999_001), None);
    assert_eq!(told(20_480 + MIB - 1, 1_000_000), None);
    assert_eq!(told(20_480 + MIB, 1_000_000), Some((Some(20_480 + MIB), 0)));
    assert_eq!(told(20_480, 990_000), Some((Some(20_480), 10_000)));
}

/// Whoever edits a status by hand may write what the envelope refuses; it must not stop all decisions while a member is away.
#[test]
fn counts_below_zero_do_not_stay_in_a_status() {
    let mut world = healthy(3).silent(1).settle();
    let record = &mut world.status.member_records[1];
    (record.recreations, record.raft_lag) = (-5, -7);
    let status = written(&world.decide()).unwrap();
    let record = &status.member_records[1];
    assert_eq!((record.recreations, record.raft_lag), (0, 0));
}
