//! One good member that speaks TLS, and each thing that makes it a bad one.

use contract::{Observed, Snapshot, names};
use serde_json::{Value, json};

use super::{container, rules_of};
use crate::fixtures::{apply, birth, decision, pod_json, resource, snapshot_of};
use crate::permit;

fn tls() -> Value {
    json!({"static": {
        "member": {"peerSecret": "peers", "serverSecret": "servers"}, "operatorSecret": "operator",
    }})
}

/// A sealed member with both certificates.
fn secured() -> Value {
    let mut pod = pod_json();
    let volumes = pod["spec"]["volumes"].as_array_mut().expect("a list");
    volumes.push(json!({"name": "member-peer-tls", "secret": {"secretName": "peers"}}));
    volumes.push(json!({"name": "member-server-tls", "secret": {"secretName": "servers"}}));
    let container = container(&mut pod);
    let command = container["command"].as_array_mut().expect("a list");
    command.retain(|word| {
        !word
            .as_str()
            .is_some_and(|word| word.starts_with("--listen"))
    });
    container["args"] = json!([
        "--listen-peer-urls=https://0.0.0.0:2380",
        "--listen-client-urls=https://0.0.0.0:2379",
        "--listen-metrics-urls=http://0.0.0.0:2381",
        "--peer-client-cert-auth",
        "--client-cert-auth",
    ]);
    let mounts = container["volumeMounts"].as_array_mut().expect("a list");
    for (name, path) in [
        ("member-peer-tls", "/etc/etcdtls/member/peer-tls"),
        ("member-server-tls", "/etc/etcdtls/member/server-tls"),
    ] {
        mounts.push(json!({"name": name, "mountPath": path, "readOnly": true}));
    }
    pod
}

/// Peers reach all members by this scheme.
fn listed(mut snapshot: Snapshot, scheme: &str) -> Snapshot {
    if let Observed::Seen(list) = &mut snapshot.etcd.membership {
        for url in list.members.iter_mut().flat_map(|one| &mut one.peer_urls) {
            *url = url.replace("http://", &format!("{scheme}://"));
        }
    }
    snapshot
}

/// Rules that a member breaks after `change`, whose peers reach it by this scheme.
fn rules_by(scheme: &str, change: impl FnOnce(&mut Value, &mut Value)) -> Vec<&'static str> {
    let (mut pod, mut resource) = (secured(), resource());
    resource.spec["TLS"] = tls();
    change(&mut pod, &mut resource.spec);
    let snapshot = listed(snapshot_of(resource), scheme);
    let refusals = permit(&decision(vec![apply("pod", pod)]), &snapshot).err();
    let refusals = refusals.unwrap_or_default();
    refusals.iter().map(super::super::Refusal::rule).collect()
}

fn check(rule: &str, change: impl FnOnce(&mut Value)) {
    assert_eq!(rules_by("https", |pod, _| change(pod)), [rule]);
}

/// A flag that no member may have, and one that opens what TLS protects.
fn check_both(change: impl FnOnce(&mut Value)) {
    assert_eq!(
        rules_by("https", |pod, _| change(pod)),
        ["Start", "Plaintext"]
    );
}

fn swap(pod: &mut Value, from: &str, to: &str) {
    let args = container(pod)["args"].as_array_mut().expect("a list");
    for arg in args.iter_mut().filter(|arg| **arg == from) {
        *arg = json!(to);
    }
}

#[test]
fn a_member_with_the_secrets_of_the_spec_in_their_places_passes() {
    let rules = rules_of("pod", secured(), |_, spec| spec["TLS"] = tls());
    assert!(rules.is_empty(), "{rules:?}");
}

#[test]
fn a_secret_in_another_role_or_place_is_refused() {
    let source =
        |pod: &mut Value, at: usize, secret: Value| pod["spec"]["volumes"][at]["secret"] = secret;
    check("Volume", |pod| {
        source(pod, 1, json!({"secretName": "servers"}))
    });
    check("Volume", |pod| {
        source(pod, 2, json!({"secretName": "operator"}))
    });
    check("Volume", |pod| {
        source(pod, 1, json!({"secretName": "else"}))
    });
    check("Volume", |pod| {
        source(pod, 1, json!({"secretName": "peers", "optional": true}));
    });
    check("Volume", |pod| {
        let items = json!([{"key": "peer.key", "path": "x"}]);
        source(pod, 1, json!({"secretName": "peers", "items": items}));
    });
    check("Volume", |pod| {
        let volume = json!({"name": "mine", "secret": {"secretName": "operator"}});
        pod["spec"]["volumes"]
            .as_array_mut()
            .expect("a list")
            .push(volume);
    });
    check("Volume", |pod| {
        container(pod)["volumeMounts"][1]["readOnly"] = json!(false)
    });
    check("Volume", |pod| {
        container(pod)["volumeMounts"][1]["mountPath"] = json!("/tmp")
    });
    check("Volume", |pod| {
        container(pod)["volumeMounts"][2]["subPath"] = json!("server.key")
    });
}

