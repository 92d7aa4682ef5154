//! Data of members as they are found, without the history that made it.

use contract::{ClusterId, MemberId};

use super::Etcd;
use super::data::{Data, Op, Row};

/// What is equal on all members.
pub(crate) struct Found {
    pub(crate) cluster: ClusterId,
    pub(crate) rows: Vec<Row>,
    /// The minor version that the cluster has taken on.
    pub(crate) minor: Option<u64>,
    /// The minor version that the cluster is to go back to.
    pub(crate) downgrade: Option<u64>,
    /// Members with an alarm for lack of space.
    pub(crate) alarms: Vec<MemberId>,
}

impl Found {
    /// A log that makes it.
    pub(super) fn log(&self) -> impl Iterator<Item = Op> {
        let rows = self.rows.iter().flat_map(|row| {
            let added = if row.learner {
                Op::AddLearner(row.id)
            } else {
                Op::AddVoter(row.id)
            };
            let started = row.started.then_some(Op::Publish(row.id));
            std::iter::once(added).chain(started)
        });
        let version = self.minor.map(Op::Version);
        let downgrade = self.downgrade.map(|to| Op::Downgrade(Some(to)));
        let alarms = self.alarms.iter().copied().map(Op::Alarm);
        rows.chain(version).chain(downgrade).chain(alarms)
    }
}

impl Etcd {
    /// Takes note of who a member is.
    pub(crate) fn know(&mut self, id: MemberId, name: String, url: String) {
        self.names.insert(id, name);
        self.urls.insert(id, url);
    }

    /// Takes note of who leads.
    pub(crate) fn lead(&mut self, cluster: ClusterId, leader: MemberId) {
        self.leaders.insert(cluster, leader);
    }
}

impl Data {
    /// The data of the member `me`, with a file of which so much is in use.
    pub(crate) fn present(found: &Found, me: MemberId, in_use: i64, file: i64) -> Self {
        let mut data = Self::new(found.cluster, me);
        for op in found.log() {
            data.push(1, op);
        }
        data.weigh(in_use, file);
        data
    }
}
