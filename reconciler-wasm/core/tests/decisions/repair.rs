//! Members that lost their pod or their way.

use contract::{MemberRole, Observed, Reason};

use crate::fixture::{World, effects, healthy, id, member, reports, written};

#[test]
fn a_missing_pod_is_made_again_on_its_own_disk() {
    let decision = healthy(3).without_pod(1).decide();
    assert_eq!(effects(&decision), ["Apply Pod shop-m1"]);
    assert!(reports(&decision, Reason::PodMissing));
}

#[test]
fn all_pods_gone_with_all_disks_there_is_not_quorum_loss() {
    let world = healthy(3)
        .without_pod(0)
        .without_pod(1)
        .without_pod(2)
        .without_list();
    assert_eq!(
        effects(&world.decide()),
        [
            "Apply Pod shop-m0",
            "Apply Pod shop-m1",
            "Apply Pod shop-m2"
        ]
    );
}

/// Its kubelet is gone and ends nothing, and the network is not: it goes on leading, and was waited for, for ever.
#[test]
fn who_leads_from_a_pod_that_never_ends_hands_over_before_it_is_replaced() {
    let mut world = healthy(3);
    let now = world.snapshot.now;
    world.pods()[0].deleted = Some(now);
    let late = world.settle().later(400);
    let moved = effects(&late.decide());
    assert_eq!(moved, ["MoveLeader a1"]);
    assert_eq!(effects(&late.silent(0).decide()), [""; 0]);
}

/// On nodes that do not answer, where the next pods cannot be made before they have ended.
#[test]
fn what_to_do_about_pods_that_never_end_is_said_when_they_are_a_quorum() {
    let mut world = healthy(3).silent(1).silent(2).without_list().settle();
    let since = world.snapshot.now;
    for index in 1..3 {
        world.pods()[index].deleted = Some(since);
    }
    let words = |world: &World| {
        let findings = world.decide().report.findings;
        let mut lost = findings
            .into_iter()
            .filter(|one| one.reason == Reason::QuorumLost);
        lost.next().unwrap().message
    };
    assert!(!words(&world.clone().later(30)).contains("--force"));
    let said = words(&world.later(60));
    assert!(said.contains("kubectl delete pod --force"), "{said}");
}

#[test]
fn a_member_that_does_not_answer_has_time_to_come_back() {
    let world = healthy(3).silent(1);
    assert_eq!(effects(&world.decide()), [""; 0]);
    let world = world.settle();
    assert_eq!(effects(&world.clone().later(100).decide()), [""; 0]);
    assert_eq!(
        effects(&world.clone().later(200).decide()),
        ["Delete Pod shop-m1"]
    );
    let decision = world.later(400).decide();
    assert_eq!(effects(&decision)[0], format!("RemoveMember {}", id(1)));
}

/// Found by the properties: its silent pod may be the one that answers under another's name.
#[test]
fn no_pod_is_taken_down_while_who_answers_is_not_who_should() {
    let mut world = healthy(3).silent(1);
    for endpoint in &mut world.snapshot.etcd.endpoints {
        if endpoint.pod == member(2)
            && let Observed::Seen(status) = &mut endpoint.status
        {
            status.member_id = id(1);
        }
    }
    let world = world.settle().later(200);
    // An entry that changes nothing takes nobody down.
    assert_eq!(effects(&world.decide()), ["AppendNoop "]);
    assert!(reports(&world.decide(), Reason::MemberUnhealthy));
}

/// Found by a seeded defect: it would be taken for what a departed member left.
#[test]
fn a_pod_of_another_owner_is_none_of_ours() {
    let mut world = healthy(3);
    let mut theirs = world.pods()[0].clone();
    theirs.name = "shop-theirs".to_owned();
    theirs.uid = "uid-theirs".to_owned();
    theirs.owner = Some("somebody".to_owned());
    world.pods().push(theirs);
    assert_eq!(effects(&world.decide()), [""; 0]);
}

