//! Whole passes with small modules against an API server that answers from a list.

use std::collections::BTreeSet;

use contract::{Millis, Reason, Report, Requeue, SCHEMA};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::lease::Leadership;
use crate::metrics::Scraped;
use crate::module::{Engine, seal};
use crate::observe::shelf::Scope;
use crate::recorder::{Header, Limits};
use crate::testing::ApiServer;

const CLUSTER: &str = "/apis/etcd.database.coreos.com/v1beta2/namespaces/infra/etcdclusters/kv";
const STATUS: &str =
    "/apis/etcd.database.coreos.com/v1beta2/namespaces/infra/etcdclusters/kv/status";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/infra/events";

/// Does nothing, and says so.
const NOTHING: &str = r#"{"schema":1,"actions":[],"report":{"findings":[]}}"#;
/// Deletes a Service without any precondition.
const OUTSIDE: &str = r#"{"schema":1,"actions":[{"effect":{"delete":{"kind":"Service","name":"other"}},"pre":{"resourceUid":"r1"}}],"report":{"findings":[]}}"#;

/// A module whose `reconcile` does this, with `data` at 4096.
fn module(engine: &Engine, reconcile: &str, data: &str) -> Module {
    let describe = format!(
        r#"{{"name":"small","version":"1.0.0","oldestSchema":1,"newestSchema":1,"decisionSchema":1,"minimumHost":"{}"}}"#,
        crate::VERSION
    );
    let text = format!(
        r#"(module
            (memory (export "memory") 16)
            (global $free (mut i32) (i32.const 65536))
            (data (i32.const 1024) "{}")
            (data (i32.const 4096) "{}")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.get $free)
                (global.set $free (i32.add (global.get $free) (local.get 3))))
            (func (export "describe") (result i32)
                (i32.store (i32.const 32) (i32.const 1024))
                (i32.store (i32.const 36) (i32.const {}))
                (i32.const 32))
            (func (export "reconcile") (param i32 i32) (result i32) {reconcile}))"#,
        describe.replace('"', "\\22"),
        data.replace('"', "\\22"),
        describe.len(),
    );
    let core = wat::parse_str(text).expect("the text is right");
    Module::load(engine, &seal(&core).expect("it fits the world")).expect("it passes the checks")
}

/// A module that gives this answer to everything.
fn answering(engine: &Engine, answer: &str) -> Module {
    let reconcile = format!(
        "(i32.store8 (i32.const 64) (i32.const 0)) (i32.store (i32.const 68) (i32.const 4096)) \
         (i32.store (i32.const 72) (i32.const {})) (i32.const 64)",
        answer.len()
    );
    module(engine, &reconcile, answer)
}

fn cluster(status: &Value) -> Value {
    json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
        "metadata": {"name": "kv", "namespace": "infra", "uid": "r1", "resourceVersion": "5"},
        "spec": {"size": 3}, "status": status
    })
}

fn key() -> ClusterKey {
    ClusterKey {
        kind: contract::ResourceKind::EtcdCluster,
        namespace: "infra".to_owned(),
        name: "kv".to_owned(),
    }
}

/// Caches that have been listed and hold the cluster with this status.
fn world(status: &Value) -> World {
    let world = World::new(&[Scope::All]);
    let object = serde_json::from_value(cluster(status)).expect("a resource");
    world
        .resources
        .put(key(), observe::project::resource(object));
    let resource = ("infra".to_owned(), "kv".to_owned());
    world
        .resources
        .listed(&Scope::All, &BTreeSet::from([resource]));
    world.pods.listed(&Scope::All, &BTreeSet::new());
    world.volumes.listed(&Scope::All, &BTreeSet::new());
    world.services.listed(&Scope::All, &BTreeSet::new());
    world
        .disruption_budgets
        .listed(&Scope::All, &BTreeSet::new());
    world
}

/// Runs one pass over a cluster with this status; answers with what the API server was asked to change, and what follows.
async fn pass(
    status: Value,
    module: impl FnOnce(&Engine) -> Module,
) -> (Vec<(String, Value)>, After) {
    let server = ApiServer::default()
        .answering("GET", CLUSTER, 200, cluster(&status))
        .answering("PUT", STATUS, 200, cluster(&status))
        .answering(
            "POST",
            EVENTS,
            201,
            json!({"metadata": {"name": "e", "namespace": "infra"}, "eventTime": null}),
        );
    let engine = Engine::new(None).expect("an engine");
    let directory = tempfile::tempdir().expect("a directory");
    let header = Header::new(engine.hash(), String::new(), Millis(0));
    let recorder =
        Arc::new(Recorder::open(directory.path(), Limits::default(), header).expect("a recorder"));
    let world = Arc::new(world(&status));
    let leadership = Leadership::alone();
    let scraped = Scraped {
        world: Arc::clone(&world),
        recorder: Arc::clone(&recorder),
        leadership: leadership.clone(),
    };
    let metrics = Metrics::new(("sha256:0", "1.0.0"), scraped);
    let passes = Passes {
        world,
        executor: Executor {
            client: server.client(),
            instance: "test".to_owned(),
            leadership: leadership.clone(),
            metrics: metrics.clone(),
            transfers: crate::testing::transfers(leadership),
            stop: CancellationToken::new(),
        },
        module: module(&engine),
        engine: engine.hash(),
        recorder: Arc::clone(&recorder),
        metrics,
        turns: Semaphore::new(1),
        memories: Memories::default(),
    };
    let after = passes.run(&key(), Trigger::Retry).await;
    recorder.flush();
    assert_eq!(recorder.written(), 1, "every pass is recorded");
    (server.bodies(), after)
}

