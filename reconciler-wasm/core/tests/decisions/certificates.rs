//! Certificates that the operator makes: when which of them is ordered, and by whom it is signed.

use std::collections::BTreeMap;

use contract::{
    Decision, Effect, MADE_FILES, Millis, ObjectKind, Observed, Order, OutcomeKind, PastOutcome,
    Reason, Secret, TlsRole, TlsSecrets, authority_keys, names,
};
use serde_json::json;

use crate::fixture::{NAME, UID, World, effects, fresh, healthy, member, reports, written};

const DAY: i64 = 86_400_000;
const PLACE: &str = "shop-authorities";

fn blank(uid: &str) -> Secret {
    Secret {
        uid: uid.to_owned(),
        owner: Some(UID.to_owned()),
        resource_version: "1".to_owned(),
        digests: BTreeMap::new(),
        not_after: BTreeMap::new(),
        not_before: BTreeMap::new(),
        names: BTreeMap::new(),
        authorities: BTreeMap::new(),
        problems: BTreeMap::new(),
    }
}

fn file(secret: &mut Secret, key: &str, authorities: &[&str], begin: Millis) {
    let list = authorities.iter().map(|one| (*one).to_owned()).collect();
    secret.digests.insert(key.to_owned(), "d".repeat(64));
    secret.authorities.insert(key.to_owned(), list);
    secret.not_before.insert(key.to_owned(), begin);
    secret
        .not_after
        .insert(key.to_owned(), Millis(begin.0 + 90 * DAY));
}

/// These authorities, newest first.
fn with_authorities(mut world: World, list: &[&str]) -> World {
    let mut secret = blank("uid-authorities");
    let now = world.snapshot.now;
    for role in [TlsRole::Peer, TlsRole::Server] {
        file(&mut secret, authority_keys(role).0, list, now);
    }
    let seen = Observed::Seen(secret);
    world.snapshot.secrets.insert(PLACE.to_owned(), seen);
    world
}

/// A role's Secret: a certificate signed by `by`, beside these authorities.
fn with_certificate(mut world: World, role: TlsRole, by: &str, trusted: &[&str]) -> World {
    let name = names::made_secret(NAME, role);
    let now = world.snapshot.now;
    let mut secret = blank(&format!("uid-{name}"));
    file(&mut secret, MADE_FILES.certificate, &[by], now);
    file(&mut secret, MADE_FILES.authority, trusted, now);
    secret
        .digests
        .insert(MADE_FILES.key.to_owned(), "d".repeat(64));
    let names = match role {
        TlsRole::Peer => ["*.shop.prod.svc", "shop.prod.svc"]
            .map(str::to_owned)
            .to_vec(),
        TlsRole::Server => ["*.shop.prod.svc", "shop-client.prod.svc", "localhost"]
            .map(str::to_owned)
            .to_vec(),
        TlsRole::Operator => Vec::new(),
    };
    secret
        .names
        .insert(MADE_FILES.certificate.to_owned(), names);
    world.snapshot.secrets.insert(name, Observed::Seen(secret));
    world
}

fn with_certificates(world: World, by: &str, trusted: &[&str]) -> World {
    TlsRole::ALL.into_iter().fold(world, |world, role| {
        with_certificate(world, role, by, trusted)
    })
}

fn unborn() -> World {
    let mut world = fresh(3).spec("TLS", json!({"auto": {}}));
    for name in TlsRole::ALL.map(|role| names::made_secret(NAME, role)) {
        world.snapshot.secrets.insert(name, Observed::Absent);
    }
    world
        .snapshot
        .secrets
        .insert(PLACE.to_owned(), Observed::Absent);
    world
}

/// A healthy cluster whose members trust these authorities.
fn living(trusted: &str) -> World {
    let mut world = trusting(healthy(3), trusted);
    for row in world.rows() {
        row.peer_urls[0] = row.peer_urls[0].replace("http:", "https:");
        row.client_urls[0] = row.client_urls[0].replace("http:", "https:");
    }
    world
}

/// A cluster with TLS whose Secret of the peers was deleted; all others are there.
pub(crate) fn secured(world: World) -> World {
    let world = with_authorities(trusting(world, "old"), &["old"]);
    let mut world = with_certificates(world, "old", &["old"]);
    let gone = names::made_secret(NAME, TlsRole::Peer);
    world.snapshot.secrets.insert(gone, Observed::Absent);
    world
}

