//! Whole passes with small modules against an API server that answers from a list.

use std::collections::BTreeSet;

use contract::{Millis, OutcomeKind, Reason, Report, Requeue, SCHEMA};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::lease::Leadership;
use crate::metrics::Scraped;
use crate::module::{Engine, Module};
use crate::observe::shelf::Scope;
use crate::recorder::{Header, Limits, last_records};
use crate::testing::{ApiServer, NOTHING, answering, module};

const CLUSTER: &str = "/apis/etcd.database.coreos.com/v1beta2/namespaces/infra/etcdclusters/kv";
const STATUS: &str =
    "/apis/etcd.database.coreos.com/v1beta2/namespaces/infra/etcdclusters/kv/status";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/infra/events";

/// Deletes a Service without any precondition.
const OUTSIDE: &str = r#"{"schema":1,"actions":[{"effect":{"delete":{"kind":"Service","name":"other"}},"pre":{"resourceUid":"r1"}}],"report":{"findings":[]}}"#;

fn cluster(status: &Value) -> Value {
    json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
        "metadata": {"name": "kv", "namespace": "infra", "uid": "r1", "resourceVersion": "5"},
        "spec": {"size": 3}, "status": status
    })
}

fn key() -> ClusterKey {
    ClusterKey {
        dialect: contract::Dialect::Coreos,
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

/// All that a pass needs, with a cluster that has no status.
fn passes(
    server: &ApiServer,
    engine: &Engine,
    directory: &std::path::Path,
    roster: Arc<Roster>,
) -> Passes {
    let header = Header::new(engine.hash(), String::new(), Millis(0));
    let recorder =
        Arc::new(Recorder::open(directory, Limits::default(), header).expect("a recorder"));
    let world = Arc::new(world(&Value::Null));
    let leadership = Leadership::alone();
    let metrics = Metrics::new(Scraped {
        world: Arc::clone(&world),
        recorder: Arc::clone(&recorder),
        leadership: leadership.clone(),
    });
    Passes {
        world,
        executor: Executor {
            client: server.client(),
            instance: "test".to_owned(),
            leadership: leadership.clone(),
            metrics: metrics.clone(),
            transfers: crate::testing::transfers(leadership),
            stop: CancellationToken::new(),
        },
        roster,
        engine: engine.hash(),
        recorder,
        metrics,
        turns: Semaphore::new(1),
        shadow_turns: Semaphore::new(1),
        memories: Memories::default(),
    }
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
    let seat = Arc::new(Seat::built_in(module(&engine), Millis(0)));
    let roster = Arc::new(Roster::new(Lineup::alone(seat)));
    let passes = Passes {
        world: Arc::new(world(&status)),
        ..passes(&server, &engine, directory.path(), roster)
    };
    let after = passes.run(&key(), Trigger::Retry).await;
    passes.recorder.flush();
    assert_eq!(passes.recorder.written(), 1, "every pass is recorded");
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

/// The module's bytes are what decides between two answers, so an answer under the wrong digest would show.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_swaps_miss_no_pass_and_mix_no_two_modules() {
    const SWAPS: usize = 1000;
    let engine = Engine::new(None).expect("an engine");
    let other = NOTHING.replace(
        "[]}}",
        r#"[{"kind":"note","reason":"HealthCheck","message":"x"}]}}"#,
    );
    let lineups = [NOTHING, &other].map(|answer| {
        let seat = Seat::built_in(answering(&engine, answer), Millis(0));
        Lineup::alone(Arc::new(seat))
    });
    let answers: BTreeMap<String, &str> = [NOTHING, other.as_str()]
        .into_iter()
        .zip(&lineups)
        .map(|(answer, lineup)| (lineup.active.digest().to_owned(), answer))
        .collect();
    let server = ApiServer::default().answering("GET", CLUSTER, 200, cluster(&Value::Null));
    let directory = tempfile::tempdir().expect("a directory");
    let roster = Arc::new(Roster::new(lineups[0].clone()));
    let passes = passes(&server, &engine, directory.path(), Arc::clone(&roster));
    let mut ran = 0;
    let swapping = tokio::spawn(async move {
        for swap in 0..SWAPS {
            roster.publish(lineups[swap % 2].clone());
            tokio::task::yield_now().await;
        }
    });
    while ran < 200 || !swapping.is_finished() {
        let after = passes.run(&key(), Trigger::Module).await;
        assert_eq!(after, After::Change);
        ran += 1;
        if ran % 100 == 0 {
            passes.recorder.flush();
        }
    }
    passes.recorder.flush();
    let records = last_records(directory.path(), ran + 1).expect("records");
    assert_eq!(records.len(), ran, "a pass is missing, or was made twice");
    for record in &records {
        let answer = record.answer.as_ref().expect("an answer").get();
        assert_eq!(answer, answers[&record.module]);
    }
}

/// What a shadow says is recorded; whatever it asks for, the API server hears nothing of it.
#[tokio::test]
async fn a_shadow_is_recorded_and_reaches_nobody() {
    let engine = Engine::new(None).expect("an engine");
    let seat = Arc::new(Seat::built_in(answering(&engine, NOTHING), Millis(0)));
    let shadows = [
        answering(&engine, OUTSIDE),
        module(&engine, "unreachable", ""),
    ]
    .map(|module| Arc::new(Shadow::new(module, "next".to_owned(), Millis(0))));
    let lineup = Lineup {
        shadows: shadows.to_vec(),
        ..Lineup::alone(seat)
    };
    let server = ApiServer::default().answering("GET", CLUSTER, 200, cluster(&Value::Null));
    let directory = tempfile::tempdir().expect("a directory");
    let passes = passes(
        &server,
        &engine,
        directory.path(),
        Arc::new(Roster::new(lineup)),
    );
    assert_eq!(passes.run(&key(), Trigger::Retry).await, After::Change);
    assert!(server.bodies().is_empty(), "{:?}", server.bodies());
    passes.recorder.flush();
    let records = last_records(directory.path(), 1).expect("records");
    let [outside, trapped] = &records[0].shadows[..] else {
        panic!("two shadows, not {:?}", records[0].shadows)
    };
    assert!(outside.refused && outside.failure.is_none());
    assert_eq!(outside.difference.as_deref(), Some("Delete Service added"));
    assert_eq!(outside.answer.as_ref().expect("an answer").get(), OUTSIDE);
    assert_eq!(
        trapped.difference.as_deref(),
        Some("Trap instead of an answer")
    );
    assert_eq!(shadows[0].counts().failures(), 1);
    assert_eq!(shadows[0].differences().count(), 1);
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
        refused: None,
        is_flood: false,
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

/// Whether it asks for no time at all, or for one in the past.
#[test]
fn no_decision_is_asked_for_again_at_once() {
    for asked in [0, -1, i64::MIN] {
        let requeue = Requeue {
            after: Millis(asked),
            why: Reason::HealthCheck,
        };
        let before = Instant::now();
        let next = after(
            &decision(Some(requeue)),
            &executed(OutcomeKind::Done, false),
            &mut Memory::default(),
        );
        let After::At(at, _) = next else {
            panic!("{next:?}")
        };
        assert!(at >= before + SHORTEST_WAIT);
    }
}

/// What it tells makes the resource change, and a change would begin the next pass at once.
#[test]
fn after_a_flood_changes_wait_too() {
    let flooded = Executed {
        is_flood: true,
        ..executed(OutcomeKind::Refused, false)
    };
    let next = after(&decision(None), &flooded, &mut Memory::default());
    assert!(matches!(next, After::NotBefore(_)), "{next:?}");
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
