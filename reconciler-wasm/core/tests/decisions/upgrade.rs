//! Another version or repository on a living cluster: who is restarted next, what is waited for, what is refused.

use contract::{Alarm, AlarmKind, Decision, Effect, Observed, Reason, names};
use serde_json::json;

use crate::fixture::{World, effects, healthy, id, member, reports, written};

const REPOSITORY: &str = "quay.io/coreos/etcd";

fn image(version: &str) -> String {
    format!("{REPOSITORY}:v{version}")
}

impl World {
    /// All members run this version.
    fn running(mut self, version: &str) -> Self {
        self = self.spec("version", json!(version));
        for pod in self.pods() {
            pod.image = image(version);
        }
        for index in 0..self.snapshot.etcd.endpoints.len() {
            self = self.answering(index, version);
        }
        for record in &mut self.status.member_records {
            record.version = Some(version.to_owned());
            record.image = Some(image(version));
        }
        self.settle()
    }

    fn answering(mut self, index: usize, version: &str) -> Self {
        let endpoint = &mut self.snapshot.etcd.endpoints[index];
        if let Observed::Seen(status) = &mut endpoint.status {
            status.version = version.to_owned();
            status.storage_version = version.starts_with("3.6").then(|| "3.6.0".to_owned());
        }
        self
    }

    fn asking(self, version: &str) -> Self {
        self.spec("version", json!(version))
    }

    /// The member's pod got this image, and its container has not been restarted yet.
    fn given(mut self, index: usize, version: &str) -> Self {
        let pod = self.pod(index);
        pod.image = image(version);
        let restarts = pod.restarts.to_string();
        pod.annotations
            .insert(names::RESTARTS_ANNOTATION.to_owned(), restarts);
        self
    }

    /// The member was restarted with this image and answers.
    fn moved(mut self, index: usize, version: &str) -> Self {
        self = self.given(index, version);
        self.pod(index).restarts += 1;
        self.answering(index, version)
    }

    /// The container of the member does not run.
    fn down(mut self, index: usize, waiting: &str) -> Self {
        self = self.silent(index);
        let pod = self.pod(index);
        pod.running = false;
        pod.ready = false;
        pod.waiting = Some(waiting.to_owned());
        self
    }

    fn pod(&mut self, index: usize) -> &mut contract::Pod {
        let name = member(index);
        self.pods().iter_mut().find(|pod| pod.name == name).unwrap()
    }
}

fn given_image(decision: &Decision) -> String {
    let images = decision
        .actions
        .iter()
        .filter_map(|action| match &action.effect {
            Effect::SetImage { image, .. } => Some(image.clone()),
            _ => None,
        });
    images.collect::<Vec<_>>().join(" ")
}

fn says(decision: &Decision, reason: Reason, words: &str) {
    let finding = decision
        .report
        .findings
        .iter()
        .find(|finding| finding.reason == reason)
        .unwrap_or_else(|| panic!("no {reason} in {:?}", decision.report));
    assert!(finding.message.contains(words), "{}", finding.message);
}

/// peers.md, version-ignored: no early return at steady size.
#[test]
fn another_version_at_steady_size_restarts_a_follower() {
    let decision = healthy(3).asking("3.6.20").decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.6.20"));
    let status = written(&decision).unwrap();
    assert_eq!(status.target_version, "3.6.20");
    assert_eq!(status.current_version, "3.6.16");
    let condition = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "Upgrading")
        .unwrap();
    assert_eq!(condition.message, "upgrading to 3.6.20");
}

#[test]
fn a_restart_leaves_a_quorum_of_the_others() {
    for (size, left) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 3)] {
        let decision = healthy(size).asking("3.6.20").decide();
        let action = decision
            .actions
            .iter()
            .find(|action| matches!(action.effect, Effect::SetImage { .. }))
            .unwrap();
        assert_eq!(action.pre.healthy_voters, Some(left), "size {size}");
        assert!(action.pre.touches.is_some() && action.pre.members.is_some());
    }
}

