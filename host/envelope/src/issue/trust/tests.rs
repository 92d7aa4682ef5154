//! Each step of a change of authorities, and the same step too early.

use contract::ObjectPrecondition;
use serde_json::json;

use super::*;
use crate::fixtures::{CLUSTER_ID, action, decision, member, resource, snapshot_of, view};
use crate::{Refusal, permit};

/// Three members that were told `told`, authorities `list`, and certificates by `by` that are this old.
fn world(list: &[&str], told: &str, by: &str, seconds: i64) -> Snapshot {
    let mut resource = resource();
    resource.spec["TLS"] = json!({"auto": {}});
    let mut snapshot = snapshot_of(resource);
    snapshot.now = Millis::seconds(1_000_000);
    let list: Vec<String> = list.iter().map(|one| (*one).to_owned()).collect();
    let mut authorities = Secret::default();
    for role in [TlsRole::Peer, TlsRole::Server] {
        let (key, _) = authority_keys(role);
        authorities.authorities.insert(key.to_owned(), list.clone());
    }
    let seen = Observed::Seen(authorities);
    snapshot.secrets.insert("a-authorities".to_owned(), seen);
    for role in TlsRole::ALL {
        let key = MADE_FILES.certificate.to_owned();
        let mut secret = Secret::default();
        let vouching = vec![by.to_owned()];
        secret.authorities.insert(key.clone(), vouching);
        let begin = Millis(snapshot.now.0 - seconds * 1000);
        secret.not_before.insert(key, begin);
        let name = names::made_secret("a", role);
        snapshot.secrets.insert(name, Observed::Seen(secret));
    }
    let pods = (1..=3).map(|number| {
        let pod = json!({
            "name": format!("a-{number}"), "uid": "u", "resourceVersion": "1", "created": 0, "phase": "Running",
            "owner": "uid-a", "peerSecret": "a-peer-tls", "serverSecret": "a-server-tls",
            "annotations": {names::AUTHORITIES_ANNOTATION: format!("peer={told};server={told}")},
        });
        serde_json::from_value(pod).expect("a pod")
    });
    snapshot.objects.pods = Observed::Seen(pods.collect());
    snapshot
}

fn pods(snapshot: &mut Snapshot) -> &mut Vec<Pod> {
    match &mut snapshot.objects.pods {
        Observed::Seen(pods) => pods,
        Observed::Absent | Observed::Unknown(_) => panic!("the fixture has pods"),
    }
}

fn certificate(role: TlsRole, by: &str) -> Order {
    let names: &[&str] = match role {
        TlsRole::Peer => &["*.a.ns.svc", "a.ns.svc"],
        TlsRole::Server => &["*.a.ns.svc", "a-client.ns.svc", "localhost"],
        TlsRole::Operator => &[],
    };
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let by = by.to_owned();
    Order::Certificate { role, names, by }
}

/// What is refused of these orders in one decision.
fn refused_of(orders: &[Order], snapshot: &Snapshot) -> Vec<String> {
    let actions = orders.iter().map(|order| {
        let secret = match order {
            Order::Authorities | Order::NewestAuthorities => names::authorities_secret("a"),
            Order::Certificate { role, .. } | Order::Trust { role } => {
                names::made_secret("a", *role)
            }
        };
        let order = order.clone();
        let mut action = action(Effect::Issue { secret, order });
        action.pre.object = Some(ObjectPrecondition::Absent);
        action
    });
    let refusals = permit(&decision(actions.collect()), snapshot).err();
    let refusals = refusals.unwrap_or_default();
    assert!(refusals.iter().all(|why| why.rule() == "Field"));
    refusals.iter().map(Refusal::to_string).collect()
}

fn is_refused(order: &Order, snapshot: &Snapshot) -> bool {
    !refused_of(std::slice::from_ref(order), snapshot).is_empty()
}

#[test]
fn only_an_authority_that_every_member_trusts_signs() {
    for role in TlsRole::ALL {
        let old = world(&["new", "old"], "old", "old", 0);
        assert!(is_refused(&certificate(role, "new"), &old), "{role:?}");
        assert!(!is_refused(&certificate(role, "old"), &old), "{role:?}");
        let both = world(&["new", "old"], "new,old", "old", 0);
        assert!(!is_refused(&certificate(role, "new"), &both), "{role:?}");
        assert!(is_refused(&certificate(role, "gone"), &both), "{role:?}");
        let mut one_behind = both;
        let told = "peer=old;server=old".to_owned();
        let key = names::AUTHORITIES_ANNOTATION.to_owned();
        pods(&mut one_behind)[2].annotations.insert(key, told);
        assert!(is_refused(&certificate(role, "new"), &one_behind));
        pods(&mut one_behind)[2].owner = None;
        assert!(!is_refused(&certificate(role, "new"), &one_behind));
    }
}

