//! TLS turned on and off while the cluster lives, walked to its end, and turned round at each step.

use contract::{Pod, names};

use super::walk::{Walk, is_plain, listens};
use super::*;
use crate::fixture::id;

/// More steps than any walk takes.
const END: usize = 80;

/// The Secrets are there, and nobody uses them.
fn plain() -> World {
    asking(healthy(3), OLD).spec("TLS", Value::Null).settle()
}

#[test]
fn turned_on_each_member_speaks_both_before_one_is_reached_by_tls_alone() {
    let mut walk = Walk::of(plain());
    walk.ask(tls());
    assert!(walk.go(END), "{:?}", walk.steps);
    walk.is("https");
    let ids: Vec<String> = walk
        .steps
        .iter()
        .filter(|step| step.starts_with("UpdateMember") || step.starts_with("Delete"))
        .cloned()
        .collect();
    assert_eq!(ids.len(), 9, "{:?}", walk.steps);
    assert!(
        ids[..3].iter().all(|step| step.starts_with("Delete Pod")),
        "{ids:?}"
    );
    for pair in ids[3..].chunks(2) {
        assert!(
            pair[0].starts_with("UpdateMember") && pair[1].starts_with("Delete Pod"),
            "{ids:?}"
        );
    }
}

#[test]
fn turned_off_the_certificates_go_when_everybody_is_reached_without_them() {
    let mut walk = Walk::of(living());
    walk.ask(Value::Null);
    assert!(walk.go(END), "{:?}", walk.steps);
    walk.is("http");
    assert_eq!(walk.world.status.tls, None);
    assert!(walk.go(END));
}

/// The pod of one that has left, on a node that does not answer: it never ends, and nobody talks with it.
#[test]
fn the_pod_of_one_that_has_left_holds_up_no_turn() {
    for (start, there, end) in [(plain(), tls(), "https"), (living(), Value::Null, "http")] {
        let mut left = start.snapshot.objects.pods.seen().unwrap()[2].clone();
        left.name = "shop-gone".to_owned();
        left.uid = "uid-of-gone".to_owned();
        left.deleted = Some(contract::Millis(0));
        let mut walk = Walk::of(start);
        walk.world.pods().push(left);
        walk.ask(there);
        walk.go(END);
        let position = walk
            .world
            .pods()
            .iter()
            .position(|pod| pod.name == "shop-gone");
        walk.world.pods().remove(position.unwrap());
        walk.is(end);
    }
}

/// Found by the simulator: turned on while its members were stopped, beside a pod that still had certificates. Those that
/// woke had none, which the envelope refuses, and nobody woke.
#[test]
fn a_cluster_that_wakes_speaks_to_clients_as_the_spec_has_it() {
    let mut world = plain().wanting(0).settle();
    for index in 0..3 {
        world = world.without_pod(index);
    }
    world.snapshot.etcd.endpoints.clear();
    world.snapshot.etcd.membership = Observed::Absent;
    let world = world.spec("TLS", tls()).settle();
    assert_eq!(world.status.tls, None, "nobody is started yet");
    let decision = world.wanting(3).decide();
    let container = &pod(&decision)["spec"]["containers"][0];
    let mounts = container["volumeMounts"].to_string();
    assert!(
        mounts.contains("server") && !mounts.contains("peer"),
        "{mounts}"
    );
}

/// Found by reading: the request for its address was on its way when it was turned back, and came after the last one. The
/// cluster was plain by then, nobody listened at that address, and nobody gave it another one.
#[test]
fn an_address_that_came_late_is_turned_back_in_a_plain_cluster() {
    for (index, spec) in [(0, Value::Null), (2, Value::Null), (2, tls())] {
        let mut world = plain();
        let row = &mut world.rows()[index];
        row.peer_urls[0] = row.peer_urls[0].replacen("http://", "https://", 1);
        if spec.is_object() {
            edit(&mut world, "servers", |secret| {
                let words = "it has expired".to_owned();
                secret.problems.insert("server.crt".to_owned(), words);
            });
        }
        let mut walk = Walk::of(world);
        walk.ask(spec);
        assert!(walk.go(END), "{:?}", walk.steps);
        walk.is("http");
        let turned = [format!("UpdateMember {}", id(index))];
        let updates = walk.steps.iter().filter(|step| !step.starts_with("Event"));
        assert_eq!(updates.cloned().collect::<Vec<_>>(), turned);
    }
}

