//! The caches of everything that is watched, of both dialects.
//!
//! Filled by watches, read by passes.

use std::time::{Duration, Instant};

use contract::{
    Dialect, DisruptionBudget, Objects, Observed, OldLock, Pod, Resource, ResourceKind, Service,
    Volume,
};
use kube::Client;

use super::predecessor::Predecessors;
use super::selection::Selection;
use super::shelf::{Scope, Shelf};
use super::written::Written;
use crate::key::ClusterKey;

/// How long a snapshot waits for the caches to show what this host wrote.
const CATCH_UP: Duration = Duration::from_millis(500);

/// A Secret of the operator's own namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSecret {
    /// The operator's own namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The caches of everything that is watched.
#[derive(Debug)]
pub struct World {
    /// The clusters' resources.
    pub resources: Shelf<Resource>,
    /// Those of the second dialect, which may have the same names.
    pub improbable: Shelf<Resource>,
    /// The backups' resources.
    pub backups: Shelf<Resource>,
    /// Those of the second dialect.
    pub improbable_backups: Shelf<Resource>,
    /// The restores' resources.
    pub restores: Shelf<Resource>,
    /// Those of the second dialect.
    pub improbable_restores: Shelf<Resource>,
    /// Schedules of backups, which the second dialect alone has.
    pub schedules: Shelf<Resource>,
    /// Pods.
    pub pods: Shelf<Pod>,
    /// PersistentVolumeClaims.
    pub volumes: Shelf<Volume>,
    /// Services.
    pub services: Shelf<Service>,
    /// PodDisruptionBudgets.
    pub disruption_budgets: Shelf<DisruptionBudget>,
    /// Locks of archived operators.
    pub(super) predecessors: Predecessors,
    pub(super) selection: Selection,
    pub(super) operator_image: Option<String>,
    store_secret: Option<OwnSecret>,
    changed: tokio::sync::watch::Sender<()>,
}

impl World {
    /// The lock of the archived operator that bears on a cluster.
    pub(crate) async fn old_lock(&self, client: &Client, key: &ClusterKey) -> Observed<OldLock> {
        let predecessors = &self.predecessors;
        predecessors.lock(client, key.dialect, &key.namespace).await
    }

    /// Empty caches of these scopes.
    #[must_use]
    pub fn new(scopes: &[Scope]) -> Self {
        Self {
            resources: Shelf::new(scopes),
            improbable: Shelf::new(scopes),
            backups: Shelf::new(scopes),
            improbable_backups: Shelf::new(scopes),
            restores: Shelf::new(scopes),
            improbable_restores: Shelf::new(scopes),
            schedules: Shelf::new(scopes),
            pods: Shelf::new(scopes),
            volumes: Shelf::new(scopes),
            services: Shelf::new(scopes),
            disruption_budgets: Shelf::new(scopes),
            predecessors: Predecessors::everywhere(scopes.contains(&Scope::All)),
            selection: Selection::default(),
            operator_image: None,
            store_secret: None,
            changed: tokio::sync::watch::Sender::new(()),
        }
    }

    /// The same, for an operator whose own namespace is `home`.
    #[must_use]
    pub fn at_home(self, home: &str) -> Self {
        Self {
            predecessors: self.predecessors.at_home(home),
            ..self
        }
    }

    /// The same, serving what this rule selects.
    #[must_use]
    pub fn serving(self, selection: Selection) -> Self {
        Self { selection, ..self }
    }

    /// The same, for an operator that runs in this image.
    #[must_use]
    pub fn in_image(self, operator_image: Option<String>) -> Self {
        Self {
            operator_image,
            ..self
        }
    }

    /// The same, with a Secret for backups that name none.
    #[must_use]
    pub fn opening_stores_with(self, store_secret: Option<OwnSecret>) -> Self {
        Self {
            store_secret,
            ..self
        }
    }

    /// The Secret for backups that name none, if the operator has one.
    #[must_use]
    pub const fn store_secret(&self) -> Option<&OwnSecret> {
        self.store_secret.as_ref()
    }

    /// To be called after each change of a cache and each end of a list.
    pub fn announce_change(&self) {
        self.changed.send_replace(());
    }

