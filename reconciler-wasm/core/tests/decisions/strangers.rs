//! Pods that the cluster's labels and its owner reference disagree about.

use contract::{FindingKind, ForeignObject, Millis, ObjectKind, Pod, Reason, names};

use crate::fixture::{World, effects, fresh, healthy, id, reports, written};

fn with_pod(change: impl Fn(&mut Pod)) -> World {
    let mut world = healthy(3);
    let mut pod = world.pods()[0].clone();
    (pod.name, pod.uid) = ("shop-theirs".to_owned(), "uid-theirs".to_owned());
    pod.owner = None;
    change(&mut pod);
    world.pods().push(pod);
    world
}

fn told(world: &World) -> Vec<(FindingKind, String)> {
    let findings = world.decide().report.findings;
    let of_strangers = findings
        .into_iter()
        .filter(|finding| finding.reason == Reason::ForeignObject);
    of_strangers
        .map(|finding| (finding.kind, finding.message))
        .collect()
}

#[test]
fn a_pod_with_the_clusters_labels_is_told_and_left_alone() {
    let world = with_pod(|_| {});
    assert_eq!(effects(&world.decide()), [""; 0]);
    let [(FindingKind::Blocked, words)] = &told(&world)[..] else {
        panic!("{:?}", told(&world))
    };
    assert!(
        words.contains("label pod shop-theirs etcd_cluster-"),
        "{words}"
    );

    let unlabelled = with_pod(|pod| pod.labels.clear());
    assert_eq!(told(&unlabelled), []);
}

#[test]
fn pods_of_a_deleted_cluster_of_that_name_are_waited_for() {
    for world in [
        with_pod(|pod| {
            pod.owner = Some("uid-before".to_owned());
            pod.created = Millis(-1);
        }),
        with_pod(|pod| pod.deleted = Some(Millis(1))),
    ] {
        let [(FindingKind::Waiting, words)] = &told(&world)[..] else {
            panic!("{:?}", told(&world))
        };
        assert!(words.contains("was deleted"), "{words}");
    }
}

/// Clients would write into another cluster.
#[test]
fn clients_get_no_service_while_it_would_lead_to_strangers() {
    let without = |mut world: World| {
        let services = &mut world.snapshot.objects.services;
        if let contract::Observed::Seen(services) = services {
            services.retain(|service| service.name != "shop-client");
        }
        effects(&world.settle().decide())
    };
    assert_eq!(without(healthy(3)), ["Apply Service shop-client"]);
    assert_eq!(without(with_pod(|_| {})), [""; 0]);
}

#[test]
fn a_member_whose_pod_lost_its_labels_is_still_one() {
    let mut world = healthy(3);
    world.pods()[1].labels.remove(names::CLUSTER_LABEL);
    assert_eq!(effects(&world.decide()), [""; 0]);
    let [(FindingKind::Blocked, words)] = &told(&world)[..] else {
        panic!("{:?}", told(&world))
    };
    assert!(
        words.contains("label --overwrite pod shop-m1 app=etcd etcd_cluster=shop"),
        "{words}"
    );
}

/// Its disk is not lost, and nobody knows whether it is well.
#[test]
fn a_member_whose_pod_lost_its_owner_is_not_healthy_and_not_lost() {
    for base in [healthy(1), healthy(1).on_empty_dir()] {
        let mut world = base.settle();
        world.pods()[0].owner = None;
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0]);
        assert!(!reports(&decision, Reason::DataLost));
        let (kind, words) = told(&world).remove(0);
        assert_eq!(kind, FindingKind::Blocked);
        assert!(words.contains("patch pod shop-m0 --type merge"), "{words}");
        assert!(words.contains(r#""ownerReferences":[{"#), "{words}");
        assert_eq!(written(&decision).unwrap().ready_members, 0);
    }
}

