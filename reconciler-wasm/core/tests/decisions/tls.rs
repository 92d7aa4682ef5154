//! Certificates: what members are started with, and what stops when they cannot work.

use std::collections::BTreeMap;

use contract::{
    Child, ConditionStatus, Decision, Effect, FindingKind, Millis, Observed, Phase, Reason, Secret,
    TlsSecrets, names,
};
use serde_json::{Value, json};

use crate::fixture::{World, effects, fresh, healthy, member, reports, written};

const DAY: i64 = 86_400_000;

/// Keys of the three Secrets as the archived operator had them.
const OLD: [(&str, [&str; 3]); 3] = [
    ("peers", ["peer.crt", "peer.key", "peer-ca.crt"]),
    ("servers", ["server.crt", "server.key", "server-ca.crt"]),
    (
        "operator",
        ["etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"],
    ),
];

fn tls() -> Value {
    json!({"static": {
        "member": {"peerSecret": "peers", "serverSecret": "servers"}, "operatorSecret": "operator",
    }})
}

fn secret(world: &World, keys: [&str; 3]) -> Secret {
    let [certificate, _, authority] = keys;
    let now = world.snapshot.now;
    let dates =
        |at: Millis| BTreeMap::from([(certificate.to_owned(), at), (authority.to_owned(), at)]);
    Secret {
        uid: "uid-secret".to_owned(),
        owner: None,
        resource_version: "1".to_owned(),
        digests: keys
            .iter()
            .map(|key| ((*key).to_owned(), "d".repeat(64)))
            .collect(),
        not_after: dates(Millis(now.0 + 300 * DAY)),
        not_before: dates(Millis(now.0 - DAY)),
        names: BTreeMap::from([(
            certificate.to_owned(),
            [
                "*.shop.prod.svc",
                "*.shop.prod.svc.cluster.local",
                "localhost",
            ]
            .map(str::to_owned)
            .to_vec(),
        )]),
        authorities: BTreeMap::from([
            (certificate.to_owned(), vec!["old".to_owned()]),
            (authority.to_owned(), vec!["old".to_owned()]),
        ]),
        problems: BTreeMap::new(),
    }
}

/// A resource that asks for TLS, with Secrets of these keys.
fn asking(mut world: World, secrets: [(&str, [&str; 3]); 3]) -> World {
    world = world.spec("TLS", tls());
    for (name, keys) in secrets {
        let secret = Observed::Seen(secret(&world, keys));
        world.snapshot.secrets.insert(name.to_owned(), secret);
    }
    world
}

fn born(secrets: [(&str, [&str; 3]); 3]) -> World {
    asking(fresh(3), secrets)
}

/// A healthy cluster that was born with the old layout.
fn living() -> World {
    let mut world = asking(healthy(3), OLD);
    for pod in world.pods() {
        pod.peer_secret = Some("peers".to_owned());
        pod.server_secret = Some("servers".to_owned());
        let trusted = "peer=old;server=old".to_owned();
        let key = names::AUTHORITIES_ANNOTATION.to_owned();
        pod.annotations.insert(key, trusted);
        let initial = pod
            .annotations
            .get_mut(names::INITIAL_CLUSTER_ANNOTATION)
            .unwrap();
        *initial = initial.replace("http:", "https:");
    }
    for row in world.rows() {
        row.peer_urls[0] = row.peer_urls[0].replace("http:", "https:");
        row.client_urls[0] = row.client_urls[0].replace("http:", "https:");
    }
    world.status.tls = Some(TlsSecrets {
        peer: Some("peers".to_owned()),
        server: Some("servers".to_owned()),
        operator: Some("operator".to_owned()),
    });
    world.settle()
}

fn edit(world: &mut World, name: &str, change: impl FnOnce(&mut Secret)) {
    match world.snapshot.secrets.get_mut(name) {
        Some(Observed::Seen(secret)) => change(secret),
        _ => panic!("no Secret {name} in this fixture"),
    }
}

/// The first pod a decision makes, as JSON.
fn pod(decision: &Decision) -> Value {
    let pods = decision.actions.iter().find_map(|action| {
        let Effect::Apply { object } = &action.effect else {
            return None;
        };
        match &**object {
            Child::Pod(pod) => Some(serde_json::to_value(pod).unwrap()),
            _ => None,
        }
    });
    pods.expect("a pod")
}

fn args(pod: &Value) -> Vec<&str> {
    let args = pod["spec"]["containers"][0]["args"].as_array().unwrap();
    args.iter().map(|arg| arg.as_str().unwrap()).collect()
}

