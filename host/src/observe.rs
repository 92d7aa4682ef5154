//! Observes: fills one snapshot from the caches, or from live reads where the caches may be behind.
//!
//! The only reader of the clock and of randomness for decisions. It judges nothing.
//!
//! # Reading one's own writes
//! A decision that acted must not be made again on a cache that has not seen the act. What the host wrote is kept in
//! [`Written`]; the next snapshot waits until the caches show all of it, and reads live when they do not in time.
//! A write whose answer was lost cannot be waited for, so after it the next snapshot is live at once.

mod backup;
mod clock;
mod cluster;
pub mod etcd;
mod guard;
mod live;
mod predecessor;
pub mod project;
mod restore;
pub mod secret;
pub mod selection;
pub mod shelf;
pub mod watch;
mod written;

use std::time::{Duration, Instant};

use contract::{
    Dialect, DisruptionBudget, ForeignObject, Millis, Objects, Observed, PastOutcome, Pod,
    Resource, ResourceKind, Service, Snapshot, Volume,
};
use envelope::Pace;
use kube::Client;
use tracing::debug;

pub use clock::ahead_of;
pub use cluster::recorded_cluster;
pub(crate) use live::within;
pub use live::{Error, Head, head, neighbours, resource, resource_kind, resource_kind_of};
pub use written::{Written, WrittenObject};

use crate::backup::{Sight, Transfers};
use crate::etcd::Connections;
use crate::key::ClusterKey;
use predecessor::Predecessors;
use secret::Secrets;
use selection::Selection;
use shelf::{Scope, Shelf};

/// How long a snapshot waits for the caches to show what this host wrote.
const CATCH_UP: Duration = Duration::from_millis(500);

/// The caches of everything that is watched.
#[derive(Debug)]
pub struct World {
    /// The clusters' resources.
    pub resources: Shelf<Resource>,
    /// Those of the second dialect, which may have the same names.
    pub improbable: Shelf<Resource>,
    /// The backups' resources.
    pub backups: Shelf<Resource>,
    /// The restores' resources.
    pub restores: Shelf<Resource>,
    /// Pods.
    pub pods: Shelf<Pod>,
    /// PersistentVolumeClaims.
    pub volumes: Shelf<Volume>,
    /// Services.
    pub services: Shelf<Service>,
    /// PodDisruptionBudgets.
    pub disruption_budgets: Shelf<DisruptionBudget>,
    /// Locks of archived operators.
    predecessors: Predecessors,
    selection: Selection,
    operator_image: Option<String>,
    changed: tokio::sync::watch::Sender<()>,
}

impl World {
    /// Empty caches of these scopes.
    #[must_use]
    pub fn new(scopes: &[Scope]) -> Self {
        Self {
            resources: Shelf::new(scopes),
            improbable: Shelf::new(scopes),
            backups: Shelf::new(scopes),
            restores: Shelf::new(scopes),
            pods: Shelf::new(scopes),
            volumes: Shelf::new(scopes),
            services: Shelf::new(scopes),
            disruption_budgets: Shelf::new(scopes),
            predecessors: Predecessors::everywhere(scopes.contains(&Scope::All)),
            selection: Selection::default(),
            operator_image: None,
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
            restores,
            pods,
            volumes,
            services,
            disruption_budgets,
            predecessors: _,
            selection: _,
            operator_image: _,
            changed,
        } = self;
        let mut changes = changed.subscribe();
        let is_settled = || {
            resources.is_settled()
                && improbable.is_settled()
                && backups.is_settled()
                && restores.is_settled()
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
            backups,
            restores,
            pods,
            volumes,
            services,
            disruption_budgets,
            predecessors: _,
            selection: _,
            operator_image: _,
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
            ResourceKind::EtcdBackup => &self.backups,
            ResourceKind::EtcdRestore => &self.restores,
        }
    }

