//! The executor against an API server that answers from a list.

mod schedule;

use contract::{
    Child, EtcdClusterStatus, EventType, Millis, ObjectKind, ObjectPrecondition, Observed,
    Preconditions,
};
use serde_json::{Value, json};

use super::*;
use crate::testing::{ApiServer, executor, status};

const CLUSTER: &str = "/apis/etcd.database.coreos.com/v1beta2/namespaces/infra/etcdclusters/kv";
const STATUS: &str =
    "/apis/etcd.database.coreos.com/v1beta2/namespaces/infra/etcdclusters/kv/status";
const SERVICES: &str = "/api/v1/namespaces/infra/services";
const CLAIMS: &str = "/api/v1/namespaces/infra/persistentvolumeclaims";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/infra/events";

fn cluster() -> Value {
    json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
        "metadata": {"name": "kv", "namespace": "infra", "uid": "r1", "resourceVersion": "5"},
        "spec": {"size": 3}
    })
}

fn service(owner: Option<&str>) -> Value {
    let owners: Vec<Value> = owner
        .into_iter()
        .map(|uid| json!({"apiVersion": "v1", "kind": "EtcdCluster", "name": "kv", "uid": uid, "controller": true}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "kv-client", "namespace": "infra", "uid": "s1", "resourceVersion": "8", "ownerReferences": owners}
    })
}

/// A living resource whose status and events can be written.
fn api_server() -> ApiServer {
    ApiServer::default()
        .answering("GET", CLUSTER, 200, cluster())
        .answering("PUT", STATUS, 200, cluster())
        .answering(
            "POST",
            EVENTS,
            201,
            json!({"metadata": {"name": "e", "namespace": "infra"}, "eventTime": null}),
        )
}

fn pre() -> Preconditions {
    Preconditions {
        resource_uid: "r1".to_owned(),
        ..Preconditions::default()
    }
}

fn update_status() -> Action {
    Action {
        effect: Effect::UpdateStatus {
            status: Box::new(EtcdClusterStatus::default()),
        },
        pre: Preconditions {
            resource_version: Some("5".to_owned()),
            ..pre()
        },
    }
}

fn event() -> Action {
    let effect = Effect::Event {
        kind: EventType::Normal,
        reason: "Formed".to_owned(),
        note: "The cluster has formed".to_owned(),
    };
    Action { effect, pre: pre() }
}

fn delete_service() -> Action {
    let object = ObjectPrecondition::Present {
        uid: "s1".to_owned(),
    };
    Action {
        effect: Effect::Delete {
            kind: ObjectKind::Service,
            name: "kv-client".to_owned(),
            grace_seconds: None,
        },
        pre: Preconditions {
            object: Some(object),
            ..pre()
        },
    }
}

fn apply(child: Value, wrap: fn(Value) -> Child) -> Action {
    Action {
        effect: Effect::Apply {
            object: Box::new(wrap(child)),
        },
        pre: Preconditions {
            object: Some(ObjectPrecondition::Absent),
            ..pre()
        },
    }
}

fn apply_service() -> Action {
    let wrap = |value| Child::Service(serde_json::from_value(value).expect("a Service"));
    apply(
        json!({"metadata": {"name": "kv-client", "namespace": "infra"}}),
        wrap,
    )
}

fn apply_claim() -> Action {
    let wrap =
        |value| Child::PersistentVolumeClaim(serde_json::from_value(value).expect("a claim"));
    apply(
        json!({"metadata": {"name": "kv-0000", "namespace": "infra"}}),
        wrap,
    )
}

fn objects() -> Objects {
    let none = || "not read".to_owned();
    Objects {
        pods: Observed::Seen(Vec::new()),
        volumes: Observed::Unknown(none()),
        services: Observed::Unknown(none()),
        disruption_budgets: Observed::Unknown(none()),
        foreign: Vec::new(),
    }
}

async fn execute(
    executor: &Executor,
    actions: &[Action],
    memory: &mut Memory,
) -> Vec<(OutcomeKind, String)> {
    let key = ClusterKey {
        dialect: contract::Dialect::Coreos,
        kind: contract::ResourceKind::EtcdCluster,
        namespace: "infra".to_owned(),
        name: "kv".to_owned(),
    };
    let resource: kube::core::DynamicObject =
        serde_json::from_value(cluster()).expect("a resource");
    let resource = crate::observe::project::resource(resource);
    let pass = Pass {
        now: Millis(0),
        key: &key,
        resource: &resource,
        objects: &objects(),
        module: "sha256:0",
    };
    let executed = executor.execute(&pass, actions, memory).await;
    executed
        .outcomes
        .into_iter()
        .map(|outcome| (outcome.outcome, outcome.message))
        .collect()
}

