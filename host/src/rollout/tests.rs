//! Modules through their lives: who is in force after what happened, and what people are told.
//!
//! What becomes of them when their sources change is [`sources`]'s.

mod sources;

use contract::{ModulePhase, ReconcilerModuleStatus, SelfTest};
use serde_json::{Value, json};

use super::entry::Attempt;
use super::load::{Error, Loaded, Origin};
use super::status::status;
use super::*;
use crate::module::Module;
use crate::roster::WINDOW;
use crate::testing::{NOTHING, answering, module};

const DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const NOW: &str = "2026-01-01T00:00:00Z";

/// Objects by name, and the module that decides without them.
struct Fleet {
    engine: Engine,
    built_in: Arc<Seat>,
    entries: BTreeMap<String, Entry>,
}

impl Fleet {
    fn new() -> Self {
        let engine = Engine::new(None).expect("an engine");
        let built_in = Arc::new(Seat::built_in(answering(&engine, NOTHING), Millis(0)));
        Self {
            engine,
            built_in,
            entries: BTreeMap::new(),
        }
    }

    /// An object that is seen for the first time, `created` at this time.
    fn create(&mut self, name: &str, created: i64, spec: Value) -> Option<Order> {
        let (entry, order) = Entry::new(object(name, created, 1, spec, Value::Null));
        self.entries.insert(name.to_owned(), entry);
        order
    }

    fn edit(&mut self, name: &str, spec: Value) -> Option<Order> {
        let resource = self.entry(name).resource.clone();
        let generation = resource.generation + 1;
        self.entry(name).see(Resource {
            spec,
            generation,
            ..resource
        })
    }

    fn entry(&mut self, name: &str) -> &mut Entry {
        self.entries.get_mut(name).expect("the object is known")
    }

    /// A module of its own digest that does nothing; `trapping` ones trap.
    fn module(&self, mark: &str, trapping: bool) -> Module {
        let does = if trapping {
            "unreachable"
        } else {
            "(i32.const 0)"
        };
        module(&self.engine, does, mark)
    }

    /// Loading the object's present spec gave this module.
    fn loaded(&mut self, name: &str, module: Module) {
        let outcome = Outcome {
            asked: Some(Ok(ready(module))),
            resumed: None,
        };
        self.take(name, outcome);
    }

    fn refused(&mut self, name: &str) {
        let outcome = Outcome {
            asked: Some(Err(Error::Spec("it is no good".to_owned()))),
            resumed: None,
        };
        self.take(name, outcome);
    }

    fn take(&mut self, name: &str, outcome: Outcome) {
        let generation = self.entry(name).resource.generation;
        self.entry(name).take(generation, outcome, Millis(0));
    }

    /// Digests of what decides for clusters with and without the label tier=test.
    fn deciding(&self) -> [String; 2] {
        let lineup = assign(&self.built_in, &self.entries).lineup;
        let labelled = [("tier".to_owned(), "test".to_owned())].into();
        [labelled, BTreeMap::new()].map(|labels| lineup.seat(&labels).digest().to_owned())
    }

    fn status(&self, name: &str) -> ReconcilerModuleStatus {
        let assigned = assign(&self.built_in, &self.entries);
        let before = ReconcilerModuleStatus::default();
        status(&self.entries[name], &assigned, &before, NOW)
    }

    fn says(&self, name: &str, phase: ModulePhase, words: &[&str]) {
        let status = self.status(name);
        let condition = &status.conditions[0];
        assert_eq!(status.phase, phase, "{}", condition.message);
        for word in words {
            let message = &condition.message;
            assert!(message.contains(word), "{word:?} is not in: {message}");
        }
    }
}

fn object(name: &str, created: i64, generation: i64, spec: Value, status: Value) -> Resource {
    Resource {
        api_version: "etcd.database.coreos.com/v1alpha1".to_owned(),
        kind: "ReconcilerModule".to_owned(),
        namespace: "infra".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        resource_version: "1".to_owned(),
        generation,
        created: Millis(created),
        deleted: None,
        finalizers: Vec::new(),
        owner: None,
        labels: [].into(),
        annotations: [].into(),
        spec,
        status,
    }
}

fn spec(role: &str) -> Value {
    json!({"role": role, "sha256": DIGEST, "source": {"configMap": {"name": "m"}}, "failureLimit": 2})
}

fn canary() -> Value {
    let mut spec = spec("Canary");
    spec["clusters"] = json!({"matchLabels": {"tier": "test"}});
    spec
}

fn ready(module: Module) -> Loaded {
    Loaded {
        module,
        self_test: SelfTest::default(),
        origin: Origin::default(),
    }
}

