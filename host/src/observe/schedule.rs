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
