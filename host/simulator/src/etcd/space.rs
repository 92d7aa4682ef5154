//! What etcd does when its quota is used up: an alarm, and what a client can do about it.
//!
//! Keys and history are equal on all members; how large a member's file is depends on when it was last defragmented.

use contract::{ClusterId, MemberId};

use super::{Etcd, Filling, NO_LEADER, Op, Peer, QUOTA, Rejection};

const NO_SPACE: Rejection = "etcdserver: mvcc: database space exceeded";
const FUTURE: Rejection = "etcdserver: mvcc: required revision is a future revision";
const SILENT: Rejection = "connection refused";

impl Etcd {
    /// A client's write, which raises the alarm where it finds no space.
    pub(crate) fn write(
        &mut self,
        cluster: ClusterId,
        peers: &[Peer],
        op: Op,
    ) -> Result<(), Rejection> {
        let leader = self.confirmed(cluster, peers).ok_or(NO_LEADER)?;
        if leader.file() >= QUOTA {
            self.propose(cluster, peers, Op::Alarm(leader.me))?;
            return Err(NO_SPACE);
        }
        if !leader.alarms().is_empty() {
            return Err(NO_SPACE);
        }
        self.propose(cluster, peers, op)
    }

    /// Clients write until there is no space left.
    pub(crate) fn fill(
        &mut self,
        cluster: ClusterId,
        peers: &[Peer],
        filling: Filling,
    ) -> Result<(), Rejection> {
        let leader = self.confirmed(cluster, peers).ok_or(NO_LEADER)?.me;
        self.write(cluster, peers, Op::Fill(filling))?;
        self.propose(cluster, peers, Op::Alarm(leader))
    }

    pub(crate) fn compact(
        &mut self,
        cluster: ClusterId,
        revision: i64,
        peers: &[Peer],
    ) -> Result<(), Rejection> {
        let leader = self.confirmed(cluster, peers).ok_or(NO_LEADER)?;
        if revision > leader.revision() {
            return Err(FUTURE);
        }
        self.propose(cluster, peers, Op::Compact(revision))
    }

    /// Answers the disk of the member, which is busy for a while.
    pub(crate) fn defragment(
        &mut self,
        cluster: ClusterId,
        id: MemberId,
        peers: &[Peer],
    ) -> Result<u32, Rejection> {
        let is_it = |disk: &u32| {
            self.data(*disk)
                .is_some_and(|data| data.cluster == cluster && data.me == id)
        };
        let disk = peers.iter().map(|peer| peer.disk).find(is_it);
        let disk = disk.ok_or(SILENT)?;
        if let Some(Some(data)) = self.disks.get_mut(&disk) {
            data.defragment();
        }
        Ok(disk)
    }
}