    /// Every resource that passes are made over.
    #[must_use]
    pub fn keys(&self) -> Vec<ClusterKey> {
        [self.clusters(), self.backups.keys(), self.restores.keys()].concat()
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

    const fn clusters_of(&self, dialect: Dialect) -> &Shelf<Resource> {
        match dialect {
            Dialect::Coreos => &self.resources,
            Dialect::Improbable => &self.improbable,
        }
    }

    fn objects(&self, key: &ClusterKey, now: Instant) -> Objects {
        Objects {
            pods: self.pods.of(key, now),
            volumes: self.volumes.of(key, now),
            services: self.services.of(key, now),
            disruption_budgets: self.disruption_budgets.of(key, now),
            foreign: Vec::new(),
        }
    }

    /// Waits until the caches show what was written; false when they do not in time.
    async fn shows(&self, key: &ClusterKey, written: &Written) -> bool {
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

/// What the host remembers of one cluster between two passes. Losing it costs nothing but words in a report.
#[derive(Default)]
pub struct Memory {
    /// UID of the resource all this is about.
    pub uid: String,
    /// What became of the actions of the last decision.
    pub outcomes: Vec<PastOutcome>,
    /// Objects of others under the cluster's names.
    pub foreign: Vec<ForeignObject>,
    /// What was written and perhaps not yet shown by the caches.
    pub written: Written,
    /// Connections to the members.
    pub connections: Connections,
    /// The Secrets the cluster names, as they were last read.
    pub secrets: Secrets,
    /// Whether it was said that another operator serves the cluster.
    pub left_alone: bool,
    /// The ways that the last look at a backup found.
    pub sight: Sight,
    /// Passes in a row that the host could not finish.
    pub failures: u32,
    /// The rule by which the last pass's action was refused on a fresh read, and in how many passes in a row.
    pub refused: Option<(&'static str, u32)>,
    /// The members that were last shown as objects, where the dialect does so.
    pub peers: Option<crate::peers::Shown>,
    /// How much the module may still tell.
    pub pace: Pace,
}

/// What was found under a key.
pub enum Found {
    /// No such resource (any more).
    Gone,
    /// It is for another operator to serve; why, for people.
    NotServed(Box<Resource>, String),
    /// The snapshot of it.
    Snapshot(Box<Snapshot>),
}

/// Takes the snapshot of one resource.
///
/// # Errors
/// The resource itself could not be read. Children that could not be read are `Unknown` in the snapshot.
pub async fn snapshot(
    client: &Client,
    world: &World,
    transfers: &Transfers,
    key: &ClusterKey,
    memory: &mut Memory,
) -> Result<Found, Error> {
    let found = look(client, world, key, memory).await?;
    let uid = found.as_ref().map(|(resource, _)| &resource.uid);
    if uid != Some(&memory.uid) {
        transfers.forget(&memory.uid);
    }
    let Some((resource, objects)) = found else {
        return Ok(Found::Gone);
    };
    if memory.uid != resource.uid {
        *memory = Memory {
            uid: resource.uid.clone(),
            ..Memory::default()
        };
    }
    if let Some(why) = world.selection.why_not(&resource) {
        return Ok(Found::NotServed(Box::new(resource), why));
    }
    let snapshot = match key.kind {
        ResourceKind::EtcdCluster => {
            cluster::snapshot(client, world, key, resource, objects, memory).await
        }
        ResourceKind::EtcdBackup => {
            backup::snapshot(client, world, transfers, resource, memory).await
        }
        ResourceKind::EtcdRestore => {
            restore::snapshot(client, world, transfers, resource, memory).await
        }
    };
    Ok(Found::Snapshot(Box::new(snapshot)))
}

/// The resource, the clock and fresh entropy.
pub(crate) fn at_this_instant(resource: Resource) -> Snapshot {
    let now = Millis(jiff::Timestamp::now().as_millisecond());
    Snapshot::bare(resource, now, format!("{:032x}", rand::random::<u128>()))
}

/// The resource and its children: from the caches when they are known to show the host's own writes.
async fn look(
    client: &Client,
    world: &World,
    key: &ClusterKey,
    memory: &mut Memory,
) -> Result<Option<(Resource, Objects)>, Error> {
    if memory.written.can_be_awaited() && world.shows(key, &memory.written).await {
        memory.written = Written::default();
        let now = Instant::now();
        match world.resources_of(key.dialect, key.kind).of(key, now) {
            Observed::Seen(mut resources) => {
                return Ok(resources
                    .pop()
                    .map(|resource| (resource, world.objects(key, now))));
            }
            Observed::Absent => return Ok(None),
            Observed::Unknown(why) => debug!(why, "The cache of the resources cannot be used"),
        }
    }
    debug!("Reading the cluster live");
    let Some(resource) = live::resource(client, key).await? else {
        return Ok(None);
    };
    let objects = match key.kind {
        ResourceKind::EtcdCluster => live::objects(client, key).await,
        ResourceKind::EtcdBackup | ResourceKind::EtcdRestore => world.objects(key, Instant::now()),
    };
    memory.written.read_live(Instant::now());
    Ok(Some((resource, objects)))
}
