//! What is hard to take back waits for a backup, where an EtcdBackup of the cluster asks for that.
//!
//! The wish stands in the status; the EtcdBackups see it there and answer by their own. Takes no backup itself.
//!
//! # Guarantees
//! Without the backups that are asked for the act is not begun, whatever keeps them from being taken. Once they are there
//! they count until the act is over, so what has begun does not wait in its middle. One that is stored or under way when
//! the act is asked for never counts, also by a clock that fell behind.

use contract::{
    BackupBefore, EtcdBackupSpec, EtcdBackupStatus, FindingKind, Millis, Observed, Reason,
    Resource, RestorationStage, RiskyAct,
};

use super::{LATER, Step};
use crate::assess::{Living, Situation};
use crate::step::upgrade::{self, Plan};
use crate::validate::Cluster;
use crate::{backup, clock, stored};

/// Why an act must wait for a backup, in words that follow "once" or a colon; none when nothing is to be waited for.
pub(super) fn why_not(
    situation: &Situation<'_>,
    act: RiskyAct,
    target: &str,
    step: &mut Step,
) -> Option<(FindingKind, String)> {
    let guards = match &situation.snapshot.guards {
        Observed::Absent => return None,
        Observed::Seen(guards) => guards,
        Observed::Unknown(why) => {
            let words = format!("it is known which EtcdBackups ask for a backup before ({why})");
            return Some((FindingKind::Waiting, words));
        }
    };
    let asking: Vec<(&Resource, EtcdBackupStatus)> = guards
        .iter()
        .filter(|guard| guard.deleted.is_none())
        .filter_map(|guard| asks(situation, guard, act).map(|status| (guard, status)))
        .collect();
    if asking.is_empty() {
        return None;
    }
    let now = newest(&asking).max(situation.snapshot.now);
    let known = situation.memory.backup_before.as_ref();
    let known = known.filter(|wish| wish.act == act && wish.target == target);
    let wish = known
        .and_then(|wish| Some((wish.clone(), clock::read(&wish.since)?)))
        // Else it is of a clock that was ahead, or this one fell behind: no backup of this one's would count.
        .filter(|(_, since)| *since <= now);
    let (wish, since) = wish.unwrap_or_else(|| {
        let since = clock::spell(now);
        let target = target.to_owned();
        (BackupBefore { act, target, since }, now)
    });
    step.backup_before = Some(wish);
    let (guard, status) = asking
        .iter()
        .find(|(_, status)| !backup::began_since(status, since))?;
    step.look_again(LATER, Reason::BackupBeforeChange);
    let name = &guard.name;
    let failed = status.last_failure_date.as_deref().and_then(clock::read);
    if failed.is_some_and(|failed| failed >= since) && !status.succeeded {
        let why = &status.reason;
        let words = format!(
            "EtcdBackup {name} has stored a backup; its last one failed: {why}. Correct that, or take this act out of \
             its spec.backupPolicy.before to go on without one"
        );
        return Some((FindingKind::Blocked, words));
    }
    Some((
        FindingKind::Waiting,
        format!("EtcdBackup {name} has stored a backup, as its spec.backupPolicy.before asks"),
    ))
}

/// When the last of their backups ended or began, by the clock of then: one that is behind it takes none of them for a
/// later one.
fn newest(asking: &[(&Resource, EtcdBackupStatus)]) -> Millis {
    let told = asking.iter().flat_map(|(_, status)| {
        let run = status.run.as_ref().map(|run| run.started_at.as_str());
        [status.last_success_date.as_deref(), run]
    });
    let told = told.flatten().filter_map(clock::read);
    told.max().unwrap_or_default()
}

/// The status of an EtcdBackup that is to be taken before the act; none where it is not.
fn asks(situation: &Situation<'_>, guard: &Resource, act: RiskyAct) -> Option<EtcdBackupStatus> {
    let spec: EtcdBackupSpec = stored::read(&guard.spec).ok()?;
    let cluster = spec.cluster_ref.as_ref()?;
    let is_asked = cluster.name == situation.snapshot.resource.name && spec.before().contains(&act);
    is_asked.then(|| stored::read(&guard.status).unwrap_or_default())
}

/// What of the wish is remembered after this pass: all of it, until its act is over or not asked for any more.
pub(crate) fn remembered(
    cluster: &Cluster,
    situation: &Situation<'_>,
    living: Option<&Living<'_>>,
    step: &Step,
) -> Option<BackupBefore> {
    if let Some(wish) = &step.backup_before {
        return Some(wish.clone());
    }
    let known = situation.memory.backup_before.as_ref()?;
    let is_wanted = match known.act {
        RiskyAct::Upgrade => living.is_none_or(|living| {
            known.target == cluster.image && matches!(upgrade::plan(cluster, living), Plan::Move(_))
        }),
        RiskyAct::ScaleToZero => cluster.size == Some(0) && situation.memory.asleep_since.is_none(),
        RiskyAct::Restore => situation.memory.restoration.as_ref().is_some_and(|memory| {
            memory.uid == known.target && memory.stage == RestorationStage::Waiting
        }),
    };
    is_wanted.then(|| known.clone())
}
