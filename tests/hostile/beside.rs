//! Another cluster in the same host while a hostile module decides for the first one: it has its turn, and all that is
//! decided for it is done.
//!
//! Asserts order and counts. A hostile call ends by its own limits, so nobody here looks at a clock.

use std::sync::Arc;

use contract::{Millis, Snapshot};
use host::key::ClusterKey;
use host::module::{Engine, Module};
use host::pass::Passes;
use host::queue::{After, Queue, Trigger};
use host::roster::{Canary, Lineup, Seat};
use serde_json::json;
use small::{Text, answer};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::api_server::ApiServer;
use crate::attempt::{Attempt, attempts};
use crate::members::Members;
use crate::passes::{caches, passes};
use crate::sealing::{self, engine, sealed};
use crate::world::World;

/// Those that take as much as they get of time, memory, words or calls, and some that are refused in other ways.
const ASKED: [&str; 12] = [
    "answer-beyond-the-limit",
    "deep-json",
    "delete-every-claim",
    "endless-list",
    "endless-loop",
    "endless-recursion",
    "entries-for-nobody",
    "event-flood",
    "event-flood-over-time",
    "giant-list",
    "giant-status",
    "stale-resource",
];
/// Passes over the other cluster beside each of them.
const PASSES: usize = 3;
/// A label of the other cluster, by which it has a module of its own.
const SERVED: (&str, &str) = ("served", "well");
const NAMESPACE: &str = "beside";

fn asked() -> Vec<Attempt> {
    let mut asked = attempts();
    asked.retain(|attempt| ASKED.contains(&attempt.file.as_str()));
    assert_eq!(asked.len(), ASKED.len());
    asked
}

/// Three healthy members elsewhere, and what the reconciler sees of them.
fn other_cluster() -> (simulator::Branch, Snapshot) {
    let branch = World::Healthy.build();
    let mut snapshot = branch.snapshot();
    let resource = &mut snapshot.resource;
    NAMESPACE.clone_into(&mut resource.namespace);
    "uid-beside".clone_into(&mut resource.uid);
    let (label, value) = SERVED;
    resource.labels.insert(label.to_owned(), value.to_owned());
    (branch, snapshot)
}

/// A module that has one thing to tell of the other cluster, each time.
fn good(engine: &Engine, uid: &str) -> Module {
    let event = json!({"event": {"kind": "Normal", "reason": "Served", "note": "well"}});
    let actions = json!([{"effect": event, "pre": {"resourceUid": uid}}]);
    let decision = json!({"schema": 1, "actions": actions, "report": {"findings": []}}).to_string();
    let text = Text {
        reconcile: &answer(decision.len()),
        data: decision.as_bytes(),
        ..Text::default()
    };
    sealing::load(engine, &text).expect("it loads")
}

/// A host with two clusters, and a module for each.
struct Host {
    passes: Arc<Passes>,
    /// For whom the hostile module decides.
    first: ClusterKey,
    other: ClusterKey,
    hostile: Arc<Seat>,
    good: Arc<Seat>,
    server: ApiServer,
    members: [Members; 2],
    _directory: TempDir,
}

impl Host {
    async fn of(engine: &Engine, attempt: &Attempt) -> Self {
        let (branch, snapshot) = other_cluster();
        let resource = &snapshot.resource;
        let hostile = Module::load(engine, &sealed(&attempt.core)).expect("it passes the checks");
        let seat = |module| Arc::new(Seat::built_in(module, Millis(0)));
        let (hostile, good) = (seat(hostile), seat(good(engine, &resource.uid)));
        let lineup = Lineup {
            canaries: vec![Canary {
                clusters: [SERVED].into_iter().collect(),
                seat: Arc::clone(&good),
            }],
            ..Lineup::alone(Arc::clone(&hostile))
        };
        let members = [
            Members::of(&attempt.snapshot.etcd).await,
            Members::of(&snapshot.etcd).await,
        ];
        let world = caches(&[(&attempt.snapshot, &members[0]), (&snapshot, &members[1])]);
        let server = ApiServer::of(resource, &branch);
        let first = ApiServer::of(&attempt.snapshot.resource, &attempt.branch);
        let client = ApiServer::client(&[first, server.clone()]);
        let directory = tempfile::tempdir().expect("a directory");
        Self {
            passes: Arc::new(passes(client, world, directory.path(), lineup)),
            first: ClusterKey::of_cluster(&attempt.snapshot.resource),
            other: ClusterKey::of_cluster(resource),
            hostile,
            good,
            server,
            members,
            _directory: directory,
        }
    }

