//! One kind's cache: projections by cluster, and how far each watched namespace can be trusted.
//!
//! Filled by a watch, read by passes. It never asks anybody, and it keeps no field that a decision does not use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use contract::{DisruptionBudget, Observed, Pod, Resource, Service, Volume};

use crate::key::ClusterKey;

/// How long a watch may fail before its cache counts as unknown.
const STALE_AFTER: Duration = Duration::from_secs(15);

/// What every projection can tell of itself.
pub trait Projected: Clone + Send + Sync + 'static {
    /// `metadata.name`.
    fn name(&self) -> &str;
    /// `metadata.uid`.
    fn uid(&self) -> &str;
    /// `metadata.resourceVersion`.
    fn resource_version(&self) -> &str;
    /// Whether its deletion was asked for.
    fn is_terminating(&self) -> bool;
}

macro_rules! projected {
    ($($kind:ty),+) => {$(
        impl Projected for $kind {
            fn name(&self) -> &str {
                &self.name
            }
            fn uid(&self) -> &str {
                &self.uid
            }
            fn resource_version(&self) -> &str {
                &self.resource_version
            }
            fn is_terminating(&self) -> bool {
                self.deleted.is_some()
            }
        }
    )+};
}
projected!(Resource, Pod, Volume, Service, DisruptionBudget);

/// The part of the world one watch covers: a namespace, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Every namespace.
    All,
    /// One namespace.
    Namespace(String),
}

/// One kind's cache.
#[derive(Debug)]
pub struct Shelf<T> {
    inner: RwLock<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    objects: BTreeMap<ClusterKey, BTreeMap<String, Arc<T>>>,
    /// Which cluster an object was last filed under, by namespace and name: labels can change.
    homes: BTreeMap<(String, String), ClusterKey>,
    scopes: BTreeMap<Scope, Freshness>,
}

#[derive(Debug)]
enum Freshness {
    /// The first list has not ended.
    Listing,
    /// The watch is open.
    Current,
    /// The watch fails; the cache is as it was at `since`, or empty if nothing was ever listed.
    Failing {
        since: Instant,
        why: String,
        listed: bool,
    },
}

impl<T: Projected> Shelf<T> {
    /// An empty cache that will cover these scopes.
    #[must_use]
    pub fn new(scopes: &[Scope]) -> Self {
        let scopes = scopes
            .iter()
            .map(|scope| (scope.clone(), Freshness::Listing))
            .collect();
        Self {
            inner: RwLock::new(Inner {
                objects: BTreeMap::new(),
                homes: BTreeMap::new(),
                scopes,
            }),
        }
    }

    /// Files an object under its cluster; answers with every cluster whose view changed by it.
    pub fn put(&self, home: ClusterKey, object: T) -> BTreeSet<ClusterKey> {
        let mut inner = self.write();
        let name = object.name().to_owned();
        let mut touched = BTreeSet::from([home.clone()]);
        let before = inner
            .homes
            .insert((home.namespace.clone(), name.clone()), home.clone());
        if let Some(before) = before.filter(|before| *before != home) {
            inner.unfile(&before, &name);
            touched.insert(before);
        }
        inner
            .objects
            .entry(home)
            .or_default()
            .insert(name, Arc::new(object));
        touched
    }

    /// Forgets an object; answers with the cluster it was filed under.
    pub fn remove(&self, namespace: &str, name: &str) -> Option<ClusterKey> {
        let mut inner = self.write();
        let home = inner
            .homes
            .remove(&(namespace.to_owned(), name.to_owned()))?;
        inner.unfile(&home, name);
        Some(home)
    }

    /// Ends a list of a scope: all that it did not show is gone. Answers with the clusters that lost something.
    pub fn listed(
        &self,
        scope: &Scope,
        shown: &BTreeSet<(String, String)>,
    ) -> BTreeSet<ClusterKey> {
        let mut inner = self.write();
        let gone: Vec<(String, String)> = inner
            .homes
            .keys()
            .filter(|&id| scope.covers(&id.0) && !shown.contains(id))
            .cloned()
            .collect();
        let mut touched = BTreeSet::new();
        for id in gone {
            if let Some(home) = inner.homes.remove(&id) {
                inner.unfile(&home, &id.1);
                touched.insert(home);
            }
        }
        inner.scopes.insert(scope.clone(), Freshness::Current);
        touched
    }

