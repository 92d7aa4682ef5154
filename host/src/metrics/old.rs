//! The metric names of coreos etcd-operator 0.9.4, for dashboards and alerts that know them.
//!
//! That operator's text format gave counters no suffix, and this one must: they are of the type gauge here, and grow all the
//! same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::{Phase, Reason, Snapshot};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use serde::Deserialize;

use crate::key::ClusterKey;

/// `ClusterName` as that operator spelled it; two namespaces share the series of equal names, as they did.
type ClusterName = [(&'static str, String); 1];
/// `Reason`, from the list of reasons.
type FailureReason = [(&'static str, &'static str); 1];

/// What was seen of a cluster before.
#[derive(Debug)]
struct Known {
    uid: String,
    generation: i64,
    failed: bool,
}

/// The counters by their old names. Clones count together.
#[derive(Clone, Debug)]
pub(super) struct OldNames {
    clusters: Gauge,
    created: Gauge,
    deleted: Gauge,
    modified: Gauge,
    failed: Gauge,
    duration: Family<ClusterName, Histogram, fn() -> Histogram>,
    reconcile_failed: Family<FailureReason, Gauge>,
    known: Arc<Mutex<BTreeMap<ClusterKey, Known>>>,
}

fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.1, 2.0, 10))
}

impl OldNames {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let old = Self {
            clusters: Gauge::default(),
            created: Gauge::default(),
            deleted: Gauge::default(),
            modified: Gauge::default(),
            failed: Gauge::default(),
            duration: Family::new_with_constructor(buckets),
            reconcile_failed: Family::default(),
            known: Arc::default(),
        };
        for (name, help, gauge) in [
            (
                "etcd_operator_controller_clusters",
                "Clusters looked after",
                &old.clusters,
            ),
            (
                "etcd_operator_controller_clusters_created",
                "Clusters seen for the first time since the start",
                &old.created,
            ),
            (
                "etcd_operator_controller_clusters_deleted",
                "Clusters deleted since the start",
                &old.deleted,
            ),
            (
                "etcd_operator_controller_clusters_modified",
                "Changes of specs since the start",
                &old.modified,
            ),
            (
                "etcd_operator_controller_clusters_failed",
                "Clusters whose phase became Failed since the start",
                &old.failed,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
        registry.register(
            "etcd_operator_cluster_reconcile_duration",
            "Seconds of one pass over one cluster",
            old.duration.clone(),
        );
        registry.register(
            "etcd_operator_cluster_reconcile_failed",
            "Passes that failed since the start, by reason",
            old.reconcile_failed.clone(),
        );
        old
    }

    pub(super) fn see(&self, key: &ClusterKey, snapshot: &Snapshot) {
        let resource = &snapshot.resource;
        let phase = resource.status.get("phase");
        let failed =
            phase.is_some_and(|phase| matches!(Phase::deserialize(phase), Ok(Phase::Failed)));
        let now = Known {
            uid: resource.uid.clone(),
            generation: resource.generation,
            failed,
        };
        let mut known = self.lock();
        match known.get(key) {
            Some(before) if before.uid == now.uid => {
                self.modified
                    .inc_by(i64::from(before.generation != now.generation));
                self.failed.inc_by(i64::from(failed && !before.failed));
            }
            Some(_) => {
                self.deleted.inc();
                self.created.inc();
            }
            None => {
                self.created.inc();
                self.failed.inc_by(i64::from(failed));
            }
        }
        known.insert(key.clone(), now);
        self.clusters
            .set(i64::try_from(known.len()).unwrap_or(i64::MAX));
    }

    pub(super) fn forget(&self, key: &ClusterKey) {
        let mut known = self.lock();
        if known.remove(key).is_some() {
            self.deleted.inc();
        }
        self.clusters
            .set(i64::try_from(known.len()).unwrap_or(i64::MAX));
        if !known.keys().any(|other| other.name == key.name) {
            self.duration.remove(&name(key));
        }
    }

    pub(super) fn count_pass(&self, key: &ClusterKey, took: Duration) {
        self.duration
            .get_or_create(&name(key))
            .observe(took.as_secs_f64());
    }

    pub(super) fn count_failure(&self, reason: Reason) {
        self.reconcile_failed
            .get_or_create(&[("Reason", reason.name())])
            .inc();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<ClusterKey, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(key: &ClusterKey) -> ClusterName {
    [("ClusterName", key.name.clone())]
}
