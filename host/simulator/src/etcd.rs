//! etcd: data per disk, elections by the most complete log, membership by etcd's own rules.
//!
//! Replication between reachable members is immediate; what takes time is starting, catching up and electing, and
//! the world's timers say when. All reachable members reach each other. Knows no Kubernetes.
//!
//! The rules are those of etcd 3.6 with `--strict-reconfig-check`: one learner at a time, every voter connected for
//! 5 s before a member is added, no removal that leaves too few active voters, promotion of a learner in sync only.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use contract::{ClusterId, MemberId, names};

/// A voter must have been connected for so long before etcd adds or removes a member.
const CONNECTED_MS: i64 = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    term: u32,
    op: Op,
}

/// What an entry of the log does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// The first entry of a leader.
    Lead,
    /// A client's write.
    Write(u32),
    /// A member of the birth.
    AddVoter(MemberId),
    AddLearner(MemberId),
    Promote(MemberId),
    Remove(MemberId),
    /// The member told its name: it has started.
    Publish(MemberId),
}

/// What a member has on its disk.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) cluster: ClusterId,
    pub(crate) me: MemberId,
    log: Vec<Entry>,
    /// The member list that the log makes, sorted by id.
    rows: Vec<Row>,
}

impl Data {
    fn progress(&self) -> (u32, usize) {
        (
            self.log.last().map_or(0, |entry| entry.term),
            self.log.len(),
        )
    }

    pub(crate) fn holds(&self, write: u32) -> bool {
        self.log.iter().any(|entry| entry.op == Op::Write(write))
    }

    pub(crate) fn index(&self) -> u64 {
        u64::try_from(self.log.len()).unwrap_or(u64::MAX)
    }

    pub(crate) fn term(&self) -> u64 {
        u64::from(self.progress().0)
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn new(cluster: ClusterId, me: MemberId) -> Self {
        Self {
            cluster,
            me,
            log: Vec::with_capacity(64),
            rows: Vec::with_capacity(8),
        }
    }

    fn push(&mut self, term: u32, op: Op) {
        self.log.push(Entry { term, op });
        let rows = &mut self.rows;
        match op {
            Op::Lead | Op::Write(_) => {}
            Op::AddVoter(id) => rows.push(Row {
                id,
                learner: false,
                started: false,
            }),
            Op::AddLearner(id) => rows.push(Row {
                id,
                learner: true,
                started: false,
            }),
            Op::Promote(id) => rows
                .iter_mut()
                .filter(|row| row.id == id)
                .for_each(|row| row.learner = false),
            Op::Publish(id) => rows
                .iter_mut()
                .filter(|row| row.id == id)
                .for_each(|row| row.started = true),
            Op::Remove(id) => rows.retain(|row| row.id != id),
        }
        rows.sort_by_key(|row| row.id);
    }

    /// Takes over what the leader has.
    fn follow(&mut self, leader: &Self) {
        self.log.clone_from(&leader.log);
        self.rows.clone_from(&leader.rows);
    }

    fn has_removed(&self, id: MemberId) -> bool {
        self.log.iter().any(|entry| entry.op == Op::Remove(id))
    }
}

/// One row of a member list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: MemberId,
    pub(crate) learner: bool,
    pub(crate) started: bool,
}

/// A running member that others reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Its disk.
    pub(crate) disk: u32,
    /// It serves since then.
    pub(crate) since: i64,
    /// It has caught up with the leader and follows it.
    pub(crate) synced: bool,
}

/// What becomes of a member that is started.
#[derive(Debug)]
pub(crate) enum Start {
    Runs,
    /// The process ends, with these last words.
    Exits(&'static str),
}

/// Why etcd refuses a change, in its own words.
pub(crate) type Rejection = &'static str;

const NO_LEADER: Rejection = "etcdserver: request timed out";
const UNHEALTHY: Rejection = "etcdserver: unhealthy cluster";
const NOT_FOUND: Rejection = "etcdserver: member not found";
const TOO_MANY_LEARNERS: Rejection = "etcdserver: too many learner members in cluster";
const NOT_READY: Rejection =
    "etcdserver: can only promote a learner member which is in sync with leader";
const NOT_LEARNER: Rejection = "etcdserver: can only promote a learner member";
const FEW_STARTED: Rejection =
    "etcdserver: re-configuration failed due to not enough started members";
const EXISTS: Rejection = "etcdserver: Peer URLs already exists";
const REMOVED: &str = "the member has been permanently removed from the cluster";
const BOOTSTRAPPED: &str = "member has already been bootstrapped";
const NO_PEERS: &str = "cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs";
const UNEQUAL: &str = "error validating peerURLs: member count is unequal";

/// All etcd clusters of the world.
#[derive(Debug, Default)]
pub(crate) struct Etcd {
    /// By number: those of volumes and of pods. None: empty.
    pub(crate) disks: BTreeMap<u32, Option<Data>>,
    leaders: BTreeMap<ClusterId, MemberId>,
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

