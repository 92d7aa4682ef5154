//! The version that a cluster as a whole has taken on, and etcd's own way back to an older one.
//!
//! The leader looks at what all members run (`server/etcdserver/version` of etcd's source). What a program reads of data
//! of another version is said where members start.

use contract::{ClusterId, MemberId};

use super::{Etcd, NO_LEADER, Op, Peer, Rejection};

/// The oldest program that knows the way back.
const KNOWS_THE_WAY: u64 = 6;

const WRONG_TARGET: Rejection = "etcdserver: invalid downgrade target version";
const UNDER_WAY: Rejection = "etcdserver: cluster has a downgrade job in progress";
const NOT_UNDER_WAY: Rejection = "etcdserver: no inflight downgrade job";

impl Etcd {
    /// Brings the cluster's version in line with the lowest that its members run, once all of them are known: raises it, or
    /// lowers it where that is asked for. A way back that all members have gone is over.
    pub(crate) fn follow_versions(&mut self, cluster: ClusterId, peers: &[Peer]) {
        let Some(leader) = self.confirmed(cluster, peers) else {
            return;
        };
        let (of_cluster, target) = (leader.minor(), leader.downgrade());
        let ids: Vec<MemberId> = leader.rows().iter().map(|row| row.id).collect();
        let minors: Option<Vec<u64>> = ids
            .into_iter()
            .map(|id| self.minor_of(cluster, id, peers))
            .collect();
        let Some(minors) = minors else { return };
        let (lowest, highest) = (minors.iter().min().copied(), minors.iter().max().copied());
        let op = match target {
            Some(target) if of_cluster != Some(target) => Some(Op::Version(target)),
            Some(target) if highest <= Some(target) => Some(Op::Downgrade(None)),
            Some(_) => None,
            None => lowest
                .filter(|minor| Some(*minor) > of_cluster)
                .map(Op::Version),
        };
        if let Some(op) = op {
            // Without a quorum it is done later.
            let _ = self.propose(cluster, peers, op);
        }
    }

    fn minor_of(&self, cluster: ClusterId, id: MemberId, peers: &[Peer]) -> Option<u64> {
        let mut synced = peers.iter().filter(|peer| peer.synced);
        let is_it = |peer: &&Peer| {
            self.data(peer.disk)
                .is_some_and(|data| data.cluster == cluster && data.me == id)
        };
        synced.find(is_it).map(|peer| peer.minor)
    }

    /// Begins a way back to a minor version, or ends it.
    pub(crate) fn downgrade(
        &mut self,
        cluster: ClusterId,
        to: Option<u64>,
        peers: &[Peer],
    ) -> Result<(), Rejection> {
        let leader = self.confirmed(cluster, peers).ok_or(NO_LEADER)?;
        match (to, leader.downgrade()) {
            (None, None) => return Err(NOT_UNDER_WAY),
            (Some(_), Some(_)) => return Err(UNDER_WAY),
            (Some(to), None) if leader.minor() != Some(to + 1) || to + 1 < KNOWS_THE_WAY => {
                return Err(WRONG_TARGET);
            }
            (_, _) => {}
        }
        self.propose(cluster, peers, Op::Downgrade(to))?;
        self.follow_versions(cluster, peers);
        Ok(())
    }
}
