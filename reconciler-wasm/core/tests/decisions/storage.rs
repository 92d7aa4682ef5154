//! A claim template changed on a living cluster: what grows, what is refused, what only new members get.

use contract::{Birth, Child, Decision, Effect, Observed, Reason, VolumePhase, names};
use serde_json::json;

use crate::fixture::{UID, World, effects, healthy, id, member, reports, written};

pub(crate) fn asking(storage: &str) -> World {
    healthy(3)
        .spec(
            "pod",
            json!({ "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": storage } } } }),
        )
        .settle()
}

#[test]
fn volumes_grow_to_what_the_spec_asks_for() {
    let decision = asking("2Gi").decide();
    let all = [0, 1, 2].map(|index| format!("Apply PersistentVolumeClaim {}", member(index)));
    assert_eq!(effects(&decision), all);
    assert!(reports(&decision, Reason::VolumeGrowing));
}

/// Disks that are full end all members at once, and room is the way out that people are told.
#[test]
fn volumes_grow_without_a_quorum_and_beside_corrupt_data_too() {
    let all = [0, 1, 2].map(|index| format!("Apply PersistentVolumeClaim {}", member(index)));
    let lost = (0..3).fold(asking("2Gi"), World::silent).without_list();
    let grown = effects(&lost.decide());
    assert!(all.iter().all(|claim| grown.contains(claim)), "{grown:?}");
    let mut doubted = asking("2Gi");
    doubted.snapshot.etcd.alarms = Observed::Seen(vec![contract::Alarm {
        member: Some(id(1)),
        kind: contract::AlarmKind::Corrupt,
    }]);
    let grown = effects(&doubted.decide());
    assert!(all.iter().all(|claim| grown.contains(claim)), "{grown:?}");
}

/// Found by the simulator, with a watch that told of no pods: the claim was asked for with a pod that was there already. What
/// is recorded as a member's disk is what it is started on again.
#[test]
fn a_claim_beside_a_pod_with_its_data_within_is_not_its_disk() {
    let mut world = healthy(3);
    for pod in world.pods() {
        pod.claim = None;
    }
    for record in &mut world.status.member_records {
        record.disk = None;
    }
    let status = written(&world.decide()).expect("a status");
    let uids = world.pods().iter().map(|pod| Some(pod.uid.clone()));
    let uids: Vec<Option<String>> = uids.collect();
    let recorded = status.member_records.into_iter().map(|one| one.disk);
    assert_eq!(recorded.collect::<Vec<_>>(), uids);
}

#[test]
fn who_has_no_room_without_a_quorum_is_told_the_way_out() {
    let mut world = (0..3).fold(healthy(3), World::silent).without_list();
    for pod in world.pods() {
        pod.running = false;
        pod.last_exit = Some(contract::LastExit {
            code: 2,
            reason: "Error".to_owned(),
            message: "panic: write /var/etcd/wal: no space left on device".to_owned(),
            at: None,
        });
    }
    let decision = world.decide();
    let mut findings = decision.report.findings.iter();
    let lost = findings.find(|finding| finding.reason == Reason::QuorumLost);
    let words = &lost.unwrap().message;
    assert!(words.contains("let the volumes grow"), "{words}");
}

#[test]
fn the_same_size_in_other_letters_changes_nothing() {
    assert_eq!(effects(&asking("1024Mi").decide()), [""; 0]);
}

#[test]
fn a_volume_does_not_shrink_and_that_is_said() {
    let decision = asking("512Mi").decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::AcceptedNotUsed));
}

/// The API server takes no claim of another kind, larger or not.
#[test]
fn another_class_or_access_mode_is_for_new_members_and_that_is_said() {
    for (key, value) in [
        ("accessModes", json!(["ReadWriteMany"])),
        ("storageClassName", json!("fast")),
    ] {
        let template = json!({"resources": {"requests": {"storage": "2Gi"}}, (key): value});
        let world = healthy(3).spec("pod", json!({"persistentVolumeClaimSpec": template}));
        let decision = world.settle().decide();
        assert_eq!(effects(&decision), [""; 0], "{key}");
        let mut findings = decision.report.findings.iter();
        let told = findings.find(|finding| finding.reason == Reason::AcceptedNotUsed);
        let told = &told.unwrap().message;
        assert!(
            told.contains(&format!("{key} ")) && told.contains(&member(0)),
            "{told}"
        );
    }
}

fn retaining(mut world: World, when: &str) -> World {
    world.snapshot.resource.spec["pod"]["persistentVolumeClaimRetentionPolicy"] =
        json!({ "whenDeleted": when });
    world
}

/// The claims that a decision applies, as JSON.
fn claims(decision: &Decision) -> Vec<serde_json::Value> {
    let objects = decision.actions.iter().filter_map(|action| {
        let Effect::Apply { object } = &action.effect else {
            return None;
        };
        match &**object {
            Child::PersistentVolumeClaim(claim) => Some(serde_json::to_value(claim).unwrap()),
            _ => None,
        }
    });
    objects.collect()
}

