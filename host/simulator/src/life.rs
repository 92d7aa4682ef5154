//! The life of pods, claims and nodes, as scheduler, kubelets and node controller lead it.

use std::collections::BTreeSet;

use contract::{LastExit, PodPhase, VolumePhase};

use crate::etcd::{Flags, Start};
use crate::kubernetes::{Node, Process};
use crate::release::Release;
use crate::timers::Timer;
use crate::world::World;

/// Longest pause of a kubelet before it starts a container again.
const LONGEST_BACKOFF: i64 = 300_000;

impl World {
    pub(crate) fn schedule(&mut self, number: u32) {
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

    pub(crate) fn choose_node(&mut self, claim: Option<&str>) -> Result<u32, &'static str> {
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

    pub(crate) fn pull(&mut self, number: u32) {
        let images = self.images;
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if pod.process.is_some() {
            return;
        }
        if !images || !Release::of_image(&pod.api.image).is_published() {
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

    pub(crate) fn start(&mut self, number: u32) {
        let peers = self.peers();
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if pod.api.deleted.is_some() || pod.process.is_some() {
            return;
        }
        if pod.is_old() {
            self.end_old_pod(number);
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
        let release = Release::of_image(&pod.api.image);
        if !release.is_published() {
            self.pull(number);
            return;
        }
        let flags = Flags {
            state: pod.api.initial_cluster_state.as_deref().unwrap_or("new"),
            initial_cluster: pod.api.initial_cluster.as_deref().unwrap_or_default(),
            token: &pod.token,
            minor: release.minor,
            alone: is_alone(&pod.api),
        };
        let is_alone = flags.alone;
        let start = self.etcd.start(disk, &pod.api.name, &flags, &peers);
        let address = format!("10.244.0.{}", number % 250);
        let now = self.now;
        let name = pod.api.name.clone();
        if is_alone {
            self.forgive(disk, &name);
        }
        let Some(pod) = self.kube.pods.get_mut(&name) else {
            return;
        };
        pod.runs += 1;
        pod.api.restarts += u32::from(std::mem::take(&mut pod.swaps));
        pod.touch();
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
                    release,
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

    /// Whoever consented to go on from this member gave up what it does not have. Without a consent nothing is given up.
    fn forgive(&mut self, disk: u32, name: &str) {
        let named = self.consent().as_deref() == Some(name);
        if let Some(data) = self.etcd.data(disk).filter(|_| named) {
            self.acknowledged.retain(|write| data.holds(*write));
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
        pod.touch();
        pod.api.last_exit = Some(LastExit {
            reason: "Error".to_owned(),
            code,
            message: why.to_owned(),
            at: Some(clock),
        });
        if pod.is_old() {
            self.end_old_pod(number);
            return;
        }
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

    pub(crate) fn process(&mut self, number: u32, run: u32) -> Option<&mut Process> {
        let pod = self
            .kube
            .pod_numbered(number)
            .filter(|pod| pod.runs == run)?;
        pod.process.as_mut()
    }

    pub(crate) fn serve(&mut self, number: u32, run: u32) {
        let (now, slow) = (self.now, self.slow);
        let Some(process) = self.process(number, run) else {
            return;
        };
        process.serves = Some(now);
        let (least, most) = if slow { (20_000, 60_000) } else { (50, 1_500) };
        self.after(least, most, Timer::Sync(number, run));
        self.settle();
    }

    pub(crate) fn sync(&mut self, number: u32, run: u32) {
        let Some(process) = self.process(number, run) else {
            return;
        };
        process.synced = true;
        self.settle();
    }

    pub(crate) fn expel(&mut self, number: u32, run: u32) {
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

    pub(crate) fn gone(&mut self, number: u32) {
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

    pub(crate) fn collect_claims(&mut self) {
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

    pub(crate) fn node_silent(&mut self, node: u32) {
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

    pub(crate) fn node_evicts(&mut self, node: u32) {
        if self.kube.nodes.get(&node) == Some(&Node::Up) {
            return;
        }
        for name in self.names_on(node) {
            self.delete_pod(&name, None);
        }
    }

    pub(crate) fn node_forgotten(&mut self, node: u32) {
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
}

/// The pod's next start is that of an only member.
pub(crate) fn is_alone(pod: &contract::Pod) -> bool {
    pod.annotations
        .get(contract::names::FORCE_NEW_CLUSTER_ANNOTATION)
        .is_some_and(|flag| !flag.is_empty())
}
