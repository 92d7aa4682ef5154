//! Whole decisions: counts, identity, preconditions that must be there, status and events.

mod images;

use std::collections::BTreeMap;

use contract::{
    Action, ClusterId, Decision, Effect, EtcdClusterStatus, EventType, MemberId, Millis,
    ObjectKind, Resource, names,
};
use serde_json::json;

use super::MAX_ACTIONS;
use crate::fixtures::{
    action, apply, birth, change, claim_json, decision, pod_json, present, resource, service_json,
    snapshot_of, unborn,
};
use crate::permit;

fn rules_in(resource: Resource, decision: &Decision) -> Vec<&'static str> {
    let refusals = permit(decision, &snapshot_of(resource))
        .err()
        .unwrap_or_default();
    refusals.iter().map(crate::Refusal::rule).collect()
}

fn rules(actions: Vec<Action>) -> Vec<&'static str> {
    rules_in(resource(), &decision(actions))
}

fn event(reason: &str, note: &str) -> Action {
    action(Effect::Event {
        kind: EventType::Normal,
        reason: reason.to_owned(),
        note: note.to_owned(),
    })
}

fn update(status: EtcdClusterStatus) -> Action {
    let mut update = action(Effect::UpdateStatus {
        status: Box::new(status),
    });
    update.pre.resource_version = Some("7".to_owned());
    update
}

fn recorded() -> EtcdClusterStatus {
    EtcdClusterStatus {
        cluster_id: Some(ClusterId(0xc1)),
        ..EtcdClusterStatus::default()
    }
}

fn delete(kind: ObjectKind, name: &str) -> Action {
    let mut delete = action(Effect::Delete {
        kind,
        name: name.to_owned(),
        grace_seconds: None,
    });
    delete.pre.object = present("u");
    delete
}

fn add(url: &str) -> Action {
    change(
        Effect::AddLearner {
            name: "a-4".to_owned(),
            peer_urls: vec![url.to_owned()],
        },
        2,
    )
}

#[test]
fn a_decision_without_actions_passes() {
    assert!(rules(Vec::new()).is_empty());
}

#[test]
fn another_schema_is_refused() {
    let decision = Decision {
        schema: 99,
        ..decision(Vec::new())
    };
    assert_eq!(rules_in(resource(), &decision), ["Schema"]);
}

#[test]
fn too_much_is_refused() {
    assert_eq!(
        rules(vec![delete(ObjectKind::Service, "a"); MAX_ACTIONS + 1]),
        ["TooMany"]
    );
    assert_eq!(rules(vec![event("Formed", "x"); 17]), ["TooMany"]);
    assert_eq!(
        rules(vec![update(recorded()), update(recorded())]),
        ["TooMany"]
    );
    let big = EtcdClusterStatus {
        reason: "x".repeat(70_000),
        ..recorded()
    };
    assert_eq!(rules(vec![update(big)]), ["TooLarge"]);
}

#[test]
fn two_steps_that_bear_on_the_quorum_are_refused() {
    let remove = |id| {
        change(
            Effect::RemoveMember {
                member: MemberId(id),
            },
            2,
        )
    };
    assert_eq!(rules(vec![remove(2), remove(3)]), ["TooMany"]);
    let mut restart = delete(ObjectKind::Pod, "a-1");
    restart.pre = contract::Preconditions {
        touches: Some(MemberId(1)),
        ..change(restart.effect.clone(), 2).pre
    };
    restart.pre.object = present("u");
    assert!(rules(vec![restart.clone()]).is_empty());
    assert_eq!(rules(vec![remove(2), restart]), ["TooMany"]);
}

/// It is shown to the API server and to those who have a say in what it takes.
#[test]
fn a_pod_that_is_only_asked_about_is_none_that_may_not_be() {
    let of = |pod: serde_json::Value| {
        let mut restart = delete(ObjectKind::Pod, "a-1");
        restart.pre.object = present("u");
        restart.pre.successor = Some(serde_json::from_value(pod).expect("a pod"));
        rules(vec![restart])
    };
    assert_eq!(of(pod_json()), [""; 0]);
    let mut odd = pod_json();
    odd["spec"]["hostNetwork"] = json!(true);
    assert!(!of(odd).is_empty());
}

#[test]
fn an_action_for_another_resource_is_refused() {
    let mut foreign = event("Formed", "x");
    foreign.pre.resource_uid = "other".to_owned();
    assert_eq!(rules(vec![foreign]), ["OtherResource"]);
}

