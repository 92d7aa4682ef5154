//! Single actions against a fresh read that agrees, and against each one that does not.

mod membership;
mod objects;
mod pods;

use std::collections::BTreeMap;

use contract::{
    Action, ClusterId, Effect, Member, MemberId, Millis, ObjectKind, Observed, Resource, names,
};
use serde_json::{Value, json};

use super::check;
use crate::fixtures::{
    CLUSTER_ID, action, apply, change, endpoint, fingerprint, fresh, fresh_of, pod_json, present,
    resource, service_json, unborn,
};
use crate::{Fresh, ResourceHead};

/// The rule that an action breaks on a fresh read; empty when it may happen.
fn rule(action: &Action, fresh: &Fresh) -> &'static str {
    check(action, fresh)
        .err()
        .map_or("", |refusal| refusal.rule())
}

fn event() -> Action {
    action(Effect::Event {
        kind: contract::EventType::Normal,
        reason: "Formed".to_owned(),
        note: "x".to_owned(),
    })
}

fn service() -> Action {
    let mut delete = action(Effect::Delete {
        kind: ObjectKind::Service,
        name: "a".to_owned(),
        grace_seconds: None,
    });
    delete.pre.object = present("uid-3");
    delete
}

fn remove(id: u64) -> Action {
    change(
        Effect::RemoveMember {
            member: MemberId(id),
        },
        2,
    )
}

fn delete(kind: ObjectKind) -> Action {
    let mut delete = action(Effect::Delete {
        kind,
        name: "a-3".to_owned(),
        grace_seconds: None,
    });
    delete.pre.object = present("uid-3");
    delete
}

/// Takes down the pod of voter 3.
fn restart(healthy_voters: u32) -> Action {
    let mut restart = change(delete(ObjectKind::Pod).effect, healthy_voters);
    restart.pre.object = present("uid-3");
    restart.pre.touches = Some(MemberId(3));
    restart
}

fn departed(kind: ObjectKind) -> Action {
    let mut delete = delete(kind);
    delete.pre.cluster_id = Some(CLUSTER_ID);
    delete.pre.departed = Some("a-3".to_owned());
    delete
}

fn add() -> Action {
    change(
        Effect::AddLearner {
            name: "a-4".to_owned(),
            peer_urls: vec!["http://a-4.a.ns.svc:2380".to_owned()],
        },
        2,
    )
}

fn starting(state: &str, list: &str) -> Action {
    let mut pod = pod_json();
    pod["metadata"]["annotations"][names::INITIAL_STATE_ANNOTATION] = json!(state);
    pod["metadata"]["annotations"][names::INITIAL_CLUSTER_ANNOTATION] = json!(list);
    apply("pod", pod)
}

const BOTH: &str = "a-1=http://a-1.a.ns.svc:2380,a-2=http://a-2.a.ns.svc:2380";