/// Found by a seeded defect.
#[test]
fn a_member_that_answers_as_another_cluster_is_not_healthy() {
    let mut world = healthy(3);
    if let Observed::Seen(status) = &mut world.snapshot.etcd.endpoints[1].status {
        status.cluster_id = contract::ClusterId(7);
    }
    let decision = world.decide();
    assert_eq!(written(&decision).unwrap().ready_members, 2);
}

#[test]
fn a_member_out_of_memory_is_not_replaced() {
    let mut world = healthy(3).wiped(1).settle();
    let exit = world.pods()[1].last_exit.as_mut().unwrap();
    exit.reason = "OOMKilled".to_owned();
    exit.message = String::new();
    let decision = world.later(4000).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::OutOfMemory));
}

/// Between two ends it runs and reads its data in again. Long after the last one it is down for another reason.
#[test]
fn a_member_that_runs_again_after_it_was_out_of_memory_has_time() {
    let mut world = healthy(3).silent(1).settle().later(4000);
    let now = world.snapshot.now;
    let ended = |ago: i64| contract::LastExit {
        reason: "OOMKilled".to_owned(),
        code: 137,
        message: String::new(),
        at: Some(contract::Millis(now.0 - ago * 1000)),
    };
    world.pods()[1].last_exit = Some(ended(300));
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::OutOfMemory));
    world.pods()[1].last_exit = Some(ended(3000));
    let decision = world.decide();
    assert!(effects(&decision).contains(&format!("RemoveMember {}", id(1))));
}

#[test]
fn a_member_whose_disk_is_full_is_told_with_the_way_out() {
    let mut world = healthy(3).silent(1);
    let pod = &mut world.pods()[1];
    pod.running = false;
    pod.waiting = Some("CrashLoopBackOff: back-off 20s".to_owned());
    pod.last_exit = Some(contract::LastExit {
        reason: "Error".to_owned(),
        code: 2,
        message: "panic: write /var/etcd/data/member/snap/db: no space left on device".to_owned(),
        at: None,
    });
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let mut findings = decision.report.findings.iter();
    let told = findings
        .find(|one| one.reason == Reason::CrashLoop)
        .unwrap();
    assert!(told.message.contains("make room"), "{}", told.message);
}

/// All members hold the same data, so many may end at once.
#[test]
fn a_quorum_out_of_memory_is_told_with_its_cause() {
    let mut world = healthy(3).silent(1).silent(2).without_list();
    for pod in &mut world.pods()[1..] {
        pod.running = false;
        pod.waiting = Some("CrashLoopBackOff: back-off 20s".to_owned());
        pod.last_exit = Some(contract::LastExit {
            reason: "OOMKilled".to_owned(),
            code: 137,
            message: String::new(),
            at: None,
        });
    }
    let status = written(&world.decide()).unwrap();
    let mut conditions = status.conditions.iter();
    let available = conditions.find(|one| one.kind == "Available").unwrap();
    assert_eq!(available.reason, "QuorumLost");
    let words = "shop-m2: its container keeps ending for using more memory than its limit";
    assert!(available.message.contains(words), "{}", available.message);
}

/// Found by the simulator: the removal was refused as a second change, pass after pass.
#[test]
fn a_learner_is_seen_to_before_a_lost_voter_is_replaced() {
    let world = healthy(4).wanting(5).with_learner(4, true).wiped(1);
    let effects = effects(&world.decide());
    assert!(
        effects.contains(&format!("Promote {}", id(4))),
        "{effects:?}"
    );
    assert!(
        !effects
            .iter()
            .any(|effect| effect.starts_with("RemoveMember")),
        "{effects:?}"
    );
}

