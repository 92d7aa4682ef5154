//! The alarm for lack of space: what is given up, in which order, and when it is over.

use contract::{
    Alarm, AlarmKind, EndpointStatus, FindingKind, Observed, OutcomeKind, PastOutcome, Reason,
};
use serde_json::json;

use crate::fixture::{World, effects, healthy, id, member, reports, written};

const QUOTA: i64 = 1_000_000;

/// A healthy cluster with the alarm; every file uses 98 % of the quota and needs `in_use` percent of it.
fn full(size: usize, in_use: i64) -> World {
    let mut world = healthy(size).alarmed();
    for index in 0..size {
        world = world.using(index, 98, in_use);
    }
    world
}

impl World {
    fn alarmed(mut self) -> Self {
        self.snapshot.etcd.alarms = Observed::Seen(vec![Alarm {
            member: Some(id(1)),
            kind: AlarmKind::Nospace,
        }]);
        self
    }

    fn member_status(&mut self, index: usize) -> &mut EndpointStatus {
        match &mut self.snapshot.etcd.endpoints[index].status {
            Observed::Seen(status) => status,
            Observed::Absent | Observed::Unknown(_) => panic!("member {index} is silent"),
        }
    }

    fn using(mut self, index: usize, percent: i64, in_use: i64) -> Self {
        let status = self.member_status(index);
        status.quota = Some(QUOTA);
        status.db_size = QUOTA / 100 * percent;
        status.db_size_in_use = QUOTA / 100 * in_use;
        self
    }

    fn at_revision(mut self, revision: i64) -> Self {
        for index in 0..self.snapshot.etcd.endpoints.len() {
            self.member_status(index).revision = Some(revision);
        }
        self
    }

    /// What becomes of the effects of one decision: the status is written, nothing else is told.
    fn follow(&mut self) -> Vec<String> {
        let decision = self.decide();
        if let Some(status) = written(&decision) {
            self.status = status;
        }
        let effects = effects(&decision);
        effects
            .iter()
            .map(|effect| effect.trim_end().to_owned())
            .collect()
    }
}

fn findings(world: &World, kind: FindingKind) -> Vec<String> {
    let findings = world.decide().report.findings;
    findings
        .into_iter()
        .filter(|finding| finding.kind == kind && finding.reason == Reason::NoSpace)
        .map(|finding| finding.message)
        .collect()
}

/// Row nospace-stuck: etcd-backup-restore 531, etcd-io 475.
#[test]
fn nospace_stuck_is_compacted_defragmented_followers_first_and_disarmed() {
    let mut world = full(3, 98);
    assert_eq!(world.follow(), ["Compact"]);
    // The compaction made room within the files.
    for index in 0..3 {
        world = world.using(index, 98, 20);
    }
    for index in [1, 2, 0] {
        assert_eq!(world.follow(), [format!("Defragment {}", id(index))]);
        world = world.using(index, 21, 20);
    }
    assert_eq!(world.follow(), ["Disarm NOSPACE"]);
    world.snapshot.etcd.alarms = Observed::Seen(Vec::new());
    assert_eq!(world.follow(), [""; 0]);
    assert_eq!(world.status.space_cure, None);
    assert!(written(&world.decide()).is_none(), "a cured cluster rests");
}

/// Clients resume their watches from the newest history.
#[test]
fn the_newest_history_is_kept_where_that_leaves_room() {
    let mut world = full(3, 98);
    world.follow();
    let cure = world.status.space_cure.clone().unwrap();
    assert_eq!(cure.compacted_revision, Some(4_000));
}

#[test]
fn all_history_goes_where_the_newest_leaves_no_room() {
    let mut world = full(3, 98);
    world.follow();
    assert_eq!(world.follow(), [""; 0], "the sizes are not new yet");
    world = world.later(6);
    assert_eq!(world.follow(), ["Compact"]);
    let cure = world.status.space_cure.clone().unwrap();
    assert_eq!(cure.compacted_revision, Some(5_000));
}

#[test]
fn a_young_cluster_whose_files_have_slack_needs_no_compaction() {
    let mut world = full(3, 20).at_revision(400);
    assert_eq!(world.follow(), [format!("Defragment {}", id(1))]);
}

