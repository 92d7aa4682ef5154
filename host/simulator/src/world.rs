//! The world: Kubernetes and etcd together, moved by timers.
//!
//! Owns latencies and the life of pods and processes. Faults and the operator act on it from their own files.

mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use contract::{ClusterId, Dialect, Millis, Resource};
use serde_json::json;

use crate::backups::Stored;
use crate::etcd::{Etcd, Op, Peer, Row};
use crate::fact::{Fact, Truth};
use crate::guards::Guard;
use crate::kubernetes::Kubernetes;
use crate::plan::{OldPods, Plan};
use crate::present::Given;
use crate::release::{self, Release};
use crate::strangers::Strangers;
use crate::timers::{Timer, Timers};
use crate::volumes;

/// The name of every simulated cluster.
pub(crate) const NAME: &str = "sim";
/// So many writes follow one another closely; all others come now and then, for as long as anything happens.
const CLOSE_WRITES: u32 = 40;

/// Everything there is.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) now: i64,
    pub(crate) rng: fastrand::Rng,
    pub(crate) timers: Timers,
    pub(crate) kube: Kubernetes,
    pub(crate) etcd: Etcd,
    pub(crate) plan: Plan,
    pub(crate) facts: Vec<Fact>,
    /// Something that a watch would tell has changed.
    pub(crate) changed: bool,
    /// How often something happened, other than writes of the status.
    pub(crate) moves: u64,
    pub(crate) images: bool,
    pub(crate) slow: bool,
    /// Clients write nothing, after many writes.
    pub(crate) idle: bool,
    pub(crate) api: bool,
    pub(crate) acknowledged: Vec<u32>,
    pub(crate) words: Option<Vec<String>>,
    /// Requests of the operator that are on their way without anybody waiting, and the world when they were sent.
    pub(crate) late: Vec<Option<(contract::Action, Box<Truth>)>>,
    /// While one of them arrives, the world when it was sent.
    pub(crate) landing: Option<Box<Truth>>,
    /// Clusters in which members are about to vote.
    pub(crate) electing: BTreeSet<ClusterId>,
    /// The members of each cluster when a quorum last confirmed them.
    pub(crate) listed: BTreeMap<ClusterId, Vec<Row>>,
    /// The cluster that the archived operator left, which no status records at first.
    pub(crate) founded: Option<ClusterId>,
    /// The wall clock at the beginning.
    pub(crate) epoch: i64,
    /// What the operator's clock is off by, in milliseconds.
    pub(crate) off: i64,
    pub(crate) given: Given,
    /// The newest backup.
    pub(crate) stored: Stored,
    /// The backup that disks are filled from.
    pub(crate) proven: Stored,
    /// The EtcdRestores.
    pub(crate) restores: Vec<Resource>,
    /// The EtcdBackup that risky acts wait for.
    pub(crate) guard: Option<Guard>,
    /// Its store answers.
    pub(crate) store: bool,
    pub(crate) strangers: Strangers,
    /// When the last budget of one that is gone was collected.
    pub(crate) budget_went: Option<i64>,
    writes: u32,
}