#[test]
fn members_are_born_with_the_files_of_the_old_layout() {
    let decision = born(OLD).decide();
    let pod = pod(&decision);
    for flag in [
        "--listen-peer-urls=https://0.0.0.0:2380",
        "--listen-client-urls=https://0.0.0.0:2379",
        "--listen-metrics-urls=http://0.0.0.0:2381",
        "--peer-cert-file=/etc/etcdtls/member/peer-tls/peer.crt",
        "--peer-key-file=/etc/etcdtls/member/peer-tls/peer.key",
        "--peer-trusted-ca-file=/etc/etcdtls/member/peer-tls/peer-ca.crt",
        "--peer-client-cert-auth",
        "--cert-file=/etc/etcdtls/member/server-tls/server.crt",
        "--key-file=/etc/etcdtls/member/server-tls/server.key",
        "--trusted-ca-file=/etc/etcdtls/member/server-tls/server-ca.crt",
        "--client-cert-auth",
    ] {
        assert!(
            args(&pod).contains(&flag),
            "{flag} is not in {:?}",
            args(&pod)
        );
    }
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let secrets: Vec<_> = volumes
        .iter()
        .filter_map(|volume| volume["secret"]["secretName"].as_str())
        .collect();
    assert_eq!(secrets, ["peers", "servers"], "the operator's is in no pod");
    let remembered = written(&decision).unwrap().tls.unwrap();
    assert_eq!(remembered.peer.as_deref(), Some("peers"));
    assert_eq!(remembered.operator.as_deref(), Some("operator"));
}

#[test]
fn members_are_born_with_the_files_of_kubernetes_tls_secrets() {
    let keys = ["tls.crt", "tls.key", "ca.crt"];
    let decision = born([("peers", keys), ("servers", keys), ("operator", keys)]).decide();
    let pod = pod(&decision);
    for flag in [
        "--peer-cert-file=/etc/etcdtls/member/peer-tls/tls.crt",
        "--trusted-ca-file=/etc/etcdtls/member/server-tls/ca.crt",
    ] {
        assert!(
            args(&pod).contains(&flag),
            "{flag} is not in {:?}",
            args(&pod)
        );
    }
}

#[test]
fn peers_and_clients_are_secured_independently() {
    let mut world = born(OLD);
    world = world.spec(
        "TLS",
        json!({"static": {"member": {"peerSecret": "peers"}}}),
    );
    let pod = pod(&world.decide());
    assert!(args(&pod).contains(&"--listen-peer-urls=https://0.0.0.0:2380"));
    assert!(args(&pod).contains(&"--listen-client-urls=http://0.0.0.0:2379"));
    assert!(!args(&pod).contains(&"--client-cert-auth"));
}

/// Each way a Secret can be of no use: no member starts, and the condition names Secret, key and reason.
#[test]
fn nothing_is_born_before_the_certificates_can_work() {
    type Change = fn(&mut World);
    let cases: [(Reason, &[&str], Change); 8] = [
        (
            Reason::SecretMissing,
            &["Secret peers", "peer-ca.crt"],
            |world| {
                let absent = Observed::Absent;
                world.snapshot.secrets.insert("peers".to_owned(), absent);
            },
        ),
        (
            Reason::SecretUnreadable,
            &["Secret servers", "forbidden"],
            |world| {
                let unknown = Observed::Unknown("forbidden".to_owned());
                world.snapshot.secrets.insert("servers".to_owned(), unknown);
            },
        ),
        (Reason::SecretUnreadable, &["Secret operator"], |world| {
            world.snapshot.secrets.remove("operator");
        }),
        (
            Reason::SecretIncomplete,
            &["Secret peers", "no key peer-ca.crt"],
            |world| {
                edit(world, "peers", |secret| {
                    secret.digests.remove("peer-ca.crt");
                });
            },
        ),
        (
            Reason::CertificateInvalid,
            &["Secret servers", "key server.key: not the key"],
            |world| {
                edit(world, "servers", |secret| {
                    let words = "not the key".to_owned();
                    secret.problems.insert("server.key".to_owned(), words);
                });
            },
        ),
        (
            Reason::CertificateExpired,
            &["Secret operator", "etcd-client.crt", "2026-"],
            |world| {
                let now = world.snapshot.now;
                edit(world, "operator", |secret| {
                    secret.not_after.insert("etcd-client.crt".to_owned(), now);
                });
            },
        ),
        (
            Reason::CertificateInvalid,
            &["Secret peers", "peer-ca.crt", "not valid before"],
            |world| {
                let soon = Millis(world.snapshot.now.0 + 1);
                edit(world, "peers", |secret| {
                    secret.not_before.insert("peer-ca.crt".to_owned(), soon);
                });
            },
        ),
        (
            Reason::CertificateInvalid,
            &["Secret servers", "*.shop.prod.svc", "localhost"],
            |world| {
                edit(world, "servers", |secret| {
                    let names = vec!["localhost".to_owned()];
                    secret.names.insert("server.crt".to_owned(), names);
                });
            },
        ),
    ];
    for (reason, words, change) in cases {
        let mut world = born(OLD);
        change(&mut world);
        let decision = world.decide();
        assert_eq!(effects(&decision), [""; 0], "{reason}");
        let status = written(&decision).unwrap();
        assert!(status.birth.is_none() && status.phase == Phase::None);
        let conditions = &status.conditions;
        let blocked = conditions.iter().find(|one| one.kind == "Blocked").unwrap();
        assert_eq!(blocked.status, ConditionStatus::True);
        assert_eq!(blocked.reason, reason.name());
        for word in words {
            assert!(
                blocked.message.contains(word),
                "{word}: {}",
                blocked.message
            );
        }
        assert!(decision.requeue.unwrap().after <= Millis::seconds(2));
    }
}