    /// Every pass over the other cluster was decided by its own module, and what was decided is done: nothing is left
    /// to be tried again.
    fn check_served(&self, file: &str, ends: &[After]) {
        assert_eq!(ends, [After::Change; PASSES], "{file}");
        let counts = self.good.counts();
        let asked = (counts.decisions(), counts.failures());
        assert_eq!(asked, (PASSES as u64, 0), "{file}");
        let told = format!("POST /apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events");
        assert_eq!(self.server.changes(), vec![told; PASSES], "{file}");
        for members in &self.members {
            assert!(members.changes().is_empty(), "{file}");
        }
    }

    /// How often the hostile module was asked.
    fn hostile_calls(&self) -> u64 {
        self.hostile.counts().decisions()
    }
}

/// The queue gives whoever waited longest its turn. Both are wanted again as soon as their pass ends: a hostile cluster
/// comes no faster, and in the host itself it comes later, for its failures delay it.
#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_has_its_turn_between_any_two_passes_over_a_hostile_one() {
    let engine = engine();
    for attempt in asked() {
        let file = &attempt.file;
        let host = Host::of(&engine, &attempt).await;
        let queue = Queue::default();
        queue.touch(host.first.clone(), Trigger::Leadership);
        queue.touch(host.other.clone(), Trigger::Leadership);
        let (mut order, mut ends) = (Vec::new(), Vec::new());
        while order.len() < 2 * PASSES {
            let (key, trigger) = queue.next().await;
            let after = host.passes.run(&key, trigger).await;
            if key == host.other {
                ends.push(after);
            }
            queue.finish(&key, After::Change);
            queue.touch(key.clone(), Trigger::Watch("Pod"));
            order.push(key);
        }
        assert!(order.windows(2).all(|two| two[0] != two[1]), "{order:?}");
        assert_eq!(host.hostile_calls(), PASSES as u64, "{file}");
        host.check_served(file, &ends);
    }
}

/// There is one turn to ask a module, and the hostile one is always asked or waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn another_clusters_passes_are_all_decided_while_a_hostile_module_is_asked_again_and_again() {
    let engine = engine();
    for attempt in asked() {
        let file = &attempt.file;
        let host = Host::of(&engine, &attempt).await;
        let (begin, mut begun) = watch::channel(0);
        let enough = CancellationToken::new();
        let asking = tokio::spawn({
            let (passes, key) = (Arc::clone(&host.passes), host.first.clone());
            let enough = enough.clone();
            async move {
                while !enough.is_cancelled() {
                    begin.send_modify(|passes| *passes += 1);
                    passes.run(&key, Trigger::Retry).await;
                }
            }
        });
        // One pass is over then, and the next one is under way.
        begun.wait_for(|passes| *passes > 1).await.expect("passes");
        let mut ends = Vec::new();
        for _ in 0..PASSES {
            ends.push(host.passes.run(&host.other, Trigger::Retry).await);
        }
        enough.cancel();
        asking.await.expect("it ends once nobody wants it");
        eprintln!("{file}: asked {} times", host.hostile_calls());
        assert!(host.hostile_calls() > 1, "{file}");
        host.check_served(file, &ends);
    }
}