#[test]
fn another_repository_alone_rolls_too() {
    let world = healthy(3).spec("repository", json!("example.org/etcd"));
    assert_eq!(given_image(&world.decide()), "example.org/etcd:v3.6.16");
}

/// The image of a living pod changes at once, its container a moment later: only the count of restarts tells.
#[test]
fn the_next_member_waits_until_the_one_before_has_been_restarted() {
    let world = healthy(3).asking("3.6.20").given(1, "3.6.20");
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::Upgrading, "its kubelet restarts it");
    let decision = healthy(3).asking("3.6.20").moved(1, "3.6.20").decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m2"]);
}

#[test]
fn the_next_member_waits_until_the_one_before_has_caught_up_and_is_ready() {
    let mut world = healthy(3).asking("3.6.20").moved(1, "3.6.20");
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status
            && endpoint.pod != member(1)
        {
            status.raft_index = 2_000_000;
            status.raft_applied_index = 2_000_000;
        }
    }
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::CatchingUp, "shop-m1");
    let mut world = healthy(3).asking("3.6.20").moved(1, "3.6.20");
    world.pod(1).ready = false;
    assert!(reports(&world.decide(), Reason::CatchingUp));
}

#[test]
fn the_leader_hands_over_and_is_restarted_last() {
    let world = healthy(3)
        .asking("3.6.20")
        .moved(1, "3.6.20")
        .moved(2, "3.6.20");
    assert_eq!(effects(&world.decide()), [format!("MoveLeader {}", id(1))]);
    let mut world = world;
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.leader = Some(id(1));
        }
    }
    assert_eq!(effects(&world.decide()), ["SetImage Pod shop-m0"]);
    let decision = world.moved(0, "3.6.20").decide();
    assert_eq!(effects(&decision), [""; 0]);
    let status = written(&decision).unwrap();
    assert_eq!(
        (
            status.current_version.as_str(),
            status.target_version.as_str()
        ),
        ("3.6.20", "")
    );
    let told = decision.actions.iter().any(|action| {
        matches!(&action.effect, Effect::Event { reason, .. } if reason == "Member Upgraded")
    });
    assert!(told);
}

/// peers.md, blind-rollout.
#[test]
fn the_outdated_member_that_is_down_goes_first() {
    let world = healthy(3).asking("3.6.20").down(2, "CrashLoopBackOff: x");
    let decision = world.decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m2"]);
    let decision = world.given(2, "3.6.20").decide();
    assert_eq!(effects(&decision), [""; 0]);
}

#[test]
fn a_member_that_runs_and_does_not_answer_is_touched_only_beside_healthy_ones() {
    let decision = healthy(3).asking("3.6.20").silent(2).decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m2"]);
    let decision = healthy(5).asking("3.6.20").silent(2).silent(3).decide();
    assert_eq!(effects(&decision), [""; 0]);
}

/// peers.md, bad-path.
#[test]
fn a_version_that_cannot_be_left_at_once_is_said_with_the_way() {
    let decision = healthy(3).running("3.5.18").asking("3.6.16").decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::UpgradePath, "3.5.18 -> 3.5.35 -> 3.6.16");
    says(&decision, Reason::UpgradePath, "spec.upgrade.throughMinors");
}

#[test]
fn a_long_way_is_walked_stage_by_stage_where_the_spec_allows_it() {
    let through = json!({"throughMinors": true});
    let world = healthy(3)
        .running("3.4.34")
        .asking("3.7.3")
        .spec("upgrade", through);
    assert_eq!(given_image(&world.decide()), image("3.5.35"));
    let half = world.clone().moved(1, "3.5.35");
    assert_eq!(given_image(&half.decide()), image("3.5.35"));
    let stage = half.moved(2, "3.5.35").moved(0, "3.5.35").settle();
    let decision = stage.decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::Upgrading, "must have agreed");
    assert_eq!(given_image(&stage.later(11).decide()), image("3.6.16"));
}

