//! The life of pods and claims, from their place on a node to their end.
//!
//! Owns when they come and go. What runs in a pod is [`container`]'s, and which nodes can take one is [`node`]'s.

mod container;
mod node;

use std::collections::BTreeSet;

use contract::VolumePhase;

use crate::timers::Timer;
use crate::world::World;

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
                let requested = &claim.api.requested;
                claim.api.capacity = claim.api.capacity.take().or_else(|| requested.clone());
                claim.number
            }
            None => number,
        };
        pod.disk = Some(disk);
        self.etcd.disks.entry(disk).or_insert(None);
        self.changed = true;
        self.after(50, 600, Timer::Pull(number));
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
        if pod.is_kept() {
            self.after(300, 3_000, Timer::ReplicaSets);
        }
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
}