#[test]
fn a_paused_or_deleted_cluster_gets_status_and_events_only() {
    let paused = || Resource {
        spec: json!({"size": 3, "paused": true}),
        ..resource()
    };
    let deleted = || Resource {
        deleted: Some(Millis(1)),
        ..resource()
    };
    let quiet = decision(vec![update(recorded()), event("Paused", "x")]);
    assert!(rules_in(paused(), &quiet).is_empty());
    assert!(rules_in(deleted(), &quiet).is_empty());
    let busy = decision(vec![apply("service", service_json())]);
    assert_eq!(rules_in(paused(), &busy), ["Paused"]);
    assert_eq!(rules_in(deleted(), &busy), ["Deleting"]);
}

/// Its lock is an Endpoints object and this operator's is a Lease: neither excludes the other.
#[test]
fn beside_an_archived_operator_at_work_there_are_status_and_events_only() {
    let mut snapshot = snapshot_of(resource());
    let mut rules = |unchanged_for: i64, actions: Vec<Action>| {
        snapshot.old_lock = contract::Observed::Seen(contract::OldLock {
            kind: contract::LockKind::Endpoints,
            name: "etcd-operator".to_owned(),
            namespace: "ns".to_owned(),
            holder: "etcd-operator-0".to_owned(),
            renewed: Millis(0),
            lasts: Millis(15_000),
            unchanged_for: Millis(unchanged_for),
        });
        let refusals = permit(&decision(actions), &snapshot).err();
        refusals
            .unwrap_or_default()
            .iter()
            .map(crate::Refusal::rule)
            .collect::<Vec<_>>()
    };
    let busy = || vec![apply("service", service_json())];
    let quiet = vec![update(recorded()), event("OldOperatorActive", "x")];
    assert_eq!(rules(1_000, quiet), [""; 0]);
    assert_eq!(rules(1_000, busy()), ["OldOperator"]);
    assert_eq!(rules(15_000, busy()), [""; 0]);
}

/// A Service with this operator's selector would part the members of the archived one.
#[test]
fn beside_pods_and_claims_of_the_archived_operator_there_are_status_and_events_only() {
    let mut snapshot = snapshot_of(Resource {
        api_version: contract::Dialect::Improbable.api_version(),
        status: json!({}),
        ..resource()
    });
    let claim = json!({
        "name": "kv-0", "uid": "uid-claim", "resourceVersion": "1", "created": 0, "phase": "Bound",
        "labels": {"app.kubernetes.io/name": "etcd", "etcd.improbable.io/cluster-name": "kv"},
    });
    let claim = serde_json::from_value(claim).expect("a claim");
    snapshot.objects.volumes = contract::Observed::Seen(vec![claim]);
    let rules = |actions: Vec<Action>| {
        let refusals = permit(&decision(actions), &snapshot).err();
        let refusals = refusals.unwrap_or_default();
        let rules = refusals.iter().map(crate::Refusal::rule);
        rules.collect::<Vec<_>>()
    };
    assert!(!rules(vec![event("AwaitingAdoption", "x")]).contains(&"OldChild"));
    assert!(rules(vec![apply("service", service_json())]).contains(&"OldChild"));
}

#[test]
fn nothing_is_built_from_a_spec_that_cannot_be_read() {
    let odd = Resource {
        spec: json!({"size": "three"}),
        ..resource()
    };
    assert_eq!(
        rules_in(odd, &decision(vec![apply("pod", pod_json())])),
        ["UnreadableSpec"]
    );
}

#[test]
fn effects_without_their_preconditions_are_refused() {
    let bare = |effect| rules(vec![action(effect)]);
    let count = |effect| {
        let rules = bare(effect);
        assert!(
            rules.iter().all(|rule| *rule == "MissingPrecondition"),
            "{rules:?}"
        );
        rules.len()
    };
    assert_eq!(
        count(Effect::UpdateStatus {
            status: Box::new(recorded())
        }),
        1
    );
    let peer_urls = vec!["http://a-4.a.ns.svc:2380".to_owned()];
    assert_eq!(
        count(Effect::AddLearner {
            name: "a-4".to_owned(),
            peer_urls
        }),
        3
    );
    assert_eq!(
        count(Effect::Promote {
            member: MemberId(4)
        }),
        3
    );
    assert_eq!(
        count(Effect::RemoveMember {
            member: MemberId(4)
        }),
        3
    );
    assert_eq!(count(Effect::MoveLeader { to: MemberId(4) }), 3);
    for (kind, name, missing) in [
        (ObjectKind::Pod, "a-1", 1),
        (ObjectKind::PersistentVolumeClaim, "a-1", 2),
    ] {
        assert_eq!(
            count(Effect::Delete {
                kind,
                name: name.to_owned(),
                grace_seconds: None
            }),
            missing
        );
    }
    assert_eq!(
        count(Effect::AnnotatePod {
            name: "a-1".to_owned(),
            annotations: BTreeMap::new()
        }),
        1
    );
}

