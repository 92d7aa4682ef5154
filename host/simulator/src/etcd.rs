//! etcd: data per disk, elections by the most complete log, replication from the leader.
//!
//! Replication between reachable members is immediate; what takes time is starting, catching up and electing, and
//! the world's timers say when. All reachable members reach each other. Knows no Kubernetes.

mod data;
mod membership;
mod present;
mod recorded;
mod space;
mod start;
mod version;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use contract::{ClusterId, MemberId};

pub use recorded::{Seat, Supposition, verdict};

pub(crate) use data::{Data, Filling, Op, QUOTA, Row};
pub(crate) use present::Found;
pub(crate) use start::{Flags, Start};

/// A running member that others reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Its disk.
    pub(crate) disk: u32,
    /// It serves since then.
    pub(crate) since: i64,
    /// It has caught up with the leader and follows it.
    pub(crate) synced: bool,
    /// What it got came in a snapshot, and it serves only after the next entry.
    pub(crate) silent: bool,
    /// The minor version it runs.
    pub(crate) minor: u64,
}

/// Why etcd refuses a change, in its own words.
pub(crate) type Rejection = &'static str;

const NO_LEADER: Rejection = "etcdserver: request timed out";

/// All etcd clusters of the world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Etcd {
    /// By number: those of volumes and of pods. None: empty.
    pub(crate) disks: BTreeMap<u32, Option<Data>>,
    leaders: BTreeMap<ClusterId, MemberId>,
    /// Who led before, and until when.
    deposed: BTreeMap<ClusterId, (MemberId, i64)>,
    names: BTreeMap<MemberId, String>,
    urls: BTreeMap<MemberId, String>,
    added: u64,
}

impl Etcd {
    pub(crate) fn data(&self, disk: u32) -> Option<&Data> {
        self.disks.get(&disk).and_then(Option::as_ref)
    }