/// Executes as the leader; answers with the outcomes.
async fn check(server: &ApiServer, actions: &[Action]) -> Vec<OutcomeKind> {
    let (executor, _directory) = executor(server, Leadership::alone());
    let outcomes = execute(&executor, actions, &mut Memory::default()).await;
    outcomes.into_iter().map(|(outcome, _)| outcome).collect()
}

/// The rest of the decision happens: what is left out is words.
#[tokio::test]
async fn an_event_too_many_is_left_out_and_holds_up_nothing_else() {
    let server = api_server();
    let mut flood = vec![event(); 65];
    flood.push(update_status());
    let outcomes = check(&server, &flood).await;
    assert_eq!(
        outcomes[63..],
        [OutcomeKind::Done, OutcomeKind::Refused, OutcomeKind::Done]
    );
}

#[tokio::test]
async fn actions_happen_in_their_order() {
    let server = api_server()
        .answering(
            "GET",
            &format!("{SERVICES}/kv-client"),
            200,
            service(Some("r1")),
        )
        .answering(
            "DELETE",
            &format!("{SERVICES}/kv-client"),
            200,
            status(200, "", ""),
        );
    let outcomes = check(&server, &[update_status(), delete_service(), event()]).await;
    assert_eq!(outcomes, [OutcomeKind::Done; 3]);
    let wanted = [
        format!("PUT {STATUS}"),
        format!("DELETE {SERVICES}/kv-client"),
        format!("POST {EVENTS}"),
    ];
    assert_eq!(server.changes(), wanted);
}

#[tokio::test]
async fn nothing_happens_after_the_first_refusal() {
    let moved = json!({"metadata": {"name": "kv", "namespace": "infra", "uid": "r1", "resourceVersion": "6"}});
    let server = api_server().answering("GET", CLUSTER, 200, moved);
    let outcomes = check(&server, &[event(), update_status(), event()]).await;
    assert_eq!(
        outcomes,
        [
            OutcomeKind::Done,
            OutcomeKind::Refused,
            OutcomeKind::Skipped
        ]
    );
    assert_eq!(server.changes(), [format!("POST {EVENTS}")]);
}

#[tokio::test]
async fn nothing_happens_after_the_first_failure() {
    let server = api_server().answering("PUT", STATUS, 403, status(403, "Forbidden", "no"));
    let outcomes = check(&server, &[update_status(), event()]).await;
    assert_eq!(outcomes, [OutcomeKind::Failed, OutcomeKind::Skipped]);
}

#[tokio::test]
async fn another_instance_that_leads_means_that_nothing_happens_here() {
    let server = api_server();
    let (executor, _directory) = executor(&server, Leadership::elected());
    let outcomes = execute(&executor, &[update_status()], &mut Memory::default()).await;
    assert_eq!(outcomes[0].0, OutcomeKind::Refused);
    assert!(server.changes().is_empty());
}

#[tokio::test]
async fn a_host_that_stops_begins_no_effect() {
    let server = api_server();
    let (executor, _directory) = executor(&server, Leadership::alone());
    executor.stop.cancel();
    let outcomes = execute(&executor, &[update_status()], &mut Memory::default()).await;
    assert_eq!(outcomes[0].0, OutcomeKind::Skipped);
    assert!(server.changes().is_empty());
}

#[tokio::test]
async fn a_resource_that_was_made_anew_is_not_touched() {
    let other = json!({"metadata": {"name": "kv", "namespace": "infra", "uid": "r2", "resourceVersion": "5"}});
    let server = api_server().answering("GET", CLUSTER, 200, other);
    assert_eq!(
        check(&server, &[update_status()]).await,
        [OutcomeKind::Refused]
    );
    assert!(server.changes().is_empty());
}

