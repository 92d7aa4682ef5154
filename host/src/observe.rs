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
mod restored;
mod schedule;
pub mod secret;
pub mod selection;
pub mod shelf;
pub mod watch;
mod world;
mod written;

use std::time::Instant;

use contract::{
    ForeignObject, Millis, Objects, Observed, PastOutcome, Resource, ResourceKind, Snapshot,
};
use envelope::Pace;
use kube::Client;
use tracing::debug;

pub use clock::ahead_of;
pub use cluster::recorded_cluster;
pub use live::{Error, Head, head, neighbours, resource, resource_kind_of};
pub(crate) use live::{claims, within};
pub(crate) use restored::{being_restored, being_restored_now};
pub use world::{OwnSecret, World};
pub use written::{Written, WrittenObject};

use crate::backup::{Sight, Transfers};
use crate::etcd::Connections;
use crate::key::ClusterKey;
use secret::Secrets;

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
    /// When no old member was on its way out.
    pub departing: crate::departing::Looked,
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
            backup::snapshot(client, world, key, transfers, resource, memory).await
        }
        ResourceKind::EtcdRestore => {
            restore::snapshot(client, world, transfers, resource, memory).await
        }
        ResourceKind::EtcdBackupSchedule => {
            schedule::snapshot(client, world, key, resource, memory).await
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
        ResourceKind::EtcdBackup | ResourceKind::EtcdRestore | ResourceKind::EtcdBackupSchedule => {
            world.objects(key, Instant::now())
        }
    };
    memory.written.read_live(Instant::now());
    Ok(Some((resource, objects)))
}
