//! How each backup stands, as the statuses of the EtcdBackups and EtcdBackupSchedules have it: when one was last stored, and when one was last seen
//! to restore.
//!
//! A backup that never was, or was never proven, counts from the creation of its object, so that an alert on age sees it.
//! One that is taken once, on demand, or is suspended does not age.

use contract::{
    BackupScheduleSpec, BackupScheduleStatus, EtcdBackupSpec, EtcdBackupStatus, RehearsalVerdict,
    Resource,
};
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Unit;
use serde::Deserialize;

use crate::observe::World;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BackupLabels {
    namespace: String,
    name: String,
}

/// The gauges of one scrape.
#[derive(Default)]
struct Gauges {
    failed: Family<BackupLabels, Gauge>,
    restores: Family<BackupLabels, Gauge>,
    stored: Family<BackupLabels, Gauge>,
    proven: Family<BackupLabels, Gauge>,
}

impl Gauges {
    fn add(&self, resource: &Resource) {
        let Ok(status) = EtcdBackupStatus::deserialize(&resource.status) else {
            return;
        };
        let labels = BackupLabels {
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
        };
        let created = resource.created.0 / 1000;
        let seconds = |date: Option<&String>| {
            let date = date.and_then(|date| date.parse::<jiff::Timestamp>().ok());
            date.map_or(created, jiff::Timestamp::as_second)
        };
        let has_failed = !status.succeeded && !status.reason.is_empty();
        self.failed
            .get_or_create(&labels)
            .set(i64::from(has_failed));
        let Ok(spec) = EtcdBackupSpec::deserialize(&resource.spec) else {
            return;
        };
        if spec.is_due_again() {
            self.stored
                .get_or_create(&labels)
                .set(seconds(status.last_success_date.as_ref()));
        }
        if !spec.rehearses() {
            return;
        }
        let last = status.rehearsal.as_ref();
        self.proven.get_or_create(&labels).set(seconds(
            last.and_then(|last| last.last_success_date.as_ref()),
        ));
        match last.map(|last| last.verdict) {
            Some(RehearsalVerdict::Restores) => self.restores.get_or_create(&labels).set(1),
            Some(RehearsalVerdict::DoesNot) => self.restores.get_or_create(&labels).set(0),
            Some(RehearsalVerdict::NotTried) | None => return,
        };
    }
}

impl Gauges {
    /// Each backup of a schedule is an object of its own, so it is the schedule that ages.
    fn add_schedule(&self, resource: &Resource) {
        let spec = BackupScheduleSpec::deserialize(&resource.spec).unwrap_or_default();
        if spec.policy.suspend == Some(true) {
            return;
        }
        let status = BackupScheduleStatus::deserialize(&resource.status).unwrap_or_default();
        let last = status.last_successful_time;
        let last = last.and_then(|date| date.parse::<jiff::Timestamp>().ok());
        let labels = BackupLabels {
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
        };
        let created = resource.created.0 / 1000;
        self.stored
            .get_or_create(&labels)
            .set(last.map_or(created, jiff::Timestamp::as_second));
    }
}

/// Encodes the gauges of all backups.
pub(super) fn encode(
    encoder: &mut DescriptorEncoder,
    world: &World,
) -> Result<(), std::fmt::Error> {
    let gauges = Gauges::default();
    world.each_backup(|resource| gauges.add(resource));
    world.each_schedule(|resource| gauges.add_schedule(resource));
    let Gauges {
        failed,
        restores,
        stored,
        proven,
    } = gauges;
    let seconds = Some(&Unit::Seconds);
    for (name, help, unit, family) in [
        (
            "backup_failed",
            "1 while the last backup failed",
            None,
            failed,
        ),
        (
            "backup_restores",
            "1 where the last backup that was tried restores, 0 where it does not",
            None,
            restores,
        ),
        (
            "backup_last_success_timestamp",
            "When a backup of a rhythm was last stored, in seconds since 1970",
            seconds,
            stored,
        ),
        (
            "backup_proven_timestamp",
            "When a backup was last seen to restore, in seconds since 1970",
            seconds,
            proven,
        ),
    ] {
        let kind = family.metric_type();
        family.encode(encoder.encode_descriptor(name, help, unit, kind)?)?;
    }
    Ok(())
}