/// Requests from before for their addresses came late: nobody listens there until each pod was made again.
#[test]
fn certificates_stay_until_everybody_listens_without_them() {
    let mut world = living();
    for row in world.rows() {
        row.peer_urls[0] = row.peer_urls[0].replacen("https://", "http://", 1);
    }
    let mut walk = Walk::of(world.spec("TLS", Value::Null));
    assert!(!walk.go(1));
    let tls = walk.world.status.tls.clone();
    assert!(tls.is_some_and(|tls| tls.peer.is_some()));
    assert!(walk.go(END), "{:?}", walk.steps);
    walk.is("http");
}

/// Between two steps no pod of it is left that would name its Secrets, and neither does the spec.
#[test]
fn the_only_member_is_made_again_with_the_certificates_that_are_being_turned_off() {
    let mut walk = Walk::of(living_of(1));
    walk.ask(Value::Null);
    assert!(walk.go(END), "{:?}", walk.steps);
    walk.is("http");
    assert_eq!(walk.world.pods().len(), 1);
}

#[test]
fn each_way_is_turned_round_at_each_of_its_steps() {
    for (start, there, back, end) in [
        (plain(), tls(), Value::Null, "http"),
        (living(), Value::Null, tls(), "https"),
    ] {
        let mut whole = Walk::of(start.clone());
        whole.ask(there.clone());
        let mut decisions = 0;
        while !whole.go(1) {
            decisions += 1;
            let mut walk = Walk::of(start.clone());
            walk.ask(there.clone());
            walk.go(decisions);
            walk.ask(back.clone());
            assert!(
                walk.go(END),
                "turned round after {decisions}: {:?}",
                walk.steps
            );
            walk.is(end);
        }
        assert!(decisions > 12, "{decisions}");
    }
}

/// Found by the simulator: it had its other address, and its pod could not be made again to listen there. The next one was to
/// get its own, which the envelope refused, again and again, and nobody replaced the one that was losing its disk.
#[test]
fn whose_claim_goes_in_a_turn_is_replaced_and_gets_no_other_address() {
    let (mut halfway, mut others) = (0, 0);
    for (decisions, index) in
        (0..24).flat_map(|decisions| (0..3).map(move |index| (decisions, index)))
    {
        let mut walk = Walk::of(plain());
        walk.ask(tls());
        walk.go(decisions);
        let mut world = walk.world.later(60);
        if let Observed::Seen(volumes) = &mut world.snapshot.objects.volumes {
            volumes[index].deleted = Some(volumes[index].created);
        }
        let row = world.rows()[index].clone();
        let pods = world.pods().clone();
        let turned = |id: &str| format!("UpdateMember {id}");
        let done = effects(&world.decide());
        let what = format!("{} after {decisions}: {done:?}", row.name);
        assert!(!done.contains(&turned(&row.id.to_string())), "{what}");
        let turns = done.iter().any(|step| step.starts_with("UpdateMember"));
        if pods.iter().any(|pod| pod.name == row.name) && !listens(&row, &pods) {
            halfway += 1;
            assert!(
                !turns && done.iter().any(|step| step.starts_with("AddLearner")),
                "{what}"
            );
        }
        others += u32::from(turns);
    }
    assert!(halfway > 2 && others > 2, "{halfway} {others}");
}

