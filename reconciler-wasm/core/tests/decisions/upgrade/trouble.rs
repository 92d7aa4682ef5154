//! Images that do not run, and members that go down on the way.

use super::*;

#[test]
fn an_image_that_cannot_be_had_stops_the_roll_and_setting_it_back_returns() {
    let world = healthy(3)
        .asking("3.6.99")
        .given(1, "3.6.99")
        .down(1, "ImagePullBackOff: not found");
    let stuck = world.clone().settle().later(3_600).decide();
    assert_eq!(effects(&stuck), [""; 0]);
    says(&stuck, Reason::ImagePull, "set spec.version back to 3.6.16");
    let mut moved = healthy(3)
        .spec("repository", json!("example.com/nope/etcd"))
        .given(1, "3.6.16")
        .down(1, "ImagePullBackOff: not found");
    if let contract::Observed::Seen(pods) = &mut moved.snapshot.objects.pods {
        pods[1].image = "example.com/nope/etcd:v3.6.16".to_owned();
    }
    let moved = moved.settle().later(3_600).decide();
    says(
        &moved,
        Reason::ImagePull,
        "set spec.repository back to what it was",
    );
    let decision = world.asking("3.6.16").decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.6.16"));
}

/// Another learner would have the image that the others run, which is gone: the move to the repository that has it waited
/// for the learner, and the learner for the move.
#[test]
fn a_learner_whose_image_is_gone_gets_it_from_the_new_repository() {
    let mut world = healthy(3)
        .wanting(5)
        .with_learner(3, true)
        .down(3, "ImagePullBackOff: not found");
    world.rows()[3].name.clear();
    let world = world.settle().later(3_600);
    assert_eq!(given_image(&world.decide()), "");
    let decision = world
        .clone()
        .spec("repository", json!("example.org/etcd"))
        .decide();
    assert!(effects(&decision).contains(&"SetImage Pod shop-m3".to_owned()));
    assert_eq!(given_image(&decision), "example.org/etcd:v3.6.16");
    // Of a minor version that nobody runs it would be the first.
    let decision = world.asking("3.7.3").decide();
    assert_eq!(given_image(&decision), "");
}

/// A founder that never ran: the image that the others run is gone, and the move waited for who waited for it.
#[test]
fn a_founder_whose_image_is_gone_gets_it_from_the_new_repository() {
    let mut world = healthy(3).down(2, "ImagePullBackOff: not found");
    world.pods()[2].ran = false;
    world.rows()[2].name.clear();
    let record = &mut world.status.member_records[2];
    (record.version, record.image) = (None, None);
    let world = world.settle().later(3_600);
    assert_eq!(given_image(&world.decide()), "");
    let moved = world.spec("repository", json!("example.org/etcd"));
    let decision = moved.decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m2"]);
    assert_eq!(given_image(&decision), "example.org/etcd:v3.6.16");
    // Nobody has answered with that version.
    let other_version = moved.asking("3.6.99").decide();
    assert_eq!(given_image(&other_version), "example.org/etcd:v3.6.16");
}