/// Pods with certificates that trust these authorities.
fn trusting(world: World, trusted: &str) -> World {
    let mut world = world.spec("TLS", json!({"auto": {}}));
    for pod in world.pods() {
        pod.peer_secret = Some("shop-peer-tls".to_owned());
        pod.server_secret = Some("shop-server-tls".to_owned());
        let known = format!("peer={trusted};server={trusted}");
        let key = names::AUTHORITIES_ANNOTATION.to_owned();
        pod.annotations.insert(key, known);
        let initial = pod
            .annotations
            .get_mut(names::INITIAL_CLUSTER_ANNOTATION)
            .unwrap();
        *initial = initial.replace("http:", "https:");
    }
    world.status.tls = Some(TlsSecrets {
        peer: Some("shop-peer-tls".to_owned()),
        server: Some("shop-server-tls".to_owned()),
        operator: Some("shop-client-tls".to_owned()),
    });
    world.status.authority_generation = Some(1);
    world
}

pub(crate) fn orders(decision: &Decision) -> Vec<String> {
    let issued = decision
        .actions
        .iter()
        .filter_map(|action| match &action.effect {
            Effect::Issue { secret, order } => Some(match order {
                Order::Authorities => format!("{secret}: authorities"),
                Order::NewestAuthorities => format!("{secret}: newest"),
                Order::Certificate { by, .. } => format!("{secret}: by {by}"),
                Order::Trust { .. } => format!("{secret}: trust"),
            }),
            _ => None,
        });
    issued.collect()
}

#[test]
fn authorities_come_first_then_certificates_then_members() {
    let decision = unborn().decide();
    assert_eq!(orders(&decision), ["shop-authorities: authorities"]);
    assert_eq!(effects(&decision).len(), 1, "no member is started");
    assert_eq!(written(&decision).unwrap().authority_generation, Some(1));

    let world = with_authorities(unborn(), &["old"]);
    let decision = world.decide();
    let wanted = [
        "shop-peer-tls: by old",
        "shop-server-tls: by old",
        "shop-client-tls: by old",
    ];
    assert_eq!(orders(&decision), wanted);
    let made = effects(&decision);
    assert_eq!(made.len(), 3, "no member is started: {made:?}");
    assert!(reports(&decision, Reason::IssuingCertificates));

    let world = with_certificates(world, "old", &["old"]);
    let decision = world.decide();
    assert_eq!(orders(&decision), [""; 0]);
    let pods = effects(&decision);
    let pods = pods
        .iter()
        .filter(|effect| effect.starts_with("Apply Pod "));
    assert_eq!(pods.count(), 3);
}

#[test]
fn a_cluster_with_its_own_certificates_is_left_alone() {
    let world = with_authorities(living("old"), &["old"]);
    let world = with_certificates(world, "old", &["old"]).settle();
    assert_eq!(world.decide().actions, []);
}

#[test]
fn a_certificate_is_renewed_when_a_third_of_its_time_is_left() {
    let world = with_authorities(living("old"), &["old"]);
    let world = with_certificates(world, "old", &["old"]).settle();
    let later = |days: i64| {
        let mut world = world.clone().later(days * 86_400);
        // The authorities last longer than what they sign.
        let now = world.snapshot.now;
        if let Some(Observed::Seen(secret)) = world.snapshot.secrets.get_mut(PLACE) {
            for end in secret.not_after.values_mut() {
                *end = Millis(now.0 + 3000 * DAY);
            }
        }
        world
    };
    assert_eq!(orders(&later(59).decide()), [""; 0]);
    assert_eq!(orders(&later(61).decide()).len(), 3);
    assert!(orders(&later(61).decide())[0].ends_with("by old"));
}

/// An operator whose clock was ahead made it, and nobody trusts it yet.
#[test]
fn a_certificate_that_has_not_begun_is_made_anew() {
    let world = with_authorities(living("old"), &["old"]);
    let mut world = with_certificates(world, "old", &["old"]).settle();
    let later = Millis(world.snapshot.now.0 + DAY);
    if let Some(Observed::Seen(secret)) = world.snapshot.secrets.get_mut("shop-peer-tls") {
        secret
            .not_before
            .insert(MADE_FILES.certificate.to_owned(), later);
    }
    assert_eq!(orders(&world.decide()), ["shop-peer-tls: by old"]);
}