#[test]
fn from_3_6_on_the_storage_version_tells_that_a_stage_is_done() {
    let mut world = healthy(3).asking("3.7.3");
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[2].status {
        status.storage_version = Some("3.5.0".to_owned());
    }
    assert_eq!(effects(&world.decide()), [""; 0]);
    assert_eq!(
        given_image(&healthy(3).asking("3.7.3").decide()),
        image("3.7.3")
    );
}

#[test]
fn nothing_is_moved_while_an_alarm_stands() {
    let mut world = healthy(3).asking("3.6.20");
    world.snapshot.etcd.alarms = Observed::Seen(vec![Alarm {
        member: None,
        kind: AlarmKind::Nospace,
    }]);
    assert_eq!(effects(&world.decide()), ["Disarm NOSPACE"]);
    // Nothing more can be done about this one.
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if let Observed::Seen(status) = &mut endpoint.status {
            status.quota = Some(status.db_size);
        }
    }
    let now = "2026-11-18T11:06:40Z".to_owned();
    world.status.space_cure = Some(contract::SpaceCure {
        since: now.clone(),
        tried_at: now,
        early: true,
        compacted_revision: Some(5_000),
        defragmented: (0..3).map(member).collect(),
    });
    let decision = world.later(6).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::UpgradeHeld));
}

#[test]
fn an_image_that_cannot_be_had_stops_the_roll_and_setting_it_back_returns() {
    let world = healthy(3)
        .asking("3.6.99")
        .given(1, "3.6.99")
        .down(1, "ImagePullBackOff: not found");
    let stuck = world.clone().settle().later(3_600).decide();
    assert_eq!(effects(&stuck), [""; 0]);
    says(&stuck, Reason::ImagePull, "set spec.version back to 3.6.16");
    let decision = world.asking("3.6.16").decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.6.16"));
}

/// A new member with the same image would end in the same way.
#[test]
fn a_member_that_keeps_ending_with_its_new_image_is_not_replaced() {
    let world = healthy(3)
        .asking("3.7.3")
        .moved(1, "3.7.3")
        .answering(1, "3.6.16")
        .down(1, "CrashLoopBackOff: x")
        .settle()
        .later(3_600);
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(
        &decision,
        Reason::UpgradeStuck,
        "set spec.version back to 3.6.16",
    );
}

/// Without a quorum too: a sole member has nobody to wait for.
#[test]
fn a_sole_member_returns_from_an_image_that_cannot_be_had() {
    let world = healthy(1)
        .asking("3.6.16")
        .given(0, "3.6.99")
        .down(0, "ImagePullBackOff: not found")
        .without_list();
    assert_eq!(effects(&world.decide()), ["SetImage Pod shop-m0"]);
}

#[test]
fn members_return_to_the_old_minor_version_while_one_still_has_it() {
    let world = healthy(3)
        .running("3.5.35")
        .asking("3.6.16")
        .moved(1, "3.6.16")
        .settle();
    let decision = world.clone().asking("3.5.35").later(60).decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.5.35"));
    let last = world
        .moved(2, "3.6.16")
        .given(0, "3.6.16")
        .settle()
        .asking("3.5.35")
        .later(60)
        .decide();
    assert_eq!(effects(&last), [""; 0]);
    says(
        &last,
        Reason::UpgradePath,
        "Set spec.version back to 3.6.16",
    );
}

#[test]
fn an_older_minor_version_is_refused_in_words() {
    let decision = healthy(3).running("3.5.35").asking("3.4.34").decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::UpgradePath, "3.5.35");
}

