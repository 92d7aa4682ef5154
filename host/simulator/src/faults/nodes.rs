//! What befalls a node and all members on it: cut off, down, lost for ever, apart from the others, short of room for a pod.

use contract::PodPhase;

use crate::kubernetes::{Member, Node};
use crate::timers::Timer;
use crate::world::World;

impl World {
    /// The members that reached no others do, and hear of them first.
    pub(super) fn reunite(&mut self) {
        let Some(node) = self.kube.split.take() else {
            return;
        };
        for name in self.names_on(node) {
            if let Some(number) = self.kube.pods.get(&name).map(|pod| pod.number) {
                self.heard_again(number);
            }
        }
    }

    /// The kubelet ends a pod of its node for good. What the archived operator made, others make again, and its kubelet cannot
    /// end what it does not reach.
    pub(super) fn evict(&mut self, which: u32) {
        let chosen = self.chosen(which);
        let pod = chosen.and_then(|name| self.kube.pods.get(&name));
        let is_its_own = |pod: &&Member| {
            !pod.is_old()
                && !pod.is_kept()
                && pod.api.deleted.is_none()
                && self.kube.is_reachable(pod)
        };
        let Some(pod) = pod.filter(is_its_own) else {
            return;
        };
        let (number, runs) = (pod.number, pod.process.is_some());
        if runs {
            self.ended(number, 137, "");
        }
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        pod.process = None;
        (pod.api.running, pod.api.ready) = (false, false);
        pod.api.phase = PodPhase::Failed;
        pod.touch();
        self.changed = true;
    }

    pub(super) fn node_numbered(&self, which: u32) -> Option<u32> {
        let index = usize::try_from(which)
            .unwrap_or_default()
            .checked_rem(self.kube.nodes.len())?;
        self.kube.nodes.keys().nth(index).copied()
    }

    pub(super) fn node_away(&mut self, which: u32, state: Node) {
        let Some(node) = self.node_numbered(which) else {
            return;
        };
        if self.kube.nodes.get(&node) != Some(&Node::Up) {
            return;
        }
        self.kube.nodes.insert(node, state);
        if state == Node::Down {
            self.stop_processes(node);
        }
        self.timers.set(self.now + 40_000, Timer::NodeSilent(node));
        self.timers.set(self.now + 340_000, Timer::NodeEvicts(node));
    }

    fn stop_processes(&mut self, node: u32) {
        for pod in self
            .kube
            .pods
            .values_mut()
            .filter(|pod| pod.node == Some(node))
        {
            if pod.process.take().is_some() {
                pod.failures = 0;
            }
        }
    }

    /// All nodes that are away at the end of the fault come back: the same index may mean another node by then.
    pub(super) fn node_back(&mut self, _which: u32) {
        let away: Vec<u32> = self
            .kube
            .nodes
            .iter()
            .filter(|(_, state)| **state != Node::Up)
            .map(|(node, _)| *node)
            .collect();
        for node in away {
            self.kube.nodes.insert(node, Node::Up);
            for name in self.names_on(node) {
                self.pod_back(&name);
            }
        }
    }

    fn pod_back(&mut self, name: &str) {
        let Some(pod) = self.kube.pods.get_mut(name) else {
            return;
        };
        let number = pod.number;
        if pod.api.deleted.is_some() {
            self.after(100, 1_500, Timer::Gone(number));
            return;
        }
        match pod.process {
            Some(process) if !process.frozen => self.reached_again(number),
            Some(_) => {}
            None if pod.api.phase == PodPhase::Running => {
                if pod.api.running {
                    self.ended(number, 255, "");
                }
                self.after(300, 2_000, Timer::Start(number));
            }
            None => {}
        }
    }

    pub(super) fn lose_node(&mut self, which: u32) {
        let Some(node) = self.node_numbered(which) else {
            return;
        };
        self.kube.nodes.remove(&node);
        self.stop_processes(node);
        let disks: Vec<u32> = self
            .kube
            .claims
            .values()
            .filter(|claim| claim.node == Some(node))
            .map(|claim| claim.number)
            .chain(
                self.kube
                    .pods
                    .values()
                    .filter(|pod| pod.node == Some(node) && pod.api.claim.is_none())
                    .map(|pod| pod.number),
            )
            .collect();
        for disk in disks {
            self.etcd.disks.insert(disk, None);
        }
        let another = 100 + self.kube.number();
        self.kube.nodes.insert(another, Node::Up);
        self.timers
            .set(self.now + 60_000, Timer::NodeForgotten(node));
    }
}
