//! The snapshot of a schedule: the resource and its EtcdBackups. And the schedule that made a backup.

use std::time::Instant;

use contract::{Observed, Resource, ResourceKind, ScheduleView, ScheduledBackup, Snapshot};
use kube::Client;

use super::{Memory, World, at_this_instant};
use crate::key::ClusterKey;

/// Takes the snapshot of one schedule.
pub(super) async fn snapshot(
    client: &Client,
    world: &World,
    key: &ClusterKey,
    resource: Resource,
    memory: &Memory,
) -> Snapshot {
    let backups = backups(world, key, &resource);
    let predecessors = &world.predecessors;
    let old_lock = predecessors.lock(client, key.dialect, &key.namespace).await;
    Snapshot {
        schedule: Some(Box::new(ScheduleView { backups })),
        old_lock,
        outcomes: memory.outcomes.clone(),
        ..at_this_instant(resource)
    }
}

/// Its EtcdBackups, and whatever has the name of the one that is being made.
fn backups(world: &World, key: &ClusterKey, schedule: &Resource) -> Observed<Vec<ScheduledBackup>> {
    let run = schedule.status.pointer("/run/id");
    let run = run.and_then(serde_json::Value::as_str);
    let shelf = world.resources_of(key.dialect, ResourceKind::EtcdBackup);
    match shelf.of_namespace(&key.namespace, Instant::now()) {
        Observed::Seen(backups) => {
            let is_meant = |backup: &&Resource| {
                backup.owner.as_ref() == Some(&schedule.uid) || run == Some(&backup.name)
            };
            let found = backups.iter().filter(is_meant);
            let mut found: Vec<ScheduledBackup> = found.map(ScheduledBackup::of).collect();
            found.sort_by(|one, other| one.name.cmp(&other.name));
            Observed::Seen(found)
        }
        Observed::Absent => Observed::Absent,
        Observed::Unknown(why) => Observed::Unknown(why),
    }
}

impl World {
    /// The schedule that made this backup, by the backup's name: one that is gone says no more.
    pub(super) fn schedule_of(&self, key: &ClusterKey) -> Vec<ClusterKey> {
        let named = key.name.rsplit_once('-').map(|(schedule, _time)| {
            ClusterKey::beside(key, ResourceKind::EtcdBackupSchedule, schedule)
        });
        let there = named.filter(|schedule| {
            let shelf = self.resources_of(schedule.dialect, schedule.kind);
            shelf.one(schedule, &schedule.name).is_some()
        });
        there.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use contract::Dialect;
    use serde_json::json;

    use super::*;
    use crate::observe::shelf::Scope;

    fn key(kind: ResourceKind, name: &str) -> ClusterKey {
        ClusterKey {
            dialect: Dialect::Improbable,
            ..ClusterKey::new(kind, "infra", name)
        }
    }

    fn put(world: &World, name: &str, owner: Option<&str>) {
        let backup = Resource {
            name: name.to_owned(),
            namespace: "infra".to_owned(),
            owner: owner.map(str::to_owned),
            ..Resource::default()
        };
        let key = key(ResourceKind::EtcdBackup, name);
        world.improbable_backups.put(key, backup);
    }

    #[test]
    fn a_schedule_sees_its_own_backups_and_what_has_the_name_of_the_next() {
        let world = World::new(&[Scope::All]);
        let schedule = Resource {
            uid: "s".to_owned(),
            status: json!({"run": {"id": "nightly-3"}}),
            ..Resource::default()
        };
        let own = key(ResourceKind::EtcdBackupSchedule, "nightly");
        put(&world, "nightly-2", Some("s"));
        put(&world, "nightly-1", Some("s"));
        put(&world, "nightly-3", None);
        put(&world, "nightly-4", Some("another"));
        assert!(
            matches!(backups(&world, &own, &schedule), Observed::Unknown(_)),
            "what was not listed yet is no empty list"
        );
        let shown = ["nightly-1", "nightly-2", "nightly-3", "nightly-4"];
        let shown = shown.map(|name| ("infra".to_owned(), name.to_owned()));
        let shown = std::collections::BTreeSet::from(shown);
        world.improbable_backups.listed(&Scope::All, &shown);
        let Observed::Seen(found) = backups(&world, &own, &schedule) else {
            panic!("unknown");
        };
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["nightly-1", "nightly-2", "nightly-3"]);
    }

    #[test]
    fn a_change_of_a_backup_is_one_for_the_schedule_that_made_it() {
        let world = World::new(&[Scope::All]);
        let own = key(ResourceKind::EtcdBackupSchedule, "nightly");
        let schedule = Resource {
            name: "nightly".to_owned(),
            namespace: "infra".to_owned(),
            ..Resource::default()
        };
        world.schedules.put(own.clone(), schedule);
        let of = |name| world.concerned_by(&key(ResourceKind::EtcdBackup, name));
        assert_eq!(of("nightly-20261125033000"), [own]);
        assert_eq!(of("weekly-20261125033000"), []);
        assert_eq!(of("nightly"), []);
    }
}
