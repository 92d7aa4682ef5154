//! What the host wrote for one cluster, until the caches show it.
//!
//! Compares resourceVersions as numbers, which Kubernetes guarantees for objects of one kind; where they are no
//! numbers only equality counts.

use std::time::{Duration, Instant};

use contract::{ObjectKind, ResourceKind};

use super::World;
use super::shelf::{Projected, Shelf};
use crate::key::ClusterKey;

/// After this long a write that the caches never showed was undone by somebody else.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// The writes of one cluster that its caches may not show yet.
#[derive(Debug, Default)]
pub struct Written {
    objects: Vec<WrittenObject>,
    last: Option<Instant>,
    /// The answer to a write was lost, so nobody knows what to wait for.
    lost: bool,
}

/// One object as it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenObject {
    /// The resource itself, at this version.
    Resource {
        /// resourceVersion in the answer.
        version: String,
    },
    /// A child, at this version.
    Child {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
        /// resourceVersion in the answer.
        version: String,
    },
    /// An EtcdBackup that was made for the schedule.
    Scheduled {
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
        /// resourceVersion in the answer.
        version: String,
    },
    /// An EtcdBackup of the schedule whose deletion was accepted.
    Unscheduled {
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
    },
    /// A child whose deletion was accepted.
    Deleted {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// Its UID.
        uid: String,
    },
}

impl Written {
    /// Remembers a write that was answered.
    pub fn push(&mut self, object: WrittenObject, now: Instant) {
        self.objects.push(object);
        self.last = Some(now);
    }

    /// Remembers that the answer to a write was lost.
    pub const fn lose(&mut self) {
        self.lost = true;
    }

    /// Whether waiting for the caches can show all of it.
    #[must_use]
    pub const fn can_be_awaited(&self) -> bool {
        !self.lost
    }

    /// A live read has shown what became of a lost write. The others are still waited for, so that a cache behind
    /// that read is not taken for a later state.
    pub fn read_live(&mut self, now: Instant) {
        self.lost = false;
        if self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) >= FORGOTTEN_AFTER)
        {
            *self = Self::default();
        }
    }

    /// Whether the caches show all of it, or something later.
    #[must_use]
    pub fn is_shown(&self, world: &World, key: &ClusterKey) -> bool {
        self.objects.iter().all(|object| match object {
            WrittenObject::Resource { version } => world
                .resources_of(key.dialect, key.kind)
                .one(key, &key.name)
                .is_none_or(|resource| is_at_least(&resource.resource_version, version)),
            WrittenObject::Child {
                kind,
                name,
                uid,
                version,
            } => match kind {
                ObjectKind::Pod => shows(&world.pods, key, name, uid, version),
                ObjectKind::PersistentVolumeClaim => shows(&world.volumes, key, name, uid, version),
                ObjectKind::Service => shows(&world.services, key, name, uid, version),
                // These are read, not watched.
                ObjectKind::Secret | ObjectKind::ReplicaSet => true,
                ObjectKind::PodDisruptionBudget => {
                    shows(&world.disruption_budgets, key, name, uid, version)
                }
            },
            WrittenObject::Scheduled { name, uid, version } => {
                let backup = ClusterKey::beside(key, ResourceKind::EtcdBackup, name);
                let shelf = world.resources_of(backup.dialect, backup.kind);
                shows(shelf, &backup, name, uid, version)
            }
            WrittenObject::Unscheduled { name, uid } => {
                let backup = ClusterKey::beside(key, ResourceKind::EtcdBackup, name);
                let shelf = world.resources_of(backup.dialect, backup.kind);
                shows_deleted(shelf, &backup, name, uid)
            }
            WrittenObject::Deleted { kind, name, uid } => match kind {
                ObjectKind::Pod => shows_deleted(&world.pods, key, name, uid),
                ObjectKind::PersistentVolumeClaim => shows_deleted(&world.volumes, key, name, uid),
                ObjectKind::Service => shows_deleted(&world.services, key, name, uid),
                ObjectKind::Secret | ObjectKind::ReplicaSet => true,
                ObjectKind::PodDisruptionBudget => {
                    shows_deleted(&world.disruption_budgets, key, name, uid)
                }
            },
        })
    }
}

