//! Snapshots that other operators of etcd answered wrongly, as far as no other file here has them.
//!
//! Each is named after the mistake.

use contract::{ConditionStatus, Effect, LastExit, Observed, Reason};

use crate::fixture::{World, effects, healthy, id, member, reports, written};

impl World {
    /// The learner's process ended with these words and is not running.
    fn ending_with(mut self, index: usize, words: &str) -> Self {
        self = self.silent(index);
        let name = member(index);
        let pods = self.pods();
        let pod = pods.iter_mut().find(|pod| pod.name == name).unwrap();
        pod.running = false;
        pod.ready = false;
        pod.last_exit = Some(LastExit {
            reason: "Error".to_owned(),
            code: 1,
            message: words.to_owned(),
            at: None,
        });
        self
    }
}

/// One wiped its seed and computed anew how a cluster is begun.
#[test]
fn a_seed_whose_disk_was_exchanged_is_never_begun_anew() {
    let mut world = healthy(1).settle().without_pod(0);
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        volumes[0].uid = "an-empty-one".to_owned();
    }
    let world = world.without_list();
    for seconds in [0, 60, 3_600] {
        let decision = world.clone().later(seconds).decide();
        let written = serde_json::to_string(&decision.actions).unwrap();
        assert!(!written.contains("\"new\""), "{written}");
        assert!(
            reports(&decision, Reason::DataLost),
            "{:?}",
            decision.report
        );
    }
}

/// One started a learner with yesterday's list again and again.
#[test]
fn a_learner_with_a_stale_list_makes_room_for_one_with_todays() {
    let mut world = healthy(3)
        .wanting(5)
        .with_learner(3, true)
        .ending_with(3, "error validating peerURLs: member count is unequal");
    world.rows()[3].name = String::new();
    let world = world.settle();
    let removal = format!("RemoveMember {}", id(3));
    assert!(!effects(&world.decide()).contains(&removal));
    let decision = world.later(200).decide();
    assert!(
        effects(&decision).contains(&removal),
        "{:?}",
        effects(&decision)
    );
    assert!(reports(&decision, Reason::LearnerStuck));
}

/// One waited for ever behind a learner that nobody reached, because etcd takes one at a time.
#[test]
fn a_wedged_learner_is_taken_out_when_its_time_is_over() {
    let world = healthy(3)
        .wanting(5)
        .with_learner(3, true)
        .silent(3)
        .settle();
    let removal = format!("RemoveMember {}", id(3));
    assert!(!effects(&world.clone().later(100).decide()).contains(&removal));
    assert!(effects(&world.later(200).decide()).contains(&removal));
}

/// One took "not ready" for a failure.
#[test]
fn a_learner_behind_the_leader_is_waited_for() {
    let mut world = healthy(3).wanting(5).with_learner(3, true);
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[3].status {
        status.raft_index = 1_000;
        status.raft_applied_index = 1_000;
    }
    let decision = world.decide();
    assert!(reports(&decision, Reason::LearnerCatchingUp));
    let promotes = effects(&decision)
        .iter()
        .any(|effect| effect.starts_with("Promote"));
    assert!(!promotes);
}

/// One added a second voter to a sole one, and lost the quorum while it started.
#[test]
fn a_second_member_has_no_vote_before_it_has_the_data() {
    let decision = healthy(1).wanting(3).decide();
    let adds = decision
        .actions
        .iter()
        .filter(|action| matches!(action.effect, Effect::AddLearner { .. }));
    assert_eq!(adds.count(), 1, "{:?}", effects(&decision));
}

/// One took a healthy member out beside a sick one.
#[test]
fn on_the_way_to_fewer_members_the_sick_one_leaves_first() {
    let world = healthy(5).wanting(3).silent(2).settle();
    assert_eq!(effects(&world.decide()), [""; 0]);
    let decision = world.later(3_600).decide();
    let removed: Vec<_> = effects(&decision)
        .into_iter()
        .filter(|effect| effect.starts_with("RemoveMember"))
        .collect();
    assert_eq!(removed, [format!("RemoveMember {}", id(2))]);
}

/// One went on adding members for a size that was no longer asked for.
#[test]
fn a_size_edited_in_mid_flight_undoes_what_is_under_way_first() {
    let decision = healthy(3).wanting(1).with_learner(3, true).decide();
    let changes: Vec<_> = effects(&decision)
        .into_iter()
        .filter(|effect| effect.contains("Member") || effect.contains("Learner"))
        .collect();
    assert_eq!(changes, [format!("RemoveMember {}", id(3))]);
}

/// One paired members with statuses by their place in two lists.
#[test]
fn members_and_statuses_are_paired_by_id() {
    let mut world = healthy(3);
    world.rows().reverse();
    world.snapshot.etcd.endpoints.rotate_left(1);
    assert_eq!(world.decide().actions, []);
    let one_down = world.silent(0).decide();
    let status = written(&one_down).unwrap();
    assert_eq!(status.members.unready, [member(0)]);
}

/// One counted whoever gave no answer as healthy.
#[test]
fn a_member_without_a_status_is_not_healthy() {
    let mut world = healthy(3);
    world.snapshot.etcd.endpoints.remove(1);
    let status = written(&world.decide()).unwrap();
    assert_eq!(status.ready_members, 2);
    let degraded = status.conditions.iter().find(|one| one.kind == "Degraded");
    assert_eq!(degraded.unwrap().status, ConditionStatus::True);
}

/// One left a budget of five standing over three.
#[test]
fn a_budget_of_before_is_brought_in_line() {
    for stale in ["1", "3"] {
        let mut world = healthy(3);
        if let Observed::Seen(budgets) = &mut world.snapshot.objects.disruption_budgets {
            budgets[0].min_available = Some(stale.to_owned());
        }
        let decision = world.decide();
        assert_eq!(
            effects(&decision),
            ["Apply PodDisruptionBudget shop"],
            "{stale}"
        );
    }
}