#[tokio::test]
async fn an_object_of_somebody_else_is_left_alone_and_remembered() {
    let server =
        api_server().answering("GET", &format!("{SERVICES}/kv-client"), 200, service(None));
    let (executor, _directory) = executor(&server, Leadership::alone());
    let mut memory = Memory::default();
    let outcomes = execute(&executor, &[apply_service()], &mut memory).await;
    assert_eq!(outcomes[0].0, OutcomeKind::Refused);
    assert!(server.changes().is_empty());
    let foreign = &memory.foreign[0];
    assert!(foreign.is(ObjectKind::Service, "kv-client"));
    assert_eq!(foreign.owner, "nobody");
}

/// The API server refuses it in any other version: a request that arrives late undoes nothing.
#[tokio::test]
async fn an_object_is_applied_in_the_version_that_was_decided_on() {
    let path = format!("{SERVICES}/kv");
    let mut peers = service(Some("r1"));
    peers["metadata"]["name"] = json!("kv");
    let server = api_server()
        .answering("GET", &path, 200, peers.clone())
        .answering("PATCH", &path, 200, peers);
    let wrap = |value| Child::Service(serde_json::from_value(value).expect("a Service"));
    let mut action = apply(
        json!({"metadata": {"name": "kv", "namespace": "infra"}}),
        wrap,
    );
    let uid = "s1".to_owned();
    action.pre.object = Some(ObjectPrecondition::Present { uid });
    action.pre.object_version = Some("8".to_owned());
    assert_eq!(check(&server, &[action.clone()]).await, [OutcomeKind::Done]);
    let (_, sent) = server.bodies().remove(0);
    assert_eq!(sent["metadata"]["resourceVersion"], "8");
    action.pre.object_version = Some("7".to_owned());
    assert_eq!(check(&server, &[action]).await, [OutcomeKind::Refused]);
}

#[tokio::test]
async fn a_claim_is_created_and_never_overwrites_one_that_came_in_between() {
    let server = api_server().answering(
        "POST",
        CLAIMS,
        409,
        status(409, "AlreadyExists", "it exists"),
    );
    let outcomes = check(&server, &[apply_claim()]).await;
    assert_eq!(outcomes, [OutcomeKind::Refused]);
    assert_eq!(server.changes(), [format!("POST {CLAIMS}")]);
}

#[tokio::test]
async fn a_lost_answer_makes_the_next_snapshot_live() {
    let server = api_server().answering("PUT", STATUS, 504, status(504, "Timeout", "too slow"));
    let (executor, _directory) = executor(&server, Leadership::alone());
    let mut memory = Memory::default();
    let outcomes = execute(&executor, &[update_status()], &mut memory).await;
    assert_eq!(outcomes[0].0, OutcomeKind::Failed);
    assert!(
        outcomes[0].1.contains("may or may not"),
        "{}",
        outcomes[0].1
    );
    assert!(!memory.written.can_be_awaited());
}

#[tokio::test]
async fn a_write_is_awaited_in_the_caches() {
    let server = api_server();
    let (executor, _directory) = executor(&server, Leadership::alone());
    let mut memory = Memory::default();
    execute(&executor, &[update_status()], &mut memory).await;
    let world = crate::observe::World::new(&[crate::observe::shelf::Scope::All]);
    let key = ClusterKey {
        dialect: contract::Dialect::Coreos,
        kind: contract::ResourceKind::EtcdCluster,
        namespace: "infra".to_owned(),
        name: "kv".to_owned(),
    };
    let mut stored =
        serde_json::from_value::<kube::core::DynamicObject>(cluster()).expect("a resource");
    stored.metadata.resource_version = Some("4".to_owned());
    world.resources.put(
        key.clone(),
        crate::observe::project::resource(stored.clone()),
    );
    assert!(!memory.written.is_shown(&world, &key));
    stored.metadata.resource_version = Some("5".to_owned());
    world
        .resources
        .put(key.clone(), crate::observe::project::resource(stored));
    assert!(memory.written.is_shown(&world, &key));
}

