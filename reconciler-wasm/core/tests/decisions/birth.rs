//! The first members, their sealing, and what stands in the way of a birth.

use contract::{Observed, Phase, Reason};

use crate::fixture::{World, effects, fresh, healthy, id, member, reports, written};

#[test]
fn birth_remembers_the_plan_before_it_starts_all_members_together() {
    let decision = fresh(3).decide();
    let status = written(&decision).unwrap();
    let birth = status.birth.unwrap();
    assert_eq!(decision.actions[0].effect.name(), "UpdateStatus");
    assert_eq!(status.phase, Phase::Creating);
    assert_eq!(birth.members.len(), 3);
    let pods = effects(&decision)
        .iter()
        .filter(|effect| effect.starts_with("Apply Pod "))
        .count();
    assert_eq!(pods, 3);
    assert!(!effects(&decision).contains(&"Apply Service shop-client".to_owned()));
}

/// Three members that form a cluster, started with `image` just now.
fn forming(image: &str) -> World {
    let mut world = healthy(3);
    world.status.cluster_id = None;
    world.status.birth = Some(contract::Birth {
        token: "t".to_owned(),
        members: (0..3).map(member).collect(),
        image: image.to_owned(),
        started_at: "2026-11-18T11:06:40Z".to_owned(),
        attempt: 1,
    });
    world
}

/// Found by the simulator: paused while they formed, members had told their list once and did not any more. The time of their
/// roles was written anew each second, and each status that is written is a reason to look again.
#[test]
fn a_list_that_was_told_once_and_is_not_any_more_moves_no_time() {
    let world = forming("quay.io/coreos/etcd:v3.6.16").spec("paused", true.into());
    let mut world = world.without_list().settle();
    for _ in 0..3 {
        world = world.later(1);
        assert_eq!(written(&world.decide()), None);
    }
}

#[test]
fn clients_get_their_service_when_a_quorum_has_answered() {
    let mut world = forming("quay.io/coreos/etcd:v3.6.16");
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.truncate(1);
    }
    let decision = world.decide();
    let status = written(&decision).unwrap();
    assert!(status.cluster_id.is_some() && status.birth.is_none());
    assert_eq!(effects(&decision), ["Apply Service shop-client"]);
}

#[test]
fn an_image_that_cannot_be_had_at_birth_waits_for_a_person() {
    let world = forming("registry.example/etcd:v3.6.16");
    let mut world = world.silent(0).silent(1).silent(2).without_list();
    assert!(!reports(&world.decide(), Reason::ImagePull));
    let pod = &mut world.pods()[1];
    (pod.running, pod.ran) = (false, false);
    pod.waiting = Some("ErrImagePull: not found".to_owned());
    pod.last_exit = Some(contract::LastExit {
        reason: "Error".to_owned(),
        code: 1,
        message: "unknown flag".to_owned(),
        at: None,
    });
    let decision = world.settle().decide();
    let mut waiting = decision.report.findings.iter();
    let told = "ErrImagePull: not found. It ended with Error (code 1): unknown flag; shop-m2:";
    let told = waiting.any(|finding| finding.message.contains(told));
    let mut findings = decision.report.findings.iter();
    let found = findings.find(|finding| finding.reason == Reason::ImagePull);
    let found = found.unwrap();
    assert_eq!(found.kind, contract::FindingKind::Blocked);
    assert!(
        found
            .message
            .contains("(ErrImagePull). Check spec.repository")
    );
    assert!(told, "{:?}", decision.report.findings);
}

/// Found by the simulator: two founding members on emptied disks had founded the cluster anew, without the log of the
/// third one, which did not answer; it won the next election, and what clients had written was gone.
#[test]
fn clients_get_no_service_while_a_founding_member_may_hold_another_log() {
    let mut world = healthy(3).silent(2);
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.truncate(1);
    }
    let decision = world.decide();
    assert!(effects(&decision).is_empty(), "{:?}", effects(&decision));
    assert!(reports(&decision, Reason::Forming));

    // One that never ran holds nothing, and may before long hold what a client writes: its disk could be emptied before it is
    // sealed, while the operator's caches stand still. What keeps it from running keeps it from that, too.
    let pod = &mut world.pods()[2];
    pod.running = false;
    pod.annotations.insert(
        contract::names::INITIAL_STATE_ANNOTATION.to_owned(),
        "new".to_owned(),
    );
    assert!(effects(&world.decide()).is_empty());
    for keep in [
        |pod: &mut contract::Pod| pod.unschedulable = Some("no node".to_owned()),
        |pod: &mut contract::Pod| pod.waiting = Some("ErrImagePull: not found".to_owned()),
    ] {
        let mut kept = world.clone();
        keep(&mut kept.pods()[2]);
        assert_eq!(effects(&kept.decide()), ["Apply Service shop-client"]);
        kept.pods()[2].restarts = 1;
        assert!(effects(&kept.decide()).is_empty());
    }
}

