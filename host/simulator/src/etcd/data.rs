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
    /// A member of the birth.
    AddVoter(MemberId),
    AddLearner(MemberId),
    Promote(MemberId),
    Remove(MemberId),
    /// The member told its name: it has started.
    Publish(MemberId),
    /// The cluster takes on a minor version.
    Version(u64),
}

/// What a member has on its disk.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) cluster: ClusterId,
    pub(crate) me: MemberId,
    log: Vec<Entry>,
    /// The member list that the log makes, sorted by id.
    rows: Vec<Row>,
    /// The minor version of the cluster, once it has taken one on.
    minor: Option<u64>,
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

    pub(crate) fn index(&self) -> u64 {
        u64::try_from(self.log.len()).unwrap_or(u64::MAX)
    }

    pub(crate) fn term(&self) -> u64 {
        u64::from(self.progress().0)
    }

    pub(crate) fn minor(&self) -> Option<u64> {
        self.minor
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
            minor: None,
        }
    }

    pub(super) fn push(&mut self, term: u32, op: Op) {
        self.log.push(Entry { term, op });
        let rows = &mut self.rows;
        match op {
            Op::Lead | Op::Write(_) => {}
            Op::Version(minor) => self.minor = Some(minor),
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
        self.minor = leader.minor;
    }

    /// Goes on as the only member, in a term of its own.
    pub(super) fn force(&mut self) {
        let term = self.progress().0 + 1;
        let me = self.me;
        let others: Vec<MemberId> = self
            .rows
            .iter()
            .map(|row| row.id)
            .filter(|id| *id != me)
            .collect();
        for id in others {
            self.push(term, Op::Remove(id));
        }
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