fn shows<T: Projected>(
    shelf: &Shelf<T>,
    key: &ClusterKey,
    name: &str,
    uid: &str,
    version: &str,
) -> bool {
    shelf.one(key, name).is_some_and(|object| {
        object.uid() != uid || is_at_least(object.resource_version(), version)
    })
}

fn shows_deleted<T: Projected>(shelf: &Shelf<T>, key: &ClusterKey, name: &str, uid: &str) -> bool {
    shelf
        .one(key, name)
        .is_none_or(|object| object.uid() != uid || object.is_terminating())
}

fn is_at_least(shown: &str, written: &str) -> bool {
    match (shown.parse::<u64>(), written.parse::<u64>()) {
        (Ok(shown), Ok(written)) => shown >= written,
        (Ok(_), Err(_)) | (Err(_), Ok(_) | Err(_)) => shown == written,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use contract::Service;

    use super::*;
    use crate::observe::shelf::Scope;

    fn key() -> ClusterKey {
        ClusterKey {
            dialect: contract::Dialect::Coreos,
            kind: contract::ResourceKind::EtcdCluster,
            namespace: "infra".to_owned(),
            name: "kv".to_owned(),
        }
    }

    fn service(version: &str) -> Service {
        Service {
            name: "kv".to_owned(),
            uid: "u".to_owned(),
            resource_version: version.to_owned(),
            owner: None,
            labels: BTreeMap::new(),
            deleted: None,
            cluster_ip: None,
            selector: BTreeMap::new(),
            ports: Vec::new(),
            publish_not_ready: false,
        }
    }

    fn written(version: &str) -> Written {
        let mut written = Written::default();
        let object = WrittenObject::Child {
            kind: ObjectKind::Service,
            name: "kv".to_owned(),
            uid: "u".to_owned(),
            version: version.to_owned(),
        };
        written.push(object, Instant::now());
        written
    }

    #[test]
    fn a_created_object_is_waited_for_until_the_cache_has_it_or_a_later_one() {
        let world = World::new(&[Scope::All]);
        assert!(!written("10").is_shown(&world, &key()));
        world.services.put(key(), service("9"));
        assert!(
            !written("10").is_shown(&world, &key()),
            "9 is older than 10 although it sorts after it as text"
        );
        world.services.put(key(), service("11"));
        assert!(written("10").is_shown(&world, &key()));
    }

    #[test]
    fn a_deleted_object_is_waited_for_until_it_is_gone_or_going() {
        let world = World::new(&[Scope::All]);
        let mut written = Written::default();
        let object = WrittenObject::Deleted {
            kind: ObjectKind::Service,
            name: "kv".to_owned(),
            uid: "u".to_owned(),
        };
        written.push(object, Instant::now());
        world.services.put(key(), service("9"));
        assert!(!written.is_shown(&world, &key()));
        world.services.put(
            key(),
            Service {
                deleted: Some(contract::Millis(1)),
                ..service("10")
            },
        );
        assert!(written.is_shown(&world, &key()));
        world.services.remove("infra", "kv");
        assert!(written.is_shown(&world, &key()));
    }

    #[test]
    fn a_lost_answer_cannot_be_waited_for() {
        let mut written = Written::default();
        written.lose();
        assert!(!written.can_be_awaited());
        written.read_live(Instant::now());
        assert!(written.can_be_awaited());
    }

    #[test]
    fn a_write_that_somebody_undid_is_not_waited_for_for_ever() {
        let world = World::new(&[Scope::All]);
        let mut written = written("10");
        written.read_live(Instant::now());
        assert!(!written.is_shown(&world, &key()));
        written.read_live(Instant::now() + FORGOTTEN_AFTER);
        assert!(written.is_shown(&world, &key()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cache_that_does_not_catch_up_is_given_up_after_a_moment() {
        let world = World::new(&[Scope::All]);
        assert!(!world.shows(&key(), &written("10")).await);
    }
}