/// One node of five is gone, so nobody takes the new member, and the voter that lost its disk waited for it for ever.
#[test]
fn a_learner_that_no_node_takes_makes_room_for_a_lost_voter() {
    let mut world = healthy(4).wanting(5).with_learner(4, true).silent(4);
    world.rows()[4].name = String::new();
    let pod = world.pods().last_mut().unwrap();
    pod.running = false;
    pod.unschedulable = Some("didn't match pod anti-affinity rules".to_owned());
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        volumes[4].phase = contract::VolumePhase::Pending;
    }
    let world = world.settle();
    let removal = |index: usize| format!("RemoveMember {}", id(index));
    assert!(!effects(&world.clone().later(200).decide()).contains(&removal(4)));
    let mut lost = world.wiped(1);
    let early = effects(&lost.decide());
    assert!(!early.contains(&removal(4)), "{early:?}");
    let late = effects(&lost.clone().later(200).decide());
    assert!(late.contains(&removal(4)), "{late:?}");
    assert!(!late.contains(&removal(1)), "{late:?}");
    lost.rows().pop();
    let then = effects(&lost.later(210).decide());
    assert!(then.contains(&removal(1)), "{then:?}");
    assert!(
        !then.iter().any(|one| one.starts_with("AddLearner")),
        "{then:?}"
    );
}

/// Found by the simulator: without a quorum, also a member that never said its name may hold the data that counts.
#[test]
fn without_a_list_every_remembered_claim_gets_its_pod() {
    let mut world = healthy(3).silent(0).without_pod(2).without_list();
    world.status.member_records[2].disk = None;
    assert_eq!(effects(&world.decide()), ["Apply Pod shop-m2"]);
}

#[test]
fn another_cluster_in_our_place_is_left_alone() {
    let mut world = healthy(3).wanting(5);
    if let Observed::Seen(list) = &mut world.snapshot.etcd.membership {
        list.cluster_id = contract::ClusterId(0xdead);
    }
    let decision = world.decide();
    assert!(reports(&decision, Reason::ClusterIdMismatch));
    assert!(
        !effects(&decision)
            .iter()
            .any(|effect| effect.contains("Member") || effect.contains("Learner"))
    );
}

/// Seen live: a killed leader left two healthy members of three, and they were told to have lost their quorum.
#[test]
fn an_election_is_no_lost_quorum() {
    let mut world = healthy(3).without_pod(0);
    world.snapshot.etcd.membership = Observed::Unknown("context deadline exceeded".to_owned());
    let decision = world.decide();
    assert!(reports(&decision, Reason::MembersUnknown));
    assert!(!reports(&decision, Reason::QuorumLost));
    let status = written(&decision).unwrap();
    let available = status
        .conditions
        .iter()
        .find(|condition| condition.kind == "Available")
        .unwrap();
    assert_eq!(available.status, contract::ConditionStatus::Unknown);
    assert!(available.message.contains("none confirms the member list"));
}

/// The first look after a partition sees a leader and followers that have yet to hear of it.
#[test]
fn who_waited_for_a_leader_has_its_whole_patience_once_there_is_one() {
    let whole = healthy(3);
    let mut again = whole.clone().without_list().settle().later(400);
    again.snapshot.etcd = whole.snapshot.etcd.clone();
    if let Observed::Seen(status) = &mut again.snapshot.etcd.endpoints[2].status {
        status.leader = None;
    }
    assert_eq!(effects(&again.decide()), [""; 0]);
    let again = again.settle();
    assert_eq!(effects(&again.clone().later(140).decide()), [""; 0]);
    assert_eq!(effects(&again.later(160).decide()), ["Delete Pod shop-m2"]);
}

/// Found by the simulator: it had been taken out of the list a moment before the quorum was lost. A learner that was never
/// healthy has no vote, and nothing that anybody lacks.
#[test]
fn a_learner_that_was_never_healthy_is_not_made_again_without_a_quorum() {
    let mut world = healthy(3).with_learner(3, true).silent(3).settle();
    assert_eq!(world.status.member_records[3].role, MemberRole::Learner);
    world = world.without_pod(3).without_list();
    assert_eq!(effects(&world.decide()), [""; 0]);
    world.status.member_records[3].role = MemberRole::Voter;
    let again = "Apply Pod shop-m3".to_owned();
    assert!(effects(&world.decide()).contains(&again));
}