fn condition(changes: &[(String, Value)]) -> (&str, &str, &str) {
    let (_, body) = changes
        .iter()
        .find(|(asked, _)| asked.ends_with(STATUS))
        .expect("a status was written");
    let condition = &body["status"]["conditions"][0];
    let field = |name: &str| condition[name].as_str().unwrap_or_default();
    (field("type"), field("status"), field("reason"))
}

#[tokio::test]
async fn a_module_that_traps_changes_nothing_but_the_condition_that_says_so() {
    let (changes, after) = pass(Value::Null, |engine| module(engine, "unreachable", "")).await;
    assert_eq!(condition(&changes), ("DecisionRefused", "True", "Trap"));
    let asked: Vec<&str> = changes.iter().map(|(asked, _)| asked.as_str()).collect();
    assert_eq!(asked, [format!("PUT {STATUS}"), format!("POST {EVENTS}")]);
    assert!(matches!(after, After::NotBefore(_)), "{after:?}");
}

#[tokio::test]
async fn a_decision_outside_the_envelope_is_not_followed_in_any_part() {
    let (changes, after) = pass(Value::Null, |engine| answering(engine, OUTSIDE)).await;
    assert_eq!(
        condition(&changes),
        ("DecisionRefused", "True", "DecisionRefused")
    );
    assert!(
        changes
            .iter()
            .all(|(asked, _)| !asked.starts_with("DELETE"))
    );
    assert!(matches!(after, After::NotBefore(_)), "{after:?}");
}

#[tokio::test]
async fn a_module_that_decides_again_ends_the_condition() {
    let refused = json!({"conditions": [
        {"type": "DecisionRefused", "status": "True", "reason": "Trap"},
        {"type": "Available", "status": "True"}
    ]});
    let (changes, after) = pass(refused, |engine| answering(engine, NOTHING)).await;
    assert_eq!(condition(&changes), ("Available", "True", ""));
    assert_eq!(after, After::Change);
}

#[tokio::test]
async fn a_cluster_at_rest_costs_the_api_server_nothing() {
    let (changes, after) = pass(Value::Null, |engine| answering(engine, NOTHING)).await;
    assert!(changes.is_empty(), "{changes:?}");
    assert_eq!(after, After::Change);
}

fn decision(requeue: Option<Requeue>) -> Decision {
    Decision {
        schema: SCHEMA,
        actions: Vec::new(),
        requeue,
        report: Report::default(),
    }
}

fn executed(outcome: OutcomeKind, lost: bool) -> Executed {
    let outcome = PastOutcome {
        effect: "Promote".to_owned(),
        kind: None,
        target: "a1".to_owned(),
        outcome,
        message: String::new(),
    };
    Executed {
        outcomes: vec![outcome],
        lost,
    }
}

#[test]
fn a_refusal_with_an_answer_follows_the_decisions_own_time() {
    let requeue = Requeue {
        after: Millis(200),
        why: Reason::LearnerCatchingUp,
    };
    let before = Instant::now();
    let next = after(
        &decision(Some(requeue)),
        &executed(OutcomeKind::Failed, false),
        &mut Memory::default(),
    );
    let After::At(at, Trigger::Requeue(Reason::LearnerCatchingUp)) = next else {
        panic!("{next:?}")
    };
    assert!(at <= before + Duration::from_secs(1));
}

#[test]
fn nothing_is_waited_for_in_vain_after_a_refusal_without_a_time() {
    let next = after(
        &decision(None),
        &executed(OutcomeKind::Refused, false),
        &mut Memory::default(),
    );
    assert!(matches!(next, After::At(_, Trigger::Retry)));
    let next = after(
        &decision(None),
        &executed(OutcomeKind::Done, false),
        &mut Memory::default(),
    );
    assert_eq!(next, After::Change);
}

#[test]
fn a_lost_answer_backs_off_whatever_the_decision_asked_for() {
    let requeue = Requeue {
        after: Millis(200),
        why: Reason::LearnerCatchingUp,
    };
    let mut memory = Memory::default();
    let next = after(
        &decision(Some(requeue)),
        &executed(OutcomeKind::Failed, true),
        &mut memory,
    );
    assert!(matches!(next, After::NotBefore(_)));
    assert_eq!(memory.failures, 1);
}