/// The member is gone with all that it had.
fn left(world: World, index: usize) -> World {
    let mut world = world.without_pod(index).without_volume(index);
    world.rows().retain(|row| row.id != id(index));
    let records = &mut world.status.member_records;
    records.retain(|record| record.name != member(index));
    world
}

/// Whoever was lost meanwhile is replaced when the others are through, by one that everybody can dial.
#[test]
fn a_new_member_is_added_once_the_others_are_turned_and_is_reached_as_they_are() {
    for (start, there, scheme) in [(plain(), tls(), "https"), (living(), Value::Null, "http")] {
        let (mut turning, mut added) = (0, 0);
        for decisions in 0..END {
            let mut walk = Walk::of(start.clone());
            walk.ask(there.clone());
            walk.go(decisions);
            let mut world = left(walk.world.clone(), 2);
            let is_at_its_end = |world: &mut World| {
                let rows = world.rows().iter();
                let are_reached = rows.clone().all(|row| is_plain(row) == (scheme == "http"));
                let has = |pod: &Pod| pod.peer_secret.is_some();
                are_reached
                    && world
                        .pods()
                        .iter()
                        .all(|pod| has(pod) == (scheme == "https"))
            };
            let is_through = is_at_its_end(&mut world);
            let decision = world.later(60).decide();
            let mut effects = decision.actions.iter().map(|action| &action.effect);
            let url = effects.find_map(|effect| match effect {
                Effect::AddLearner { peer_urls, .. } => Some(peer_urls[0].clone()),
                _ => None,
            });
            turning += usize::from(!is_through);
            if let Some(url) = url {
                assert!(
                    is_through && url.starts_with(&format!("{scheme}://")),
                    "{decisions}: {url}"
                );
                added += 1;
            }
        }
        assert!(turning > 10 && added > 10, "{turning} {added}");
    }
}

#[test]
fn secrets_that_do_not_work_are_named_and_nothing_is_turned() {
    let mut world = plain().spec("TLS", tls());
    edit(&mut world, "servers", |secret| {
        let words = "it comes from another authority".to_owned();
        secret.problems.insert("server.crt".to_owned(), words);
    });
    let decision = world.decide();
    assert!(reports(&decision, Reason::CertificateInvalid));
    assert_eq!(effects(&decision), [""; 0]);
    let missing = world.without_pod(1).decide();
    assert!(args(&pod(&missing)).contains(&"--listen-peer-urls=http://0.0.0.0:2380"));
}

/// Found by the simulator: turned off and on again while the certificates counted as expired, for the operator's clock was
/// years ahead. A pod that was down meanwhile was made again without any, beside others that had theirs, which the envelope
/// refuses.
#[test]
fn who_is_started_after_a_turn_is_taken_back_speaks_as_the_others_still_do() {
    let mut walk = Walk::of(living());
    walk.ask(Value::Null);
    walk.go(1);
    let speaks = |world: &World| world.status.tls.clone().unwrap().server;
    assert_eq!(speaks(&walk.world), None);
    walk.ask(tls());
    edit(&mut walk.world, "servers", |secret| {
        let words = "it has expired".to_owned();
        secret.problems.insert("server.crt".to_owned(), words);
    });
    let missing = walk.world.without_pod(1).decide();
    let mounts = pod(&missing)["spec"]["containers"][0]["volumeMounts"].to_string();
    assert!(mounts.contains("server"), "{mounts}");
}

/// Found by the simulator: the pod is on a node that is cut off, and cannot end.
#[test]
fn who_wakes_beside_a_pod_that_cannot_end_speaks_as_that_one_still_does() {
    let mut walk = Walk::of(living());
    walk.ask(Value::Null);
    walk.go(1);
    let mut world = walk.world.wanting(0).settle();
    let now = world.snapshot.now;
    world.pods().last_mut().unwrap().deleted = Some(now);
    let mut world = world.without_pod(0).without_pod(1).without_list().settle();
    assert_eq!(world.status.tls.clone().unwrap().server, None);
    edit(&mut world, "servers", |secret| {
        let words = "it has expired".to_owned();
        secret.problems.insert("server.crt".to_owned(), words);
    });
    let waking = world.wanting(3).spec("TLS", tls()).decide();
    let mounts = pod(&waking)["spec"]["containers"][0]["volumeMounts"].to_string();
    assert!(mounts.contains("server"), "{mounts}");
}

