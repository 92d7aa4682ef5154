//! The world: Kubernetes and etcd together, moved by timers.
//!
//! Owns latencies and the life of pods and processes. Faults and the operator act on it from their own files.

use std::collections::{BTreeMap, BTreeSet};

use contract::{ClusterId, LastExit, MemberId, Millis, PodPhase, Resource, VolumePhase};
use serde_json::json;

use crate::etcd::{Etcd, Flags, Op, Peer, Row, Start};
use crate::fact::{Fact, MemberTruth, Truth};
use crate::kubernetes::{Kubernetes, Node, Process};
use crate::plan::Plan;
use crate::timers::{Timer, Timers};

/// The name of every simulated cluster.
pub(crate) const NAME: &str = "sim";
/// Longest pause of a kubelet before it starts a container again.
const LONGEST_BACKOFF: i64 = 300_000;
/// Writes of a history.
const WRITES: u32 = 40;

/// Everything there is.
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
    pub(crate) api: bool,
    pub(crate) acknowledged: Vec<u32>,
    pub(crate) words: Option<Vec<String>>,
    /// Requests of the operator that are on their way without anybody waiting.
    pub(crate) late: Vec<Option<contract::Action>>,
    /// One of them is arriving.
    pub(crate) landing: bool,
    electing: BTreeSet<ClusterId>,
    /// The members of each cluster when a quorum last confirmed them.
    listed: BTreeMap<ClusterId, Vec<Row>>,
    writes: u32,
}

impl World {
    pub(crate) fn new(plan: &Plan, tell: bool) -> Self {
        let mut spec = json!({"size": plan.size});
        if plan.claims {
            let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
            spec["pod"] = json!({"persistentVolumeClaimSpec": claim});
        }
        let resource = Resource {
            api_version: format!("{}/{}", contract::GROUP, contract::VERSION),
            kind: contract::KIND.to_owned(),
            namespace: "ns".to_owned(),
            name: NAME.to_owned(),
            uid: "uid-cluster".to_owned(),
            resource_version: "1".to_owned(),
            generation: 1,
            created: Millis(EPOCH),
            deleted: None,
            finalizers: Vec::new(),
            labels: [].into(),
            annotations: [].into(),
            spec,
            status: serde_json::Value::Null,
        };
        let mut world = Self {
            now: 0,
            rng: fastrand::Rng::with_seed(plan.seed ^ 0x9e37_79b9_7f4a_7c15),
            timers: Timers::default(),
            kube: Kubernetes::new(resource),
            etcd: Etcd::default(),
            plan: plan.clone(),
            facts: Vec::new(),
            changed: true,
            moves: 0,
            images: true,
            slow: false,
            api: true,
            acknowledged: Vec::new(),
            words: tell.then(Vec::new),
            late: Vec::new(),
            landing: false,
            electing: BTreeSet::new(),
            listed: BTreeMap::new(),
            writes: 0,
        };
        for (index, planned) in plan.faults.iter().enumerate() {
            world.timers.set(planned.at, Timer::Fault(index));
        }
        world.timers.set(2_000, Timer::Write);
        world
    }

    /// Notes a sentence, if the history is to be told.
    pub(crate) fn tell(&mut self, sentence: impl FnOnce(&Self) -> String) {
        if self.words.is_some() {
            let sentence = format!("{:>8} ms  {}", self.now, sentence(self));
            self.words.get_or_insert_default().push(sentence);
        }
    }

