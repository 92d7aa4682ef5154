//! Virtual time: what happens by itself, and when.
//!
//! Timers of one instant fire in the order in which they were set.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use contract::ClusterId;

/// What a timer sets off. Pods are named by their number, because a name can come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// The scheduler looks at a pod.
    Schedule(u32),
    /// The kubelet pulls its image.
    Pull(u32),
    /// The kubelet sees that its container is to have another image.
    NewImage(u32),
    /// The kubelet starts its container.
    Start(u32),
    /// The process of that run serves.
    Serve(u32, u32),
    /// The process of that run follows the leader.
    Sync(u32, u32),
    /// The process of that run ends, because its cluster removed it.
    Expelled(u32, u32),
    /// The pod's containers have ended and its object goes.
    Gone(u32),
    /// Members vote.
    Elect(ClusterId),
    /// A client writes.
    Write,
    /// The node controller notices a silent node.
    NodeSilent(u32),
    /// The node controller evicts its pods.
    NodeEvicts(u32),
    /// The pods of a node that does not exist are collected.
    NodeForgotten(u32),
    /// The fault of that index in the plan begins.
    Fault(usize),
    /// It ends.
    Heal(usize),
    /// A delayed write of the operator arrives.
    Land(usize),
    /// An object whose owner is gone is collected.
    Collect,
    /// The backup that a risky act waits for is taken.
    Guard,
    /// The backups that edited EtcdRestores name were read again.
    Prove,
    /// The controllers of ReplicaSets and of what they made look.
    ReplicaSets,
    /// The volume with that disk has grown.
    Enlarge(u32),
}

/// Timers by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(i64, u64, Timer)>>,
    set: u64,
}

impl Timers {
    pub(crate) fn set(&mut self, at: i64, timer: Timer) {
        self.set += 1;
        self.heap.push(Reverse((at, self.set, timer)));
    }

    /// All of them with their times, in the order in which they fire.
    pub(crate) fn in_order(&self) -> Vec<(i64, Timer)> {
        let mut all: Vec<_> = self.heap.iter().map(|Reverse(timer)| *timer).collect();
        all.sort_unstable();
        all.into_iter().map(|(at, _, timer)| (at, timer)).collect()
    }

    pub(crate) fn next_at(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// The next timer that is due at `now`, and when it was.
    pub(crate) fn due(&mut self, now: i64) -> Option<(i64, Timer)> {
        let at = self.next_at().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse((_, _, timer))| (at, timer))
    }
}