/// Found by the simulator: the version that is asked for cannot be reached, and nobody was given an image from where the
/// spec has them by now.
#[test]
fn a_version_out_of_reach_keeps_no_image_where_it_is_gone() {
    let moved = |world: World| {
        let world = world.settle().later(3_600).asking("3.4.34");
        assert_eq!(given_image(&world.decide()), "");
        let decision = world.spec("repository", json!("example.org/etcd")).decide();
        assert!(reports(&decision, Reason::UpgradePath));
        given_image(&decision)
    };
    let member = healthy(3).down(1, "ImagePullBackOff: not found");
    assert_eq!(moved(member), "example.org/etcd:v3.6.16");
    let mut learner = healthy(3)
        .wanting(5)
        .with_learner(3, true)
        .down(3, "ImagePullBackOff: not found");
    learner.rows()[3].name.clear();
    assert_eq!(moved(learner.clone()), "example.org/etcd:v3.6.16");
    // Found by the simulator: it was given a version on the way, which nobody has answered with, and the envelope refused it.
    learner.pods()[3].image = image("3.6.20");
    let decision = learner.settle().later(3_600).asking("3.4.34").decide();
    assert_eq!(given_image(&decision), image("3.6.16"));
    // Found by the simulator: the mistyped repository is right by now, and the version is another one.
    let mut mistyped = healthy(3).down(2, "ImagePullBackOff: not found");
    mistyped.pods()[2].image = "example.org/edct:v3.6.16".to_owned();
    let decision = mistyped.settle().later(3_600).asking("3.7.3").decide();
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

/// Found by the simulator: emptied at its birth beside two that founded the cluster anew, in whose list it has no name yet,
/// and given another image; it was waited for without an end.
#[test]
fn a_member_that_has_no_data_is_replaced_whatever_image_it_was_given() {
    let mut world = healthy(3)
        .asking("3.7.3")
        .moved(1, "3.7.3")
        .answering(1, "3.6.16")
        .wiped(1)
        .down(1, "CrashLoopBackOff: x");
    world.rows()[1].name.clear();
    let decision = world.settle().later(3_600).decide();
    assert_eq!(effects(&decision)[0], format!("RemoveMember {}", id(1)));
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

/// A member without its data proves nothing about an image, and the quorum waits for the other one.
#[test]
fn a_member_is_given_back_its_image_although_another_one_has_lost_its_disk() {
    let world = healthy(3)
        .asking("3.6.20")
        .given(1, "3.6.99")
        .down(1, "ImagePullBackOff: not found")
        .given(2, "3.6.20")
        .wiped(2)
        .without_list();
    let decision = world.decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.6.20"));
}

/// Nor does one that no node takes.
#[test]
fn a_member_is_given_an_image_that_can_be_had_although_no_node_takes_another_one() {
    let mut world = healthy(3)
        .asking("3.6.20")
        .given(1, "3.6.99")
        .down(1, "ImagePullBackOff: not found")
        .given(2, "3.6.20")
        .silent(2)
        .without_list();
    let pod = world.pod(2);
    (pod.running, pod.ready) = (false, false);
    pod.unschedulable = Some("volume node affinity conflict".to_owned());
    let decision = world.decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.6.20"));
}

/// Who has no leader says all the same which version it runs, and that the cluster has not gone further.
#[test]
fn a_member_without_a_leader_keeps_the_way_back_open() {
    let world = healthy(3)
        .running("3.5.35")
        .asking("3.4.34")
        .moved(1, "3.6.16")
        .down(1, "CrashLoopBackOff: x")
        .without_pod(2)
        .without_volume(2)
        .without_list();
    let decision = world.decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.5.35"));
}

/// The image may have run where nobody saw it, and a sole member takes its cluster to a newer version at once.
#[test]
fn a_pod_that_was_made_again_with_a_newer_image_is_not_given_an_older_minor_version() {
    let mut world = healthy(1).running("3.5.35").asking("3.5.26").without_list();
    world.pod(0).image = image("3.6.16");
    let world = world.down(0, "ContainerCreating");
    assert_eq!(effects(&world.decide()), [""; 0]);
    let pulls = world.down(0, "ImagePullBackOff: not found");
    assert_eq!(given_image(&pulls.decide()), image("3.5.26"));
}

#[test]
fn a_pod_that_was_never_started_is_given_another_image_without_a_count() {
    let mut world = healthy(1)
        .asking("3.6.16")
        .down(0, "ImagePullBackOff: not found")
        .without_list();
    world.pod(0).image = image("3.6.99");
    let count = |world: &World| {
        let decision = world.decide();
        let annotations = decision
            .actions
            .iter()
            .find_map(|action| match &action.effect {
                Effect::SetImage { annotations, .. } => Some(annotations.clone()),
                _ => None,
            });
        annotations.unwrap()[names::RESTARTS_ANNOTATION].clone()
    };
    assert_eq!(count(&world), "0");
    world.pod(0).ran = false;
    assert_eq!(count(&world), "");
    // Its first start is no restart: with the count 0 it would be waited for without an end.
    let started = healthy(1).asking("3.6.20").given(0, "3.6.16");
    let said = |mut world: World, count: &str| {
        let annotations = &mut world.pod(0).annotations;
        annotations.insert(names::RESTARTS_ANNOTATION.to_owned(), count.to_owned());
        effects(&world.decide())
    };
    assert_eq!(said(started.clone(), "0"), [""; 0]);
    assert_eq!(said(started, ""), ["SetImage Pod shop-m0"]);
}

/// Else a sole member would be taken for one that never ran it.
#[test]
fn the_version_that_a_member_says_while_its_pod_is_being_terminated_is_remembered() {
    let mut world = healthy(1)
        .running("3.5.35")
        .asking("3.6.16")
        .moved(0, "3.6.16");
    world.pod(0).deleted = Some(world.snapshot.now);
    let status = written(&world.decide()).unwrap();
    assert_eq!(status.member_records[0].version.as_deref(), Some("3.6.16"));
}

/// It has no data then, and is replaced; with a version to its name it would be waited for as one on its way to another.
#[test]
fn a_member_that_was_never_healthy_has_proven_no_image() {
    let mut world = healthy(3).running("3.5.20");
    let record = &mut world.status.member_records[1];
    record.version = None;
    record.disk = None;
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[1].status {
        status.leader = None;
    }
    let status = written(&world.later(5).decide()).unwrap();
    assert_eq!(status.member_records[1].version, None);
}

/// Which of two repositories members ran with was guessed by the order of their names.
#[test]
fn a_member_is_given_back_the_image_of_those_who_run_while_the_repository_cannot_be() {
    for stuck in [0, 2] {
        let mut world = healthy(3)
            .spec("repository", json!("example.com/nope/etcd@sha256:00"))
            .given(stuck, "3.6.16")
            .down(stuck, "ImagePullBackOff: not found");
        let nowhere = "example.com/nope/etcd:v3.6.16".to_owned();
        world.status.member_records[stuck].image = Some(nowhere.clone());
        world.pod(stuck).image = nowhere;
        let decision = world.settle().decide();
        says(&decision, Reason::InvalidSpec, "spec.repository");
        assert_eq!(effects(&decision), [format!("SetImage Pod shop-m{stuck}")]);
        assert_eq!(given_image(&decision), image("3.6.16"));
    }
}

/// Seen in a simulated history: a restore made its pod with an image that does not exist, and the spec asks for another one
/// that the others cannot be moved to.
#[test]
fn a_member_that_never_ran_is_not_left_with_an_image_that_nobody_asks_for() {
    let mut world = healthy(3)
        .running("3.6.10")
        .asking("3.7.3")
        .given(2, "3.6.99")
        .down(2, "ImagePullBackOff: not found");
    let record = &mut world.status.member_records[2];
    (record.version, record.image) = (None, None);
    let world = world.settle();
    let decision = world.clone().later(100).decide();
    assert!(reports(&decision, Reason::ImagePull));
    let decision = world.later(400).decide();
    assert!(
        effects(&decision).contains(&format!("RemoveMember {}", id(2))),
        "{:?}",
        effects(&decision)
    );
}

/// The image of the version that it ran was made up from the repository of the one that cannot be had, and with it the whole
/// decision was refused. The condition named a version that nobody asked for.
#[test]
fn a_sole_member_is_given_no_image_that_nobody_has_while_the_repository_cannot_be() {
    for repository in ["example.com/nope/etcd", "quay.io/coreos/etcd"] {
        let mut world = healthy(1)
            .spec("repository", json!(repository))
            .asking("3.6.17")
            .given(0, "3.6.17")
            .down(0, "ImagePullBackOff: not found")
            .without_list();
        world.pod(0).image = format!("{repository}:v3.6.17");
        let world = world.settle();
        let tagged = world.clone().spec("repository", json!(image("3.6.16")));
        let decision = tagged.asking("3.6.16").decide();
        says(&decision, Reason::InvalidSpec, "holds a tag");
        says(&decision, Reason::UpgradePath, "holds a tag");
        let mut told = decision.report.findings.iter();
        assert!(!told.any(|one| one.message.contains("3.6.17:")));
        assert_eq!(effects(&decision), [""; 0]);
        // Only the version cannot be followed: the image is the repository's that the spec asks for.
        let decision = world.asking("banana").decide();
        assert_eq!(effects(&decision), ["SetImage Pod shop-m0"]);
        assert_eq!(given_image(&decision), format!("{repository}:v3.6.16"));
    }
}

/// Its log may be one that the next minor version does not read, and nobody can ask it.
#[test]
fn a_member_that_does_not_answer_is_not_given_the_next_minor_version() {
    let world = healthy(3)
        .asking("3.7.3")
        .down(1, "CrashLoopBackOff: x")
        .settle();
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    // It was given a patch that there is not, and goes back to what it ran.
    let astray = healthy(3)
        .asking("3.7.3")
        .given(1, "3.6.99")
        .down(1, "ImagePullBackOff: not found")
        .settle();
    let decision = astray.decide();
    assert_eq!(effects(&decision), ["SetImage Pod shop-m1"]);
    assert_eq!(given_image(&decision), image("3.6.16"));
    // Within what members run all versions read the log.
    let patch = healthy(3)
        .asking("3.6.20")
        .down(1, "CrashLoopBackOff: x")
        .settle();
    assert_eq!(given_image(&patch.decide()), image("3.6.20"));
}

/// Its volume is attached to a node that is gone: no image ran, and none would help.
#[test]
fn a_member_whose_new_container_never_begins_is_replaced() {
    let world = healthy(3)
        .asking("3.7.3")
        .moved(1, "3.7.3")
        .answering(1, "3.6.16")
        .down(1, "ContainerCreating")
        .settle();
    let early = world.clone().later(30).decide();
    assert!(!reports(&early, Reason::UpgradeStuck));
    let late = effects(&world.later(3_600).decide());
    assert_eq!(late.first(), Some(&format!("RemoveMember {}", id(1))));
}
