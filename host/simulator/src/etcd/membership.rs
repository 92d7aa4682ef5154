//! etcd's own rules for changing members, those of etcd 3.6 with `--strict-reconfig-check`.
//!
//! One learner at a time, every voter connected for 5 s before a member is added, no removal that leaves too few
//! active voters, promotion of a learner in sync only.

use contract::{ClusterId, MemberId, names};

use super::{Etcd, NO_LEADER, Op, Peer, Rejection, hash};

/// A voter must have been connected for so long before etcd adds or removes a member.
const CONNECTED_MS: i64 = 5_000;

const UNHEALTHY: Rejection = "etcdserver: unhealthy cluster";
const NOT_FOUND: Rejection = "etcdserver: member not found";
const TOO_MANY_LEARNERS: Rejection = "etcdserver: too many learner members in cluster";
const NOT_READY: Rejection =
    "etcdserver: can only promote a learner member which is in sync with leader";
const NOT_LEARNER: Rejection = "etcdserver: can only promote a learner member";
const FEW_STARTED: Rejection =
    "etcdserver: re-configuration failed due to not enough started members";
const EXISTS: Rejection = "etcdserver: Peer URLs already exists";

impl Etcd {
    pub(crate) fn add_learner(
        &mut self,
        cluster: ClusterId,
        url: &str,
        peers: &[Peer],
        now: i64,
    ) -> Result<MemberId, Rejection> {
        let rows = self
            .confirmed(cluster, peers)
            .ok_or(NO_LEADER)?
            .rows()
            .to_vec();
        if rows.iter().any(|row| self.url(row.id) == url) {
            return Err(EXISTS);
        }
        let voters = rows.iter().filter(|row| !row.learner).count();
        let long = self
            .voters_of(cluster, &rows, peers)
            .filter(|(peer, _)| peer.since + CONNECTED_MS <= now)
            .count();
        if voters > 1 && long < voters {
            return Err(UNHEALTHY);
        }
        if rows.iter().any(|row| row.learner) {
            return Err(TOO_MANY_LEARNERS);
        }
        self.added += 1;
        let id = MemberId(hash(&(url, self.added)));
        self.names
            .insert(id, names::member_of_url(url).unwrap_or_default().to_owned());
        self.urls.insert(id, url.to_owned());
        self.propose(cluster, peers, Op::AddLearner(id))?;
        Ok(id)
    }

    /// Another address of a member.
    pub(crate) fn readdress(
        &mut self,
        cluster: ClusterId,
        id: MemberId,
        url: &str,
        peers: &[Peer],
    ) -> Result<(), Rejection> {
        let leader = self.confirmed(cluster, peers).ok_or(NO_LEADER)?;
        let rows = leader.rows();
        if !rows.iter().any(|row| row.id == id) {
            return Err(NOT_FOUND);
        }
        if rows
            .iter()
            .any(|row| row.id != id && self.url(row.id) == url)
        {
            return Err(EXISTS);
        }
        self.urls.insert(id, url.to_owned());
        Ok(())
    }

    pub(crate) fn promote(
        &mut self,
        cluster: ClusterId,
        id: MemberId,
        peers: &[Peer],
    ) -> Result<(), Rejection> {
        let leader = self.confirmed(cluster, peers).ok_or(NO_LEADER)?;
        let rows = leader.rows();
        let row = rows.iter().find(|row| row.id == id).ok_or(NOT_FOUND)?;
        if !row.learner {
            return Err(NOT_LEARNER);
        }
        // What the leader knows of the learner's log since it leads, and not whether the learner is still there.
        let (term, _) = leader.progress();
        let mut disks = self.disks.values().flatten();
        let caught_up = disks.any(|data| {
            let is_it = data.cluster == cluster && data.me == id;
            is_it && data.progress().0 == term && data.index() * 10 >= leader.index() * 9
        });
        if !caught_up {
            return Err(NOT_READY);
        }
        let voters = rows.iter().filter(|row| !row.learner).count();
        let started = rows
            .iter()
            .filter(|row| !row.learner && row.started)
            .count();
        if started < voters.div_ceil(2) {
            return Err(FEW_STARTED);
        }
        self.propose(cluster, peers, Op::Promote(id))
    }

    pub(crate) fn remove(
        &mut self,
        cluster: ClusterId,
        id: MemberId,
        peers: &[Peer],
        now: i64,
    ) -> Result<(), Rejection> {
        let rows = self
            .confirmed(cluster, peers)
            .ok_or(NO_LEADER)?
            .rows()
            .to_vec();
        let row = rows.iter().find(|row| row.id == id).ok_or(NOT_FOUND)?;
        if !row.learner {
            let voters = rows.iter().filter(|row| !row.learner).count();
            let started = rows
                .iter()
                .filter(|row| !row.learner && row.id != id && row.started)
                .count();
            if voters <= 1 || started < (voters - 1) / 2 + 1 {
                return Err(FEW_STARTED);
            }
            let mut active = self.voters_of(cluster, &rows, peers);
            let is_active = active.any(|(_, data)| data.me == id);
            let long = self
                .voters_of(cluster, &rows, peers)
                .filter(|(peer, _)| peer.since + CONNECTED_MS <= now)
                .count();
            if is_active && long.saturating_sub(1) < 1 + (voters - 1) / 2 {
                return Err(UNHEALTHY);
            }
        }
        self.propose(cluster, peers, Op::Remove(id))
    }

    pub(crate) fn move_leader(
        &mut self,
        cluster: ClusterId,
        to: MemberId,
        peers: &[Peer],
    ) -> Result<(), Rejection> {
        // Nobody is handed the lead who has not got all.
        self.replicate(cluster, peers);
        let leader = self.confirmed(cluster, peers).ok_or(NO_LEADER)?;
        let rows = leader.rows();
        let term = leader.progress().0 + 1;
        if !rows.iter().any(|row| row.id == to && !row.learner) {
            return Err(NOT_FOUND);
        }
        let target = peers.iter().filter(|peer| peer.synced).find(|peer| {
            self.data(peer.disk)
                .is_some_and(|data| data.cluster == cluster && data.me == to)
        });
        let Some(Some(data)) = target.and_then(|peer| self.disks.get_mut(&peer.disk)) else {
            return Err(NO_LEADER);
        };
        data.push(term, Op::Lead);
        self.leaders.insert(cluster, to);
        self.replicate(cluster, peers);
        Ok(())
    }
}