    pub(crate) fn name(&self, id: MemberId) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }

    pub(crate) fn url(&self, id: MemberId) -> &str {
        self.urls.get(&id).map_or("", String::as_str)
    }

    /// Who leads, if a quorum of voters still follows.
    pub(crate) fn leader(&self, cluster: ClusterId, peers: &[Peer]) -> Option<MemberId> {
        let id = *self.leaders.get(&cluster)?;
        let data = self.of(cluster, id, peers)?;
        self.has_votes(data, peers, |_| true).then_some(id)
    }

    /// The leader's data.
    pub(crate) fn confirmed(&self, cluster: ClusterId, peers: &[Peer]) -> Option<&Data> {
        let id = self.leader(cluster, peers)?;
        let data = self.of(cluster, id, peers)?;
        self.has_votes(data, peers, |peer| peer.synced)
            .then_some(data)
    }

    /// Whether a linearizable read at this member is answered.
    pub(crate) fn is_confirmed(&self, data: &Data, peers: &[Peer]) -> bool {
        let is_member = |leader: &Data| leader.rows().iter().any(|row| row.id == data.me);
        self.confirmed(data.cluster, peers).is_some_and(is_member)
    }

    fn of(&self, cluster: ClusterId, id: MemberId, peers: &[Peer]) -> Option<&Data> {
        let mut data = peers.iter().filter_map(|peer| self.data(peer.disk));
        data.find(|data| data.cluster == cluster && data.me == id)
    }

    fn has_votes(&self, leader: &Data, peers: &[Peer], counts: impl Fn(&Peer) -> bool) -> bool {
        let rows = leader.rows();
        let voters = rows.iter().filter(|row| !row.learner).count();
        let found = self
            .voters_of(leader.cluster, rows, peers)
            .filter(|(peer, _)| counts(peer))
            .count();
        found > voters / 2
    }

    fn voters_of<'a>(
        &'a self,
        cluster: ClusterId,
        rows: &'a [Row],
        peers: &'a [Peer],
    ) -> impl Iterator<Item = (&'a Peer, &'a Data)> {
        peers.iter().filter_map(move |peer| {
            let data = self
                .data(peer.disk)
                .filter(|data| data.cluster == cluster)?;
            rows.iter()
                .any(|row| row.id == data.me && !row.learner)
                .then_some((peer, data))
        })
    }

    /// Holds an election: whoever can get the votes of a quorum may win it, not only who has most. Says who won.
    pub(crate) fn elect(
        &mut self,
        cluster: ClusterId,
        peers: &[Peer],
        rng: &mut fastrand::Rng,
    ) -> Option<MemberId> {
        let of_cluster = peers
            .iter()
            .filter_map(|peer| Some((peer.disk, self.data(peer.disk)?)))
            .filter(|(_, data)| data.cluster == cluster);
        let electable: Vec<(u32, &Data)> = of_cluster
            .filter(|(_, candidate)| {
                let rows = candidate.rows();
                let voters = rows.iter().filter(|row| !row.learner).count();
                let votes = self
                    .voters_of(cluster, rows, peers)
                    .filter(|(_, voter)| voter.progress() <= candidate.progress())
                    .count();
                rows.iter()
                    .any(|row| row.id == candidate.me && !row.learner)
                    && votes > voters / 2
            })
            .collect();
        let winner = rng.choice(electable);
        let (disk, me) = winner.map(|(disk, data)| (disk, data.me))?;
        // Of those who vote for it somebody voted for each leader before it, and remembers that term.
        let of_cluster = self
            .disks
            .values()
            .flatten()
            .filter(|data| data.cluster == cluster);
        let term = of_cluster.map(|data| data.progress().0).max()? + 1;
        let data = self.disks.get_mut(&disk).and_then(Option::as_mut)?;
        data.push(term, Op::Lead);
        self.leaders.insert(cluster, me);
        Some(me)
    }

    /// Forgets a leader that lost its quorum.
    pub(crate) fn depose(&mut self, cluster: ClusterId, now: i64) {
        if let Some(leader) = self.leaders.remove(&cluster) {
            self.deposed.insert(cluster, (leader, now));
        }
    }

    /// Whom a learner that runs since then and hears of nobody still takes for the leader: it never asks for votes, so it does
    /// not notice that the leader is gone, or that it is cut off from one who stands.
    pub(crate) fn remembered(&self, learner: &Data, since: i64) -> Option<MemberId> {
        let stands = self.leaders.get(&learner.cluster).copied();
        stands
            .filter(|leader| self.has_led(*leader, learner))
            .or_else(|| {
                let (leader, until) = self.deposed.get(&learner.cluster)?;
                (since < *until).then_some(*leader)
            })
    }

    /// Whether this member has got something from who leads in the leader's own term.
    fn has_led(&self, leader: MemberId, follower: &Data) -> bool {
        let mut data = self.disks.values().flatten();
        data.any(|data| {
            data.cluster == follower.cluster
                && data.me == leader
                && data.progress().0 == follower.progress().0
        })
    }

    /// Gives the leader's log to everybody who follows.
    pub(crate) fn replicate(&mut self, cluster: ClusterId, peers: &[Peer]) {
        let leader = self
            .leader(cluster, peers)
            .and_then(|id| self.of(cluster, id, peers));
        let Some(leader) = leader else { return };
        let lags = |data: &Data| {
            data.cluster == cluster
                && data.me != leader.me
                && leader.rows().iter().any(|row| row.id == data.me)
                && data.progress() != leader.progress()
        };
        let followers = peers
            .iter()
            .filter(|peer| peer.synced)
            .map(|peer| peer.disk);
        let behind: Vec<u32> = followers
            .filter(|disk| self.data(*disk).is_some_and(lags))
            .collect();
        if behind.is_empty() {
            return;
        }
        let leader = leader.clone();
        for disk in behind {
            if let Some(Some(data)) = self.disks.get_mut(&disk) {
                data.follow(&leader);
            }
        }
    }

    /// Appends to the leader's log what a quorum takes at once.
    pub(crate) fn propose(
        &mut self,
        cluster: ClusterId,
        peers: &[Peer],
        op: Op,
    ) -> Result<(), Rejection> {
        let leader = self.confirmed(cluster, peers).ok_or(NO_LEADER)?;
        let (me, term) = (leader.me, leader.progress().0);
        let disk = peers.iter().map(|peer| peer.disk).find(|disk| {
            self.data(*disk)
                .is_some_and(|data| data.cluster == cluster && data.me == me)
        });
        let Some(Some(data)) = disk.and_then(|disk| self.disks.get_mut(&disk)) else {
            return Err(NO_LEADER);
        };
        data.push(term, op);
        self.replicate(cluster, peers);
        if op == Op::Remove(me) {
            self.leaders.remove(&cluster);
        }
        Ok(())
    }

    /// Whether the member learns from the others that it was removed.
    pub(crate) fn is_expelled(&self, disk: u32, peers: &[Peer]) -> bool {
        let Some(data) = self.data(disk) else {
            return false;
        };
        self.confirmed(data.cluster, peers)
            .is_some_and(|leader| leader.has_removed(data.me))
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