    /// The watch of a scope failed, and why.
    pub fn failed(&self, scope: &Scope, why: String, now: Instant) {
        let mut inner = self.write();
        let Some(freshness) = inner.scopes.get_mut(scope) else {
            return;
        };
        *freshness = match freshness {
            Freshness::Listing => Freshness::Failing {
                since: now,
                why,
                listed: false,
            },
            Freshness::Current => Freshness::Failing {
                since: now,
                why,
                listed: true,
            },
            Freshness::Failing {
                since,
                why: _,
                listed,
            } => Freshness::Failing {
                since: *since,
                why,
                listed: *listed,
            },
        };
    }

    /// The objects of a cluster, sorted by name.
    #[must_use]
    pub fn of(&self, key: &ClusterKey, now: Instant) -> Observed<Vec<T>> {
        let inner = self.read();
        match inner.why_unknown(&key.namespace, now) {
            Some(why) => Observed::Unknown(why),
            None => Observed::Seen(
                inner
                    .objects
                    .get(key)
                    .into_iter()
                    .flatten()
                    .map(|(_name, object)| T::clone(object))
                    .collect(),
            ),
        }
    }

    /// All objects of a namespace, in the order of their keys and names.
    #[must_use]
    pub fn of_namespace(&self, namespace: &str, now: Instant) -> Observed<Vec<T>> {
        let inner = self.read();
        match inner.why_unknown(namespace, now) {
            Some(why) => Observed::Unknown(why),
            None => {
                let own = inner.objects.iter();
                let own = own.filter(|(key, _)| key.namespace == namespace);
                let objects = own.flat_map(|(_, objects)| objects.values());
                Observed::Seen(objects.map(|object| T::clone(object)).collect())
            }
        }
    }

    /// One object of a cluster.
    #[must_use]
    pub fn one(&self, key: &ClusterKey, name: &str) -> Option<Arc<T>> {
        self.read().objects.get(key)?.get(name).cloned()
    }

    /// Every cluster with at least one object here.
    #[must_use]
    pub fn keys(&self) -> Vec<ClusterKey> {
        self.read().objects.keys().cloned().collect()
    }

    /// Calls `each` for every object.
    pub fn for_each(&self, mut each: impl FnMut(&T)) {
        for object in self.read().objects.values().flat_map(BTreeMap::values) {
            each(object);
        }
    }

    /// Whether every scope has been listed, or could not be, at least once.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        !self
            .read()
            .scopes
            .values()
            .any(|freshness| matches!(freshness, Freshness::Listing))
    }

    /// What is missing before this cache can be used, one sentence per scope.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let inner = self.read();
        let missing = inner
            .scopes
            .iter()
            .filter_map(|(scope, freshness)| match freshness {
                Freshness::Listing => Some(format!("in {scope}: not listed yet")),
                Freshness::Failing {
                    listed: false, why, ..
                } => Some(format!("in {scope}: {why}")),
                Freshness::Current | Freshness::Failing { listed: true, .. } => None,
            });
        missing.collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner<T>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<T>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Inner<T> {
    fn unfile(&mut self, home: &ClusterKey, name: &str) {
        if let Some(objects) = self.objects.get_mut(home) {
            objects.remove(name);
            if objects.is_empty() {
                self.objects.remove(home);
            }
        }
    }

    fn why_unknown(&self, namespace: &str, now: Instant) -> Option<String> {
        let own = Scope::Namespace(namespace.to_owned());
        match self
            .scopes
            .get(&own)
            .or_else(|| self.scopes.get(&Scope::All))
        {
            Some(Freshness::Current) => None,
            Some(Freshness::Listing) => Some("not listed yet".to_owned()),
            Some(Freshness::Failing { since, why, listed }) => (!listed
                || now.saturating_duration_since(*since) >= STALE_AFTER)
                .then(|| why.clone()),
            None => Some("the namespace is not watched".to_owned()),
        }
    }
}