/// On a node that does not answer it never ends.
#[test]
fn a_pod_on_its_way_out_whose_member_has_left_judges_no_certificate() {
    let order = certificate(TlsRole::Peer, "new");
    let mut snapshot = world(&["new", "old"], "new,old", "old", 0);
    let told = "peer=old;server=old".to_owned();
    let key = names::AUTHORITIES_ANNOTATION.to_owned();
    pods(&mut snapshot)[2].annotations.insert(key, told);
    pods(&mut snapshot)[2].deleted = Some(Millis(0));
    assert!(is_refused(&order, &snapshot), "nobody says that it left");
    snapshot.resource.status["clusterId"] = json!(CLUSTER_ID);
    snapshot.etcd = view();
    list(&mut snapshot).members.pop();
    assert!(!is_refused(&order, &snapshot));
    let edit = |edit: &dyn Fn(&mut Snapshot)| {
        let mut other = snapshot.clone();
        edit(&mut other);
        is_refused(&order, &other)
    };
    assert!(edit(&|other| pods(other)[2].deleted = None));
    assert!(edit(&|other| other.resource.status = json!({})));
    assert!(edit(&|other| list(other).linearizable = false));
    assert!(edit(&|other| list(other).members.push(member(3))));
    assert!(edit(&|other| list(other).members.push(contract::Member {
        name: String::new(),
        ..member(3)
    })));
}

fn list(snapshot: &mut Snapshot) -> &mut contract::Membership {
    match &mut snapshot.etcd.membership {
        Observed::Seen(list) => list,
        Observed::Absent | Observed::Unknown(_) => panic!("the fixture has a list"),
    }
}

#[test]
fn a_pod_of_which_nobody_was_told_trusts_nobody() {
    let mut snapshot = world(&["new", "old"], "new,old", "old", 0);
    pods(&mut snapshot)[0].annotations.clear();
    assert!(is_refused(&certificate(TlsRole::Peer, "new"), &snapshot));
    assert!(!is_refused(&certificate(TlsRole::Peer, "old"), &snapshot));
    let plain = &mut pods(&mut snapshot)[0];
    (plain.peer_secret, plain.server_secret) = (None, Some("theirs".to_owned()));
    assert!(!is_refused(&certificate(TlsRole::Peer, "new"), &snapshot));
    assert!(!is_refused(&certificate(TlsRole::Server, "new"), &snapshot));
}

#[test]
fn authorities_go_when_their_certificates_have_left_every_pod() {
    let drop = Order::NewestAuthorities;
    let spread = world(&["new", "old"], "new,old", "new", 900);
    assert!(!is_refused(&drop, &spread));
    assert!(is_refused(
        &drop,
        &world(&["new", "old"], "new,old", "new", 899)
    ));
    assert!(is_refused(
        &drop,
        &world(&["new", "old"], "new,old", "old", 900)
    ));
    assert!(is_refused(
        &drop,
        &world(&["new", "old"], "old", "new", 900)
    ));
    for role in TlsRole::ALL {
        let name = names::made_secret("a", role);
        let mut unread = spread.clone();
        let lost = Observed::Unknown("timed out".to_owned());
        unread.secrets.insert(name, lost);
        assert!(is_refused(&drop, &unread), "{role:?}");
    }
}

/// Fresh ones stand beside the newest alone.
#[test]
fn fresh_authorities_drop_older_ones_no_sooner() {
    let fresh = Order::Authorities;
    assert!(!is_refused(&fresh, &world(&["old"], "old", "old", 0)));
    let twice = world(&["new", "old"], "old", "old", 0);
    assert!(is_refused(&fresh, &twice));
}

#[test]
fn lost_authorities_are_not_replaced_while_members_trust_them() {
    let mut snapshot = world(&["old"], "old", "old", 0);
    let place = "a-authorities".to_owned();
    snapshot.secrets.insert(place.clone(), Observed::Absent);
    assert!(is_refused(&Order::Authorities, &snapshot));
    assert!(is_refused(&certificate(TlsRole::Peer, "old"), &snapshot));
    let mut unborn = snapshot.clone();
    unborn.resource.status = json!(null);
    assert!(!is_refused(&Order::Authorities, &unborn));
    unborn.resource.status = json!({"birth": crate::fixtures::birth()});
    assert!(is_refused(&Order::Authorities, &unborn));
    pods(&mut snapshot).clear();
    assert!(!is_refused(&Order::Authorities, &snapshot));
    let unread = Observed::Unknown("timed out".to_owned());
    snapshot.secrets.insert(place, unread);
    assert!(is_refused(&Order::Authorities, &snapshot));
}

#[test]
fn nothing_is_signed_for_pods_that_could_not_be_listed() {
    let mut snapshot = world(&["old"], "old", "old", 0);
    let old = certificate(TlsRole::Peer, "old");
    assert!(!is_refused(&old, &snapshot));
    snapshot.objects.pods = Observed::Unknown("timed out".to_owned());
    assert!(is_refused(&old, &snapshot));
}

/// A certificate of the old one, and then the old one goes.
#[test]
fn authorities_are_ordered_alone() {
    let spread = world(&["new", "old"], "new,old", "new", 900);
    let old = certificate(TlsRole::Peer, "old");
    let both = [old.clone(), Order::NewestAuthorities];
    assert_eq!(refused_of(&both, &spread).len(), 1);
    let back = [Order::NewestAuthorities, old.clone()];
    assert_eq!(refused_of(&back, &spread).len(), 1);
    let role = TlsRole::Server;
    let beside = [old, Order::Trust { role }];
    assert_eq!(refused_of(&beside, &spread), [""; 0]);
}
