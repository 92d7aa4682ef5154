//! The locks of archived operators that may still be at work: in the cluster's namespace, in this operator's own, and,
//! for an operator that looks after all namespaces, in the one that the archived operator's manifests name.
//!
//! Whether it is held is judged elsewhere; here it is read, and watched by this host's own clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::{Dialect, LockKind, Millis, OLD_LOCK_ANNOTATION, Observed, OldLock};
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints};
use kube::{Api, Client};
use serde::Deserialize;

use super::live::{self, within};
use crate::error::Chain;

/// How long a lock that was seen, or could not be read, is not asked for again.
const AGAIN: Duration = Duration::from_secs(2);
/// The same where there is none: most clusters never saw the archived operator.
const AGAIN_IF_ABSENT: Duration = Duration::from_secs(30);
/// How long a renewal lasts when the record does not say so.
const LASTS: i64 = 15;

/// What is known of the locks.
#[derive(Debug, Default)]
pub(super) struct Predecessors {
    home: Option<String>,
    roams: bool,
    sights: Mutex<BTreeMap<Place, Sight>>,
}

/// Where a lock is looked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    kind: LockKind,
    name: &'static str,
    namespace: String,
}

/// The last look at one lock.
#[derive(Clone, Debug)]
struct Sight {
    at: Instant,
    lock: Observed<Record>,
    /// Since when the lock has been as it is.
    since: Instant,
}

/// client-go's record of a leader, as far as it counts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    #[serde(default)]
    holder_identity: String,
    #[serde(default)]
    lease_duration_seconds: Option<i64>,
    #[serde(default)]
    renew_time: Option<jiff::Timestamp>,
}

impl Predecessors {
    /// Locks are looked for in `home` too, where an archived operator that served several namespaces would have its own.
    #[must_use]
    pub(super) fn at_home(self, home: &str) -> Self {
        Self {
            home: Some(home.to_owned()),
            ..self
        }
    }

    /// Of an operator that looks after all namespaces, and may get locks in each of them.
    #[must_use]
    pub(super) fn everywhere(roams: bool) -> Self {
        Self {
            roams,
            ..Self::default()
        }
    }

    /// The lock that bears on clusters of that dialect in `namespace`: the one renewed last where there are several.
    pub(super) async fn lock(
        &self,
        client: &Client,
        dialect: Dialect,
        namespace: &str,
    ) -> Observed<OldLock> {
        let mut strictest = Observed::Absent;
        for place in self.places(dialect, namespace) {
            strictest = stricter(strictest, self.look(client, &place).await);
        }
        strictest
    }

    fn places(&self, dialect: Dialect, namespace: &str) -> Vec<Place> {
        let predecessor = dialect.predecessor();
        let away = predecessor.namespace.filter(|_| self.roams);
        let namespaces: BTreeSet<&str> = [Some(namespace), self.home.as_deref(), away]
            .into_iter()
            .flatten()
            .collect();
        namespaces
            .into_iter()
            .flat_map(|namespace| {
                predecessor.locks.iter().map(move |(kind, name)| Place {
                    kind: *kind,
                    name,
                    namespace: namespace.to_owned(),
                })
            })
            .collect()
    }

    async fn look(&self, client: &Client, place: &Place) -> Observed<OldLock> {
        let known = self.sights().get(place).cloned();
        let sight = match known {
            Some(sight) if !sight.is_old(Instant::now()) => sight,
            Some(_) | None => {
                let lock = read(client, place).await;
                let sight = Sight::next(known.as_ref(), lock, Instant::now());
                self.sights().insert(place.clone(), sight.clone());
                sight
            }
        };
        sight.tell(place, Instant::now())
    }