impl Scope {
    /// Whether the scope holds that namespace.
    #[must_use]
    pub fn covers(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(own) => own == namespace,
        }
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("all namespaces"),
            Self::Namespace(namespace) => write!(f, "namespace {namespace}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ClusterKey {
        ClusterKey {
            dialect: contract::Dialect::Coreos,
            kind: contract::ResourceKind::EtcdCluster,
            namespace: "infra".to_owned(),
            name: name.to_owned(),
        }
    }

    fn service(name: &str) -> Service {
        Service {
            name: name.to_owned(),
            uid: format!("uid-{name}"),
            resource_version: "1".to_owned(),
            owner: None,
            labels: BTreeMap::new(),
            deleted: None,
            cluster_ip: None,
            selector: BTreeMap::new(),
            ports: Vec::new(),
            publish_not_ready: false,
        }
    }

    fn infra() -> Scope {
        Scope::Namespace("infra".to_owned())
    }

    #[test]
    fn nothing_is_known_before_the_first_list_has_ended() {
        let shelf = Shelf::new(&[infra()]);
        shelf.put(key("kv"), service("kv-client"));
        assert!(matches!(
            shelf.of(&key("kv"), Instant::now()),
            Observed::Unknown(_)
        ));
        assert_eq!(shelf.missing().len(), 1);
        assert!(!shelf.is_settled());
        shelf.listed(
            &infra(),
            &BTreeSet::from([("infra".to_owned(), "kv-client".to_owned())]),
        );
        assert_eq!(
            shelf.of(&key("kv"), Instant::now()),
            Observed::Seen(vec![service("kv-client")])
        );
        assert!(shelf.missing().is_empty());
    }

    #[test]
    fn what_a_list_does_not_show_is_gone_and_its_cluster_is_told() {
        let shelf = Shelf::new(&[infra()]);
        shelf.put(key("kv"), service("kv-client"));
        assert_eq!(
            shelf.listed(&infra(), &BTreeSet::new()),
            BTreeSet::from([key("kv")])
        );
        assert_eq!(
            shelf.of(&key("kv"), Instant::now()),
            Observed::Seen(Vec::new())
        );
    }

    #[test]
    fn an_object_that_changes_its_label_moves_and_both_clusters_are_told() {
        let shelf = Shelf::new(&[infra()]);
        shelf.put(key("a"), service("s"));
        assert_eq!(
            shelf.put(key("b"), service("s")),
            BTreeSet::from([key("a"), key("b")])
        );
        assert!(shelf.one(&key("a"), "s").is_none());
    }

    #[test]
    fn a_forbidden_list_is_unknown_with_its_reason() {
        let shelf = Shelf::<Service>::new(&[infra()]);
        shelf.failed(&infra(), "forbidden".to_owned(), Instant::now());
        assert_eq!(
            shelf.of(&key("kv"), Instant::now()),
            Observed::Unknown("forbidden".to_owned())
        );
        assert_eq!(shelf.missing(), ["in namespace infra: forbidden"]);
        assert!(shelf.is_settled(), "waiting any longer shows nothing more");
    }

    #[test]
    fn a_watch_that_failed_a_moment_ago_still_counts_and_later_does_not() {
        let shelf = Shelf::<Service>::new(&[infra()]);
        let start = Instant::now();
        shelf.listed(&infra(), &BTreeSet::new());
        shelf.failed(&infra(), "connection refused".to_owned(), start);
        assert!(matches!(shelf.of(&key("kv"), start), Observed::Seen(_)));
        assert!(matches!(
            shelf.of(&key("kv"), start + STALE_AFTER),
            Observed::Unknown(_)
        ));
        shelf.listed(&infra(), &BTreeSet::new());
        assert!(matches!(
            shelf.of(&key("kv"), start + STALE_AFTER),
            Observed::Seen(_)
        ));
    }

    #[test]
    fn a_namespace_outside_the_scopes_is_unknown() {
        let shelf = Shelf::<Service>::new(&[infra()]);
        let elsewhere = ClusterKey {
            dialect: contract::Dialect::Coreos,
            kind: contract::ResourceKind::EtcdCluster,
            namespace: "other".to_owned(),
            name: "kv".to_owned(),
        };
        assert!(matches!(
            shelf.of(&elsewhere, Instant::now()),
            Observed::Unknown(_)
        ));
    }
}
