//! Snapshots that other operators of etcd answered wrongly, as far as no other file here has them.
//!
//! Each is named after the mistake.

use contract::{ConditionStatus, Effect, LastExit, Observed, Reason};
use serde_json::json;

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

/// Seen on real nodes: nobody writes, and a member that got its data as a snapshot serves only after the next entry.
#[test]
fn a_learner_that_runs_in_silence_is_given_an_entry_that_changes_nothing() {
    let world = healthy(3)
        .wanting(5)
        .with_learner(3, true)
        .silent(3)
        .settle();
    let noop = "AppendNoop ".to_owned();
    assert!(!effects(&world.clone().later(20).decide()).contains(&noop));
    let decision = world.clone().later(40).decide();
    assert!(effects(&decision).contains(&noop));
    assert!(reports(&decision, Reason::LearnerCatchingUp));
    let mut down = world.clone().later(40);
    down.pods()[3].running = false;
    assert!(!effects(&down.decide()).contains(&noop));
    let without_quorum = world.silent(1).silent(2).later(40);
    assert!(!effects(&without_quorum.decide()).contains(&noop));
}

/// Found by the simulator: of five two answered, and a third voted and waited for an entry. Nobody could be replaced.
#[test]
fn a_voter_that_makes_the_quorum_in_silence_is_given_an_entry() {
    let noop = "AppendNoop ".to_owned();
    let world = healthy(5).silent(2).silent(3).silent(4).settle();
    let early = world.clone().later(20).decide();
    assert!(!effects(&early).contains(&noop));
    let given = effects(&world.clone().later(40).decide());
    assert_eq!(given.iter().filter(|effect| **effect == noop).count(), 1);
    let mut down = world.clone().later(40);
    for index in 2..5 {
        down.pods()[index].running = false;
    }
    assert!(!effects(&down.decide()).contains(&noop));
    let unconfirmed = world.without_list().later(40).decide();
    assert!(!effects(&unconfirmed).contains(&noop));
    let with_quorum = healthy(5).silent(3).silent(4).settle().later(40);
    assert!(!effects(&with_quorum.decide()).contains(&noop));
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

/// One knew how to repair every member but the first.
#[test]
fn the_first_member_is_repaired_like_any_other() {
    let repair = |lost: usize| {
        let mut world = healthy(3).without_pod(lost).without_volume(lost);
        for endpoint in &mut world.snapshot.etcd.endpoints {
            if let Observed::Seen(status) = &mut endpoint.status {
                status.leader = Some(id((lost + 1) % 3));
            }
        }
        let effects = effects(&world.settle().decide());
        let told = effects.join(", ").replace(&id(lost).to_string(), "ID");
        told.replace(&member(lost), "NAME")
    };
    assert!(repair(0).starts_with("RemoveMember ID"), "{}", repair(0));
    assert_eq!(repair(0), repair(1));
    assert_eq!(repair(0), repair(2));
}

/// One healed and scaled while two clusters answered behind one Service.
#[test]
fn a_member_of_another_cluster_is_replaced_once_its_time_is_over_and_nothing_else_moves() {
    let mut world = healthy(3).wanting(5);
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[2].status {
        status.cluster_id = contract::ClusterId(7);
    }
    let world = world.settle();
    let changes = |world: &World| {
        let all = effects(&world.decide()).into_iter();
        all.filter(|effect| effect.contains("Member") || effect.contains("Learner"))
            .collect::<Vec<_>>()
    };
    assert_eq!(changes(&world), [""; 0]);
    let later = world.later(3_600);
    assert_eq!(changes(&later), [format!("RemoveMember {}", id(2))]);
    assert_eq!(
        changes(&later.silent(1)),
        [""; 0],
        "the recorded side has no quorum"
    );
}

/// One asked members in random order and took out whoever came first.
#[test]
fn who_leaves_is_the_same_whoever_answers_first() {
    let expected = effects(&healthy(5).wanting(3).decide());
    for turn in 1..5 {
        let mut world = healthy(5).wanting(3);
        world.rows().rotate_left(turn);
        world.snapshot.etcd.endpoints.rotate_right(turn);
        world.pods().rotate_left(turn);
        assert_eq!(effects(&world.decide()), expected, "{turn}");
    }
}

/// One sorted the tenth member before the second.
#[test]
fn the_youngest_member_leaves_however_names_and_versions_sort() {
    let mut world = healthy(5).wanting(3);
    world.pods()[1].created.0 += 1_000;
    let removal = format!("RemoveMember {}", id(1));
    assert_eq!(effects(&world.decide())[0], removal);
    let mut world = healthy(3).spec("version", json!("3.6.16"));
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.version = "3.6.9".to_owned();
        }
    }
    for pod in world.pods() {
        pod.image = "quay.io/coreos/etcd:v3.6.9".to_owned();
    }
    let effects = effects(&world.settle().decide());
    assert_eq!(effects, ["SetImage Pod shop-m1"], "16 comes after 9");
}

/// One removed a member by what it had seen before another one was lost.
#[test]
fn a_removal_relies_on_the_quorum_that_it_leaves() {
    let decision = healthy(5).wanting(3).decide();
    let removal = decision
        .actions
        .iter()
        .find(|action| matches!(action.effect, Effect::RemoveMember { .. }));
    let pre = &removal.unwrap().pre;
    assert_eq!(pre.healthy_voters, Some(3), "of the four that stay");
    assert!(pre.members.is_some() && pre.cluster_id.is_some());
    let moved = healthy(5).wanting(3).silent(1).silent(2).settle();
    assert_eq!(effects(&moved.decide()), [""; 0]);
    let next = effects(&moved.later(3_600).decide());
    assert_eq!(
        next[0],
        format!("RemoveMember {}", id(1)),
        "who is healthy stays"
    );
}
