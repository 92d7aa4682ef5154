//! The order of passes: which cluster is due, never one cluster twice at once.
//!
//! Knows names and instants; what a pass does is not its business.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use contract::Reason;
use tokio::sync::Notify;

use crate::key::ClusterKey;

/// Why a pass begins. Recordings and logs show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// An object of this kind changed.
    Watch(&'static str),
    /// The time has come that the last decision asked for.
    Requeue(Reason),
    /// The last pass was not finished; it is tried again.
    Retry,
    /// This instance became the leader.
    Leadership,
    /// Other modules are in force.
    Module,
    /// A transfer of this backup ended.
    Transfer,
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watch(kind) => write!(f, "watch:{kind}"),
            Self::Requeue(why) => write!(f, "requeue:{why}"),
            Self::Retry => f.write_str("retry"),
            Self::Leadership => f.write_str("leadership"),
            Self::Module => f.write_str("module"),
            Self::Transfer => f.write_str("transfer"),
        }
    }
}

/// When a cluster shall be looked at after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// At the next change.
    Change,
    /// At this time, or earlier if something changes.
    At(Instant, Trigger),
    /// Not before this time, whatever changes: the host itself could not finish the pass.
    NotBefore(Instant),
    /// Never: it is gone.
    Gone,
}

/// What the queue answers to whoever asks for work.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Start(ClusterKey, Trigger),
    Wait(Option<Instant>),
}

#[derive(Debug, Default)]
struct Entry {
    due: Option<(Instant, Trigger)>,
    not_before: Option<Instant>,
    running: bool,
}

impl Entry {
    /// When it can start: none while it runs or nothing is wanted.
    fn starts(&self) -> Option<Instant> {
        let (due, _) = self.due.filter(|_| !self.running)?;
        Some(
            self.not_before
                .map_or(due, |not_before| due.max(not_before)),
        )
    }

    fn want(&mut self, at: Instant, trigger: Trigger) {
        if self.due.is_none_or(|(due, _)| at < due) {
            self.due = Some((at, trigger));
        }
    }
}

/// The due times of all clusters. Plain state: every method takes the time.
#[derive(Debug, Default)]
struct Schedule {
    entries: BTreeMap<ClusterKey, Entry>,
}

impl Schedule {
    fn touch(&mut self, key: ClusterKey, now: Instant, trigger: Trigger) {
        self.entries.entry(key).or_default().want(now, trigger);
    }

    fn next(&mut self, now: Instant) -> Next {
        let earliest = self
            .entries
            .iter_mut()
            .filter_map(|(key, entry)| Some((entry.starts()?, key, entry)));
        match earliest.min_by_key(|(starts, _, _)| *starts) {
            Some((starts, key, entry)) if starts <= now => {
                entry.running = true;
                entry.not_before = None;
                let trigger = entry
                    .due
                    .take()
                    .map_or(Trigger::Retry, |(_, trigger)| trigger);
                Next::Start(key.clone(), trigger)
            }
            Some((starts, _, _)) => Next::Wait(Some(starts)),
            None => Next::Wait(None),
        }
    }

    fn finish(&mut self, key: &ClusterKey, after: After) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        entry.running = false;
        match after {
            After::Change => {}
            After::At(at, trigger) => entry.want(at, trigger),
            After::NotBefore(at) => {
                entry.want(at, Trigger::Retry);
                entry.not_before = Some(at);
            }
            // A change during the pass may have made it anew.
            After::Gone if entry.due.is_none() => {
                self.entries.remove(key);
            }
            After::Gone => {}
        }
    }
}

/// The work queue of all passes.
#[derive(Debug, Default)]
pub struct Queue {
    schedule: Mutex<Schedule>,
    changed: Notify,
}

impl Queue {
    /// A cluster shall be looked at now, or as soon as its present pass ends.
    pub fn touch(&self, key: ClusterKey, trigger: Trigger) {
        self.lock().touch(key, Instant::now(), trigger);
        self.changed.notify_one();
    }

    /// The next cluster that is due; waits until there is one. Its pass must end with [`Self::finish`].
    pub async fn next(&self) -> (ClusterKey, Trigger) {
        loop {
            // Bound first: the lock must be free before anything is awaited.
            let next = self.lock().next(Instant::now());
            match next {
                Next::Start(key, trigger) => return (key, trigger),
                Next::Wait(None) => self.changed.notified().await,
                Next::Wait(Some(at)) => {
                    let _either = tokio::time::timeout_at(at.into(), self.changed.notified()).await;
                }
            }
        }
    }