#[test]
fn a_member_that_holds_certificates_and_does_not_ask_for_them_is_refused() {
    check("Plaintext", |pod| {
        swap(pod, "--peer-client-cert-auth", "--name=a-1")
    });
    check_both(|pod| swap(pod, "--client-cert-auth", "--client-cert-auth=false"));
    check_both(|pod| {
        swap(
            pod,
            "--listen-client-urls=https://0.0.0.0:2379",
            "--listen-client-urls=https://0.0.0.0:2379,http://0.0.0.0:2378",
        );
    });
    check("Plaintext", listen_plain);
    check_both(|pod| {
        let args = container(pod)["args"].as_array_mut().expect("a list");
        args.push(json!("--listen-client-http-urls=http://0.0.0.0:2378"));
    });
    check_both(|pod| {
        let args = container(pod)["args"].as_array_mut().expect("a list");
        args.retain(|arg| *arg != "--listen-client-urls=https://0.0.0.0:2379");
    });
}

#[test]
fn a_founding_member_without_the_tls_that_its_cluster_was_planned_with_is_refused() {
    let mut resource = resource();
    resource.spec["TLS"] = tls();
    resource.status = json!({"phase": "Creating", "birth": birth()});
    let founding = |mut pod: Value| {
        pod["metadata"]["annotations"]["etcd.database.coreos.com/initial-cluster-state"] =
            json!("new");
        let mut action = apply("pod", pod);
        action.pre.birth_token = Some("t1".to_owned());
        decision(vec![action])
    };
    let mut snapshot = snapshot_of(resource);
    let rules = |pod: Value, snapshot: &contract::Snapshot| -> Vec<&str> {
        let refusals = permit(&founding(pod), snapshot).err().unwrap_or_default();
        refusals.iter().map(super::super::Refusal::rule).collect()
    };
    assert_eq!(
        rules(pod_json(), &snapshot),
        [""; 0],
        "planned before the spec asked for certificates, and the others speak plain text"
    );
    snapshot.resource.status["tls"] = json!({"peer": "peers", "server": "servers"});
    assert_eq!(rules(pod_json(), &snapshot), ["Plaintext", "Plaintext"]);
    let mut unplanned = snapshot.clone();
    unplanned.resource.status = json!({"phase": "Creating", "birth": null});
    assert_eq!(
        rules(pod_json(), &unplanned)
            .iter()
            .filter(|rule| **rule == "Plaintext")
            .count(),
        2,
        "null is no plan"
    );
    assert_eq!(rules(secured(), &snapshot), [""; 0]);
}

const PLAIN_PEERS: &str = "--listen-peer-urls=http://0.0.0.0:2380";
const PLAIN_CLIENTS: &str = "--listen-client-urls=https://0.0.0.0:2379,http://0.0.0.0:2379";

fn listen_plain(pod: &mut Value) {
    swap(pod, "--listen-peer-urls=https://0.0.0.0:2380", PLAIN_PEERS);
    pod["metadata"]["annotations"][names::PLAIN_ANNOTATION] = json!("peers");
}

/// What is done with others of the cluster goes by it.
#[test]
fn a_pod_is_said_to_listen_in_plain_text_where_it_does() {
    let told = |scheme: &str, told: &str| {
        rules_by(scheme, |pod, _| {
            if scheme == "http" {
                listen_plain(pod);
            }
            pod["metadata"]["annotations"][names::PLAIN_ANNOTATION] = json!(told);
        })
    };
    assert_eq!(told("http", "peers"), [""; 0]);
    assert_eq!(told("http", "peers,clients"), [""; 0]);
    assert_eq!(told("http", "clients"), ["Annotation"]);
    assert_eq!(told("https", "peers"), ["Annotation"]);
    assert_eq!(told("https", "clients"), [""; 0]);
}

/// While TLS is turned on or off etcd's list says how a member is reached, and it must listen there.
#[test]
fn a_member_that_peers_reach_in_plain_text_listens_so_and_still_shows_its_certificate() {
    assert_eq!(rules_by("http", |pod, _| listen_plain(pod)), [""; 0]);
    assert_eq!(rules_by("https", |pod, _| listen_plain(pod)), ["Plaintext"]);
    let without_asking = rules_by("http", |pod, _| {
        listen_plain(pod);
        swap(pod, "--peer-client-cert-auth", "--name=a-1");
    });
    assert_eq!(without_asking, ["Plaintext"]);
}