/// The module writes one status; people read it in the dialect in which they wrote the spec.
#[tokio::test]
async fn a_status_is_written_in_the_dialect_of_the_resource() {
    let theirs = "/apis/etcd.improbable.io/v1alpha1/namespaces/infra/etcdclusters/kv/status";
    let mut stored = cluster();
    stored["apiVersion"] = json!("etcd.improbable.io/v1alpha1");
    stored["spec"] = json!({"replicas": 3});
    let server = ApiServer::default().answering("PUT", theirs, 200, stored.clone());
    let (executor, _directory) = executor(&server, Leadership::alone());
    let stored = serde_json::from_value(stored).expect("a resource");
    let resource = crate::observe::project::resource(stored);
    assert_eq!(resource.spec["size"], 3);
    let key = ClusterKey::of_cluster(&resource);
    let pass = Pass {
        key: &key,
        resource: &resource,
        objects: &objects(),
        now: Millis(0),
        module: "m",
    };
    let status = json!({"phase": "Running", "size": 3, "currentVersion": "3.6.16"});
    let written = kubernetes::replace_status(&executor, &pass, None, status).await;
    assert!(written.is_ok(), "{written:?}");
    let (_, body) = server.bodies().remove(0);
    assert_eq!(body["status"]["replicas"], 3);
    assert_eq!(body["status"]["clusterVersion"], "3.6.0");
}

/// What the API server would not have is known while the pod before it still stands.
#[tokio::test]
async fn a_pod_goes_only_where_a_dry_run_takes_the_one_that_follows() {
    let answers = [
        (201, "", "", OutcomeKind::Done),
        (
            422,
            "Invalid",
            "Pod \"kv-0000-x\" is invalid: spec.tolerations",
            OutcomeKind::Failed,
        ),
        (
            403,
            "Forbidden",
            "pods is forbidden: violates PodSecurity",
            OutcomeKind::Failed,
        ),
        (500, "", "failed calling webhook", OutcomeKind::Failed),
        (
            403,
            "Forbidden",
            "pods is forbidden: exceeded quota: few, requested: pods=1",
            OutcomeKind::Done,
        ),
        (
            400,
            "BadRequest",
            "admission webhook \"x\" does not support dry run",
            OutcomeKind::Done,
        ),
    ];
    for (code, reason, message, outcome) in answers {
        let pods = "/api/v1/namespaces/infra/pods";
        let claims = "/api/v1/namespaces/infra/persistentvolumeclaims";
        let mut stands = service(Some("r1"));
        stands["kind"] = json!("Pod");
        stands["metadata"]["name"] = json!("kv-0000");
        let mut claim = service(Some("r1"));
        claim["kind"] = json!("PersistentVolumeClaim");
        claim["metadata"]["name"] = json!("kv-0000");
        let claim_uid = claim["metadata"]["uid"].as_str().map(str::to_owned);
        // It has ended and its data is on a disk that stays, so that it may go without evidence from etcd.
        stands["spec"] = json!({"containers": [], "volumes": [
            {"name": contract::names::DATA_VOLUME, "persistentVolumeClaim": {"claimName": "kv-0000"}},
        ]});
        stands["status"] = json!({"phase": "Failed"});
        let answer = match code {
            201 => stands.clone(),
            code => status(code, reason, message),
        };
        let server = api_server()
            .answering("GET", &format!("{pods}/kv-0000"), 200, stands)
            .answering("GET", &format!("{claims}/kv-0000"), 200, claim)
            .answering(
                "DELETE",
                &format!("{pods}/kv-0000"),
                200,
                status(200, "", ""),
            )
            .answering("POST", pods, code, answer);
        let pod = json!({"metadata": {"name": "kv-0000", "namespace": "infra"}});
        let mut delete = delete_service();
        delete.effect = Effect::Delete {
            kind: ObjectKind::Pod,
            name: "kv-0000".to_owned(),
            grace_seconds: None,
        };
        delete.pre.successor = Some(serde_json::from_value(pod).expect("a pod"));
        delete.pre.claim_uid = claim_uid;
        let (executor, _directory) = executor(&server, Leadership::alone());
        let outcomes = execute(&executor, &[delete], &mut Memory::default()).await;
        assert_eq!(outcomes[0].0, outcome, "{message}: {outcomes:?}");
        let is_deleted = server.changes().iter().any(|one| one.starts_with("DELETE"));
        assert_eq!(is_deleted, outcome == OutcomeKind::Done, "{message}");
        if !is_deleted {
            assert!(
                outcomes[0].1.starts_with(contract::SUCCESSOR_REFUSED),
                "{outcomes:?}"
            );
        }
        let (_, asked) = server.bodies().remove(0);
        assert_eq!(asked["metadata"]["generateName"], json!("kv-0000-"));
        assert_eq!(asked["metadata"].get("name"), None);
    }
}
