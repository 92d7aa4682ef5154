//! Members together: who is reached, who leads, who follows, who is Ready.

use std::collections::BTreeSet;

use contract::{ClusterId, MemberId};

use crate::etcd::{Op, Peer};
use crate::fact::Fact;
use crate::kubernetes::{Member, Node};
use crate::timers::Timer;
use crate::world::World;

impl World {
    /// Members that run and are reached.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        let running = self
            .kube
            .pods
            .values()
            .filter(|pod| self.kube.is_among_peers(pod));
        running
            .filter_map(|pod| {
                let process = pod.process.filter(|process| !process.frozen)?;
                Some(Peer {
                    disk: pod.disk?,
                    since: process.serves?,
                    synced: process.synced,
                    silent: self.is_silent(pod),
                    minor: process.release.minor,
                })
            })
            .collect()
    }

    /// etcd counts what came in a snapshot as applied only with the next entry. Until then, with many entries in it, the
    /// member follows and serves nobody.
    pub(crate) fn is_silent(&self, pod: &Member) -> bool {
        let fed = pod.process.and_then(|process| process.fed);
        let data = pod.disk.and_then(|disk| self.etcd.data(disk));
        fed.zip(data).is_some_and(|(fed, data)| data.index() <= fed)
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
                self.etcd.depose(cluster, self.now);
                if !peers.is_empty() && self.electing.insert(cluster) {
                    self.after(200, 1_500, Timer::Elect(cluster));
                }
                continue;
            }
            self.etcd.replicate(cluster, &peers);
            self.publish(cluster, &peers);
            self.etcd.follow_versions(cluster, &peers);
            if peers.iter().any(|peer| peer.silent) {
                let peers = self.peers();
                self.publish(cluster, &peers);
            }
            if let Some(data) = self.etcd.confirmed(cluster, &peers) {
                self.listed.insert(cluster, data.rows().to_vec());
            }
        }
        self.expel_removed(&peers);
        self.refresh_readiness(&peers);
    }

    pub(crate) fn publish(&mut self, cluster: ClusterId, peers: &[Peer]) {
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
                .filter(|peer| peer.synced && !peer.silent)
                .filter_map(|peer| self.etcd.data(peer.disk));
            if followers.any(|data| data.cluster == cluster && data.me == id) {
                // Without a leader the member tells its name later.
                let _ = self.etcd.propose(cluster, peers, Op::Publish(id));
                self.changed = true;
            }
        }
    }

    pub(crate) fn expel_removed(&mut self, peers: &[Peer]) {
        let expelled: Vec<(u32, u32)> = self
            .kube
            .pods
            .values()
            .filter(|pod| pod.process.is_some() && self.kube.is_among_peers(pod))
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

    pub(crate) fn refresh_readiness(&mut self, peers: &[Peer]) {
        let clock = self.clock();
        let (etcd, nodes, split) = (&self.etcd, &self.kube.nodes, self.kube.split);
        for pod in self.kube.pods.values_mut() {
            if pod
                .node
                .is_some_and(|node| nodes.get(&node) != Some(&Node::Up))
            {
                continue;
            }
            let synced = pod
                .process
                .is_some_and(|process| process.synced && !process.frozen)
                && (split.is_none() || pod.node != split);
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

    pub(crate) fn elect(&mut self, cluster: ClusterId) {
        self.electing.remove(&cluster);
        let peers = self.peers();
        if self.etcd.leader(cluster, &peers).is_some() {
            return;
        }
        let Some(leader) = self.etcd.elect(cluster, &peers, &mut self.rng) else {
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
}
