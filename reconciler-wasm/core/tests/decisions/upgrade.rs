//! Another version or repository on a living cluster: who is restarted next, what is waited for, what is refused.

mod downgrade;
mod path;
mod trouble;

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

/// Other operators once returned early at a steady size, and left the version unread.
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

/// A cluster between two versions is still at the older one, whatever those who went ahead say.
#[test]
fn the_oldest_version_that_runs_is_the_clusters() {
    let between = healthy(3).asking("3.6.20").moved(1, "3.6.20").settle();
    assert_eq!(between.status.current_version, "3.6.16");
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

/// Other operators once rolled on beside a member that was down.
#[test]
fn the_outdated_member_that_is_down_goes_first() {
    let world = healthy(3).asking("3.6.20").down(2, "CrashLoopBackOff: x");
    let decision = world.decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m2"]);
    let decision = world.given(2, "3.6.20").decide();
    assert_eq!(effects(&decision), [""; 0]);
}

/// A member that has the new image and does not answer says nothing of its own restart.
#[test]
fn the_next_member_waits_for_one_that_was_moved_and_does_not_answer() {
    let world = healthy(3).asking("3.6.20").moved(2, "3.6.20").silent(2);
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
}

#[test]
fn a_member_that_runs_and_does_not_answer_is_touched_only_beside_healthy_ones() {
    let decision = healthy(3).asking("3.6.20").silent(2).decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m2"]);
    let decision = healthy(5).asking("3.6.20").silent(2).silent(3).decide();
    assert_eq!(effects(&decision), [""; 0]);
}

/// Other operators once took the port of a registry for the tag of an image.
#[test]
fn a_registry_with_a_port_is_no_tag() {
    let world = healthy(3).spec("repository", json!("example.org:5000/etcd"));
    assert_eq!(
        given_image(&world.decide()),
        "example.org:5000/etcd:v3.6.16"
    );
}

/// An evicted member answers until its grace is over, and its vote goes within seconds: nobody else is taken down then.
#[test]
fn a_member_whose_pod_is_being_terminated_counts_as_down_though_it_answers() {
    let world = healthy(3).running("3.6.15").asking("3.6.16").later(60);
    assert_ne!(effects(&world.decide()), [""; 0]);
    let smaller = healthy(3).wanting(1).later(60);
    assert_ne!(effects(&smaller.decide()), [""; 0]);
    for mut world in [world, smaller] {
        let pod = &mut world.pods()[2];
        pod.deleted = Some(pod.created);
        assert_eq!(effects(&world.decide()), [""; 0]);
    }
}
