//! Members whose disk was emptied or is gone, and what tells that it is.

use contract::Reason;

use crate::fixture::{World, effects, healthy, id, reports};

#[test]
fn a_pod_deleted_with_its_data_is_replaced_by_a_new_member() {
    let world = healthy(3).on_empty_dir().without_pod(2);
    assert_eq!(
        effects(&world.decide()),
        [format!("RemoveMember {}", id(2))]
    );
}

/// What a person reads while a pod goes must be true of where its data is.
#[test]
fn a_pod_that_is_being_deleted_comes_back_only_on_a_disk() {
    let told = |mut world: World| {
        let now = world.snapshot.now;
        world.pods()[2].deleted = Some(now);
        let report = world.silent(2).decide().report;
        let finding = report
            .findings
            .into_iter()
            .find(|finding| finding.reason == Reason::PodTerminating);
        finding.unwrap().message
    };
    assert_eq!(
        told(healthy(3)),
        "shop-m2: its pod is being terminated; it is made again on its own disk."
    );
    assert_eq!(
        told(healthy(3).on_empty_dir()),
        "shop-m2: its pod is being terminated; its data goes with it, and a new member takes its place."
    );
}

/// On the testbed a lost quorum was no loss any more for the moment in which a container was started again.
#[test]
fn a_disk_that_was_wiped_stays_lost_while_its_container_starts_again() {
    let mut world = healthy(3).wiped(1).wiped(2).without_list();
    assert!(reports(&world.decide(), Reason::QuorumLost));
    let before = world.decide().report;
    for index in [1, 2] {
        world.pods()[index].running = true;
    }
    let blocked = |report: &contract::Report| {
        let mut findings = report.findings.iter();
        findings.any(|finding| finding.kind == contract::FindingKind::Blocked)
    };
    assert!(blocked(&before) && blocked(&world.decide().report));
}

#[test]
fn a_volume_that_is_gone_is_a_lost_disk() {
    let decision = healthy(3).without_pod(1).without_volume(1).decide();
    assert_eq!(effects(&decision), [format!("RemoveMember {}", id(1))]);
    assert!(reports(&decision, Reason::DiskLost));
}

/// A crash between the claim and the pod leaves a claim whose identity is known.
#[test]
fn a_pod_on_a_claim_that_stands_names_its_uid() {
    let mut world = healthy(3).wanting(5).with_learner(3, true).without_pod(3);
    world.rows()[3].name = String::new();
    let decision = world.decide();
    let pod = decision
        .actions
        .iter()
        .find(|action| action.effect.target() == "shop-m3")
        .unwrap();
    assert_eq!(pod.pre.claim_uid.as_deref(), Some("disk-shop-m3"));
}

#[test]
fn a_wiped_disk_is_known_from_the_last_words_of_etcd() {
    let decision = healthy(3).wiped(1).decide();
    assert_eq!(
        effects(&decision),
        [
            format!("RemoveMember {}", id(1)),
            "Delete Pod shop-m1".to_owned(),
            "Delete PersistentVolumeClaim shop-m1".to_owned()
        ]
    );
    assert!(reports(&decision, Reason::DiskLost));
}

/// Nobody reports the end of a pod on a node that is gone. Whose disk stands is replaced after the same time.
#[test]
fn a_lost_disk_under_a_dead_node_waits_no_longer_than_one_that_stands() {
    let mut world = healthy(3).without_volume(1).silent(1);
    let now = world.snapshot.now;
    world.pods()[1].deleted = Some(now);
    let world = world.settle();
    let early = world.clone().later(320).decide();
    assert_eq!(effects(&early), [""; 0]);
    assert!(reports(&early, Reason::PodTerminating));
    let late = effects(&world.later(340).decide());
    assert_eq!(late, [format!("RemoveMember {}", id(1))]);
}

/// Somebody took the owner reference away from its claim: it runs on it all the same.
#[test]
fn a_healthy_member_keeps_the_disk_that_it_was_remembered_on() {
    let world = healthy(3).settle();
    let disk = |world: &World| world.status.member_records[1].disk.clone();
    let before = disk(&world);
    assert!(before.is_some());
    assert_eq!(disk(&world.without_volume(1).settle()), before);
}

/// The healthy member holds the only copy: nothing of it, and nothing beside it, may be touched.
#[test]
fn two_of_three_disks_gone_destroys_nothing() {
    let decision = healthy(3).wiped(1).wiped(2).without_list().decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::QuorumLost));
}

/// Its first start had ended without a peer to ask. Each time that it did not answer for a moment it was taken for one on an
/// emptied disk, and replaced at once.
#[test]
fn last_words_from_before_a_member_was_healthy_say_nothing_of_its_disk() {
    let mut world = healthy(3).settle();
    let healthy_since = world.snapshot.now;
    let exit = |at: contract::Millis| contract::LastExit {
        reason: "Error".to_owned(),
        code: 1,
        message: "cannot fetch cluster info from peer urls".to_owned(),
        at: Some(at),
    };
    let before = contract::Millis(healthy_since.0 - 60_000_000);
    world.pods()[1].last_exit = Some(exit(before));
    let silent = world.later(60).silent(1);
    assert_eq!(effects(&silent.decide()), [""; 0]);
    let later = silent.settle().later(10);
    assert_eq!(effects(&later.decide()), [""; 0]);
    // It ended again since.
    let mut ended = later.clone();
    ended.pods()[1].last_exit = Some(exit(ended.snapshot.now));
    assert_eq!(
        effects(&ended.decide())[0],
        format!("RemoveMember {}", id(1))
    );
    // It does not run: then those are its last words.
    let mut down = later;
    (down.pods()[1].running, down.pods()[1].ready) = (false, false);
    assert_eq!(
        effects(&down.decide())[0],
        format!("RemoveMember {}", id(1))
    );
}

/// Found by reading: the pod was seen to run, its claim was not seen yet, and its member did not answer for a moment. It was
/// replaced at once, on a disk that it had written to.
#[test]
fn a_claim_that_was_not_seen_yet_is_no_lost_disk() {
    let unseen = || {
        let mut world = healthy(3).without_volume(1).silent(1);
        world.status.member_records[1].disk = None;
        world
    };
    let told = unseen().decide();
    assert_eq!(effects(&told), [""; 0]);
    assert!(!reports(&told, Reason::DiskLost));
    let mut ended = unseen();
    let pod = &mut ended.pods()[1];
    (pod.running, pod.phase) = (false, contract::PodPhase::Failed);
    let mut lost = unseen().without_pod(1);
    lost.status.member_records[1].disk = None;
    for world in [ended, lost] {
        assert!(reports(&world.decide(), Reason::DiskLost));
    }
}

/// Fresh eyes found that the first repair let clients in beside a founder that was starting and not sealed, and took it out.
#[test]
fn a_founder_whose_claim_was_not_seen_yet_is_waited_for() {
    let mut world = healthy(3).without_volume(2).silent(2);
    world.status.member_records[2].disk = None;
    let pod = &mut world.pods()[2];
    (pod.running, pod.ran) = (false, false);
    let state = contract::names::INITIAL_STATE_ANNOTATION.to_owned();
    pod.annotations.insert(state, "new".to_owned());
    if let contract::Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.truncate(1);
    }
    assert_eq!(effects(&world.decide()), [""; 0]);
}