/// As etcd sees it, it may be as well as the others.
#[test]
fn a_member_whose_pod_lost_its_owner_is_not_replaced() {
    let mut world = healthy(3);
    world.pods()[1].owner = None;
    let world = world.settle().later(4_000);
    assert_eq!(effects(&world.decide()), [""; 0]);
    let words = told(&world).remove(0).1;
    assert!(words.contains("patch pod shop-m1"), "{words}");
}

/// Its pod was asked for in each pass and refused, and nobody was told whose it is.
#[test]
fn a_pod_of_others_under_a_members_name_is_told_and_none_is_asked_for() {
    let mut labelled = healthy(3);
    let pod = &mut labelled.pods()[1];
    (pod.owner, pod.claim) = (None, None);
    pod.uid = "uid-theirs".to_owned();
    let mut refused = healthy(3).without_pod(1);
    refused.snapshot.objects.foreign = vec![ForeignObject {
        kind: ObjectKind::Pod,
        name: "shop-m1".to_owned(),
        owner: "Job/theirs".to_owned(),
    }];
    for (world, owner) in [(labelled, "nobody"), (refused, "Job/theirs")] {
        let world = world.settle().later(4_000);
        assert_eq!(effects(&world.decide()), [""; 0]);
        let told = told(&world);
        let mut told = told
            .iter()
            .filter(|(_, words)| words.contains("delete pod"));
        let (kind, words) = told.next().unwrap();
        assert_eq!(*kind, FindingKind::Blocked);
        assert!(words.contains(&format!("belongs to {owner}")), "{words}");
        assert!(
            words.contains("--namespace prod delete pod shop-m1"),
            "{words}"
        );
    }
}

/// The same of one that joins: it leaves again, and the next one takes no name that is taken.
#[test]
fn a_pod_of_others_under_a_learners_name_is_told_and_none_is_asked_for() {
    let joining = || {
        let mut world = healthy(3)
            .wanting(4)
            .with_learner(3, true)
            .without_pod(3)
            .without_volume(3);
        world.rows()[3].name = String::new();
        world
    };
    let asked = effects(&joining().decide());
    assert!(asked.contains(&"Apply Pod shop-m3".to_owned()), "{asked:?}");
    let mut labelled = joining();
    let mut theirs = labelled.pods()[1].clone();
    (theirs.owner, theirs.claim) = (None, None);
    (theirs.name, theirs.uid) = ("shop-m3".to_owned(), "uid-theirs".to_owned());
    labelled.pods().push(theirs);
    let mut refused = joining();
    refused.snapshot.objects.foreign = vec![ForeignObject {
        kind: ObjectKind::Pod,
        name: "shop-m3".to_owned(),
        owner: "Job/theirs".to_owned(),
    }];
    for world in [labelled, refused] {
        let world = world.settle();
        let asked = effects(&world.decide()).join(" ");
        assert!(!asked.contains("shop-m3"), "{asked}");
        let words: Vec<String> = told(&world).into_iter().map(|(_, words)| words).collect();
        assert!(
            words
                .join(" ")
                .contains("--namespace prod delete pod shop-m3"),
            "{words:?}"
        );
        let late = effects(&world.later(200).decide());
        assert!(
            late.contains(&format!("RemoveMember {}", id(3))),
            "{late:?}"
        );
        assert!(!late.join(" ").contains("shop-m3"), "{late:?}");
    }
}

#[test]
fn a_pod_of_others_under_a_planned_members_name_is_told_and_none_is_asked_for() {
    let mut world = fresh(3).settle();
    let planned = world.status.birth.clone().unwrap().members;
    world.snapshot.objects.foreign = vec![ForeignObject {
        kind: ObjectKind::Pod,
        name: planned[0].clone(),
        owner: "nobody".to_owned(),
    }];
    let decision = world.decide();
    let asked = effects(&decision).join(" ");
    assert!(!asked.contains(&planned[0]), "{asked}");
    assert!(asked.contains(&planned[1]), "{asked}");
    let (kind, words) = told(&world).remove(0);
    assert_eq!(kind, FindingKind::Blocked);
    assert!(
        words.contains(&format!("delete pod {}", planned[0])),
        "{words}"
    );
}