#[test]
fn files_that_stay_full_are_told_with_what_to_do_and_left_alone() {
    let mut world = full(1, 98).at_revision(400);
    assert_eq!(world.follow(), ["Compact"]);
    world = world.later(70);
    assert_eq!(world.follow(), [format!("Defragment {}", id(0))]);
    world.follow();
    let blocked = findings(&world, FindingKind::Blocked);
    assert!(
        blocked[0].contains("shop-m0: 98 %")
            && blocked[0].contains("spec.etcd.quotaBackendBytes")
            && blocked[0].contains("Delete keys"),
        "{blocked:?}"
    );
    let rests = world.later(120).decide();
    assert_eq!(effects(&rests), [""; 0]);
    assert!(written(&rests).is_none(), "it says the same as before");
}

#[test]
fn what_did_not_help_is_tried_again_after_ten_minutes_and_no_sooner() {
    let mut world = full(1, 98).at_revision(400);
    world.follow();
    world = world.later(70);
    world.follow();
    world.follow();
    world = world.later(520);
    assert_eq!(world.follow(), [""; 0]);
    world = world.later(20);
    world.follow();
    assert_eq!(world.follow(), ["Compact"]);
}

/// Only deletes are served, so a revision that moved means that somebody made room.
#[test]
fn deleted_keys_are_compacted_soon() {
    let mut world = full(1, 98).at_revision(400);
    world.follow();
    world = world.later(70);
    world.follow();
    world.follow();
    world = world.at_revision(410).later(1);
    world.follow();
    assert_eq!(world.follow(), ["Compact"]);
    assert_eq!(
        world.later(10).follow(),
        [""; 0],
        "without slack it is not stopped again so soon"
    );
    let mut world = full(1, 98).at_revision(400);
    world.follow();
    world = world.later(70);
    world.follow();
    world.follow();
    world = world.at_revision(410);
    world.follow();
    world.follow();
    world = world.using(0, 98, 30);
    assert_eq!(world.follow(), [format!("Defragment {}", id(0))]);
}

/// As recorded on the testbed: keys were deleted and compacted, and only the leader counted the freed pages as free.
#[test]
fn followers_that_do_not_count_freed_pages_are_defragmented_as_the_leader_tells() {
    let mut world = full(3, 98).at_revision(38);
    assert_eq!(world.follow(), ["Compact"]);
    world = world.at_revision(39).later(40);
    assert_eq!(world.follow(), [""; 0], "it begins again");
    assert_eq!(world.follow(), ["Compact"]);
    world = world.using(0, 132, 1).using(1, 98, 98).using(2, 98, 98);
    assert_eq!(world.follow(), [""; 0], "they may need a moment");
    world = world.later(31);
    assert_eq!(world.follow(), [format!("Defragment {}", id(1))]);
    world = world.using(1, 1, 1);
    assert_eq!(world.follow(), [format!("Defragment {}", id(2))]);
    world = world.using(2, 1, 1);
    assert_eq!(world.follow(), [format!("Defragment {}", id(0))]);
}

/// A compaction frees pages after it was answered. On the testbed a member was defragmented before that, and the cure
/// rested for ten minutes.
#[test]
fn a_member_that_was_defragmented_too_soon_is_defragmented_again() {
    let mut world = full(1, 98).at_revision(400);
    assert_eq!(world.follow(), ["Compact"]);
    world = world.later(70);
    assert_eq!(world.follow(), [format!("Defragment {}", id(0))]);
    world = world.using(0, 91, 30);
    assert_eq!(world.follow(), [""; 0], "it begins again");
    assert_eq!(world.follow(), [format!("Defragment {}", id(0))]);
    assert_eq!(world.follow(), [""; 0], "and not at once a third time");
    assert_eq!(world.later(20).follow(), [""; 0]);
}

/// Else each member would be stopped for nothing before the deleted keys are given up.
#[test]
fn keys_deleted_meanwhile_are_compacted_before_any_member_is_stopped_in_vain() {
    let mut world = full(3, 98).at_revision(400);
    assert_eq!(world.follow(), ["Compact"]);
    world = world.at_revision(401).later(29);
    assert_eq!(world.follow(), [""; 0]);
    world = world.later(1);
    world.follow();
    assert_eq!(world.follow(), ["Compact"]);
    for index in 0..3 {
        world = world.using(index, 98, 5);
    }
    assert_eq!(world.follow(), [format!("Defragment {}", id(1))]);
}

#[test]
fn nothing_is_defragmented_while_another_member_is_down_and_repair_goes_on() {
    let mut world = full(3, 20);
    world.follow();
    world = world.wiped(2);
    let effects = effects(&world.decide());
    assert!(
        effects.contains(&format!("RemoveMember {}", id(2))),
        "{effects:?}"
    );
    assert!(
        !effects
            .iter()
            .any(|effect| effect.starts_with("Defragment")),
        "{effects:?}"
    );
}