#[test]
fn claims_that_are_to_stay_have_no_owner_that_takes_them_along() {
    let decision = retaining(healthy(3), "Retain").decide();
    let applied = claims(&decision);
    assert_eq!(applied.len(), 3);
    for claim in &applied {
        assert!(claim["metadata"]["ownerReferences"].is_null(), "{claim}");
        let annotations = &claim["metadata"]["annotations"];
        assert_eq!(annotations["etcd.database.coreos.com/owner"], json!(UID));
    }
    assert!(
        !reports(&decision, Reason::Reshaping),
        "no pod is made anew"
    );
    let mut kept = retaining(healthy(3), "Retain");
    if let Observed::Seen(volumes) = &mut kept.snapshot.objects.volumes {
        for volume in volumes {
            let owner = ("etcd.database.coreos.com/owner".to_owned(), UID.to_owned());
            volume.annotations = [owner].into();
        }
    }
    assert_eq!(effects(&kept.decide()), [""; 0]);
    let back = retaining(kept, "Delete").decide();
    assert_eq!(claims(&back).len(), 3);
    for claim in claims(&back) {
        assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], json!(UID));
    }
}

#[test]
fn a_claim_of_another_size_keeps_its_owner_and_that_is_said() {
    let world = healthy(3).spec(
        "pod",
        json!({ "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": "512Mi" } } } }),
    );
    let decision = retaining(world, "Retain").decide();
    assert_eq!(effects(&decision), [""; 0]);
    let said = decision.report.findings.iter().any(|finding| {
        finding.reason == Reason::AcceptedNotUsed
            && finding
                .message
                .contains("persistentVolumeClaimRetentionPolicy")
    });
    assert!(said, "{:?}", decision.report);
}

/// Lets a pod find no node, because its claim, of this class, finds no volume.
fn without_a_volume(world: &mut World, index: usize, class: &str) {
    let pod = &mut world.pods()[index];
    pod.running = false;
    pod.unschedulable = Some("pod has unbound immediate PersistentVolumeClaims".to_owned());
    let name = pod.name.clone();
    if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
        for volume in volumes.iter_mut().filter(|one| one.name == name) {
            volume.phase = VolumePhase::Pending;
            volume.storage_class = Some(class.to_owned());
        }
    }
}

fn of_class(world: World, class: &str) -> World {
    let storage = json!({ "requests": { "storage": "1Gi" } });
    let template = json!({ "storageClassName": class, "resources": storage });
    world.spec("pod", json!({ "persistentVolumeClaimSpec": template }))
}

/// A birth whose claims, of the class `none-such`, find no volume.
fn unborn() -> World {
    let mut world = healthy(3).silent(0).silent(1).silent(2).without_list();
    for index in 0..3 {
        without_a_volume(&mut world, index, "none-such");
    }
    world.status.cluster_id = None;
    world.status.birth = Some(Birth {
        token: "t".to_owned(),
        members: (0..3).map(member).collect(),
        image: "quay.io/coreos/etcd:v3.6.16".to_owned(),
        started_at: "2026-11-18T11:06:00Z".to_owned(),
        attempt: 1,
    });
    world
}

/// The claims cannot be changed, and the birth waited for the scheduler for ever.
#[test]
fn a_birth_that_waits_for_volumes_starts_over_when_the_class_is_corrected() {
    let waiting = of_class(unborn(), "none-such").later(4_000).decide();
    assert!(reports(&waiting, Reason::Unschedulable));
    assert!(!reports(&waiting, Reason::BirthRestarted));
    let corrected = of_class(unborn(), "local").later(60).decide();
    assert!(reports(&corrected, Reason::BirthRestarted));
}

/// The same for a policy that no node could follow.
#[test]
fn a_birth_that_waits_for_a_node_starts_over_when_the_policy_is_corrected() {
    let shaped = |shape: &str| {
        let mut world = of_class(unborn(), "none-such");
        for pod in world.pods() {
            let shape = (names::SHAPE_ANNOTATION.to_owned(), shape.to_owned());
            pod.annotations.extend([shape]);
        }
        world.later(60).decide()
    };
    assert!(reports(&shaped("another"), Reason::BirthRestarted));
}

#[test]
fn a_learner_whose_claim_waits_in_vain_makes_room_when_the_class_is_corrected() {
    let asking = |class: &str| {
        let mut world = healthy(3).wanting(5).with_learner(3, true).silent(3);
        world.rows()[3].name = String::new();
        without_a_volume(&mut world, 3, "none-such");
        of_class(world, class).settle().later(200).decide()
    };
    let removal = format!("RemoveMember {}", id(3));
    assert!(!effects(&asking("none-such")).contains(&removal));
    assert!(effects(&asking("local")).contains(&removal));
}