/// Has the module that decides fail more often than its limit of 2.
fn fail(fleet: &Fleet) {
    let lineup = assign(&fleet.built_in, &fleet.entries).lineup;
    for _ in 0..3 {
        assert!(lineup.active.decide(b"{}").is_err(), "it traps");
    }
}

#[test]
fn a_module_decides_from_when_it_is_loaded_until_its_object_is_gone() {
    let mut fleet = Fleet::new();
    let built_in = fleet.built_in.digest().to_owned();
    assert!(fleet.create("next", 0, spec("Active")).is_some());
    assert_eq!(fleet.deciding(), [built_in.clone(), built_in.clone()]);
    fleet.says("next", ModulePhase::Loading, &[]);
    let module = fleet.module("a", false);
    let digest = module.digest().to_owned();
    fleet.loaded("next", module);
    assert_eq!(fleet.deciding(), [digest.clone(), digest.clone()]);
    fleet.says("next", ModulePhase::InRole, &[&digest, "decides"]);
    fleet.entries.remove("next");
    assert_eq!(fleet.deciding(), [built_in.clone(), built_in]);
}

#[test]
fn a_module_that_cannot_be_loaded_changes_nothing_and_says_why() {
    let mut fleet = Fleet::new();
    fleet.create("next", 0, spec("Active"));
    let good = fleet.module("good", false);
    let digest = good.digest().to_owned();
    fleet.loaded("next", good);
    fleet.edit("next", spec("Active"));
    assert_eq!(fleet.deciding(), [digest.clone(), digest.clone()]);
    fleet.refused("next");
    assert_eq!(fleet.deciding(), [digest.clone(), digest.clone()]);
    fleet.says(
        "next",
        ModulePhase::Refused,
        &["it is no good", &digest, "stays in its role"],
    );
    assert_eq!(fleet.status("next").digest, Some(digest));
}

/// An object that is a Shadow from now on must not go on acting because its new module is broken.
#[test]
fn a_role_that_was_given_up_is_left_even_if_the_new_module_is_refused() {
    let mut fleet = Fleet::new();
    let built_in = fleet.built_in.digest().to_owned();
    fleet.create("next", 0, spec("Active"));
    let good = fleet.module("good", false);
    fleet.loaded("next", good);
    fleet.edit("next", spec("Shadow"));
    fleet.refused("next");
    assert_eq!(fleet.deciding(), [built_in.clone(), built_in]);
}

#[test]
fn of_two_active_objects_the_older_stays_and_both_say_so() {
    let mut fleet = Fleet::new();
    for (name, created) in [("aa-young", 2), ("zz-old", 1)] {
        fleet.create(name, created, spec("Active"));
        let module = fleet.module(name, false);
        fleet.loaded(name, module);
    }
    let old = fleet.status("zz-old").digest.expect("a digest");
    assert_eq!(fleet.deciding(), [old.clone(), old]);
    fleet.says("aa-young", ModulePhase::Waiting, &["zz-old is older"]);
    fleet.says(
        "zz-old",
        ModulePhase::InRole,
        &["aa-young asks for the same role"],
    );
    fleet.entries.remove("zz-old");
    let young = fleet.status("aa-young").digest.expect("a digest");
    assert_eq!(fleet.deciding(), [young.clone(), young]);
}

#[test]
fn a_canary_decides_for_the_clusters_it_selects_and_a_shadow_for_none() {
    let mut fleet = Fleet::new();
    let built_in = fleet.built_in.digest().to_owned();
    for (name, spec) in [("bird", canary()), ("dark", spec("Shadow"))] {
        fleet.create(name, 0, spec);
        let module = fleet.module(name, false);
        fleet.loaded(name, module);
    }
    let bird = fleet.status("bird").digest.expect("a digest");
    assert_eq!(fleet.deciding(), [bird, built_in]);
    fleet.says("bird", ModulePhase::InRole, &["tier=test"]);
    fleet.says("dark", ModulePhase::InRole, &["not followed"]);
    assert_eq!(
        assign(&fleet.built_in, &fleet.entries).lineup.shadows.len(),
        1
    );
}

#[test]
fn what_two_canaries_select_is_the_olders_and_the_younger_says_so() {
    let mut fleet = Fleet::new();
    for (name, created) in [("aa-young", 2), ("zz-old", 1)] {
        fleet.create(name, created, canary());
        let module = fleet.module(name, false);
        fleet.loaded(name, module);
    }
    let old = fleet.status("zz-old").digest.expect("a digest");
    assert_eq!(fleet.deciding()[0], old);
    let young = ["but for those that the older Canary zz-old selects"];
    fleet.says("aa-young", ModulePhase::InRole, &young);
    let message = fleet.status("zz-old").conditions.remove(0).message;
    assert!(!message.contains("but for"), "{message}");
}