/// Found by the simulator: a second disk was lost while the first one waited for a compaction to show.
#[test]
fn a_lost_disk_does_not_wait_for_a_compaction_to_show() {
    let mut world = full(3, 98).at_revision(400);
    world.follow();
    world = world.wiped(2);
    let effects = effects(&world.decide());
    assert!(
        effects.contains(&format!("RemoveMember {}", id(2))),
        "{effects:?}"
    );
}

#[test]
fn nothing_is_scaled_while_room_is_made() {
    let mut world = full(3, 98).wanting(5);
    for _ in 0..2 {
        let effects = world.follow();
        assert!(
            !effects
                .iter()
                .any(|effect| effect.starts_with("AddLearner")),
            "{effects:?}"
        );
    }
}

#[test]
fn the_alarm_stays_while_a_members_size_is_unknown() {
    let mut world = healthy(3).alarmed().silent(2);
    for index in 0..2 {
        world = world.using(index, 20, 20);
    }
    world.follow();
    let decision = world.decide();
    assert!(
        !effects(&decision)
            .iter()
            .any(|effect| effect.starts_with("Disarm"))
    );
    assert!(reports(&decision, Reason::NoSpace));
}

#[test]
fn a_learner_on_its_way_is_seen_to_first() {
    let world = full(3, 20).wanting(4).with_learner(3, true);
    let effects = effects(&world.decide());
    assert!(
        effects.contains(&format!("Promote {}", id(3))),
        "{effects:?}"
    );
    assert!(!effects.contains(&"Compact ".to_owned()), "{effects:?}");
}

/// A full cluster that is to grow by a member that no node takes.
fn full_beside_a_learner_without_a_node() -> World {
    let mut world = full(3, 20).wanting(5).with_learner(3, true).silent(3);
    world.rows()[3].name = String::new();
    let pod = world.pods().last_mut().unwrap();
    pod.running = false;
    pod.unschedulable = Some("didn't match pod anti-affinity rules".to_owned());
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        volumes[3].phase = contract::VolumePhase::Pending;
    }
    world.settle()
}

/// Three healthy voters refused all writes until somebody added a node.
#[test]
fn a_learner_that_no_node_takes_makes_room_for_the_cure() {
    let removal = format!("RemoveMember {}", id(3));
    let mut world = full_beside_a_learner_without_a_node();
    assert!(!effects(&world.decide()).contains(&removal));
    let told = findings(&world, FindingKind::Waiting).join(" ");
    assert!(told.contains("set spec.size to 3"), "{told}");
    let mut calm = world.clone().later(200);
    calm.snapshot.etcd.alarms = Observed::Seen(Vec::new());
    assert!(!effects(&calm.decide()).contains(&removal));
    world = world.later(200);
    let effects = effects(&world.decide());
    assert!(effects.contains(&removal), "{effects:?}");
    world.rows().pop();
    let next = world.follow();
    assert!(next.contains(&"Compact".to_owned()), "{next:?}");
}

/// Keys fill the quota: the next learner would come and go without an end.
#[test]
fn such_a_learner_stays_while_nothing_can_be_done_about_the_room() {
    let removal = format!("RemoveMember {}", id(3));
    let mut world = full_beside_a_learner_without_a_node().later(200);
    let cure = world.status.space_cure.as_mut().unwrap();
    cure.compacted_revision = Some(5_000);
    assert!(!effects(&world.decide()).contains(&removal));
    assert!(effects(&world.clone().later(600).decide()).contains(&removal));
    world.member_status(0).revision = Some(5_001);
    let changed = effects(&world.decide());
    assert!(changed.contains(&removal), "{changed:?}");
}

/// A member that was spared by the fresh read is defragmented later, one that failed is not tried twice.
/// Found by the simulator: the envelope refused each attempt, for ever.
#[test]
fn a_voter_that_has_never_run_is_replaced_first() {
    let mut world = full(5, 40).wiped(4);
    world.rows()[4].name = String::new();
    world.status.member_records[4].disk = None;
    let decision = world.decide();
    let effects = effects(&decision);
    assert!(
        !effects
            .iter()
            .any(|effect| effect.starts_with("Defragment")),
        "{effects:?}"
    );
    assert!(reports(&decision, Reason::NoSpace));
}