    /// The pass of a cluster has ended.
    pub fn finish(&self, key: &ClusterKey, after: After) {
        self.lock().finish(key, after);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(name: &str) -> ClusterKey {
        ClusterKey {
            dialect: contract::Dialect::Coreos,
            kind: contract::ResourceKind::EtcdCluster,
            namespace: "infra".to_owned(),
            name: name.to_owned(),
        }
    }

    const STEP: Duration = Duration::from_millis(200);

    #[test]
    fn many_changes_are_one_pass() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        schedule.touch(key("kv"), now, Trigger::Watch("Pod"));
        schedule.touch(key("kv"), now, Trigger::Watch("Service"));
        assert_eq!(
            schedule.next(now),
            Next::Start(key("kv"), Trigger::Watch("Pod"))
        );
        assert_eq!(schedule.next(now), Next::Wait(None));
    }

    #[test]
    fn a_change_during_a_pass_is_looked_at_after_it_and_not_beside_it() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        schedule.touch(key("kv"), now, Trigger::Watch("Pod"));
        schedule.next(now);
        schedule.touch(key("kv"), now, Trigger::Watch("Service"));
        assert_eq!(schedule.next(now), Next::Wait(None));
        schedule.finish(
            &key("kv"),
            After::At(now + STEP, Trigger::Requeue(Reason::Forming)),
        );
        assert_eq!(
            schedule.next(now),
            Next::Start(key("kv"), Trigger::Watch("Service"))
        );
    }

    #[test]
    fn a_requeue_starts_exactly_when_it_was_asked_for() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        schedule.touch(key("kv"), now, Trigger::Watch("EtcdCluster"));
        schedule.next(now);
        schedule.finish(
            &key("kv"),
            After::At(now + STEP, Trigger::Requeue(Reason::Forming)),
        );
        assert_eq!(schedule.next(now), Next::Wait(Some(now + STEP)));
        assert_eq!(
            schedule.next(now + STEP),
            Next::Start(key("kv"), Trigger::Requeue(Reason::Forming))
        );
    }

    #[test]
    fn after_a_failure_of_the_host_changes_wait_too() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        schedule.touch(key("kv"), now, Trigger::Watch("EtcdCluster"));
        schedule.next(now);
        schedule.finish(&key("kv"), After::NotBefore(now + STEP));
        schedule.touch(key("kv"), now, Trigger::Watch("Pod"));
        assert_eq!(schedule.next(now), Next::Wait(Some(now + STEP)));
        assert_eq!(
            schedule.next(now + STEP),
            Next::Start(key("kv"), Trigger::Watch("Pod"))
        );
    }

    #[test]
    fn one_cluster_that_waits_does_not_hold_up_another() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        schedule.touch(key("a"), now, Trigger::Watch("EtcdCluster"));
        schedule.next(now);
        schedule.finish(&key("a"), After::NotBefore(now + STEP));
        schedule.touch(key("b"), now, Trigger::Watch("EtcdCluster"));
        assert_eq!(
            schedule.next(now),
            Next::Start(key("b"), Trigger::Watch("EtcdCluster"))
        );
    }

    #[test]
    fn a_cluster_that_is_gone_is_forgotten_unless_it_came_back_meanwhile() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        schedule.touch(key("kv"), now, Trigger::Watch("EtcdCluster"));
        schedule.next(now);
        schedule.touch(key("kv"), now, Trigger::Watch("EtcdCluster"));
        schedule.finish(&key("kv"), After::Gone);
        assert_eq!(
            schedule.next(now),
            Next::Start(key("kv"), Trigger::Watch("EtcdCluster"))
        );
        schedule.finish(&key("kv"), After::Gone);
        assert!(schedule.entries.is_empty());
    }

    #[tokio::test]
    async fn whoever_waits_is_woken_by_a_change() {
        let queue = Queue::default();
        let (next, ()) = tokio::join!(queue.next(), async {
            queue.touch(key("kv"), Trigger::Watch("Pod"))
        });
        assert_eq!(next, (key("kv"), Trigger::Watch("Pod")));
    }
}