/// Whoever is refused says who decides indeed.
#[test]
fn a_refusal_names_who_decides_instead() {
    let mut fleet = Fleet::new();
    let mut broken = canary();
    broken["clusters"] = json!({"matchExpressions": [{"key": "tier", "operator": "Is"}]});
    fleet.create("bird", 3, broken);
    let started = [
        "In the spec, clusters",
        "the operator was started with decides",
    ];
    fleet.says("bird", ModulePhase::Refused, &started);
    for (name, created) in [("young", 2), ("old", 1)] {
        fleet.create(name, created, spec("Active"));
        let module = fleet.module(name, false);
        fleet.loaded(name, module);
    }
    let of_old = "The module of the ReconcilerModule old decides.";
    fleet.says("bird", ModulePhase::Refused, &[of_old]);
    for name in ["young", "old"] {
        fleet.edit(name, spec("Active"));
        fleet.refused(name);
    }
    fleet.says("young", ModulePhase::Refused, &[of_old]);
    let both = ["stays in its role", "The younger ReconcilerModule young"];
    fleet.says("old", ModulePhase::Refused, &both);
}

#[test]
fn what_fails_beyond_its_limit_gives_way_to_the_one_before_and_is_not_tried_again() {
    let mut fleet = Fleet::new();
    fleet.create("next", 0, spec("Active"));
    let good = fleet.module("good", false);
    let digest = good.digest().to_owned();
    fleet.loaded("next", good);
    fleet.edit("next", spec("Active"));
    let bad = fleet.module("bad", true);
    let failed = bad.digest().to_owned();
    fleet.loaded("next", bad);
    assert!(
        !fleet.entry("next").fall_back(Instant::now()),
        "it has not failed yet"
    );
    fail(&fleet);
    let later = Instant::now() + WINDOW;
    assert!(
        !fleet.entry("next").fall_back(later),
        "failures of long ago are borne"
    );
    assert!(fleet.entry("next").fall_back(Instant::now()));
    assert_eq!(fleet.deciding(), [digest.clone(), digest.clone()]);
    fleet.says(
        "next",
        ModulePhase::FellBack,
        &[&failed, "3 failures", &digest],
    );
    assert!(fleet.entry("next").retry(Instant::now()).is_none());

    // After a restart the status is all there is.
    let stored = serde_json::to_value(fleet.status("next")).expect("JSON");
    let (_, order) = Entry::new(object("next", 0, 2, spec("Active"), stored));
    let order = order.expect("the last good one is loaded");
    assert!(order.has_fallen);
    assert_eq!(order.resume, Some(digest));

    let order = fleet
        .edit("next", spec("Active"))
        .expect("a changed spec is followed");
    assert!(!order.has_fallen);
}

/// Another limit for the same module must not make that module its own last good one.
#[test]
fn the_same_module_over_again_falls_back_to_the_one_before_both() {
    let mut fleet = Fleet::new();
    fleet.create("next", 0, spec("Active"));
    let good = fleet.module("good", false);
    let digest = good.digest().to_owned();
    fleet.loaded("next", good);
    for _ in 0..2 {
        fleet.edit("next", spec("Active"));
        let bad = fleet.module("bad", true);
        fleet.loaded("next", bad);
    }
    fail(&fleet);
    assert!(fleet.entry("next").fall_back(Instant::now()));
    assert_eq!(fleet.deciding(), [digest.clone(), digest]);
}

#[test]
fn an_instance_that_does_not_lead_follows_what_the_leader_saw() {
    let mut fleet = Fleet::new();
    let built_in = fleet.built_in.digest().to_owned();
    fleet.create("next", 0, spec("Active"));
    let bad = fleet.module("bad", true);
    let failed = bad.digest().to_owned();
    fleet.loaded("next", bad);
    let told = json!({"phase": "FellBack", "observedGeneration": 1, "fellBackFrom": failed});
    let order = fleet
        .entry("next")
        .see(object("next", 0, 1, spec("Active"), told));
    assert!(order.is_none());
    assert_eq!(fleet.deciding(), [built_in.clone(), built_in]);
}

/// A status that names a Shadow's digest must not make it act after a restart.
#[test]
fn only_what_was_in_the_same_role_is_resumed_after_a_restart() {
    let stored = |role: &str| json!({"role": role, "digest": "sha256:1", "observedGeneration": 1});
    let resumed = |role: &str| {
        let (_, order) = Entry::new(object("next", 0, 2, spec("Active"), stored(role)));
        order.expect("an order").resume
    };
    assert_eq!(resumed("Active"), Some("sha256:1".to_owned()));
    assert_eq!(resumed("Shadow"), None);
    assert_eq!(resumed("Canary"), None);
}