impl World {
    pub(crate) fn new(plan: &Plan, tell: bool) -> Self {
        let mut spec = json!({"size": plan.size});
        let mut dialect = Dialect::Coreos;
        if plan.claims {
            spec["pod"] = json!({"persistentVolumeClaimSpec": volumes::template(1)});
        }
        if plan.numbered {
            dialect = Dialect::Improbable;
            spec["pod"]["persistentVolumeClaimRetentionPolicy"] = json!({"whenDeleted": "Retain"});
        }
        if let Some(version) = plan.version {
            spec["version"] = version.to_string().into();
            spec["pod"]["etcdEnv"] = json!([{"name": "ETCD_SNAPSHOT_COUNT", "value": "1"}]);
            spec["upgrade"] = json!({"throughMinors": plan.through});
        }
        if plan.tls {
            spec["TLS"] = json!({"auto": {}});
        }
        let resource = Resource {
            api_version: dialect.api_version(),
            kind: contract::KIND.to_owned(),
            namespace: "ns".to_owned(),
            name: NAME.to_owned(),
            uid: "uid-cluster".to_owned(),
            resource_version: "1".to_owned(),
            generation: 1,
            created: Millis(EPOCH),
            deleted: None,
            finalizers: Vec::new(),
            owner: None,
            labels: [].into(),
            annotations: [].into(),
            spec,
            status: serde_json::Value::Null,
        };
        let words = tell.then(Vec::new);
        let mut world = Self::empty(plan.clone(), Kubernetes::new(resource), words);
        for (index, planned) in plan.faults.iter().enumerate() {
            world.timers.set(planned.at, Timer::Fault(index));
        }
        world.timers.set(2_000, Timer::Write);
        if plan.old.is_some() && plan.numbered {
            world.leave_kept_cluster();
        } else if let Some(old) = plan.old {
            world.leave_old_cluster(old == OldPods::Renewed);
        }
        world
    }

    /// A world without members, in which nothing is due.
    pub(crate) fn empty(plan: Plan, kube: Kubernetes, words: Option<Vec<String>>) -> Self {
        Self {
            now: 0,
            rng: fastrand::Rng::with_seed(plan.seed ^ 0x9e37_79b9_7f4a_7c15),
            timers: Timers::default(),
            kube,
            etcd: Etcd::default(),
            plan,
            facts: Vec::new(),
            changed: true,
            moves: 0,
            images: true,
            slow: false,
            idle: false,
            api: true,
            acknowledged: Vec::new(),
            words,
            late: Vec::new(),
            landing: None,
            electing: BTreeSet::new(),
            listed: BTreeMap::new(),
            founded: None,
            epoch: EPOCH,
            off: 0,
            given: Given::nothing(),
            stored: Stored::default(),
            proven: Stored::default(),
            restores: Vec::new(),
            guard: None,
            store: true,
            strangers: Strangers::default(),
            budget_went: None,
            writes: 0,
        }
    }

    /// Notes a sentence, if the history is to be told.
    pub(crate) fn tell(&mut self, sentence: impl FnOnce(&Self) -> String) {
        if self.words.is_some() {
            let sentence = format!("{:>8} ms  {}", self.now, sentence(self));
            self.words.get_or_insert_default().push(sentence);
        }
    }

    /// Draws all that follows from what there is, and no longer from how it came to be.
    pub(crate) fn draw_anew(&mut self) {
        let mut hasher = DefaultHasher::new();
        self.hash_into(&mut hasher);
        self.rng = fastrand::Rng::with_seed(hasher.finish());
    }

    /// All that what follows depends on.
    pub(crate) fn hash_into(&self, hasher: &mut impl Hasher) {
        let Self {
            now,
            rng: _,
            timers,
            kube,
            etcd,
            plan: _,
            facts: _,
            changed,
            moves: _,
            images,
            slow,
            idle,
            api,
            acknowledged,
            words: _,
            late,
            landing: _,
            electing,
            listed,
            founded,
            epoch: _,
            off,
            given: _,
            stored,
            proven,
            restores,
            guard,
            store,
            strangers,
            budget_went,
            writes,
        } = self;
        (
            now,
            timers.in_order(),
            changed,
            images,
            slow,
            idle,
            api,
            off,
            store,
        )
            .hash(hasher);
        (acknowledged, electing, founded, writes).hash(hasher);
        (stored, proven, strangers, budget_went).hash(hasher);
        format!("{restores:?} {guard:?}").hash(hasher);
        let late = late
            .iter()
            .map(|one| one.as_ref().map(|(action, _)| action));
        let late: Vec<_> = late.collect();
        format!("{kube:?} {etcd:?} {late:?} {listed:?}").hash(hasher);
    }

    /// Wall-clock time as the API server has it.
    pub(crate) fn clock(&self) -> Millis {
        Millis(self.epoch + self.now)
    }

