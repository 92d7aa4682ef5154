//! Authorities that change, and the restarts they take.

use super::*;

/// Puts these authorities into both members' Secrets.
fn trusting(mut world: World, fingerprints: &[&str]) -> World {
    let list = || fingerprints.iter().map(|one| (*one).to_owned()).collect();
    edit(&mut world, "peers", |secret| {
        secret.authorities.insert("peer-ca.crt".to_owned(), list());
    });
    edit(&mut world, "servers", |secret| {
        secret
            .authorities
            .insert("server-ca.crt".to_owned(), list());
    });
    world
}

/// Lets a member have been restarted with these authorities.
fn restarted(mut world: World, index: usize, trusted: &str) -> World {
    let pod = world
        .pods()
        .iter_mut()
        .find(|pod| pod.name == member(index))
        .unwrap();
    let trusted = format!("peer={trusted};server={trusted}");
    pod.annotations
        .insert(names::AUTHORITIES_ANNOTATION.to_owned(), trusted);
    world
}

#[test]
fn a_second_authority_restarts_members_one_by_one_and_the_leader_last() {
    let world = trusting(living(), &["new", "old"]);
    assert_eq!(effects(&world.decide()), ["Delete Pod shop-m1"]);
    let world = restarted(world, 1, "new,old");
    assert_eq!(effects(&world.decide()), ["Delete Pod shop-m2"]);
    let world = restarted(world, 2, "new,old");
    assert_eq!(effects(&world.decide()), ["MoveLeader a1"], "shop-m0 leads");
    let world = restarted(world, 0, "new,old");
    assert_eq!(effects(&world.decide()), [""; 0]);
}

#[test]
fn nobody_is_restarted_while_a_member_is_down_or_was_a_moment_ago() {
    let world = trusting(living(), &["new", "old"]);
    assert_eq!(effects(&world.clone().silent(2).decide()), [""; 0]);
    let mut world = world;
    world.status.member_records[2].since = "2026-11-18T11:06:38Z".to_owned();
    let decision = world.decide();
    assert!(reports(&decision, Reason::AuthoritiesChanged));
    assert_eq!(effects(&decision), [""; 0]);
}

/// A member that trusts only the new authority could not speak with one that trusts only the old.
#[test]
fn authorities_exchanged_at_once_restart_nobody_and_are_told() {
    let mut world = trusting(living(), &["new"]);
    edit(&mut world, "peers", |secret| {
        secret
            .authorities
            .insert("peer.crt".to_owned(), vec!["new".to_owned()]);
    });
    let decision = world.decide();
    assert_eq!(effects(&decision), [""; 0]);
    let finding = &decision.report.findings[0];
    assert_eq!(finding.reason, Reason::AuthoritiesChanged);
    assert!(
        finding
            .message
            .contains("Put the old authorities beside the new ones")
    );
}

/// Those who were not restarted yet would not let such a certificate in.
#[test]
fn a_certificate_of_an_authority_that_members_do_not_know_yet_holds_the_restarts() {
    let mut world = trusting(living(), &["new", "old"]);
    edit(&mut world, "peers", |secret| {
        secret
            .authorities
            .insert("peer.crt".to_owned(), vec!["new".to_owned()]);
    });
    assert_eq!(effects(&world.decide()), [""; 0]);
}

#[test]
fn an_old_authority_taken_out_restarts_members_too() {
    let mut world = living();
    for index in 0..3 {
        world = restarted(world, index, "new,old");
    }
    let world = trusting(world, &["old"]);
    assert_eq!(effects(&world.decide()), ["Delete Pod shop-m1"]);
}

#[test]
fn a_restart_that_would_cost_data_or_an_outage_is_left_to_people() {
    let told = |world: World| {
        let decision = trusting(world, &["new", "old"]).decide();
        assert_eq!(effects(&decision), [""; 0]);
        let mut findings = decision.report.findings.into_iter();
        let told = findings.find(|one| one.reason == Reason::AuthoritiesChanged);
        told.unwrap().message
    };
    let in_pods = told(living().on_empty_dir().spec("TLS", tls()));
    assert!(
        in_pods.contains("as many members as spec.size asks for vote"),
        "{in_pods}"
    );
}

/// etcd looks the caller's address up; a star without the cluster's domain matches no name that DNS has for an address.
#[test]
fn a_peers_certificate_needs_a_name_by_which_dns_finds_it() {
    let named = |names: &[&str]| {
        let mut world = born(OLD);
        edit(&mut world, "peers", |secret| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            secret.names.insert("peer.crt".to_owned(), names);
        });
        world
    };
    let decision = named(&["*.shop.prod.svc"]).decide();
    assert!(reports(&decision, Reason::CertificateInvalid));
    let message = &decision.report.findings[0].message;
    assert!(message.contains("Add the name shop.prod.svc"), "{message}");
    for names in [
        ["*.shop.prod.svc", "shop.prod.svc"],
        ["*.shop.prod.svc", "*.shop.prod.svc.cluster.local"],
    ] {
        assert!(
            !reports(&named(&names).decide(), Reason::CertificateInvalid),
            "{names:?}"
        );
    }
    let mut world = named(&["*.shop.prod.svc"]);
    world.snapshot.resource.spec["pod"] = json!({"etcdEnv": [
        {"name": "ETCD_PEER_SKIP_CLIENT_SAN_VERIFICATION", "value": "true"},
    ]});
    assert!(!reports(&world.decide(), Reason::CertificateInvalid));
}