/// Members that were stopped wake as they were, beside a pod that was started with certificates and cannot end.
#[test]
fn where_nobody_shows_the_list_the_status_says_how_members_are_reached() {
    let mut snapshot = snapshot_of(resource());
    snapshot.resource.spec["TLS"] = json!({"static": {"member": {"peerSecret": "peers"}}});
    snapshot.etcd.membership = Observed::Unknown("they are stopped".to_owned());
    let stuck: contract::Pod = serde_json::from_value(json!({
        "name": "a-2", "uid": "uid-2", "resourceVersion": "1", "owner": "uid-a", "created": 0, "phase": "Running",
        "peerSecret": "peers", "deleted": 1,
    }))
    .expect("a pod");
    snapshot.objects.pods = Observed::Seen(vec![stuck]);
    let rules = |status: Value| -> Vec<&str> {
        let mut snapshot = snapshot.clone();
        snapshot.resource.status = status;
        let refusals = permit(&decision(vec![apply("pod", pod_json())]), &snapshot)
            .err()
            .unwrap_or_default();
        refusals.iter().map(super::super::Refusal::rule).collect()
    };
    let status = snapshot.resource.status.clone();
    assert_eq!(rules(status.clone()), [""; 0]);
    let with = |key: &str, value: Value| {
        let mut status = status.clone();
        status[key] = value;
        status
    };
    assert_eq!(rules(with("tls", json!({"peer": "peers"}))), ["Plaintext"]);
    assert_eq!(rules(with("clusterId", Value::Null)), ["Plaintext"]);
}

/// Found by the simulator: an operator whose caches stood still made the pod as its status remembered, and one member
/// without a leader had heard of the address with TLS.
#[test]
fn what_one_member_says_of_the_list_is_no_quorums_word() {
    let mut snapshot = snapshot_of(resource());
    snapshot.resource.spec["TLS"] = json!({"static": {"member": {"peerSecret": "peers"}}});
    let with_certificates: contract::Pod = serde_json::from_value(json!({
        "name": "a-2", "uid": "uid-2", "resourceVersion": "1", "owner": "uid-a", "created": 0, "phase": "Running",
        "peerSecret": "peers",
    }))
    .expect("a pod");
    snapshot.objects.pods = Observed::Seen(vec![with_certificates]);
    let Observed::Seen(list) = &mut snapshot.etcd.membership else {
        panic!("nobody shows the list");
    };
    for member in &mut list.members {
        for url in &mut member.peer_urls {
            *url = url.replace("http://", "https://");
        }
    }
    let rules = |is_confirmed: bool| -> Vec<&str> {
        let mut snapshot = snapshot.clone();
        if let Observed::Seen(list) = &mut snapshot.etcd.membership {
            list.linearizable = is_confirmed;
        }
        let refusals = permit(&decision(vec![apply("pod", pod_json())]), &snapshot)
            .err()
            .unwrap_or_default();
        refusals.iter().map(super::super::Refusal::rule).collect()
    };
    assert_eq!(rules(true), ["Plaintext"]);
    assert_eq!(rules(false), [""; 0]);
}

#[test]
fn clients_are_taken_in_plain_text_only_where_the_spec_says_so() {
    let both = |pod: &mut Value| {
        swap(
            pod,
            "--listen-client-urls=https://0.0.0.0:2379",
            PLAIN_CLIENTS,
        );
    };
    assert_eq!(rules_by("https", |pod, _| both(pod)), ["Plaintext"]);
    let asked = rules_by("https", |pod, spec| {
        both(pod);
        spec["TLS"]["plainClients"] = json!(true);
    });
    assert_eq!(asked, [""; 0]);
}

/// What a pod was judged by when it was made holds for its successor, whatever the spec says by then.
#[test]
fn a_living_members_secrets_outlive_an_edit_of_the_spec() {
    let mut snapshot = snapshot_of(resource());
    let living: contract::Pod = serde_json::from_value(json!({
        "name": "a-2", "uid": "uid-2", "resourceVersion": "1", "owner": "uid-a", "created": 0, "phase": "Running",
        "peerSecret": "peers", "serverSecret": "servers",
    }))
    .expect("a pod");
    let rules = |snapshot: &contract::Snapshot, pod: Value| -> Vec<&str> {
        let refusals = permit(&decision(vec![apply("pod", pod)]), snapshot)
            .err()
            .unwrap_or_default();
        refusals.iter().map(super::super::Refusal::rule).collect()
    };
    assert_eq!(rules(&snapshot, secured()), ["Volume", "Volume"]);
    snapshot.resource.status["tls"] = json!({"peer": "peers", "server": "servers"});
    assert_eq!(
        rules(&snapshot, secured()),
        [""; 0],
        "the last pod may be gone"
    );
    snapshot.resource.status["tls"] = json!({"peer": "servers", "server": "peers"});
    assert_eq!(
        rules(&snapshot, secured()),
        ["Volume", "Volume"],
        "each in its role"
    );
    snapshot.resource.status["tls"] = json!(null);
    snapshot.objects.pods = Observed::Seen(vec![living]);
    let snapshot = listed(snapshot, "https");
    assert_eq!(rules(&snapshot, secured()), [""; 0]);
    assert_eq!(
        rules(&snapshot, pod_json()),
        ["Plaintext"],
        "a restart in plain text would cut the member off from its peers"
    );
}