#[test]
fn a_certificate_that_somebody_deleted_or_broke_is_made_again() {
    let world = with_authorities(living("old"), &["old"]);
    let mut world = with_certificates(world, "old", &["old"]);
    let name = "shop-server-tls".to_owned();
    world
        .snapshot
        .secrets
        .insert(name.clone(), Observed::Absent);
    assert_eq!(orders(&world.decide()), ["shop-server-tls: by old"]);
    let mut world = with_certificates(world, "old", &["old"]);
    if let Some(Observed::Seen(secret)) = world.snapshot.secrets.get_mut(&name) {
        secret
            .problems
            .insert("tls.key".to_owned(), "another".to_owned());
    }
    assert_eq!(orders(&world.decide()), ["shop-server-tls: by old"]);
}

/// A certificate for the new domain alone would be refused by whoever dials the old one.
#[test]
fn a_domain_that_members_joined_under_stays_in_the_certificates() {
    let mut world = living("old").spec("pod", json!({"ClusterDomain": ".new"}));
    for row in world.rows() {
        row.peer_urls[0] = row.peer_urls[0].replace(".svc:", ".svc.old:");
    }
    let world = with_certificates(with_authorities(world, &["old"]), "old", &["old"]);
    let decision = world.decide();
    let ordered = decision.actions.iter().find_map(|action| {
        let Effect::Issue { order, .. } = &action.effect else {
            return None;
        };
        let Order::Certificate { names, .. } = order else {
            return None;
        };
        Some(names.clone())
    });
    let wanted = [
        "*.shop.prod.svc",
        "*.shop.prod.svc.new",
        "*.shop.prod.svc.old",
        "shop.prod.svc",
    ];
    assert_eq!(ordered.unwrap(), wanted);
}

/// Nobody knows whether it is there, so it is left as it is.
#[test]
fn a_certificate_whose_secret_could_not_be_read_is_not_made_again() {
    let mut world = with_authorities(living("old"), &["old"]);
    world = with_certificates(world, "old", &["old"]);
    let unread = Observed::Unknown("the server is too busy".to_owned());
    let name = "shop-server-tls".to_owned();
    world.snapshot.secrets.insert(name, unread);
    assert_eq!(orders(&world.decide()), [""; 0]);
}

/// A fresh authority in place of the lost one would be trusted by no member.
#[test]
fn lost_authorities_of_a_living_cluster_are_not_replaced() {
    let mut world = with_authorities(living("old"), &["old"]);
    world = with_certificates(world, "old", &["old"]);
    world
        .snapshot
        .secrets
        .insert(PLACE.to_owned(), Observed::Absent);
    let decision = world.decide();
    assert_eq!(orders(&decision), [""; 0]);
    assert!(reports(&decision, Reason::SecretMissing));
    let conditions = written(&decision).unwrap().conditions;
    let valid = conditions
        .iter()
        .find(|one| one.kind == "CertificatesValid");
    let valid = valid.unwrap();
    assert_eq!(
        (valid.status, valid.reason.as_str()),
        (contract::ConditionStatus::False, "SecretMissing")
    );
}

/// The whole way of a change, and at each step only what is safe at that step.
#[test]
fn authorities_change_without_a_moment_of_distrust() {
    let asked = json!({"auto": {"generation": 2}});
    let world = living("old").spec("TLS", asked.clone());
    let world = with_certificates(with_authorities(world, &["old"]), "old", &["old"]).settle();
    assert_eq!(orders(&world.decide()), ["shop-authorities: authorities"]);

    let world = with_authorities(world, &["new", "old"]);
    assert_eq!(
        orders(&world.decide()),
        [
            "shop-peer-tls: trust",
            "shop-server-tls: trust",
            "shop-client-tls: trust"
        ]
    );

    let world = with_certificates(world, "old", &["new", "old"]).settle();
    let decision = world.decide();
    assert_eq!(
        orders(&decision),
        [""; 0],
        "members must know the new one first"
    );
    assert_eq!(effects(&decision), ["Delete Pod shop-m1"]);

    let mut world = world;
    for pod in world.pods() {
        let known = "peer=new,old;server=new,old".to_owned();
        pod.annotations
            .insert(names::AUTHORITIES_ANNOTATION.to_owned(), known);
    }
    let decision = world.decide();
    assert_eq!(orders(&decision)[0], "shop-peer-tls: by new");
    assert_eq!(orders(&decision).len(), 3);

    let world = with_certificates(world, "new", &["new", "old"]).settle();
    assert_eq!(
        orders(&world.decide()),
        [""; 0],
        "pods get it a minute or so later"
    );
    let world = world.later(900);
    let decision = world.decide();
    assert_eq!(orders(&decision), ["shop-authorities: newest"]);
    assert_eq!(written(&decision).unwrap().authority_generation, Some(2));

    let world = with_authorities(world.settle(), &["new"]);
    assert_eq!(
        orders(&world.decide()).len(),
        3,
        "every Secret lets go of the old one"
    );
    let world = with_certificates(world, "new", &["new"]).settle();
    assert_eq!(effects(&world.decide()), ["Delete Pod shop-m1"]);
    assert!(
        effects(&world.decide())
            .iter()
            .all(|effect| !effect.contains(&member(0)))
    );
}