/// A certificate for the cluster's domain alone is as good: the operator asks for that name then.
#[test]
fn a_certificate_for_the_clusters_domain_will_do_for_clients_and_must_for_peers() {
    let mut world = born(OLD);
    world.snapshot.resource.spec["pod"] = json!({"ClusterDomain": ".example"});
    let name = || vec!["*.shop.prod.svc.example".to_owned()];
    edit(&mut world, "servers", |secret| {
        secret.names.insert("server.crt".to_owned(), name());
    });
    assert!(
        reports(&world.decide(), Reason::CertificateInvalid),
        "peers dial the whole name"
    );
    edit(&mut world, "peers", |secret| {
        secret.names.insert("peer.crt".to_owned(), name());
    });
    assert!(!reports(&world.decide(), Reason::CertificateInvalid));
}

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
fn tls_asked_of_a_living_cluster_is_not_claimed_and_changes_nothing() {
    let decision = asking(healthy(3), OLD).decide();
    assert!(reports(&decision, Reason::TlsNotApplied));
    assert_eq!(effects(&decision), [""; 0]);
    let missing = asking(healthy(3), OLD).without_pod(1).decide();
    let pod = pod(&missing);
    assert!(args(&pod).contains(&"--listen-peer-urls=http://0.0.0.0:2380"));
}

#[test]
fn tls_taken_from_the_spec_of_a_living_cluster_stays_in_effect() {
    let world = living().spec("TLS", Value::Null);
    let decision = world.decide();
    assert!(reports(&decision, Reason::TlsNotApplied));
    assert_eq!(effects(&decision), [""; 0]);
    let missing = world.without_pod(2).decide();
    assert!(args(&pod(&missing)).contains(&"--client-cert-auth"));
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

fn certificates(decision: &Decision) -> contract::Condition {
    let conditions = written(decision).unwrap().conditions;
    let found = conditions
        .into_iter()
        .find(|one| one.kind == "CertificatesValid");
    found.unwrap()
}

#[test]
fn the_status_tells_until_when_each_certificate_is_valid() {
    let decision = living().settle().later(0).decide();
    assert_eq!(decision.actions, [], "and says it once");
    let status = living().status;
    let listed: Vec<String> = status
        .certificates
        .iter()
        .map(|record| format!("{} {}", record.secret, record.key))
        .collect();
    let wanted = [
        "peers peer.crt",
        "peers peer-ca.crt",
        "servers server.crt",
        "servers server-ca.crt",
        "operator etcd-client.crt",
        "operator etcd-client-ca.crt",
    ];
    assert_eq!(listed, wanted);
    assert_eq!(status.certificates[0].not_after, "2027-09-14T11:06:40Z");
    let condition = status
        .conditions
        .iter()
        .find(|one| one.kind == "CertificatesValid");
    assert_eq!(condition.unwrap().status, ConditionStatus::True);
}

#[test]
fn a_certificate_that_ends_soon_is_told_once_and_stops_nothing() {
    let mut world = living();
    let soon = Millis(world.snapshot.now.0 + 60 * DAY);
    let begin = Millis(world.snapshot.now.0 - 300 * DAY);
    edit(&mut world, "servers", |secret| {
        secret.not_before.insert("server.crt".to_owned(), begin);
        secret.not_after.insert("server.crt".to_owned(), soon);
    });
    let decision = world.decide();
    let condition = certificates(&decision);
    assert_eq!(condition.status, ConditionStatus::False);
    assert_eq!(condition.reason, "CertificateExpiring");
    assert!(
        condition
            .message
            .contains("key server.crt of Secret servers")
    );
    let events = decision.actions.iter().filter(|action| {
        matches!(&action.effect, Effect::Event { reason, .. } if reason == "CertificateExpiring")
    });
    assert_eq!(events.count(), 1);
    let world = world.settle();
    assert_eq!(
        world.decide().actions,
        [],
        "a cluster at rest stays at rest"
    );
    assert!(
        effects(&world.wanting(5).decide())
            .iter()
            .any(|effect| effect.starts_with("AddLearner"))
    );
}

#[test]
fn plain_clusters_have_no_word_on_certificates() {
    let status = healthy(3).status;
    assert!(status.certificates.is_empty());
    assert!(
        !status
            .conditions
            .iter()
            .any(|one| one.kind == "CertificatesValid")
    );
}

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
    let decision = trusting(living().on_empty_dir().spec("TLS", tls()), &["new", "old"]).decide();
    assert_eq!(effects(&decision), [""; 0]);
    assert!(reports(&decision, Reason::AuthoritiesChanged));
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