    fn sights(&self) -> MutexGuard<'_, BTreeMap<Place, Sight>> {
        self.sights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sight {
    fn next(before: Option<&Self>, lock: Observed<Record>, now: Instant) -> Self {
        let since = before
            .filter(|before| before.lock == lock)
            .map_or(now, |before| before.since);
        Self {
            at: now,
            lock,
            since,
        }
    }

    fn is_old(&self, now: Instant) -> bool {
        let again = match self.lock {
            Observed::Absent => AGAIN_IF_ABSENT,
            Observed::Seen(_) | Observed::Unknown(_) => AGAIN,
        };
        now.saturating_duration_since(self.at) >= again
    }

    fn tell(self, place: &Place, now: Instant) -> Observed<OldLock> {
        let Record {
            holder_identity,
            lease_duration_seconds,
            renew_time,
        } = match self.lock {
            Observed::Seen(record) => record,
            Observed::Absent => return Observed::Absent,
            Observed::Unknown(why) => return Observed::Unknown(why),
        };
        let lasts = Millis::seconds(lease_duration_seconds.unwrap_or(LASTS).max(1));
        let unchanged = now.saturating_duration_since(self.since).as_millis();
        let unchanged = i64::try_from(unchanged).unwrap_or(i64::MAX);
        Observed::Seen(OldLock {
            kind: place.kind,
            name: place.name.to_owned(),
            namespace: place.namespace.clone(),
            holder: holder_identity,
            renewed: Millis(renew_time.map_or(0, jiff::Timestamp::as_millisecond)),
            lasts,
            unchanged_for: Millis(unchanged.min(lasts.0)),
        })
    }
}

/// Of two locks the one renewed last, and of a lock and a riddle the one that holds more up.
fn stricter(one: Observed<OldLock>, other: Observed<OldLock>) -> Observed<OldLock> {
    match (one, other) {
        (Observed::Seen(one), Observed::Seen(other)) => {
            let is_calm =
                |lock: &OldLock| lock.holder.is_empty() || lock.unchanged_for >= lock.lasts;
            Observed::Seen(match (is_calm(&one), is_calm(&other)) {
                (true, false) => other,
                (false, true) => one,
                (_, _) if other.renewed > one.renewed => other,
                (_, _) => one,
            })
        }
        (Observed::Absent, other) => other,
        (one, Observed::Absent) => one,
        (Observed::Seen(lock), Observed::Unknown(_))
        | (Observed::Unknown(_), Observed::Seen(lock))
            if !lock.holder.is_empty() && lock.unchanged_for < lock.lasts =>
        {
            Observed::Seen(lock)
        }
        (Observed::Unknown(why), _) | (_, Observed::Unknown(why)) => Observed::Unknown(why),
    }
}

async fn read(client: &Client, place: &Place) -> Observed<Record> {
    let Place {
        kind,
        name,
        namespace,
    } = place;
    let what = || format!("{} {namespace}/{name}", kind.name());
    let found: Result<_, live::Error> = within(what, async {
        match kind {
            LockKind::Endpoints => {
                let api = Api::<Endpoints>::namespaced(client.clone(), namespace);
                let found = api.get_metadata_opt(name).await?;
                Ok(found.map(|found| found.metadata))
            }
            LockKind::ConfigMap => {
                let api = Api::<ConfigMap>::namespaced(client.clone(), namespace);
                let found = api.get_metadata_opt(name).await?;
                Ok(found.map(|found| found.metadata))
            }
        }
    })
    .await;
    let annotations = match found {
        Ok(Some(metadata)) => metadata.annotations.unwrap_or_default(),
        Ok(None) => return Observed::Absent,
        Err(error) => return Observed::Unknown(Chain(&error).to_string()),
    };
    match annotations.get(OLD_LOCK_ANNOTATION) {
        None => Observed::Absent,
        Some(record) => serde_json::from_str(record).map_or_else(
            |error| Observed::Unknown(format!("{} says {record:?}: {error}", what())),
            Observed::Seen,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(renewed: &str) -> Observed<Record> {
        let text = format!(
            r#"{{"holderIdentity":"etcd-operator-7d9","leaseDurationSeconds":15,"acquireTime":"2019-05-07T09:00:00Z",
                "renewTime":"{renewed}","leaderTransitions":0}}"#
        );
        Observed::Seen(serde_json::from_str(&text).expect("a record"))
    }

    fn coreos(namespace: &str) -> Place {
        Place {
            kind: LockKind::Endpoints,
            name: "etcd-operator",
            namespace: namespace.to_owned(),
        }
    }

    /// The one of the second dialect looked after all namespaces from a namespace of its own.
    #[test]
    fn each_dialects_lock_is_looked_for_where_its_operator_had_it() {
        let looked = |roams, dialect| {
            let predecessors = Predecessors::everywhere(roams).at_home("home");
            let places = predecessors.places(dialect, "ns").into_iter();
            places
                .map(|place| format!("{} {}/{}", place.kind.name(), place.namespace, place.name))
                .collect::<Vec<_>>()
        };
        let coreos = ["Endpoints home/etcd-operator", "Endpoints ns/etcd-operator"];
        assert_eq!(looked(true, Dialect::Coreos), coreos);
        let (last, release) = (
            "etcd-cluster-operator-controller-leader-election-helper",
            "controller-leader-election-helper",
        );
        let both = |namespace| [last, release].map(|lock| format!("ConfigMap {namespace}/{lock}"));
        let near = [both("home"), both("ns")].concat();
        assert_eq!(looked(false, Dialect::Improbable), near);
        let all = [both("eco-system"), both("home"), both("ns")].concat();
        assert_eq!(looked(true, Dialect::Improbable), all);
    }

    #[test]
    fn a_lock_is_timed_by_this_hosts_clock_from_its_last_change() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let first = Sight::next(None, record("2019-05-07T09:00:00Z"), start);
        let same = Sight::next(Some(&first), record("2019-05-07T09:00:00Z"), after(9));
        let renewed = Sight::next(Some(&same), record("2019-05-07T09:00:02Z"), after(10));
        let place = coreos("ns");
        let told = |sight: &Sight, now| match sight.clone().tell(&place, now) {
            Observed::Seen(lock) => lock.unchanged_for,
            Observed::Absent | Observed::Unknown(_) => Millis(-1),
        };
        assert_eq!(told(&same, after(9)), Millis::seconds(9));
        assert_eq!(told(&renewed, after(11)), Millis::seconds(1));
        assert_eq!(told(&same, after(600)), Millis::seconds(15));
    }

    #[test]
    fn a_lock_at_home_counts_beside_one_given_up() {
        let start = Instant::now();
        let now = start + Duration::from_secs(60);
        let given_up = Sight::next(None, record("2019-05-07T10:00:00Z"), start);
        let held = Sight::next(None, record("2019-05-07T09:00:00Z"), now);
        let both = stricter(
            given_up.tell(&coreos("ns"), now),
            held.tell(&coreos("home"), now),
        );
        assert!(matches!(both, Observed::Seen(lock) if lock.namespace == "home"));
        let unread = Observed::Unknown("forbidden".to_owned());
        assert_eq!(stricter(Observed::Absent, unread.clone()), unread);
    }
}