/// It waited for a pod that nobody makes, and nothing else of the cluster was seen to meanwhile.
#[test]
fn a_voter_that_was_added_by_hand_and_never_came_is_taken_out() {
    let mut world = healthy(4).without_pod(3).without_volume(3);
    world.status.member_records.truncate(3);
    let row = &mut world.rows()[3];
    row.name = String::new();
    row.peer_urls = vec!["http://outsider.elsewhere:2380".to_owned()];
    let world = world.settle();
    let decision = world.clone().later(320).decide();
    assert_eq!(effects(&decision), [""; 0]);
    let told = decision.report.findings.iter();
    let mut told = told.filter(|one| one.member.as_deref() == Some("outsider"));
    let words = &told.next().unwrap().message;
    assert!(words.contains("It is taken out after 330 s"), "{words}");
    let late = world.clone().later(340);
    assert_eq!(effects(&late.decide()), [format!("RemoveMember {}", id(3))]);
    assert_eq!(effects(&late.silent(2).decide()), [""; 0]);
    // Nor is one made where somebody else's pod has the name.
    let mut taken = world.later(340);
    taken.rows()[3].peer_urls = vec![format!("http://{}.shop.prod.svc:2380", member(3))];
    let mut theirs = taken.pods()[0].clone();
    (theirs.name, theirs.uid, theirs.owner) = (member(3), "uid-theirs".to_owned(), None);
    theirs.claim = None;
    taken.pods().push(theirs);
    let taken = taken.settle().later(340);
    let removal = format!("RemoveMember {}", id(3));
    assert!(effects(&taken.decide()).contains(&removal));
}

/// Its node died after the kubelet had said why the container waits, and nobody ever reports the end of the pod.
#[test]
fn a_pod_that_waits_under_a_dead_node_is_replaced_whatever_it_waited_for() {
    let waiting = |why: &str, exit: Option<contract::LastExit>| {
        let mut world = healthy(3).silent(1);
        let now = world.snapshot.now;
        let pod = &mut world.pods()[1];
        (pod.running, pod.ready) = (false, false);
        (pod.waiting, pod.last_exit) = (Some(why.to_owned()), exit);
        pod.deleted = Some(now);
        world.settle()
    };
    let killed = contract::LastExit {
        reason: "OOMKilled".to_owned(),
        code: 137,
        message: String::new(),
        at: None,
    };
    for world in [
        waiting("CrashLoopBackOff: back-off 5m0s", Some(killed)),
        waiting("ImagePullBackOff: no such manifest", None),
    ] {
        let soon = world.decide();
        assert!(effects(&soon).is_empty(), "{:?}", effects(&soon));
        assert!(reports(&soon, Reason::PodTerminating), "{:?}", soon.report);
        let late = effects(&world.later(340).decide());
        assert!(
            late.contains(&format!("RemoveMember {}", id(1))),
            "{late:?}"
        );
    }
}

/// A controller that is gone holds its finalizer: the pod would be waited for, for ever.
#[test]
fn whose_ended_pod_cannot_go_is_replaced_after_its_time() {
    let mut world = healthy(3).silent(1);
    let now = world.snapshot.now;
    let pod = &mut world.pods()[1];
    (pod.phase, pod.running, pod.deleted) = (contract::PodPhase::Failed, false, Some(now));
    let world = world.settle();
    assert_eq!(effects(&world.clone().later(100).decide()), [""; 0]);
    let late = effects(&world.later(400).decide());
    assert_eq!(late.first(), Some(&format!("RemoveMember {}", id(1))));
}
