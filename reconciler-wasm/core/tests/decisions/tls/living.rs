//! Secrets and specs that change under a living cluster.

use super::*;

#[test]
fn a_healthy_cluster_with_tls_gets_no_action() {
    assert_eq!(living().decide().actions, []);
}

#[test]
fn a_missing_pod_comes_back_with_its_certificates() {
    let decision = living().without_pod(1).decide();
    assert_eq!(effects(&decision), ["Apply Pod shop-m1"]);
    let pod = pod(&decision);
    let initial = &pod["metadata"]["annotations"]["etcd.database.coreos.com/initial-cluster"];
    assert_eq!(
        *initial,
        json!("shop-m1=https://shop-m1.shop.prod.svc:2380")
    );
    assert!(args(&pod).contains(&"--peer-client-cert-auth"));
}

/// Whoever broke a Secret must be told, and what runs goes on: etcd holds its connections.
#[test]
fn a_broken_secret_of_a_living_cluster_is_told_and_stops_changes_of_membership_only() {
    let mut world = living().wanting(5);
    edit(&mut world, "servers", |secret| {
        let words = "it comes from another authority".to_owned();
        secret.problems.insert("server.crt".to_owned(), words);
    });
    let decision = world.clone().without_pod(1).decide();
    assert!(reports(&decision, Reason::CertificateInvalid));
    let budget = "Apply PodDisruptionBudget shop";
    assert_eq!(effects(&decision), [budget, "Apply Pod shop-m1"]);
    let decision = world.decide();
    assert_eq!(
        effects(&decision),
        [budget],
        "a new member would not get far"
    );
    let status = written(&decision).unwrap();
    let available = status.conditions.iter().find(|one| one.kind == "Available");
    assert_eq!(available.unwrap().status, ConditionStatus::True);
}

#[test]
fn a_pod_is_not_made_while_the_files_it_needs_are_unknown() {
    let mut world = living().without_pod(1);
    world
        .snapshot
        .secrets
        .insert("peers".to_owned(), Observed::Absent);
    let decision = world.decide();
    assert!(reports(&decision, Reason::SecretMissing));
    assert_eq!(effects(&decision), [""; 0]);
}

#[test]
fn another_secret_is_not_claimed_and_changes_nothing() {
    let mut world = living();
    world.snapshot.resource.spec["TLS"]["static"]["member"]["peerSecret"] = json!("others");
    let decision = world.decide();
    assert!(reports(&decision, Reason::TlsNotApplied));
    assert_eq!(effects(&decision), [""; 0]);
    let missing = world.without_pod(2).decide();
    assert!(args(&pod(&missing)).contains(&"--peer-client-cert-auth"));
    let finding = missing
        .report
        .findings
        .iter()
        .find(|finding| finding.reason == Reason::TlsNotApplied)
        .unwrap();
    assert_eq!(finding.kind, FindingKind::Blocked);
}

/// Pods of the archived operator have the same volumes, and no status remembers them.
#[test]
fn what_the_pods_have_counts_where_nothing_is_remembered() {
    let mut world = living();
    world.status.tls = None;
    let decision = world.decide();
    assert!(!reports(&decision, Reason::TlsNotApplied));
    assert_eq!(effects(&decision), [""; 0]);
    assert_eq!(
        written(&decision).unwrap().tls.unwrap().peer.as_deref(),
        Some("peers")
    );
}

#[test]
fn a_birth_whose_tls_was_edited_starts_over_with_it() {
    let mut world = fresh(3);
    let status = written(&world.decide()).unwrap();
    world.status = status;
    let decision = asking(world, OLD).later(20).decide();
    assert!(reports(&decision, Reason::BirthRestarted));
    assert!(args(&pod(&decision)).contains(&"--client-cert-auth"));
    assert!(written(&decision).unwrap().tls.is_some());
    assert!(!pod(&decision).to_string().contains(&member(0)));
}
