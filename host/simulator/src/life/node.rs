//! Nodes: where a pod can run, and what becomes of the pods of one that nobody reaches.
//!
//! Owns what scheduler and node controller decide. It does not know why a node is cut off, down or lost.

use contract::VolumePhase;

use crate::kubernetes::Node;
use crate::world::World;

impl World {
    pub(super) fn choose_node(&mut self, claim: Option<&str>) -> Result<u32, &'static str> {
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