    /// Starts the member `name` on `disk`, as its flags say if the disk is empty.
    pub(crate) fn start(
        &mut self,
        disk: u32,
        name: &str,
        flags: &Flags<'_>,
        peers: &[Peer],
    ) -> Start {
        if let Some(data) = self.data(disk) {
            let (cluster, me) = (data.cluster, data.me);
            let current = self.confirmed(cluster, peers);
            return match current {
                Some(data) if !data.rows().iter().any(|row| row.id == me) => Start::Exits(REMOVED),
                Some(_) | None => Start::Runs,
            };
        }
        let listed: Vec<(&str, &str)> = flags
            .initial_cluster
            .split(',')
            .filter_map(|entry| entry.split_once('='))
            .collect();
        if flags.state == "new" {
            self.bootstrap(disk, name, &listed, flags.token, peers)
        } else {
            self.join(disk, name, &listed, peers)
        }
    }

    fn bootstrap(
        &mut self,
        disk: u32,
        name: &str,
        listed: &[(&str, &str)],
        token: &str,
        peers: &[Peer],
    ) -> Start {
        let cluster = ClusterId(hash(&(token, listed)));
        let id = |name: &str| MemberId(hash(&(token, name)));
        let me = id(name);
        let knows_me = |data: &Data| {
            data.cluster == cluster && data.rows().iter().any(|row| row.id == me && row.started)
        };
        if peers
            .iter()
            .filter_map(|peer| self.data(peer.disk))
            .any(knows_me)
        {
            return Start::Exits(BOOTSTRAPPED);
        }
        let mut data = Data::new(cluster, me);
        for (name, url) in listed {
            self.names.insert(id(name), (*name).to_owned());
            self.urls.insert(id(name), (*url).to_owned());
            data.push(1, Op::AddVoter(id(name)));
        }
        self.disks.insert(disk, Some(data));
        Start::Runs
    }

    fn join(&mut self, disk: u32, name: &str, listed: &[(&str, &str)], peers: &[Peer]) -> Start {
        let remote = peers
            .iter()
            .filter_map(|peer| self.data(peer.disk))
            .find(|data| {
                let other = self.name(data.me);
                other != name
                    && !data.log.is_empty()
                    && listed.iter().any(|(listed, _)| *listed == other)
            });
        let Some(remote) = remote else {
            return Start::Exits(NO_PEERS);
        };
        let rows = remote.rows();
        let url = listed
            .iter()
            .find(|(listed, _)| *listed == name)
            .map_or("", |(_, url)| url);
        let me = rows
            .iter()
            .find(|row| self.url(row.id) == url)
            .map(|row| row.id);
        let (Some(me), true) = (me, rows.len() == listed.len()) else {
            return Start::Exits(UNEQUAL);
        };
        let data = Data::new(remote.cluster, me);
        self.disks.insert(disk, Some(data));
        Start::Runs
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

    /// Holds an election. Says who won.
    pub(crate) fn elect(&mut self, cluster: ClusterId, peers: &[Peer]) -> Option<MemberId> {
        let mut candidates: Vec<(u32, &Data)> = peers
            .iter()
            .filter_map(|peer| Some((peer.disk, self.data(peer.disk)?)))
            .filter(|(_, data)| data.cluster == cluster)
            .collect();
        candidates.sort_by_key(|(_, data)| std::cmp::Reverse((data.progress(), data.me)));
        let winner = candidates.into_iter().find(|(_, candidate)| {
            let rows = candidate.rows();
            let voters = rows.iter().filter(|row| !row.learner).count();
            let votes = self
                .voters_of(cluster, rows, peers)
                .filter(|(_, voter)| voter.progress() <= candidate.progress())
                .count();
            rows.iter()
                .any(|row| row.id == candidate.me && !row.learner)
                && votes > voters / 2
        });
        let (disk, me) = winner.map(|(disk, data)| (disk, data.me))?;
        let data = self.disks.get_mut(&disk).and_then(Option::as_mut)?;
        let term = data.progress().0 + 1;
        data.push(term, Op::Lead);
        self.leaders.insert(cluster, me);
        Some(me)
    }

    /// Forgets a leader that lost its quorum.
    pub(crate) fn depose(&mut self, cluster: ClusterId) {
        self.leaders.remove(&cluster);
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
                && leader.rows.iter().any(|row| row.id == data.me)
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
        let index = leader.index();
        let caught_up = peers
            .iter()
            .filter(|peer| peer.synced)
            .filter_map(|peer| self.data(peer.disk))
            .any(|data| data.cluster == cluster && data.me == id && data.index() * 10 >= index * 9);
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

    /// Whether the member learns from the others that it was removed.
    pub(crate) fn is_expelled(&self, disk: u32, peers: &[Peer]) -> bool {
        let Some(data) = self.data(disk) else {
            return false;
        };
        self.confirmed(data.cluster, peers)
            .is_some_and(|leader| leader.has_removed(data.me))
    }
}

/// How a member is started on an empty disk.
pub(crate) struct Flags<'a> {
    pub(crate) state: &'a str,
    pub(crate) initial_cluster: &'a str,
    pub(crate) token: &'a str,
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
