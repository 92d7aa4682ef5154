//! What a member has on its disk: the log, and the member list that it makes.

use contract::{ClusterId, MemberId};

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
    /// What changes nothing.
    Noop,
    /// A member of the birth.
    AddVoter(MemberId),
    AddLearner(MemberId),
    Promote(MemberId),
    Remove(MemberId),
    /// The member told its name: it has started.
    Publish(MemberId),
    /// Clients fill the quota: with history, or with keys.
    Fill(Filling),
    /// Clients delete the keys that filled it; they become history.
    DeleteKeys,
    /// A member has no space left.
    Alarm(MemberId),
    /// The alarm of a member ends.
    Disarm(MemberId),
    /// History up to this revision goes.
    Compact(i64),
    /// The cluster takes on a minor version.
    Version(u64),
    /// The cluster is to go back to a minor version, or no longer is.
    Downgrade(Option<u64>),
}

/// What the quota is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filling {
    History,
    Keys,
}

/// What a member's data file may reach.
pub(crate) const QUOTA: i64 = 4_000_000;
/// What an entry of the log takes.
const ENTRY: i64 = 1_024;
/// The first revision: older than any history here, so that some of it could be kept.
const FIRST_REVISION: i64 = 2_000;

/// What the keys take, equal on all members.
#[derive(Clone, Debug, Default)]
struct Space {
    keys: i64,
    history: i64,
    /// The revision of the newest history.
    filled_at: i64,
    /// Members with an alarm.
    alarms: Vec<MemberId>,
}

/// What a member has on its disk.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) cluster: ClusterId,
    pub(crate) me: MemberId,
    log: Vec<Entry>,
    /// The member list that the log makes, sorted by id.
    rows: Vec<Row>,
    space: Space,
    /// Bytes of the data file, which grows by itself and shrinks only when it is defragmented.
    file: i64,
    /// The minor version of the cluster, once it has taken one on.
    minor: Option<u64>,
    /// The minor version that the cluster is to go back to.
    downgrade: Option<u64>,
}

impl Data {
    pub(super) fn progress(&self) -> (u32, usize) {
        (
            self.log.last().map_or(0, |entry| entry.term),
            self.log.len(),
        )
    }

    pub(crate) fn holds(&self, write: u32) -> bool {
        self.log.iter().any(|entry| entry.op == Op::Write(write))
    }

    /// Whether it has got anything from a leader. Who has not is one that founds a cluster.
    pub(crate) fn was_led(&self) -> bool {
        self.log.iter().any(|entry| entry.op == Op::Lead)
    }

    /// The writes that it holds.
    pub(crate) fn writes(&self) -> Vec<u32> {
        let ops = self.log.iter().map(|entry| entry.op);
        ops.filter_map(|op| match op {
            Op::Write(write) => Some(write),
            Op::Lead
            | Op::Noop
            | Op::AddVoter(_)
            | Op::AddLearner(_)
            | Op::Promote(_)
            | Op::Remove(_)
            | Op::Publish(_)
            | Op::Fill(_)
            | Op::DeleteKeys
            | Op::Alarm(_)
            | Op::Disarm(_)
            | Op::Compact(_)
            | Op::Version(_)
            | Op::Downgrade(_) => None,
        })
        .collect()
    }

    pub(crate) fn index(&self) -> u64 {
        u64::try_from(self.log.len()).unwrap_or(u64::MAX)
    }

    pub(crate) fn term(&self) -> u64 {
        u64::from(self.progress().0)
    }

    pub(crate) fn minor(&self) -> Option<u64> {
        self.minor
    }

    /// The minor version that the cluster is to go back to.
    pub(crate) fn downgrade(&self) -> Option<u64> {
        self.downgrade
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn new(cluster: ClusterId, me: MemberId) -> Self {
        Self {
            cluster,
            me,
            log: Vec::with_capacity(64),
            rows: Vec::with_capacity(8),
            space: Space::default(),
            file: 0,
            minor: None,
            downgrade: None,
        }
    }

    pub(crate) fn revision(&self) -> i64 {
        FIRST_REVISION + i64::try_from(self.log.len()).unwrap_or(i64::MAX)
    }

    /// Bytes of the data file.
    pub(crate) const fn file(&self) -> i64 {
        self.file
    }

    /// Bytes of it that hold something.
    pub(crate) fn in_use(&self) -> i64 {
        let log = i64::try_from(self.log.len()).unwrap_or(i64::MAX);
        self.space.keys + self.space.history + log * ENTRY
    }

    /// Members with an alarm for lack of space.
    pub(crate) fn alarms(&self) -> &[MemberId] {
        &self.space.alarms
    }

    /// Takes on the weight that a member was found with.
    pub(super) fn weigh(&mut self, in_use: i64, file: i64) {
        let log = self.in_use();
        self.space.keys = (in_use - log).max(0);
        self.file = file.max(self.in_use());
    }

    pub(super) fn defragment(&mut self) {
        self.file = self.in_use();
    }

    fn take(&mut self, op: Op) {
        let revision = self.revision();
        let space = &mut self.space;
        match op {
            Op::Fill(Filling::History) => {
                space.history += QUOTA;
                space.filled_at = revision;
            }
            Op::Fill(Filling::Keys) => space.keys += QUOTA,
            Op::DeleteKeys => {
                space.history += std::mem::take(&mut space.keys);
                space.filled_at = revision;
            }
            Op::Compact(up_to) if up_to >= space.filled_at => space.history = 0,
            Op::Alarm(id) if !space.alarms.contains(&id) => space.alarms.push(id),
            Op::Disarm(id) => space.alarms.retain(|alarm| *alarm != id),
            Op::Compact(_)
            | Op::Alarm(_)
            | Op::Lead
            | Op::Noop
            | Op::Write(_)
            | Op::AddVoter(_)
            | Op::AddLearner(_)
            | Op::Promote(_)
            | Op::Remove(_)
            | Op::Publish(_)
            | Op::Version(_)
            | Op::Downgrade(_) => {}
        }
        self.file = self.file.max(self.in_use());
    }

    pub(super) fn push(&mut self, term: u32, op: Op) {
        self.log.push(Entry { term, op });
        self.take(op);
        let rows = &mut self.rows;
        match op {
            Op::Lead
            | Op::Noop
            | Op::Write(_)
            | Op::Fill(_)
            | Op::DeleteKeys
            | Op::Alarm(_)
            | Op::Disarm(_)
            | Op::Compact(_) => {}
            Op::Version(minor) => self.minor = Some(minor),
            Op::Downgrade(to) => self.downgrade = to,
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
    pub(super) fn follow(&mut self, leader: &Self) {
        self.log.clone_from(&leader.log);
        self.rows.clone_from(&leader.rows);
        self.space.clone_from(&leader.space);
        self.file = self.file.max(self.in_use());
        self.minor = leader.minor;
        self.downgrade = leader.downgrade;
    }

    /// Goes on as the only member, in a term of its own. One that has not heard who is a member adds itself, and says so
    /// (`CreateConfigChangeEnts` of etcd's server).
    pub(super) fn force(&mut self) -> bool {
        let term = self.progress().0 + 1;
        let me = self.me;
        let is_new = !self.rows.iter().any(|row| row.id == me);
        if is_new {
            self.push(term, Op::AddVoter(me));
        }
        let others: Vec<MemberId> = self
            .rows
            .iter()
            .map(|row| row.id)
            .filter(|id| *id != me)
            .collect();
        for id in others {
            self.push(term, Op::Remove(id));
        }
        is_new
    }

    pub(super) fn has_removed(&self, id: MemberId) -> bool {
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