/// Found by the simulator: alone, a member's initial cluster names nobody but itself already at birth, so only the
/// state tells a sealed pod. Unsealed, its wiped disk would found an empty cluster under the same id.
#[test]
fn a_sole_member_is_sealed_too() {
    let mut world = healthy(1);
    world.pods()[0].annotations.insert(
        contract::names::INITIAL_STATE_ANNOTATION.to_owned(),
        "new".to_owned(),
    );
    assert_eq!(effects(&world.decide()), ["AnnotatePod Pod shop-m0"]);
}

/// Found by the simulator: the lost member stood in its own way.
#[test]
fn a_founding_member_that_never_answered_is_replaced() {
    let mut world = healthy(3).without_pod(2).without_volume(2);
    world.rows()[2].name = String::new();
    world.status.member_records[2].disk = None;
    world.status.member_records[2].health = contract::MemberHealth::Unhealthy;
    let decision = world.decide();
    assert!(effects(&decision).contains(&"Apply Pod shop-m2".to_owned()));

    let mut world = world.settle();
    let mut pod = world.pods()[0].clone();
    pod.name = member(2);
    pod.claim = Some(member(2));
    pod.running = false;
    pod.unschedulable = Some("volume node affinity conflict".to_owned());
    pod.uid = "uid-lost".to_owned();
    world.pods().push(pod);
    let effects = effects(&world.later(400).decide());
    assert_eq!(effects[0], format!("RemoveMember {}", id(2)));
}

/// Found by the simulator: a disk emptied between the Service and the seal would have been founded anew.
#[test]
fn clients_get_their_service_only_when_a_majority_is_sealed() {
    let mut world = healthy(3);
    if let Observed::Seen(services) = &mut world.snapshot.objects.services {
        services.truncate(1);
    }
    for pod in world.pods() {
        pod.annotations.insert(
            contract::names::INITIAL_STATE_ANNOTATION.to_owned(),
            "new".to_owned(),
        );
    }
    assert_eq!(
        effects(&world.decide()),
        [
            "AnnotatePod Pod shop-m0",
            "AnnotatePod Pod shop-m1",
            "AnnotatePod Pod shop-m2",
            "Apply Service shop-client"
        ]
    );
    let world = world.silent(1).silent(2).without_list();
    assert_eq!(effects(&world.decide()), ["AnnotatePod Pod shop-m0"]);
}

#[test]
fn a_foreign_service_under_the_peers_name_stops_the_birth() {
    let mut world = fresh(3);
    world
        .snapshot
        .objects
        .foreign
        .push(contract::ForeignObject {
            kind: contract::ObjectKind::Service,
            name: "shop".to_owned(),
            owner: "nobody".to_owned(),
        });
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::ForeignObject));

    // The same when it is found out only after the plan was written.
    let mut planned = fresh(3).settle();
    planned.snapshot.objects.foreign = world.snapshot.objects.foreign;
    let decision = planned.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::ForeignObject));
}

/// Found by a seeded defect: whoever cannot be asked may lead, and have been written to.
#[test]
fn a_birth_is_not_started_over_while_a_member_that_runs_cannot_be_asked() {
    let mut world = healthy(3).silent(0).silent(1).silent(2).without_list();
    world.status.cluster_id = None;
    world.status.birth = Some(planned());
    let decision = world.later(4_000).decide();
    assert!(!reports(&decision, Reason::BirthRestarted));
    assert!(reports(&decision, Reason::Forming));
}

/// Found by the simulator: the spec asked for claims after the pods were made.
#[test]
fn no_claim_is_made_for_a_first_pod_that_keeps_its_data_within() {
    let mut world = healthy(3).silent(0).silent(1).silent(2).without_list();
    for index in 0..3 {
        world.pods()[index].claim = None;
        world = world.without_volume(index);
    }
    world.status.cluster_id = None;
    world.status.birth = Some(planned());
    let effects = effects(&world.decide());
    let claims = |effect: &&String| effect.starts_with("Apply PersistentVolumeClaim");
    assert_eq!(effects.iter().find(claims), None);
}

/// Found by the simulator: it waited for ever, and said nothing.
#[test]
fn a_birth_goes_on_with_its_number_when_the_size_cannot_be_followed() {
    let decision = fresh(3).settle().wanting(9).later(400).decide();
    assert!(reports(&decision, Reason::BirthRestarted));
    assert!(reports(&decision, Reason::InvalidSpec));
    assert_eq!(written(&decision).unwrap().birth.unwrap().members.len(), 3);
}

#[test]
fn objects_without_memory_are_never_born_over() {
    let mut world = healthy(3).without_list();
    world.status = contract::EtcdClusterStatus::default();
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::AwaitingAdoption));
}

/// The plan of three members whose first attempt is under way.
fn planned() -> contract::Birth {
    contract::Birth {
        token: "t".to_owned(),
        members: (0..3).map(member).collect(),
        image: "quay.io/coreos/etcd:v3.6.16".to_owned(),
        started_at: "2026-11-18T11:06:00Z".to_owned(),
        attempt: 1,
    }
}