#[test]
fn what_was_refused_is_announced_anew_and_what_failed_is_not() {
    for (outcome, again) in [(OutcomeKind::Refused, true), (OutcomeKind::Failed, false)] {
        let mut world = full(3, 20);
        world.follow();
        assert_eq!(world.follow(), [format!("Defragment {}", id(1))]);
        world.snapshot.outcomes = vec![PastOutcome {
            effect: "Defragment".to_owned(),
            kind: None,
            target: id(1).to_string(),
            outcome,
            message: "too few".to_owned(),
        }];
        let next = if again { 1 } else { 2 };
        assert_eq!(world.follow(), [format!("Defragment {}", id(next))]);
    }
}

/// A quota or a policy refuses a pod for as long as it stands; meanwhile clients wait for room.
#[test]
fn a_pod_that_is_refused_holds_up_no_cure() {
    let mut world = full(3, 97).silent(2).without_pod(2);
    world.snapshot.outcomes = vec![PastOutcome {
        effect: "Apply".to_owned(),
        kind: Some(contract::ObjectKind::Pod),
        target: member(2),
        outcome: OutcomeKind::Failed,
        message: "exceeded quota: small".to_owned(),
    }];
    let effects = effects(&world.decide());
    let pod = format!("Apply Pod {}", member(2));
    assert_eq!(effects.last(), Some(&pod), "{effects:?}");
    let is_cure = |effect: &String| effect.starts_with("Compact");
    assert!(effects.iter().any(is_cure), "{effects:?}");
}

/// Members before 3.6 do not tell their quota.
#[test]
fn the_quota_of_old_members_is_read_from_the_spec() {
    let env = |value: &str| {
        json!({"etcdEnv": [{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": value}],
               "persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}}})
    };
    let world = |value: &str| {
        let mut world = full(1, 20).spec("pod", env(value));
        world.member_status(0).quota = None;
        world.follow()
    };
    assert_eq!(world("1000000"), ["Compact"]);
    assert_eq!(world("2000000"), ["Disarm NOSPACE"]);
    assert_eq!(world("-1"), ["Disarm NOSPACE"]);
}

/// The quota was raised, and the alarm was ended and raised again before any pod had it.
#[test]
fn an_alarm_of_old_members_is_ended_once_their_pods_have_the_quota_of_the_spec() {
    let world = |ready: bool| {
        let pod = json!({"etcdEnv": [{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": "9000000"}],
               "persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}}});
        let mut world = full(3, 97).spec("pod", pod);
        for index in 0..3 {
            world.member_status(index).quota = None;
            let pod = &mut world.pods()[index];
            let key = contract::names::SHAPE_ANNOTATION.to_owned();
            pod.annotations.insert(key, "of-before".to_owned());
            pod.ready = ready;
        }
        world
    };
    let mut raised = world(true);
    assert_eq!(raised.follow(), ["Delete Pod shop-m1"]);
    assert!(reports(&raised.decide(), Reason::Reshaping));
    // What keeps the pods from being made anew may have nothing to do with the quota.
    assert_eq!(raised.later(601).follow(), ["Disarm NOSPACE"]);
    // Their `/health` fails while the alarm stands.
    assert_eq!(world(false).follow(), ["Disarm NOSPACE"]);
}

#[test]
fn a_paused_cluster_is_left_full() {
    let world = full(3, 20).spec("paused", json!(true));
    assert_eq!(effects(&world.decide()), [""; 0]);
}

#[test]
fn degraded_says_what_is_served() {
    let mut world = full(3, 20);
    world.follow();
    let degraded = world
        .status
        .conditions
        .iter()
        .find(|condition| condition.kind == "Degraded")
        .unwrap();
    assert_eq!(degraded.reason, "NoSpace");
    assert!(degraded.message.contains("only reads and deletes"));
    assert!(world.status.members.ready.contains(&member(0)));
}

/// It is about to be silent as well, and the envelope refuses that; its replacement was kept waiting by the next attempt.
#[test]
fn nobody_is_defragmented_beside_one_that_serves_from_a_pod_on_its_way_out() {
    let mut world = full(5, 98);
    assert_eq!(world.follow(), ["Compact"]);
    for index in 0..5 {
        world = world.using(index, 98, 20);
    }
    assert!(world.clone().follow()[0].starts_with("Defragment"));
    world.pods()[1].deleted = Some(contract::Millis(1));
    let decision = world.decide();
    assert!(
        !effects(&decision)
            .iter()
            .any(|effect| effect.starts_with("Defragment"))
    );
    assert!(reports(&decision, Reason::NoSpace));
}