#[test]
fn a_pod_states_what_its_start_relies_on() {
    let with = |state: &str, list: &str| {
        let mut pod = pod_json();
        pod["metadata"]["annotations"][names::INITIAL_STATE_ANNOTATION] = json!(state);
        pod["metadata"]["annotations"][names::INITIAL_CLUSTER_ANNOTATION] = json!(list);
        apply("pod", pod)
    };
    let both = "a-1=http://a-1.a.ns.svc:2380,a-2=http://a-2.a.ns.svc:2380";
    assert_eq!(rules(vec![with("new", both)]), ["MissingPrecondition"]);
    assert_eq!(
        rules(vec![with("existing", both)]),
        ["MissingPrecondition", "MissingPrecondition"]
    );
    let mut join = with("existing", both);
    join.pre = contract::Preconditions {
        claim_uid: join.pre.claim_uid,
        object: join.pre.object,
        ..change(join.effect.clone(), 2).pre
    };
    assert!(rules(vec![join]).is_empty());
    let mut born = with("new", both);
    born.pre.birth_token = Some("t1".to_owned());
    assert!(rules_in(unborn(), &decision(vec![born])).is_empty());
}

#[test]
fn a_pod_names_the_claim_it_is_built_on_unless_it_is_made_with_it() {
    let mut pod = apply("pod", pod_json());
    pod.pre.claim_uid = None;
    assert_eq!(rules(vec![pod.clone()]), ["MissingPrecondition"]);
    assert!(rules(vec![apply("persistentVolumeClaim", claim_json()), pod]).is_empty());
}

#[test]
fn nothing_is_deleted_with_less_time_than_it_has() {
    let delete = |grace_seconds: Option<i64>| {
        let mut delete = change(
            Effect::Delete {
                kind: ObjectKind::Pod,
                name: "a-1".to_owned(),
                grace_seconds,
            },
            2,
        );
        delete.pre.object = present("u");
        rules(vec![delete])
    };
    assert_eq!(delete(None), [""; 0]);
    assert_eq!(delete(Some(0)), ["Field"]);
    assert_eq!(delete(Some(30)), ["Field"]);
}

#[test]
fn a_living_pod_is_never_set_to_new() {
    let annotate = |pairs: &[(&str, &str)]| {
        let annotations = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let mut annotate = action(Effect::AnnotatePod {
            name: "a-1".to_owned(),
            annotations,
        });
        annotate.pre.object = present("u");
        rules(vec![annotate])
    };
    let list = (
        names::INITIAL_CLUSTER_ANNOTATION,
        "a-1=http://a-1.a.ns.svc:2380",
    );
    assert!(annotate(&[list, (names::INITIAL_STATE_ANNOTATION, "existing")]).is_empty());
    assert!(annotate(&[(names::FILLED_ANNOTATION, "true")]).is_empty());
    // What tells others what it was made with, and whether it is about to restart.
    for lie in [
        (names::FILLED_ANNOTATION, "false"),
        (names::RESTARTS_ANNOTATION, "9"),
        (names::PLAIN_ANNOTATION, "peers"),
        (names::SHAPE_ANNOTATION, "0"),
        (names::AUTHORITIES_ANNOTATION, "2"),
        (names::VERSION_ANNOTATION, "3.6.16"),
    ] {
        assert_eq!(annotate(&[lie]), ["Annotation"], "{lie:?}");
    }
    assert_eq!(
        annotate(&[list, (names::INITIAL_STATE_ANNOTATION, "new")]),
        ["Start"]
    );
    assert_eq!(annotate(&[list]), ["Start"]);
    assert_eq!(
        annotate(&[("sidecar.istio.io/inject", "true")]),
        ["Annotation"]
    );
}

#[test]
fn that_another_member_left_is_no_reason_to_delete() {
    let mut delete = delete(ObjectKind::PersistentVolumeClaim, "a-1");
    delete.pre.departed = Some("a-9".to_owned());
    assert_eq!(rules(vec![delete]), ["OtherMember"]);
}

