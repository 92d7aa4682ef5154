//! Certificates: what members are started with, and what stops when they cannot work.

mod authorities;
mod birth;
mod living;
mod pods;
mod turn;
mod validity;
mod walk;

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
    living_of(3)
}

fn living_of(size: usize) -> World {
    let mut world = asking(healthy(size), OLD);
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