/// The cluster may have taken on the newer version, and the spec is ahead of what the member ran.
#[test]
fn a_pod_that_is_gone_during_an_upgrade_comes_back_with_its_own_image() {
    let pod_image = |decision: &Decision| {
        decision
            .actions
            .iter()
            .find_map(|action| match &action.effect {
                Effect::Apply { object } => Some(
                    serde_json::to_value(object).unwrap()["pod"]["spec"]["containers"][0]["image"]
                        .clone(),
                ),
                _ => None,
            })
    };
    let half = healthy(3)
        .running("3.5.35")
        .asking("3.6.16")
        .moved(1, "3.6.16")
        .settle();
    let again = half.clone().without_pod(1).decide();
    assert_eq!(pod_image(&again), Some(json!(image("3.6.16"))));
    let all = half
        .asking("3.7.3")
        .without_pod(0)
        .without_pod(1)
        .without_pod(2)
        .without_list()
        .decide();
    assert_eq!(pod_image(&all), Some(json!(image("3.5.35"))));
}

#[test]
fn a_new_member_gets_the_older_version_of_a_cluster_between_two() {
    let mut world = healthy(3)
        .running("3.5.35")
        .asking("3.6.16")
        .moved(0, "3.6.16")
        .moved(1, "3.6.16")
        .settle()
        .wanting(5)
        .with_learner(3, true)
        .without_pod(3);
    world.rows()[3].name = String::new();
    let decision = world.decide();
    let pod = decision
        .actions
        .iter()
        .find_map(|action| match &action.effect {
            Effect::Apply { object } if object.name() == "shop-m3" => {
                Some(serde_json::to_string(object).unwrap())
            }
            _ => None,
        });
    assert!(pod.unwrap().contains(&image("3.5.35")));
}

/// peers.md, image-with-port.
#[test]
fn a_registry_with_a_port_is_no_tag() {
    let world = healthy(3).spec("repository", json!("example.org:5000/etcd"));
    assert_eq!(
        given_image(&world.decide()),
        "example.org:5000/etcd:v3.6.16"
    );
}

/// The image may be one that does not run.
#[test]
fn a_second_member_that_goes_down_keeps_its_image_until_the_first_has_answered() {
    let world = healthy(5)
        .asking("3.6.99")
        .given(1, "3.6.99")
        .down(1, "ImagePullBackOff: not found")
        .down(3, "CrashLoopBackOff: x")
        .settle();
    assert_eq!(effects(&world.decide()), [""; 0]);
}

/// The tag says one version and the program another.
#[test]
fn an_image_that_answers_as_another_version_stops_the_roll_and_can_be_left() {
    let world = healthy(3)
        .asking("3.6.20")
        .moved(1, "3.6.20")
        .answering(1, "3.6.16");
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    says(&decision, Reason::UpgradeStuck, "answers as etcd 3.6.16");
    let back = world.asking("3.6.16").decide();
    assert_eq!(effects(&back), ["SetImage Pod shop-m1"]);
}

/// Seen on real etcd: a log without a snapshot cost a cluster its member list on the way from 3.5 to 3.6.
#[test]
fn no_minor_version_is_left_before_a_snapshot_of_the_log_is_certain() {
    let young = |count: Option<&str>| {
        let mut world = healthy(3).running("3.5.35");
        for endpoint in &mut world.snapshot.etcd.endpoints {
            if let Observed::Seen(status) = &mut endpoint.status {
                status.raft_index = 50;
                status.raft_applied_index = 50;
            }
        }
        if let Some(count) = count {
            world.snapshot.resource.spec["pod"]["etcdEnv"] =
                json!([{ "name": "ETCD_SNAPSHOT_COUNT", "value": count }]);
        }
        world.asking("3.6.16")
    };
    let decision = young(None).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::UpgradePath));
    // A patch of the same minor version reads its own logs.
    let patch = young(None).asking("3.5.34").decide();
    assert!(
        effects(&patch)[0].starts_with("SetImage"),
        "{:?}",
        effects(&patch)
    );
    // The pods were not made with that setting, so it is not in effect.
    assert_eq!(effects(&young(Some("10")).decide()), [""; 0]);
    assert!(effects(&young(Some("10")).shaped().decide())[0].starts_with("SetImage"));
    assert_eq!(effects(&young(Some("30")).shaped().decide()), [""; 0]);
}
