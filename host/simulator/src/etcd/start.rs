//! How a member starts: on the data it has, founding a cluster, joining one, or from a backup.
//!
//! Knows etcd's rules of a start, and no time.

use contract::{ClusterId, MemberId};

use super::{Data, Etcd, Op, Peer, hash};
use crate::kubernetes::Filling;

const REMOVED: &str = "the member has been permanently removed from the cluster";
const BOOTSTRAPPED: &str = "member has already been bootstrapped";
/// Where one that adds itself says that it is reached.
const FORCED_URL: &str = "http://localhost:2380";
const NO_PEERS: &str = "cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs";
const OLDER: &str = "invalid downgrade; server version is lower than determined cluster version";
const TOO_NEW: &str = "the data is more than one minor version older than the server";
const UNEQUAL: &str = "error validating peerURLs: member count is unequal";

/// What becomes of a member that is started.
#[derive(Debug)]
pub(crate) enum Start {
    Runs,
    /// The process ends, with these last words.
    Exits(&'static str),
}

/// How a member is started on an empty disk.
pub(crate) struct Flags<'a> {
    pub(crate) state: &'a str,
    pub(crate) initial_cluster: &'a str,
    pub(crate) token: &'a str,
    /// The minor version of the binary.
    pub(crate) minor: u64,
    /// `--force-new-cluster`.
    pub(crate) alone: bool,
}

impl Etcd {
    /// Starts the member `name` on `disk`, as its flags say if the disk is empty.
    pub(crate) fn start(
        &mut self,
        disk: u32,
        name: &str,
        flags: &Flags<'_>,
        peers: &[Peer],
    ) -> Start {
        if flags.alone
            && let Some(data) = self.disks.get_mut(&disk).and_then(Option::as_mut)
        {
            if data.force() {
                let me = data.me;
                self.urls.insert(me, FORCED_URL.to_owned());
            }
            return Start::Runs;
        }
        if let Some(data) = self.data(disk) {
            let (cluster, me) = (data.cluster, data.me);
            if let Some(why) = why_not_of(data, flags.minor) {
                return Start::Exits(why);
            }
            let current = self.confirmed(cluster, peers);
            return match current {
                Some(data) if !data.rows().iter().any(|row| row.id == me) => Start::Exits(REMOVED),
                Some(_) | None => Start::Runs,
            };
        }
        let listed = listed(flags.initial_cluster);
        if flags.state == "new" {
            self.bootstrap(disk, name, &listed, flags.token, peers)
        } else {
            self.join(disk, name, &listed, flags.minor, peers)
        }
    }

    /// Fills an empty disk from a backup: a member of another cluster, with the writes that the backup has.
    pub(crate) fn fill_disk(&mut self, disk: u32, name: &str, filling: &Filling, writes: &[u32]) {
        let (token, listed) = (&filling.token, listed(&filling.initial_cluster));
        let cluster = ClusterId(hash(&(token, &listed, "filled")));
        let mut data = self.founder(cluster, name, &listed, token);
        for write in writes {
            data.push(1, Op::Write(*write));
        }
        self.disks.insert(disk, Some(data));
    }

    /// The data of one of those who found a cluster.
    fn founder(
        &mut self,
        cluster: ClusterId,
        name: &str,
        listed: &[(&str, &str)],
        token: &str,
    ) -> Data {
        let id = |name: &str| MemberId(hash(&(token, name)));
        let mut data = Data::new(cluster, id(name));
        for (name, url) in listed {
            self.names.insert(id(name), (*name).to_owned());
            self.urls.insert(id(name), (*url).to_owned());
            data.push(1, Op::AddVoter(id(name)));
        }
        data
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
        let me = MemberId(hash(&(token, name)));
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
        let data = self.founder(cluster, name, listed, token);
        self.disks.insert(disk, Some(data));
        Start::Runs
    }

    fn join(
        &mut self,
        disk: u32,
        name: &str,
        listed: &[(&str, &str)],
        minor: u64,
        peers: &[Peer],
    ) -> Start {
        let remote = peers
            .iter()
            .filter_map(|peer| self.data(peer.disk))
            .find(|data| {
                let other = self.name(data.me);
                other != name
                    && data.index() > 0
                    && listed.iter().any(|(listed, _)| *listed == other)
            });
        let Some(remote) = remote else {
            return Start::Exits(NO_PEERS);
        };
        if let Some(why) = why_not_of(remote, minor) {
            return Start::Exits(why);
        }
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
}

/// The names and peer URLs of `--initial-cluster`.
fn listed(initial_cluster: &str) -> Vec<(&str, &str)> {
    let entries = initial_cluster.split(',');
    entries.filter_map(|entry| entry.split_once('=')).collect()
}

/// Why a binary does not start on this data: etcd goes up by one minor version and never down.
fn why_not_of(data: &Data, minor: u64) -> Option<&'static str> {
    match data.minor() {
        Some(written) if written > minor => Some(OLDER),
        Some(written) if written + 1 < minor => Some(TOO_NEW),
        Some(_) | None => None,
    }
}