#[test]
fn a_recorded_cluster_id_stays() {
    assert!(rules(vec![update(recorded())]).is_empty());
    assert_eq!(
        rules(vec![update(EtcdClusterStatus::default())]),
        ["RewrittenStatus"]
    );
    let other = EtcdClusterStatus {
        cluster_id: Some(ClusterId(2)),
        ..EtcdClusterStatus::default()
    };
    assert_eq!(rules(vec![update(other)]), ["RewrittenStatus"]);
    let unreadable = Resource {
        status: json!({"clusterId": "not hex"}),
        ..resource()
    };
    assert_eq!(
        rules_in(unreadable, &decision(vec![update(recorded())])),
        ["RewrittenStatus"]
    );
}

#[test]
fn a_plan_with_a_foreign_image_is_refused() {
    let mut plan: contract::Birth = serde_json::from_value(birth()).expect("a plan");
    let status = |plan: &contract::Birth| EtcdClusterStatus {
        birth: Some(plan.clone()),
        ..EtcdClusterStatus::default()
    };
    let fresh = || Resource {
        status: json!(null),
        ..resource()
    };
    assert!(rules_in(fresh(), &decision(vec![update(status(&plan))])).is_empty());
    plan.image = "evil.example/etcd:v1".to_owned();
    assert_eq!(
        rules_in(fresh(), &decision(vec![update(status(&plan))])),
        ["Image"]
    );
}

#[test]
fn a_malformed_event_is_refused() {
    assert!(rules(vec![event("New Member Added", "a-1 joined")]).is_empty());
    assert_eq!(rules(vec![event("", "x")]), ["MalformedEvent"]);
    assert_eq!(rules(vec![event("A\u{7}", "x")]), ["MalformedEvent"]);
    assert_eq!(rules(vec![event("Formed", "")]), ["MalformedEvent"]);
    assert_eq!(
        rules(vec![event("Formed", &"x".repeat(1025))]),
        ["MalformedEvent"]
    );
}

/// The domain of the spec, or one under which a member is listed already.
#[test]
fn a_learner_is_reached_under_no_domain_that_nobody_named() {
    let foreign = || decision(vec![add("http://a-4.a.ns.svc.cluster.local:2380")]);
    let rules = |snapshot: &contract::Snapshot| -> Vec<&str> {
        let refusals = permit(&foreign(), snapshot).err().unwrap_or_default();
        refusals.iter().map(crate::Refusal::rule).collect()
    };
    let mut snapshot = snapshot_of(resource());
    assert_eq!(rules(&snapshot), ["PeerUrl"]);
    snapshot.resource.spec["pod"]["ClusterDomain"] = json!(".cluster.local");
    assert_eq!(rules(&snapshot), [""; 0]);
    let mut snapshot = snapshot_of(resource());
    if let contract::Observed::Seen(list) = &mut snapshot.etcd.membership {
        list.members[0].peer_urls = vec!["http://a-1.a.ns.svc.cluster.local:2380".to_owned()];
    }
    assert_eq!(rules(&snapshot), [""; 0]);
}

/// Without them nobody finds a member, and a drain may take them all.
#[test]
fn services_and_the_budget_are_never_deleted_alone() {
    for (kind, name) in [
        (ObjectKind::Service, "a"),
        (ObjectKind::Service, "a-client"),
        (ObjectKind::PodDisruptionBudget, "a"),
    ] {
        assert_eq!(rules(vec![delete(kind, name)]), ["Needed"]);
    }
}

#[test]
fn a_learner_is_reached_at_its_own_address_only() {
    assert!(rules(vec![add("http://a-4.a.ns.svc:2380")]).is_empty());
    for url in [
        "http://a-3.a.ns.svc:2380",
        "http://a-4.a.other.svc:2380",
        "http://a-4.a.ns.svcx:2380",
        "http://a-4.a.ns.svc.evil.example/x:2380",
        "http://a-4.a.ns.svc:2379",
        "https://a-4.a.ns.svc.cluster.local:2380",
        "ftp://a-4.a.ns.svc:2380",
        "",
    ] {
        assert_eq!(rules(vec![add(url)]), ["PeerUrl"], "{url}");
    }
    let nowhere = change(
        Effect::AddLearner {
            name: "a-4".to_owned(),
            peer_urls: Vec::new(),
        },
        2,
    );
    assert_eq!(rules(vec![nowhere]), ["PeerUrl"]);
}