#[test]
fn clients_without_tls_are_taken_as_long_as_the_spec_says_so() {
    let mut asked = tls();
    asked["plainClients"] = json!(true);
    let mut walk = Walk::of(plain());
    walk.ask(asked);
    assert!(walk.go(END));
    let both = "--listen-client-urls=https://0.0.0.0:2379,http://0.0.0.0:2379";
    for pod in walk.world.pods().clone() {
        assert!(pod.labels["args"].contains(both), "{pod:?}");
        assert_eq!(pod.annotations[names::PLAIN_ANNOTATION], "clients");
    }
    walk.steps.clear();
    walk.ask(tls());
    assert!(walk.go(END));
    walk.is("https");
    let restarts = walk.steps.iter().filter(|step| step.starts_with("Delete"));
    assert_eq!(restarts.count(), 3, "{:?}", walk.steps);
}

#[test]
fn certificates_stay_while_no_quorum_says_where_members_are_reached() {
    let mut looked = 0;
    for decisions in 0..26 {
        let mut walk = Walk::of(living());
        walk.ask(Value::Null);
        walk.go(decisions);
        let has = |status: &contract::EtcdClusterStatus| {
            status.tls.as_ref().is_some_and(|tls| tls.peer.is_some())
        };
        if !has(&walk.world.status) {
            continue;
        }
        let mut stale = walk.world.clone();
        for row in stale.rows() {
            row.peer_urls[0] = row.peer_urls[0].replacen("https://", "http://", 1);
        }
        let mut other = stale.clone();
        let (mut nobody, mut unknown) = (stale.clone(), stale.clone());
        if let Observed::Seen(list) = &mut stale.snapshot.etcd.membership {
            list.linearizable = false;
        }
        if let Observed::Seen(list) = &mut other.snapshot.etcd.membership {
            list.cluster_id.0 += 1;
        }
        nobody.snapshot.etcd.membership = Observed::Absent;
        unknown.snapshot.etcd.membership = Observed::Unknown("timed out".to_owned());
        for (what, world) in [
            ("stale", stale),
            ("other", other),
            ("nobody", nobody),
            ("unknown", unknown),
        ] {
            looked += 1;
            let decision = world.decide();
            if let Some(status) = written(&decision) {
                assert!(has(&status), "{what} after {decisions}");
            }
        }
    }
    assert!(looked > 20, "{looked}");
}

#[test]
fn nothing_is_turned_while_a_recovery_or_a_restore_is_under_way() {
    let begun = |change: fn(&mut contract::EtcdClusterStatus)| {
        let mut world = plain();
        change(&mut world.status);
        let decision = world.spec("TLS", tls()).decide();
        written(&decision).is_some_and(|status| status.tls.is_some())
    };
    assert!(begun(|_| {}));
    assert!(!begun(|status| status.recovery =
        Some(contract::Recovery {
            cluster_id: status.cluster_id.unwrap().to_string(),
            survivor: status.member_records[0].name.clone(),
            stage: contract::RecoveryStage::Stopping,
            started_at: String::new(),
            given_up: Vec::new(),
        })));
    assert!(!begun(|status| status.restoration =
        Some(contract::Restoration {
            restore: "a".to_owned(),
            uid: "uid-r".to_owned(),
            stage: contract::RestorationStage::Growing,
            started_at: None,
            ended_at: None,
            replaces: None,
            founders: Vec::new(),
            token: None,
            given_up: Vec::new(),
        })));
}
