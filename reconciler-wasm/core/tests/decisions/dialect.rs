//! Clusters of the second dialect: the same decisions, with the names and labels of that one.

use contract::{Child, Dialect, Effect, Observed, Reason};

use crate::fixture::{World, fresh, healthy, reports, written};

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

/// People expect their data under the same name.
#[test]
fn no_empty_cluster_is_born_beside_claims_of_an_earlier_one() {
    let mut world = improbable(fresh(3));
    world.snapshot.objects.volumes = healthy(3).snapshot.objects.volumes;
    let Observed::Seen(claims) = &mut world.snapshot.objects.volumes else {
        panic!("no claims")
    };
    for claim in claims {
        claim.owner = Some("uid-before".to_owned());
    }
    let decision = world.decide();
    assert!(reports(&decision, Reason::ForeignObject));
    assert!(written(&decision).unwrap().birth.is_none());
    let is_made = |action: &contract::Action| matches!(action.effect, Effect::Apply { .. });
    assert!(!decision.actions.iter().any(is_made));
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