    pub(crate) fn after(&mut self, least: i64, most: i64, timer: Timer) {
        let at = self.now + self.rng.i64(least..=most);
        self.timers.set(at, timer);
    }

    /// Lets time pass until `until`.
    pub(crate) fn advance(&mut self, until: i64) {
        while let Some((at, timer)) = self.timers.due(until) {
            self.now = self.now.max(at);
            self.fire(timer);
        }
        self.now = self.now.max(until);
    }

    fn fire(&mut self, timer: Timer) {
        self.moves += u64::from(timer != Timer::Write);
        match timer {
            Timer::Schedule(pod) => self.schedule(pod),
            Timer::Pull(pod) => self.pull(pod),
            Timer::NewImage(pod) => self.new_image(pod),
            Timer::Start(pod) => self.start(pod),
            Timer::Serve(pod, run) => self.serve(pod, run),
            Timer::Sync(pod, run) => self.sync(pod, run),
            Timer::Expelled(pod, run) => self.expel(pod, run),
            Timer::Gone(pod) => self.gone(pod),
            Timer::Elect(cluster) => self.elect(cluster),
            Timer::Write => self.write(),
            Timer::NodeSilent(node) => self.node_silent(node),
            Timer::NodeEvicts(node) => self.node_evicts(node),
            Timer::NodeForgotten(node) => self.node_forgotten(node),
            Timer::Fault(index) => self.begin_fault(index),
            Timer::Heal(index) => self.end_fault(index),
            Timer::Land(index) => self.land(index),
            Timer::Collect => self.collect(),
            Timer::Guard => self.take_before(),
            Timer::Prove => self.prove_again(),
            Timer::ReplicaSets => self.keep_pods(),
            Timer::Enlarge(disk) => self.enlarge(disk),
        }
    }

    /// A client that was told of the Service writes.
    fn write(&mut self) {
        let (least, most) = if self.writes < CLOSE_WRITES {
            (300, 3_500)
        } else {
            (3_000, 40_000)
        };
        self.after(least, most, Timer::Write);
        if self.idle {
            return;
        }
        let Some(cluster) = self.recorded() else {
            return;
        };
        let is_kept = self.plan.old.is_some() && self.plan.numbered;
        let service = if is_kept {
            contract::names::peer_service(NAME)
        } else {
            contract::names::client_service(NAME)
        };
        let service = self.kube.services.get(&service);
        if !service.is_some_and(|service| self.is_own(&service.owner)) {
            return;
        }
        let write = self.writes;
        let peers = self.peers();
        // Whom a quorum does not need hears of it later.
        let lags = self.rng.usize(0..=peers.len());
        let others = || peers.iter().enumerate().filter(|(index, _)| *index != lags);
        let prompt: Vec<Peer> = others().map(|(_, peer)| *peer).collect();
        let mut taken = self.etcd.write(cluster, &prompt, Op::Write(write));
        if taken.is_err() {
            taken = self.etcd.write(cluster, &peers, Op::Write(write));
        }
        if taken.is_ok() {
            self.writes += 1;
            self.acknowledged.push(write);
        }
    }

    /// `status.clusterId`.
    pub(crate) fn recorded(&self) -> Option<ClusterId> {
        self.kube
            .resource
            .status
            .get("clusterId")?
            .as_str()?
            .parse()
            .ok()
    }
}

/// `spec.pod.labels.team`.
fn label(spec: &serde_json::Value) -> Option<&str> {
    spec.get("pod")?.get("labels")?.get("team")?.as_str()
}

/// `spec.version`, or what its absence means.
fn asked(spec: &serde_json::Value) -> Option<Release> {
    match spec.get("version").and_then(serde_json::Value::as_str) {
        None => Some(release::DEFAULT),
        Some(version) => Release::read(version),
    }
}

/// 2026-01-01T00:00:00Z.
const EPOCH: i64 = 1_767_225_600_000;