    /// Wall-clock time as snapshots have it.
    pub(crate) fn clock(&self) -> Millis {
        Millis(EPOCH + self.now)
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
        }
    }

    // The life of a pod.

    fn schedule(&mut self, number: u32) {
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if pod.node.is_some() || pod.api.deleted.is_some() {
            return;
        }
        let (name, claim) = (pod.api.name.clone(), pod.api.claim.clone());
        let choice = self.choose_node(claim.as_deref());
        let local = self.plan.local;
        let (node, why) = match choice {
            Ok(node) => (node, None),
            Err(why) => (0, Some(why)),
        };
        let Some(pod) = self.kube.pods.get_mut(&name) else {
            return;
        };
        if let Some(why) = why {
            if pod.api.unschedulable.is_none() {
                pod.api.unschedulable = Some(why.to_owned());
                self.changed = true;
            }
            self.after(2_000, 2_000, Timer::Schedule(number));
            return;
        }
        pod.api.unschedulable = None;
        pod.node = Some(node);
        pod.api.node = Some(format!("node-{node}"));
        let disk = match claim
            .as_deref()
            .and_then(|claim| self.kube.claims.get_mut(claim))
        {
            Some(claim) => {
                claim.api.phase = VolumePhase::Bound;
                claim.node = claim.node.or_else(|| local.then_some(node));
                claim.number
            }
            None => number,
        };
        pod.disk = Some(disk);
        self.etcd.disks.entry(disk).or_insert(None);
        self.changed = true;
        self.after(50, 600, Timer::Pull(number));
    }

    fn choose_node(&mut self, claim: Option<&str>) -> Result<u32, &'static str> {
        let fixed = match claim.map(|claim| self.kube.claims.get(claim)) {
            None => None,
            Some(None) => return Err("persistentvolumeclaim not found"),
            Some(Some(claim)) if claim.api.deleted.is_some() => {
                return Err("persistentvolumeclaim is being deleted");
            }
            Some(Some(claim)) if claim.api.phase == VolumePhase::Lost => {
                return Err("persistentvolumeclaim is lost");
            }
            Some(Some(claim)) => claim.node,
        };
        let up = |node: &u32| self.kube.nodes.get(node) == Some(&Node::Up);
        match fixed {
            Some(node) if up(&node) => Ok(node),
            Some(_) => Err("node(s) had volume node affinity conflict"),
            None => {
                // The emptiest node first, as preferred anti-affinity has it.
                let load = |node: u32| {
                    self.kube
                        .pods
                        .values()
                        .filter(|pod| pod.node == Some(node))
                        .count()
                };
                let mut nodes: Vec<u32> = self.kube.nodes.keys().copied().filter(up).collect();
                nodes.sort_by_key(|node| load(*node));
                nodes.first().copied().ok_or("no node is available")
            }
        }
    }

    fn pull(&mut self, number: u32) {
        let images = self.images;
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if !images {
            if pod.api.waiting.is_none() {
                pod.api.waiting = Some("ImagePullBackOff: the registry does not answer".to_owned());
                self.changed = true;
            }
            self.after(3_000, 6_000, Timer::Pull(number));
            return;
        }
        pod.api.waiting = None;
        self.after(50, 1_500, Timer::Start(number));
    }

    fn start(&mut self, number: u32) {
        let peers = self.peers();
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if pod.api.deleted.is_some() || pod.process.is_some() {
            return;
        }
        let Some(pod) = self.kube.pods.values().find(|pod| pod.number == number) else {
            return;
        };
        if !self.kube.is_reachable(pod) {
            self.after(1_000, 3_000, Timer::Start(number));
            return;
        }
        let Some(disk) = pod.disk else { return };
        let flags = Flags {
            state: pod.api.initial_cluster_state.as_deref().unwrap_or("new"),
            initial_cluster: pod.api.initial_cluster.as_deref().unwrap_or_default(),
            token: &pod.token,
        };
        let start = self.etcd.start(disk, &pod.api.name, &flags, &peers);
        let address = format!("10.244.0.{}", number % 250);
        let now = self.now;
        let name = pod.api.name.clone();
        let Some(pod) = self.kube.pods.get_mut(&name) else {
            return;
        };
        pod.runs += 1;
        let run = pod.runs;
        pod.api.ip.get_or_insert(address);
        pod.api.phase = PodPhase::Running;
        pod.api.waiting = None;
        self.changed = true;
        match start {
            Start::Runs => {
                pod.api.running = true;
                pod.process = Some(Process {
                    started: now,
                    serves: None,
                    synced: false,
                    frozen: false,
                });
                self.after(50, 500, Timer::Serve(number, run));
            }
            Start::Exits(why) => {
                self.tell(|_| format!("etcd of {name} ends: {why}"));
                self.exited(number, 1, why);
            }
        }
    }

    /// The container ended; the kubelet starts it again after a while.
    pub(crate) fn exited(&mut self, number: u32, code: i32, why: &str) {
        let (now, clock) = (self.now, self.clock());
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        let ran_long = pod
            .process
            .is_some_and(|process| now - process.started > 60_000);
        pod.failures = if ran_long { 1 } else { pod.failures + 1 };
        pod.process = None;
        pod.api.running = false;
        pod.api.restarts += 1;
        pod.api.last_exit = Some(LastExit {
            reason: "Error".to_owned(),
            code,
            message: why.to_owned(),
            at: Some(clock),
        });
        let backoff = match pod.failures {
            0 | 1 => 0,
            failures => (10_000 << (failures - 2).min(5)).min(LONGEST_BACKOFF),
        };
        if backoff > 0 {
            pod.api.waiting =
                Some("CrashLoopBackOff: back-off restarting failed container".to_owned());
        }
        self.changed = true;
        self.timers.set(now + backoff + 300, Timer::Start(number));
        self.settle();
    }

    fn process(&mut self, number: u32, run: u32) -> Option<&mut Process> {
        let pod = self
            .kube
            .pod_numbered(number)
            .filter(|pod| pod.runs == run)?;
        pod.process.as_mut()
    }

    fn serve(&mut self, number: u32, run: u32) {
        let (now, slow) = (self.now, self.slow);
        let Some(process) = self.process(number, run) else {
            return;
        };
        process.serves = Some(now);
        let (least, most) = if slow { (20_000, 60_000) } else { (50, 1_500) };
        self.after(least, most, Timer::Sync(number, run));
        self.settle();
    }

    fn sync(&mut self, number: u32, run: u32) {
        let Some(process) = self.process(number, run) else {
            return;
        };
        process.synced = true;
        self.settle();
    }

    fn expel(&mut self, number: u32, run: u32) {
        let peers = self.peers();
        let pod = self
            .kube
            .pods
            .values()
            .find(|pod| pod.number == number && pod.runs == run);
        let Some(pod) = pod.filter(|pod| pod.process.is_some()) else {
            return;
        };
        if pod
            .disk
            .is_some_and(|disk| self.etcd.is_expelled(disk, &peers))
        {
            self.exited(
                number,
                1,
                "the member has been permanently removed from the cluster",
            );
        }
    }

    /// Asks for a pod's deletion, as the API server and the kubelet do.
    pub(crate) fn delete_pod(&mut self, name: &str, grace: Option<i64>) {
        let clock = self.clock();
        let Some(pod) = self.kube.pods.get_mut(name) else {
            return;
        };
        let number = pod.number;
        pod.api.deleted.get_or_insert(clock);
        self.changed = true;
        let Some(pod) = self.kube.pods.get(name) else {
            return;
        };
        if grace == Some(0) || pod.node.is_none() {
            self.gone(number);
        } else if self.kube.is_reachable(pod) {
            self.after(100, 1_500, Timer::Gone(number));
        }
    }

    /// Asks for a claim's deletion; it goes when no pod uses it.
    pub(crate) fn delete_claim(&mut self, name: &str) {
        let clock = self.clock();
        if let Some(claim) = self.kube.claims.get_mut(name) {
            claim.api.deleted.get_or_insert(clock);
            self.changed = true;
        }
        self.collect_claims();
    }

    fn gone(&mut self, number: u32) {
        let Some(name) = self
            .kube
            .pod_numbered(number)
            .map(|pod| pod.api.name.clone())
        else {
            return;
        };
        let Some(pod) = self.kube.pods.remove(&name) else {
            return;
        };
        if pod.api.claim.is_none() {
            self.etcd.disks.remove(&number);
        }
        self.changed = true;
        self.collect_claims();
        self.settle();
    }

    fn collect_claims(&mut self) {
        let used: BTreeSet<String> = self
            .kube
            .pods
            .values()
            .filter_map(|pod| pod.api.claim.clone())
            .collect();
        let gone: Vec<String> = self
            .kube
            .claims
            .iter()
            .filter(|(name, claim)| claim.api.deleted.is_some() && !used.contains(*name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            if let Some(claim) = self.kube.claims.remove(&name) {
                self.etcd.disks.remove(&claim.number);
                self.changed = true;
            }
        }
    }

    // Nodes.

    fn node_silent(&mut self, node: u32) {
        if self.kube.nodes.get(&node) == Some(&Node::Up) {
            return;
        }
        let clock = self.clock();
        for pod in self
            .kube
            .pods
            .values_mut()
            .filter(|pod| pod.node == Some(node) && pod.api.ready)
        {
            pod.api.ready = false;
            pod.api.ready_since = Some(clock);
            self.changed = true;
        }
    }

    fn node_evicts(&mut self, node: u32) {
        if self.kube.nodes.get(&node) == Some(&Node::Up) {
            return;
        }
        for name in self.names_on(node) {
            self.delete_pod(&name, None);
        }
    }

    fn node_forgotten(&mut self, node: u32) {
        for name in self.names_on(node) {
            self.delete_pod(&name, Some(0));
        }
        // Somebody cleans up the volume objects of the node, or nobody does and they stay bound to nowhere.
        if self.rng.bool() {
            for claim in self
                .kube
                .claims
                .values_mut()
                .filter(|claim| claim.node == Some(node))
            {
                claim.api.phase = VolumePhase::Lost;
                self.changed = true;
            }
        }
    }

    pub(crate) fn names_on(&self, node: u32) -> Vec<String> {
        self.kube
            .pods
            .values()
            .filter(|pod| pod.node == Some(node))
            .map(|pod| pod.api.name.clone())
            .collect()
    }

    // etcd.

    /// Members that run and are reached.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        let running = self
            .kube
            .pods
            .values()
            .filter(|pod| self.kube.is_reachable(pod));
        running
            .filter_map(|pod| {
                let process = pod.process.filter(|process| !process.frozen)?;
                Some(Peer {
                    disk: pod.disk?,
                    since: process.serves?,
                    synced: process.synced,
                })
            })
            .collect()
    }

    /// Brings leaders, followers and readiness in line with who is reached.
    pub(crate) fn settle(&mut self) {
        let peers = self.peers();
        let clusters: BTreeSet<ClusterId> = self
            .etcd
            .disks
            .values()
            .flatten()
            .map(|data| data.cluster)
            .collect();
        for cluster in clusters {
            if self.etcd.leader(cluster, &peers).is_none() {
                self.etcd.depose(cluster);
                if !peers.is_empty() && self.electing.insert(cluster) {
                    self.after(200, 1_500, Timer::Elect(cluster));
                }
                continue;
            }
            self.etcd.replicate(cluster, &peers);
            self.publish(cluster, &peers);
            if let Some(data) = self.etcd.confirmed(cluster, &peers) {
                self.listed.insert(cluster, data.rows().to_vec());
            }
        }
        self.expel_removed(&peers);
        self.refresh_readiness(&peers);
    }

    fn publish(&mut self, cluster: ClusterId, peers: &[Peer]) {
        let Some(leader) = self.etcd.confirmed(cluster, peers) else {
            return;
        };
        let unpublished: Vec<MemberId> = leader
            .rows()
            .iter()
            .filter(|row| !row.started)
            .map(|row| row.id)
            .collect();
        for id in unpublished {
            let mut followers = peers
                .iter()
                .filter(|peer| peer.synced)
                .filter_map(|peer| self.etcd.data(peer.disk));
            if followers.any(|data| data.cluster == cluster && data.me == id) {
                // Without a leader the member tells its name later.
                let _ = self.etcd.propose(cluster, peers, Op::Publish(id));
                self.changed = true;
            }
        }
    }

    fn expel_removed(&mut self, peers: &[Peer]) {
        let expelled: Vec<(u32, u32)> = self
            .kube
            .pods
            .values()
            .filter(|pod| pod.process.is_some() && self.kube.is_reachable(pod))
            .filter(|pod| {
                pod.disk
                    .is_some_and(|disk| self.etcd.is_expelled(disk, peers))
            })
            .map(|pod| (pod.number, pod.runs))
            .collect();
        for (number, run) in expelled {
            self.after(100, 1_000, Timer::Expelled(number, run));
        }
    }

    fn refresh_readiness(&mut self, peers: &[Peer]) {
        let clock = self.clock();
        let (etcd, nodes) = (&self.etcd, &self.kube.nodes);
        for pod in self.kube.pods.values_mut() {
            if pod
                .node
                .is_some_and(|node| nodes.get(&node) != Some(&Node::Up))
            {
                continue;
            }
            let synced = pod
                .process
                .is_some_and(|process| process.synced && !process.frozen);
            let data = pod.disk.filter(|_| synced).and_then(|disk| etcd.data(disk));
            let ready = data.is_some_and(|data| {
                data.rows()
                    .iter()
                    .any(|row| row.id == data.me && !row.learner)
                    && etcd.is_confirmed(data, peers)
            });
            if pod.api.ready != ready {
                pod.api.ready = ready;
                pod.api.ready_since = Some(clock);
                self.changed = true;
            }
        }
    }

    fn elect(&mut self, cluster: ClusterId) {
        self.electing.remove(&cluster);
        let peers = self.peers();
        if self.etcd.leader(cluster, &peers).is_some() {
            return;
        }
        let Some(leader) = self.etcd.elect(cluster, &peers) else {
            return;
        };
        let data = peers
            .iter()
            .filter_map(|peer| self.etcd.data(peer.disk))
            .find(|data| data.cluster == cluster && data.me == leader);
        let missing: Vec<u32> = match data {
            Some(data) if self.recorded() == Some(cluster) => self
                .acknowledged
                .iter()
                .copied()
                .filter(|write| !data.holds(*write))
                .collect(),
            Some(_) | None => Vec::new(),
        };
        let name = self.etcd.name(leader).to_owned();
        self.tell(|_| format!("{name} leads cluster {cluster}"));
        self.facts.push(Fact::Elected {
            at: self.now,
            cluster,
            leader: name,
            missing,
        });
        self.changed = true;
        self.settle();
    }

    /// A client that was told of the Service writes.
    fn write(&mut self) {
        if self.writes >= WRITES {
            return;
        }
        self.after(300, 3_500, Timer::Write);
        let Some(cluster) = self.recorded() else {
            return;
        };
        if !self
            .kube
            .services
            .contains_key(&contract::names::client_service(NAME))
        {
            return;
        }
        let peers = self.peers();
        let write = self.writes;
        self.writes += 1;
        if self.etcd.propose(cluster, &peers, Op::Write(write)).is_ok() {
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

    /// The world as it is.
    pub(crate) fn truth(&self) -> Truth {
        let peers = self.peers();
        let cluster = self.recorded();
        let spec = &self.kube.resource.spec;
        let confirmed = cluster.and_then(|cluster| self.etcd.confirmed(cluster, &peers));
        let listed = || cluster.and_then(|cluster| self.listed.get(&cluster).cloned());
        let members = confirmed
            .map(|data| data.rows().to_vec())
            .or_else(listed)
            .unwrap_or_default();
        Truth {
            size: spec
                .get("size")
                .and_then(serde_json::Value::as_i64)
                .unwrap_or_default(),
            paused: spec
                .get("paused")
                .and_then(serde_json::Value::as_bool)
                .unwrap_or_default(),
            cluster,
            confirmed: confirmed.is_some(),
            leader: cluster.and_then(|cluster| self.etcd.leader(cluster, &peers)),
            members: members
                .into_iter()
                .map(|row| {
                    let name = self.etcd.name(row.id).to_owned();
                    let healthy = confirmed.is_some()
                        && peers.iter().filter(|peer| peer.synced).any(|peer| {
                            self.etcd.data(peer.disk).is_some_and(|data| {
                                Some(data.cluster) == cluster && data.me == row.id
                            })
                        });
                    let intact = self.is_intact(&name, row.id);
                    MemberTruth {
                        id: row.id,
                        name,
                        learner: row.learner,
                        started: row.started,
                        healthy,
                        intact,
                    }
                })
                .collect(),
            pods: self
                .kube
                .pods
                .iter()
                .filter(|(_, pod)| pod.api.deleted.is_none())
                .map(|(name, _)| name.clone())
                .collect(),
            claims: self.kube.claims.keys().cloned().collect(),
            services: self.kube.services.keys().cloned().collect(),
            budget: self
                .kube
                .budgets
                .values()
                .next()
                .and_then(|budget| budget.min_available.clone()),
        }
    }

    /// Whether the member's data is on a disk that its pod can have.
    fn is_intact(&self, name: &str, id: MemberId) -> bool {
        let disk = match self.kube.claims.get(name) {
            Some(claim) if claim.api.phase == VolumePhase::Lost || claim.api.deleted.is_some() => {
                None
            }
            Some(claim) => Some(claim.number),
            None => self
                .kube
                .pods
                .get(name)
                .filter(|pod| pod.api.deleted.is_none())
                .and_then(|pod| pod.disk),
        };
        disk.and_then(|disk| self.etcd.data(disk))
            .is_some_and(|data| data.me == id)
    }
}

/// 2026-01-01T00:00:00Z.
const EPOCH: i64 = 1_767_225_600_000;
