//! The life of a pod's container, as its kubelet leads it: pulled, started, serving, ended, and started again.
//!
//! Owns when a process comes and goes. It does not know what etcd does with its data, nor why a pod is there.

use contract::{LastExit, PodPhase};

use crate::etcd::{Flags, Start};
use crate::kubernetes::{Member, Process};
use crate::registry;
use crate::release::Release;
use crate::timers::Timer;
use crate::world::World;

/// Longest pause of a kubelet before it starts a container again.
const LONGEST_BACKOFF: i64 = 300_000;

impl World {
    pub(crate) fn pull(&mut self, number: u32) {
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        let repository = registry::number(&pod.api.image);
        let has_images = self.has_images(repository);
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if pod.process.is_some() || pod.is_evicted() {
            return;
        }
        if !has_images || !Release::of_image(&pod.api.image).is_published() {
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
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if pod.api.deleted.is_some() || pod.process.is_some() || pod.is_evicted() {
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
        self.fill_disk(number);
        let mut peers = self.peers();
        let Some(pod) = self.kube.pods.values().find(|pod| pod.number == number) else {
            return;
        };
        if !self.kube.is_among_peers(pod) {
            peers.clear();
        }
        let flags = Flags {
            state: pod.api.initial_cluster_state.as_deref().unwrap_or("new"),
            initial_cluster: pod.api.initial_cluster.as_deref().unwrap_or_default(),
            token: &pod.token,
            minor: release.minor,
            alone: is_alone(&pod.api),
        };
        let is_founding = pod.runs == 0 && flags.state == "new" && self.etcd.data(disk).is_none();
        let start = self.etcd.start(disk, pod.member(), &flags, &peers);
        let address = format!("10.244.0.{}", number % 250);
        let now = self.now;
        let name = pod.api.name.clone();
        if is_founding {
            self.forget_what_no_disk_has(disk);
        }
        let Some(pod) = self.kube.pods.get_mut(&name) else {
            return;
        };
        pod.runs += 1;
        pod.swaps = false;
        pod.api.ran = true;
        pod.api.restarts = pod.runs - 1;
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
                    fed: None,
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

    /// Where the recorded cluster is founded anew by a request of its birth that came late, what a fault took with the last
    /// disk is gone. Who asks for that after the birth is judged when it is asked.
    fn forget_what_no_disk_has(&mut self, founded: u32) {
        let cluster = self.etcd.data(founded).map(|data| data.cluster);
        if cluster.is_some() && cluster == self.recorded() {
            let disks = self.etcd.disks.values().flatten();
            self.acknowledged
                .retain(|write| disks.clone().any(|data| data.holds(*write)));
        }
    }

    /// The container ended; the kubelet starts it again after a while.
    pub(crate) fn exited(&mut self, number: u32, code: i32, why: &str) {
        let now = self.now;
        self.ended(number, code, why);
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        let ran_long = pod
            .process
            .is_some_and(|process| now - process.started > 60_000);
        pod.failures = if ran_long { 1 } else { pod.failures + 1 };
        pod.process = None;
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

    /// What the kubelet writes of a container that ended. It counts the restart when it starts the next one.
    pub(crate) fn ended(&mut self, number: u32, code: i32, why: &str) {
        let clock = self.clock();
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        pod.api.running = false;
        pod.api.last_exit = Some(LastExit {
            reason: if code == 0 { "Completed" } else { "Error" }.to_owned(),
            code,
            message: why.to_owned(),
            at: Some(clock),
        });
        pod.touch();
    }

    fn process(&mut self, number: u32, run: u32) -> Option<&mut Process> {
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
        let pod = self.kube.pods.values().find(|pod| pod.number == number);
        if pod.is_some_and(|pod| self.kube.is_split(pod)) {
            self.after(1_000, 3_000, Timer::Sync(number, run));
            return;
        }
        let fed = self.idle.then(|| self.snapshot_for(number)).flatten();
        let Some(process) = self.process(number, run) else {
            return;
        };
        process.synced = true;
        process.fed = process.fed.or(fed);
        self.settle();
    }

    /// The index of the snapshot that the leader sends to a member which has nothing of its log yet.
    fn snapshot_for(&self, number: u32) -> Option<u64> {
        let mut pods = self.kube.pods.values();
        let disk = pods.find(|pod| pod.number == number)?.disk?;
        let data = self.etcd.data(disk).filter(|data| data.index() == 0)?;
        let leader = self.etcd.confirmed(data.cluster, &self.peers())?;
        Some(leader.index())
    }

    pub(crate) fn expel(&mut self, number: u32, run: u32) {
        let peers = self.peers();
        let pod = self
            .kube
            .pods
            .values()
            .find(|pod| pod.number == number && pod.runs == run);
        let reaches = |pod: &&Member| pod.process.is_some() && self.kube.is_among_peers(pod);
        let Some(pod) = pod.filter(reaches) else {
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
}

/// The pod's next start is that of an only member.
fn is_alone(pod: &contract::Pod) -> bool {
    pod.annotations
        .get(contract::names::FORCE_NEW_CLUSTER_ANNOTATION)
        .is_some_and(|flag| !flag.is_empty())
}