/// The pod of one that has left, on a node that does not answer: it never ends, and trusts for ever what it was started with.
#[test]
fn the_pod_of_one_that_has_left_holds_up_no_change_of_authorities() {
    let world = living("new,old").spec("TLS", json!({"auto": {"generation": 2}}));
    let world = with_authorities(world, &["new", "old"]);
    let mut world = with_certificates(world, "old", &["new", "old"]).settle();
    let mut left = world.pods()[2].clone();
    left.name = "shop-gone".to_owned();
    left.uid = "uid-of-gone".to_owned();
    let known = "peer=old;server=old".to_owned();
    left.annotations
        .insert(names::AUTHORITIES_ANNOTATION.to_owned(), known);
    world.pods().push(left);
    assert_eq!(orders(&world.decide()), [""; 0], "it may still come back");
    world.pods()[3].deleted = Some(contract::Millis(0));
    assert_eq!(orders(&world.decide())[0], "shop-peer-tls: by new");
    let unheard = world.clone().without_list();
    assert_eq!(
        orders(&unheard.decide()),
        [""; 0],
        "nobody says that it left"
    );
    world.pods()[2].deleted = Some(contract::Millis(0));
    let known = "peer=old;server=old".to_owned();
    world.pods()[2]
        .annotations
        .insert(names::AUTHORITIES_ANNOTATION.to_owned(), known);
    assert_eq!(orders(&world.decide()), [""; 0], "it is a member");
}

#[test]
fn authorities_are_not_changed_while_a_member_is_down() {
    let world = living("old").spec("TLS", json!({"auto": {"generation": 2}}));
    let world = with_certificates(with_authorities(world, &["old"]), "old", &["old"]);
    assert_eq!(orders(&world.silent(1).decide()), [""; 0]);
}

/// Seen live with a clock an hour ahead: no member was added, because what is refused ends the pass.
#[test]
fn certificates_that_cannot_be_made_hold_up_nothing_else() {
    let world = living("old").spec("TLS", json!({"auto": {"generation": 2}}));
    let world = with_certificates(with_authorities(world, &["old"]), "old", &["old"]).wanting(5);
    let mut world = world.settle();
    let issue = "Issue Secret shop-authorities".to_owned();
    let first = effects(&world.decide());
    let is_before = first
        .last()
        .is_some_and(|last| last.starts_with("AddLearner"));
    assert!(first.contains(&issue) && is_before, "{first:?}");
    for outcome in [OutcomeKind::Refused, OutcomeKind::Failed] {
        world.snapshot.outcomes = vec![PastOutcome {
            effect: "Issue".to_owned(),
            kind: Some(ObjectKind::Secret),
            target: PLACE.to_owned(),
            outcome,
            message: "the operator's clock is 3600 s ahead".to_owned(),
        }];
        let decision = world.decide();
        assert_eq!(effects(&decision).last(), Some(&issue));
        let last = decision.actions.last().map(|action| &action.effect);
        let is_told_after = matches!(last, Some(Effect::Event { reason, .. })
            if reason == Reason::IssuingCertificates.name());
        assert!(is_told_after, "{last:?}");
    }
}

/// Its keys may be all that somebody has of theirs.
#[test]
fn a_secret_of_somebody_else_under_our_name_is_left_alone_and_named() {
    for name in ["shop-server-tls", PLACE] {
        let mut world = with_certificates(with_authorities(unborn(), &["old"]), "old", &["old"]);
        if let Some(Observed::Seen(secret)) = world.snapshot.secrets.get_mut(name) {
            secret.owner = None;
        }
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0], "{name}");
        assert!(reports(&decision, Reason::ForeignObject), "{name}");
    }
}

#[test]
fn both_ways_at_once_are_refused_in_words() {
    let world = fresh(1).spec("TLS", json!({"auto": {}, "static": {}}));
    let decision = world.decide();
    assert!(reports(&decision, Reason::InvalidSpec));
    assert!(
        decision.report.findings[0]
            .message
            .contains("auto and static")
    );
}