    /// Tells each change of a cache.
    #[must_use]
    pub fn changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Waits until every kind has been listed, or could not be, at least once. Before that an object that is merely not
    /// listed yet would look like one that cannot be read.
    pub async fn settle(&self) {
        let Self {
            resources,
            improbable,
            backups,
            improbable_backups,
            restores,
            improbable_restores,
            schedules,
            pods,
            volumes,
            services,
            disruption_budgets,
            predecessors: _,
            selection: _,
            operator_image: _,
            store_secret: _,
            changed,
        } = self;
        let mut changes = changed.subscribe();
        let is_settled = || {
            resources.is_settled()
                && improbable.is_settled()
                && backups.is_settled()
                && improbable_backups.is_settled()
                && restores.is_settled()
                && improbable_restores.is_settled()
                && schedules.is_settled()
                && pods.is_settled()
                && volumes.is_settled()
                && services.is_settled()
                && disruption_budgets.is_settled()
        };
        while !is_settled() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// What is missing before the caches can be used, one sentence each.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let Self {
            resources,
            // A definition that is not there keeps nobody from serving the first dialect.
            improbable: _,
            improbable_backups: _,
            improbable_restores: _,
            schedules: _,
            backups,
            restores,
            pods,
            volumes,
            services,
            disruption_budgets,
            predecessors: _,
            selection: _,
            operator_image: _,
            store_secret: _,
            changed: _,
        } = self;
        let kinds = [
            (contract::PLURAL, resources.missing()),
            (ResourceKind::EtcdBackup.plural(), backups.missing()),
            (ResourceKind::EtcdRestore.plural(), restores.missing()),
            ("pods", pods.missing()),
            ("persistentvolumeclaims", volumes.missing()),
            ("services", services.missing()),
            ("poddisruptionbudgets", disruption_budgets.missing()),
        ];
        kinds
            .into_iter()
            .flat_map(|(kind, missing)| {
                missing
                    .into_iter()
                    .map(move |what| format!("{kind} {what}"))
            })
            .collect()
    }

    /// The cache of the resources of a kind.
    #[must_use]
    pub const fn resources_of(&self, dialect: Dialect, kind: ResourceKind) -> &Shelf<Resource> {
        match kind {
            ResourceKind::EtcdCluster => self.clusters_of(dialect),
            ResourceKind::EtcdBackup => self.backups_of(dialect),
            ResourceKind::EtcdRestore => match dialect {
                Dialect::Coreos => &self.restores,
                Dialect::Improbable => &self.improbable_restores,
            },
            // A key of the first dialect finds nothing on it.
            ResourceKind::EtcdBackupSchedule => &self.schedules,
        }
    }

    /// Every resource that passes are made over.
    #[must_use]
    pub fn keys(&self) -> Vec<ClusterKey> {
        let backups = Dialect::ALL.map(|dialect| self.backups_of(dialect).keys());
        let restores = Dialect::ALL
            .map(|dialect| self.resources_of(dialect, ResourceKind::EtcdRestore).keys());
        [
            self.clusters(),
            backups.concat(),
            restores.concat(),
            self.schedules.keys(),
        ]
        .concat()
    }

    /// Every cluster, whatever its dialect.
    #[must_use]
    pub fn clusters(&self) -> Vec<ClusterKey> {
        let shelves = Dialect::ALL.map(|dialect| self.clusters_of(dialect).keys());
        shelves.concat()
    }

    /// Calls `each` for every cluster, whatever its dialect.
    pub fn each_cluster(&self, mut each: impl FnMut(&Resource)) {
        for dialect in Dialect::ALL {
            self.clusters_of(dialect).for_each(&mut each);
        }
    }

    /// Calls `each` for every backup, whatever its dialect.
    pub fn each_backup(&self, mut each: impl FnMut(&Resource)) {
        for dialect in Dialect::ALL {
            self.backups_of(dialect).for_each(&mut each);
        }
    }

    /// Calls `each` for every schedule of backups.
    pub fn each_schedule(&self, each: impl FnMut(&Resource)) {
        self.schedules.for_each(each);
    }

    const fn backups_of(&self, dialect: Dialect) -> &Shelf<Resource> {
        match dialect {
            Dialect::Coreos => &self.backups,
            Dialect::Improbable => &self.improbable_backups,
        }
    }

    const fn clusters_of(&self, dialect: Dialect) -> &Shelf<Resource> {
        match dialect {
            Dialect::Coreos => &self.resources,
            Dialect::Improbable => &self.improbable,
        }
    }

    pub(super) fn objects(&self, key: &ClusterKey, now: Instant) -> Objects {
        Objects {
            pods: self.pods.of(key, now),
            volumes: self.volumes.of(key, now),
            services: self.services.of(key, now),
            disruption_budgets: self.disruption_budgets.of(key, now),
            foreign: Vec::new(),
        }
    }

    /// Waits until the caches show what was written; false when they do not in time.
    pub(super) async fn shows(&self, key: &ClusterKey, written: &Written) -> bool {
        let mut changed = self.changed.subscribe();
        let caught_up = async {
            while !written.is_shown(self, key) {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(CATCH_UP, caught_up).await.is_ok()
    }
}
