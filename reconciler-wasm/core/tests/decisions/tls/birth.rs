//! What members are born with, and what keeps them from it.

use super::*;

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
