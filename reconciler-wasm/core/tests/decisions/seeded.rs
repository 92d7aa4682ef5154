//! Cases that defects were seeded for: each is of the moment in which one missing guard alone would do harm.

use contract::{
    Birth, Decision, Effect, MemberHealth, Observed, Phase, Reason, VolumePhase, names,
};

use crate::fixture::{World, effects, healthy, id, member, reports, written};

/// The cluster of `healthy` before it was recorded: those members are planned.
fn unrecorded(mut world: World, planned: Vec<String>) -> World {
    world.status.cluster_id = None;
    world.status.phase = Phase::Creating;
    world.status.birth = Some(Birth {
        token: "t".to_owned(),
        members: planned,
        image: "quay.io/coreos/etcd:v3.6.16".to_owned(),
        started_at: "2026-11-18T11:06:00Z".to_owned(),
        attempt: 1,
    });
    world
}

fn recorded_id(decision: &Decision) -> Option<contract::ClusterId> {
    written(decision).and_then(|status| status.cluster_id)
}

fn never_ran(world: &mut World, index: usize) {
    let pod = &mut world.pods()[index];
    pod.running = false;
    pod.ready = false;
    let state = names::INITIAL_STATE_ANNOTATION.to_owned();
    pod.annotations.insert(state, "new".to_owned());
}

#[test]
fn a_recorded_cluster_of_which_nothing_stands_is_not_born_again() {
    let mut world = healthy(1).without_pod(0).without_volume(0).without_list();
    world.status.phase = Phase::None;
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::DataLost));
}

#[test]
fn a_birth_is_not_started_over_while_one_member_follows_a_leader() {
    let planned = (0..3).map(member).collect();
    let mut world = unrecorded(healthy(3).silent(1).silent(2), planned);
    world.snapshot.etcd.membership = Observed::Unknown("deadline exceeded".to_owned());
    never_ran(&mut world, 1);
    never_ran(&mut world, 2);
    let decision = world.later(4_000).decide();
    assert!(!reports(&decision, Reason::BirthRestarted));
    assert!(reports(&decision, Reason::Forming));
}

#[test]
fn a_cluster_is_recorded_when_a_quorum_of_the_planned_members_answers() {
    let planned: Vec<String> = (0..3).map(member).collect();
    let formed = unrecorded(healthy(3).silent(2), planned.clone());
    assert!(recorded_id(&formed.decide()).is_some());
    let one_answers = unrecorded(healthy(3).silent(1).silent(2), planned);
    assert_eq!(recorded_id(&one_answers.decide()), None);
    // An earlier attempt's members are none of the plan.
    let others = (5..8).map(member).collect();
    assert_eq!(recorded_id(&unrecorded(healthy(3), others).decide()), None);
}

#[test]
fn clients_are_not_told_while_a_minority_is_sealed() {
    let mut world = healthy(3).silent(1).silent(2);
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.truncate(1);
    }
    never_ran(&mut world, 1);
    never_ran(&mut world, 2);
    let told = "Apply Service shop-client".to_owned();
    assert!(!effects(&world.decide()).contains(&told));
}

#[test]
fn a_member_that_follows_no_leader_is_not_healthy() {
    let mut world = healthy(3);
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[2].status {
        status.leader = None;
    }
    let status = written(&world.decide()).unwrap();
    assert_eq!(status.member_records[2].health, MemberHealth::Unhealthy);
}

#[test]
fn a_volume_whose_disk_is_lost_is_a_lost_disk() {
    let mut world = healthy(3).silent(2);
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        volumes[2].phase = VolumePhase::Lost;
    }
    let decision = world.decide();
    assert!(reports(&decision, Reason::DiskLost));
    assert_eq!(effects(&decision)[0], format!("RemoveMember {}", id(2)));
}

#[test]
fn a_promotion_asks_for_the_quorum_that_counts_the_new_vote() {
    let decision = healthy(3).wanting(5).with_learner(3, true).decide();
    let promotion = decision
        .actions
        .iter()
        .find(|action| matches!(action.effect, Effect::Promote { .. }))
        .unwrap();
    assert_eq!(promotion.pre.healthy_voters, Some(3));
}

#[test]
fn a_lost_voter_whose_removal_leaves_too_few_stays() {
    // Of two voters one has no disk: the other one alone cannot agree on anything.
    let world = healthy(4).wiped(2).wiped(3);
    let decision = world.decide();
    let removals = effects(&decision);
    assert!(
        !removals
            .iter()
            .any(|effect| effect.starts_with("RemoveMember")),
        "{removals:?}"
    );
}

#[test]
fn a_pod_is_made_again_three_times_before_its_member_is_replaced() {
    let mut world = healthy(3).silent(2).settle();
    world.status.member_records[2].recreations = 2;
    let third = world.clone().later(200).decide();
    assert_eq!(effects(&third), ["Delete Pod shop-m2"]);
    world.status.member_records[2].recreations = 3;
    assert_eq!(effects(&world.later(200).decide()), [""; 0]);
}

/// It was deleted again before it could start, three times within a second.
#[test]
fn a_pod_that_was_made_again_has_its_time_to_start() {
    let mut world = healthy(3).silent(2).settle().later(100);
    let now = world.snapshot.now;
    world.pods()[2].created = now;
    assert_eq!(effects(&world.clone().later(60).decide()), [""; 0]);
    assert_eq!(effects(&world.later(155).decide()), ["Delete Pod shop-m2"]);
}

/// etcd refuses to start a member whose list is not the cluster's.
#[test]
fn a_member_joins_with_the_whole_list_of_members() {
    let mut world = healthy(3).wanting(4).with_learner(3, false).later(60);
    world.pods().retain(|pod| pod.name != member(3));
    let decision = serde_json::to_string(&world.decide()).unwrap();
    let entry = |index: usize| format!("{0}=http://{0}.shop.prod.svc:2380", member(index));
    let whole: Vec<String> = (0..4).map(entry).collect();
    assert!(decision.contains(&whole.join(",")), "{decision}");
}

/// Its data would go with the pod.
#[test]
fn a_pod_that_holds_its_members_data_is_not_deleted_to_bring_it_back() {
    let down = |base: World| {
        let mut world = base.silent(1).settle();
        world.pods()[1].running = true;
        effects(&world.later(200).decide())
    };
    assert_eq!(down(healthy(3)), ["Delete Pod shop-m1"]);
    assert_eq!(down(healthy(3).on_empty_dir()), [""; 0]);
}

/// On another disk than the one it is remembered on, a sealed member ends as soon as it starts.
#[test]
fn no_pod_is_made_for_a_member_whose_disk_was_exchanged() {
    let gone = |disk: Option<&str>| {
        let mut world = healthy(3).without_pod(1).without_list();
        if let Some(disk) = disk {
            world.status.member_records[1].disk = Some(disk.to_owned());
        }
        effects(&world.decide())
    };
    assert_eq!(gone(None), ["Apply Pod shop-m1"]);
    assert_eq!(gone(Some("uid-of-before")), [""; 0]);
}
