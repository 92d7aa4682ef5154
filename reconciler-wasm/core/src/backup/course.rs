//! A pass over a backup.

use contract::{BackupEffect, Condition, Effect, EtcdBackupStatus};

use crate::course::{self, Told};

/// What a pass does, found and remembers.
pub(super) type Course<'a> = course::Course<'a, EtcdBackupStatus>;

impl Told for EtcdBackupStatus {
    fn conditions(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }

    fn answer(&mut self, generation: i64) {
        self.observed_generation = Some(generation);
    }

    fn update(self) -> Effect {
        let status = Box::new(self);
        Effect::Backup(BackupEffect::UpdateStatus { status })
    }
}
