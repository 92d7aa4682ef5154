//! Clusters of the second dialect: the same decisions, with the names and labels of that one.

use contract::{Child, Dialect, Effect, Observed, Reason, Volume, names};

use crate::fixture::{World, effects, fresh, healthy, reports, written};

fn improbable(mut world: World) -> World {
    world.snapshot.resource.api_version = Dialect::Improbable.api_version();
    world
}

fn empty(mut world: World) -> World {
    world.snapshot.objects.volumes = Observed::Seen(Vec::new());
    world
}

#[test]
fn members_are_numbered_and_labelled_as_the_archived_operator_did() {
    let decision = empty(improbable(fresh(3))).decide();
    let birth = written(&decision).unwrap().birth.unwrap();
    assert_eq!(birth.members, ["shop-0", "shop-1", "shop-2"]);
    let pods: Vec<_> = decision
        .actions
        .iter()
        .filter_map(|action| match &action.effect {
            Effect::Apply { object } => match object.as_ref() {
                Child::Pod(pod) => Some(pod.metadata.labels.clone().unwrap()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(pods.len(), 3);
    for (number, labels) in pods.iter().enumerate() {
        assert_eq!(labels["app.kubernetes.io/name"], "etcd");
        assert_eq!(labels["etcd.improbable.io/cluster-name"], "shop");
        assert_eq!(
            labels["etcd.improbable.io/peer-name"],
            format!("shop-{number}")
        );
        assert!(!labels.contains_key("etcd_cluster"), "{labels:?}");
    }
}

/// Its disk is not the new member's.
#[test]
fn no_member_gets_the_number_of_a_claim_that_is_still_there() {
    let mut world = improbable(healthy(3)).wanting(5).later(60);
    let mut left = claims(&mut world)[0].clone();
    left.name = "shop-0".to_owned();
    left.uid = "disk-shop-0".to_owned();
    left.deleted = Some(left.created);
    claims(&mut world).push(left);
    let effects = effects(&world.decide());
    assert!(
        effects.contains(&"AddLearner shop-1".to_owned()),
        "{effects:?}"
    );
}

/// A cluster of three that is not there yet, beside the claims that an earlier one of its name left.
fn again() -> World {
    let mut world = improbable(fresh(3));
    world.snapshot.objects.volumes = healthy(3).snapshot.objects.volumes;
    for claim in claims(&mut world) {
        claim.owner = Some("uid-before".to_owned());
        claim
            .annotations
            .insert(names::OWNER_ANNOTATION.to_owned(), "uid-before".to_owned());
        claim.labels = Dialect::Improbable.labels("shop");
    }
    world
}

fn claims(world: &mut World) -> &mut Vec<Volume> {
    let Observed::Seen(claims) = &mut world.snapshot.objects.volumes else {
        panic!("no claims")
    };
    claims
}

/// People expect their data under the same name.
#[test]
fn the_claims_of_an_earlier_cluster_are_taken_up_before_any_member_is_started() {
    let decision = again().decide();
    let taken = effects(&decision);
    assert_eq!(
        taken,
        [
            "TakeUpClaim PersistentVolumeClaim shop-m0",
            "TakeUpClaim PersistentVolumeClaim shop-m1",
            "TakeUpClaim PersistentVolumeClaim shop-m2"
        ]
    );
    assert!(reports(&decision, Reason::Adopted));
    assert!(written(&decision).unwrap().birth.is_none());

    // The operator ended in the middle: the rest follows, and nobody is started on a part.
    let mut half = again();
    half.own_claims(1);
    let decision = half.decide();
    assert_eq!(
        effects(&decision),
        [
            "TakeUpClaim PersistentVolumeClaim shop-m1",
            "TakeUpClaim PersistentVolumeClaim shop-m2"
        ]
    );
}

/// It was deleted while it took up what the first one left: all of it is the first one's data.
#[test]
fn what_two_earlier_clusters_handed_on_is_one_clusters_data() {
    let mut world = again();
    let second = &mut claims(&mut world)[0];
    second.owner = Some("uid-second".to_owned());
    for (key, value) in [
        (names::OWNER_ANNOTATION, "uid-second"),
        (names::PREVIOUS_OWNER_ANNOTATION, "uid-before"),
    ] {
        second.annotations.insert(key.to_owned(), value.to_owned());
    }
    assert_eq!(effects(&world.decide()).len(), 3);
    claims(&mut world)[0]
        .annotations
        .remove(names::PREVIOUS_OWNER_ANNOTATION);
    assert_eq!(
        effects(&world.decide()),
        [""; 0],
        "it may be the second one's own"
    );
}

impl World {
    /// So many of the claims are this cluster's already.
    fn own_claims(&mut self, count: usize) {
        let own = self.snapshot.resource.uid.clone();
        for claim in claims(self).iter_mut().take(count) {
            claim.owner = Some(own.clone());
            claim
                .annotations
                .insert(names::OWNER_ANNOTATION.to_owned(), own.clone());
        }
    }
}

/// Their etcd knows who it is; one that found nothing would end by itself.
#[test]
fn members_start_sealed_on_the_claims_that_were_taken_up() {
    let mut world = again();
    world.own_claims(3);
    let decision = world.decide();
    let pods: Vec<_> = decision
        .actions
        .iter()
        .filter_map(|action| match &action.effect {
            Effect::Apply { object } => match object.as_ref() {
                Child::Pod(pod) => Some((pod.metadata.annotations.clone().unwrap(), &action.pre)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(pods.len(), 3);
    for (annotations, pre) in pods {
        assert_eq!(annotations[names::INITIAL_STATE_ANNOTATION], "existing");
        assert!(pre.claim_uid.is_some() && pre.birth_token.is_none());
    }
    assert!(is_waiting(&decision));
    // Nothing can be started on claims whose volumes are lost, and that is said.
    for claim in claims(&mut world) {
        claim.phase = contract::VolumePhase::Lost;
    }
    assert!(!is_waiting(&world.decide()));
}

fn is_waiting(decision: &contract::Decision) -> bool {
    let mut findings = decision.report.findings.iter();
    let found = findings.find(|finding| finding.reason == Reason::AwaitingAdoption);
    found.expect("it is told").kind == contract::FindingKind::Waiting
}

/// Its pod may still write.
#[test]
fn claims_are_not_taken_up_while_a_pod_of_the_earlier_cluster_ends() {
    let mut world = again();
    let mut pod = healthy(3).pods()[0].clone();
    pod.owner = Some("uid-before".to_owned());
    world.snapshot.objects.pods = Observed::Seen(vec![pod]);
    let decision = world.decide();
    assert!(reports(&decision, Reason::AwaitingAdoption));
    assert!(
        !effects(&decision)
            .iter()
            .any(|effect| effect.starts_with("TakeUp"))
    );
}

#[test]
fn claims_of_unknown_or_several_clusters_are_left_and_no_empty_one_is_born_beside_them() {
    let mut unmarked = again();
    claims(&mut unmarked)[1].annotations.clear();
    let mut mixed = again();
    claims(&mut mixed)[1].owner = Some("uid-long-before".to_owned());
    let mut going = again();
    let now = going.snapshot.now;
    claims(&mut going)[2].deleted = Some(now);
    for world in [unmarked, mixed, going] {
        let decision = world.decide();
        assert!(reports(&decision, Reason::ForeignObject));
        assert!(written(&decision).unwrap().birth.is_none());
        let is_done = |action: &contract::Action| {
            matches!(
                action.effect,
                Effect::Apply { .. } | Effect::TakeUpClaim { .. }
            )
        };
        assert!(!decision.actions.iter().any(is_done));
    }
}

/// What the archived operator made has not the label by which children are selected here.
fn beside_old(pods: bool) -> World {
    let mut world = again();
    let mut labels = Dialect::Improbable.labels("shop");
    labels.remove("app");
    for claim in claims(&mut world) {
        claim.owner = None;
        claim.annotations.clear();
        claim.labels = labels.clone();
    }
    if pods {
        let mut pod = healthy(3).pods()[0].clone();
        pod.name = "shop-0-x2x4k".to_owned();
        pod.owner = Some("uid-of-a-replica-set".to_owned());
        pod.labels = labels;
        world.snapshot.objects.pods = Observed::Seen(vec![pod]);
    }
    world
}

/// A Service that selects other labels would part its members, and an empty cluster would hide its data.
#[test]
fn beside_pods_and_claims_of_the_archived_operator_nothing_is_done() {
    let mut forming = beside_old(true);
    forming.status.birth = written(&empty(improbable(fresh(3))).decide())
        .unwrap()
        .birth;
    for (world, words) in [
        (beside_old(true), "shop-0-x2x4k"),
        // Nobody knows whether a ReplicaSet is about to start somebody on them.
        (beside_old(false), "older than this module"),
        (forming, "shop-0-x2x4k"),
    ] {
        let had = world.status.birth.clone();
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0]);
        assert!(reports(&decision, Reason::AwaitingAdoption));
        let told = decision
            .report
            .findings
            .iter()
            .map(|one| one.message.as_str());
        let told = told.collect::<Vec<_>>().join("\n");
        assert!(told.contains(words), "{told}");
        assert_eq!(written(&decision).unwrap().birth, had);
    }
}

/// Nobody can start anybody on them, so they are those of an earlier cluster.
#[test]
fn claims_alone_that_the_archived_operator_left_are_taken_up() {
    let mut world = beside_old(false);
    world.snapshot.old_sets = Observed::Seen(Vec::new());
    let decision = world.decide();
    assert_eq!(
        effects(&decision),
        [
            "TakeUpClaim PersistentVolumeClaim shop-m0",
            "TakeUpClaim PersistentVolumeClaim shop-m1",
            "TakeUpClaim PersistentVolumeClaim shop-m2"
        ]
    );
    assert!(written(&decision).unwrap().birth.is_none());
}

/// A pod that lost its label is no reason to leave a cluster of this operator alone.
#[test]
fn a_cluster_with_a_record_goes_on_beside_what_looks_like_the_archived_operators() {
    let mut world = improbable(healthy(3));
    let mut labels = Dialect::Improbable.labels("shop");
    labels.remove("app");
    world.pods()[0].labels = labels.clone();
    world.pods()[1].labels = labels;
    world.pods()[1].owner = None;
    assert!(!reports(&world.decide(), Reason::AwaitingAdoption));
}

/// Whoever reads a condition looks for the field in their own manifest.
#[test]
fn fields_are_named_as_the_dialect_names_them() {
    let even = |world: World| {
        let decision = world.wanting(4).decide();
        let status = written(&decision).unwrap();
        let told = status.conditions.iter().map(|one| one.message.clone());
        let findings = decision.report.findings.iter();
        told.chain(findings.map(|one| one.message.clone()))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let ours = even(healthy(3));
    assert!(ours.contains("spec.size 4"), "{ours}");
    let theirs = even(improbable(healthy(3)));
    assert!(theirs.contains("spec.replicas 4"), "{theirs}");
    assert!(!theirs.contains("spec.size"), "{theirs}");
    let refused = improbable(fresh(8)).decide();
    let told = &refused.report.findings[0].message;
    assert!(told.contains("spec.replicas"), "{told}");
}
