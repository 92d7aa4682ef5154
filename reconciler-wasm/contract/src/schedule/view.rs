//! What a decision on a schedule may know of the world: its EtcdBackups.

use serde::{Deserialize, Serialize};

use crate::{EtcdBackupStatus, Millis, Observed, Resource};

/// The part of a snapshot that is about a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    /// EtcdBackups that belong to the schedule, and whatever has the name of the one that is being made; sorted by name.
    pub backups: Observed<Vec<ScheduledBackup>>,
}

/// An EtcdBackup, as far as its schedule needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledBackup {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// UID of the controlling owner reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When it was created.
    pub created: Millis,
    /// Its deletion was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// How it stands.
    pub state: ScheduledState,
    /// When it was stored, of one that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
}

/// How an EtcdBackup stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ScheduledState {
    /// Not over; also where its status cannot be read.
    UnderWay,
    /// It is stored and was read back whole.
    Succeeded,
    /// It failed and is not tried again.
    Failed,
}

impl ScheduledBackup {
    /// Takes what counts out of an EtcdBackup of the domain.
    #[must_use]
    pub fn of(backup: &Resource) -> Self {
        let status = EtcdBackupStatus::deserialize(&backup.status);
        let (state, stored) = match status {
            Ok(status) if status.succeeded => (ScheduledState::Succeeded, status.last_success_date),
            Ok(status) if status.is_over() => (ScheduledState::Failed, None),
            Ok(_) | Err(_) => (ScheduledState::UnderWay, None),
        };
        Self {
            name: backup.name.clone(),
            uid: backup.uid.clone(),
            owner: backup.owner.clone(),
            created: backup.created,
            deleted: backup.deleted.is_some(),
            state,
            stored,
        }
    }

    /// Whether it succeeded or failed.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        match self.state {
            ScheduledState::UnderWay => false,
            ScheduledState::Succeeded | ScheduledState::Failed => true,
        }
    }
}
