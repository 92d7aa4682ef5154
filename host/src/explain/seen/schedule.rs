//! What a snapshot of a schedule showed: when an EtcdBackup is wanted, and those that are there.

use contract::{BackupScheduleSpec, Observed, ScheduleView, ScheduledState, Snapshot};
use serde::Deserialize;

use crate::output::span;

/// Paragraphs on all that was seen.
pub(super) fn tell(snapshot: &Snapshot) -> Vec<String> {
    let mut told = vec![wanted(snapshot)];
    told.extend(
        snapshot
            .schedule
            .as_deref()
            .map(|view| backups(view, snapshot)),
    );
    told
}

fn wanted(snapshot: &Snapshot) -> String {
    let policy = match BackupScheduleSpec::deserialize(&snapshot.resource.spec) {
        Ok(spec) => spec.policy,
        Err(error) => return format!("Wanted: the spec cannot be read ({error}).\n"),
    };
    let zone = policy.time_zone.as_deref().unwrap_or("UTC");
    match (&policy.schedule, policy.backup_interval_in_second) {
        (Some(schedule), _) => format!("Wanted: an EtcdBackup at \"{schedule}\" ({zone}).\n"),
        (None, Some(seconds)) => format!("Wanted: an EtcdBackup every {seconds} s.\n"),
        (None, None) => "Wanted: EtcdBackups at no time.\n".to_owned(),
    }
}

fn backups(view: &ScheduleView, snapshot: &Snapshot) -> String {
    let known = match &view.backups {
        Observed::Seen(known) => known,
        Observed::Absent => return "EtcdBackups: not looked for.\n".to_owned(),
        Observed::Unknown(why) => return format!("EtcdBackups: unknown ({why}).\n"),
    };
    let rows = known.iter().map(|backup| {
        let state = match backup.state {
            ScheduledState::UnderWay => "under way",
            ScheduledState::Succeeded => "succeeded",
            ScheduledState::Failed => "failed",
        };
        let own = backup.owner.as_ref() == Some(&snapshot.resource.uid);
        let whose = if own {
            ""
        } else {
            ", and not of this schedule"
        };
        let age = span(snapshot.now.since(backup.created));
        format!("  {}: {state}, {age} old{whose}\n", backup.name)
    });
    format!("EtcdBackups: {}\n{}", known.len(), rows.collect::<String>())
}
