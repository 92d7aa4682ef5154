//! What may at most be done about a backup: under its own names, from its own endpoints, one run at a time, and never to
//! the newest backup there is.
//!
//! The whole decision first, then each effect against a fresh read. Shares no code with the reconciler.

mod deletion;
mod rehearsal;
mod stored;
mod told;
mod words;

use contract::{
    Action, BackupEffect, BackupKey, Effect, EtcdBackupSpec, Millis, OLD_FINALIZER, Place,
    Resource, ResourceKind, STORED_FINALIZER, ScheduleEffect, Snapshot, Take, TransferState,
};
use serde::Deserialize;

use crate::{Fresh, Refusal};
pub use rehearsal::RehearsalHead;
use stored::{is_surplus, judge_overwriting};

/// The longest a transfer may be given.
const LONGEST: Millis = Millis::seconds(7 * 24 * 3600);

/// What is wrong with an effect on a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupRefusal {
    /// An effect of another kind of resource.
    OtherKind {
        /// The effect.
        effect: &'static str,
        /// The resource's kind.
        kind: String,
    },
    /// A cluster that the restore does not describe, has not proven its backup for, or that is there already.
    ForeignCluster(String),
    /// Not a name that this backup gives.
    ForeignKey(String),
    /// An endpoint that is not the backup's.
    ForeignEndpoint(String),
    /// A finalizer that is not this operator's to take away.
    ForeignFinalizer(String),
    /// No time, or more than there may be.
    Time(Millis),
    /// A transfer of this backup is under way.
    UnderWay(String),
    /// The status does not hold the run.
    Unrecorded(String),
    /// The newest backup stays.
    Newest(String),
    /// The object is not in the store.
    NotStored(String),
    /// It was not read whole for this restore.
    Unproven(String),
    /// The spec keeps it.
    Kept(String),
    /// Something is stored under that name.
    Stored(String),
    /// The name does not say the member's revision and the time.
    Untrue(String),
    /// The status would forget a success.
    Forgotten,
    /// An image that no rehearsal of this backup may run.
    ForeignImage(String),
    /// It is being tried whether the object restores.
    Rehearsed(String),
    /// A rehearsal that does not begin now, and why.
    NotTried(&'static str),
    /// The object may be being restored.
    BeingRestored {
        /// Its name in the bucket.
        key: String,
        /// Who may still read it.
        by: String,
    },
    /// An EtcdBackup that the schedule does not make, or may not delete, and why.
    NotScheduled {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl From<BackupRefusal> for Refusal {
    fn from(refusal: BackupRefusal) -> Self {
        Self::Backup(refusal)
    }
}

/// What counts of a backup immediately before an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupHead {
    /// `status.run.id`.
    pub run: Option<String>,
    /// The run of the transfer under way.
    pub transfer: Option<String>,
    /// `status.rehearsalRun`.
    pub rehearsal: Option<RehearsalHead>,
    /// See [`is_taken_along`].
    pub taken_along: bool,
    /// The spec keeps backups for their age, or cannot be read.
    pub kept_by_age: bool,
}

impl BackupHead {
    /// Takes what counts out of a resource, beside the run of the transfer under way.
    #[must_use]
    pub fn of(resource: &Resource, transfer: Option<String>) -> Self {
        let run = resource.status.pointer("/run/id");
        let run = run.and_then(serde_json::Value::as_str);
        let spec = EtcdBackupSpec::deserialize(&resource.spec);
        let age = |spec: EtcdBackupSpec| spec.backup_policy?.max_age_in_second;
        Self {
            run: run.map(str::to_owned),
            transfer,
            rehearsal: RehearsalHead::of(resource),
            taken_along: is_taken_along(resource),
            kept_by_age: spec.map_or(true, |spec| age(spec).is_some_and(|age| age > 0)),
        }
    }
}

/// Whether the resource is being deleted and its spec asks for all that it stored to go first.
#[must_use]
pub fn is_taken_along(resource: &Resource) -> bool {
    let spec = EtcdBackupSpec::deserialize(&resource.spec);
    resource.deleted.is_some() && spec.is_ok_and(|spec| spec.takes_stored_along())
}

/// Whether the effect may be had on a resource that is being deleted.
pub(crate) const fn is_of_the_end(effect: &Effect, is_taken_along: bool) -> bool {
    if matches!(effect, Effect::Schedule(ScheduleEffect::Release { .. })) {
        return true;
    }
    let Effect::Backup(effect) = effect else {
        return false;
    };
    match effect {
        BackupEffect::Release { .. } => true,
        BackupEffect::Delete { .. } | BackupEffect::EndRehearsal { .. } => is_taken_along,
        BackupEffect::UpdateStatus { .. }
        | BackupEffect::Take(_)
        | BackupEffect::Verify { .. }
        | BackupEffect::Rehearse(_)
        | BackupEffect::Hold { .. } => false,
    }
}

/// Judges an action on a backup by itself.
pub(crate) fn judge_backup(
    effect: &BackupEffect,
    action: &Action,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    let resource = &snapshot.resource;
    let spec = match EtcdBackupSpec::deserialize(&resource.spec) {
        Ok(spec) => spec,
        Err(error) if !effect_is_free(effect) => {
            refusals.push(Refusal::UnreadableSpec {
                why: error.to_string(),
            });
            return;
        }
        Err(_unreadable) => EtcdBackupSpec::default(),
    };
    match effect {
        BackupEffect::UpdateStatus { status } => {
            let is_once = !spec.is_periodic();
            if is_once && succeeded(resource) && !status.succeeded {
                refusals.push(BackupRefusal::Forgotten.into());
            }
            told::judge(status, &spec, snapshot, refusals);
        }
        BackupEffect::Take(Take {
            run,
            endpoint,
            key,
            within,
            witness: _,
        }) => {
            judge_run(run, *within, action, snapshot, refusals);
            judge_key(key, &spec, refusals);
            judge_overwriting(key, endpoint, &spec, snapshot, refusals);
            if !is_own_endpoint(endpoint, &spec, resource) {
                refusals.push(BackupRefusal::ForeignEndpoint(endpoint.clone()).into());
            }
        }
        BackupEffect::Verify { run, key, within } => {
            judge_run(run, *within, action, snapshot, refusals);
            judge_key(key, &spec, refusals);
        }
        BackupEffect::Delete { key } => {
            let is_own = Place::of(&spec).is_some_and(|place| {
                let is_the_one = !spec.is_periodic()
                    && *key == place.key
                    && succeeded(resource)
                    && is_taken_along(resource);
                is_the_one || BackupKey::of(key, &place.key).is_some()
            });
            if !is_own {
                refusals.push(BackupRefusal::ForeignKey(key.clone()).into());
            } else if !is_taken_along(resource) && !is_surplus(key, &spec, snapshot) {
                refusals.push(BackupRefusal::Kept(key.clone()).into());
            }
        }
        BackupEffect::Rehearse(wanted) => {
            rehearsal::judge(wanted, action, snapshot, &spec, refusals);
            judge_key(&wanted.key, &spec, refusals);
        }
        BackupEffect::EndRehearsal { run } => rehearsal::judge_run(run, action, refusals),
        BackupEffect::Hold { finalizer } => {
            if finalizer != STORED_FINALIZER || !spec.takes_stored_along() {
                refusals.push(BackupRefusal::ForeignFinalizer(finalizer.clone()).into());
            }
        }
        BackupEffect::Release { finalizer } => {
            let is_old = finalizer == OLD_FINALIZER && resource.deleted.is_some();
            let is_own = finalizer == STORED_FINALIZER
                && (resource.deleted.is_some() || !spec.takes_stored_along());
            if !is_old && !is_own {
                refusals.push(BackupRefusal::ForeignFinalizer(finalizer.clone()).into());
            }
        }
    }
}

/// Whether the effect does not depend on the spec.
const fn effect_is_free(effect: &BackupEffect) -> bool {
    matches!(
        effect,
        BackupEffect::UpdateStatus { .. } | BackupEffect::Release { .. }
    )
}

fn succeeded(resource: &Resource) -> bool {
    let succeeded = resource.status.get("succeeded");
    succeeded.and_then(serde_json::Value::as_bool) == Some(true)
}

fn judge_run(
    run: &str,
    within: Millis,
    action: &Action,
    snapshot: &Snapshot,
    refusals: &mut Vec<Refusal>,
) {
    if run.is_empty() || action.pre.run.as_deref() != Some(run) {
        refusals.push(Refusal::MissingPrecondition {
            effect: action.effect.name(),
            target: action.effect.target(),
            field: "run",
        });
    }
    judge_time(within, refusals);
    let transfer = snapshot
        .backup
        .as_ref()
        .and_then(|view| view.transfer.as_ref());
    if let Some(transfer) = transfer
        && matches!(transfer.state, TransferState::Running { .. })
    {
        refusals.push(BackupRefusal::UnderWay(transfer.run.clone()).into());
    }
}

fn judge_time(within: Millis, refusals: &mut Vec<Refusal>) {
    if within <= Millis(0) || within > LONGEST {
        refusals.push(BackupRefusal::Time(within).into());
    }
}

/// Exactly the key of the spec where the backup is taken once, else one that is made of it.
fn judge_key(key: &str, spec: &EtcdBackupSpec, refusals: &mut Vec<Refusal>) {
    let is_own = Place::of(spec).is_some_and(|place| {
        if spec.is_periodic() {
            BackupKey::of(key, &place.key).is_some()
        } else {
            key == place.key
        }
    });
    if !is_own {
        refusals.push(BackupRefusal::ForeignKey(key.to_owned()).into());
    }
}

/// One of the spec's URLs, or a member of the cluster that it names.
fn is_own_endpoint(endpoint: &str, spec: &EtcdBackupSpec, resource: &Resource) -> bool {
    let Some(cluster) = &spec.cluster_ref else {
        let urls = spec.etcd_endpoints.as_deref().unwrap_or_default();
        return urls.iter().any(|url| url == endpoint);
    };
    let rest = endpoint
        .strip_prefix("http://")
        .or_else(|| endpoint.strip_prefix("https://"));
    let suffix = format!(".{}.{}.svc", cluster.name, resource.namespace);
    let member = rest
        .and_then(|rest| rest.strip_suffix(":2379"))
        .and_then(|host| host.split_once(&suffix));
    // The host asks members at their names without a domain.
    let is_label = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    member.is_some_and(|(member, domain)| member.chars().all(is_label) && domain.is_empty())
}

/// Judges an effect on a backup against the world right before it.
pub(crate) fn check_backup(effect: &BackupEffect, fresh: &Fresh) -> Result<(), Refusal> {
    let head = &fresh.backup;
    match effect {
        BackupEffect::UpdateStatus { .. }
        | BackupEffect::Hold { .. }
        | BackupEffect::Release { .. } => Ok(()),
        BackupEffect::Take(Take { run, .. }) | BackupEffect::Verify { run, .. } => {
            if head.run.as_ref() != Some(run) {
                return Err(BackupRefusal::Unrecorded(run.clone()).into());
            }
            match &head.transfer {
                Some(other) => Err(BackupRefusal::UnderWay(other.clone()).into()),
                None => Ok(()),
            }
        }
        BackupEffect::Rehearse(wanted) => rehearsal::check(wanted, head),
        BackupEffect::EndRehearsal { run } => rehearsal::check_run(run, head),
        BackupEffect::Delete { key } => deletion::check(key, fresh),
    }
}

/// Whether the effect is one that this kind of resource has.
pub(crate) fn judge_kind(effect: &Effect, resource: &Resource, refusals: &mut Vec<Refusal>) {
    let is = |kind: ResourceKind| resource.kind == kind.name();
    let is_fit = match effect {
        Effect::Event { .. } => true,
        Effect::Backup(_) => is(ResourceKind::EtcdBackup),
        Effect::Restore(_) => is(ResourceKind::EtcdRestore),
        Effect::Schedule(_) => is(ResourceKind::EtcdBackupSchedule),
        Effect::UpdateStatus { .. }
        | Effect::Apply { .. }
        | Effect::AnnotatePod { .. }
        | Effect::TakeUpClaim { .. }
        | Effect::RetireReplicaSet { .. }
        | Effect::Peer(_)
        | Effect::SetImage { .. }
        | Effect::Delete { .. }
        | Effect::Issue { .. }
        | Effect::AddLearner { .. }
        | Effect::Promote { .. }
        | Effect::RemoveMember { .. }
        | Effect::UpdateMember { .. }
        | Effect::MoveLeader { .. }
        | Effect::Compact { .. }
        | Effect::Defragment { .. }
        | Effect::AppendNoop
        | Effect::Disarm { .. }
        | Effect::Downgrade { .. } => {
            !is(ResourceKind::EtcdBackup)
                && !is(ResourceKind::EtcdRestore)
                && !is(ResourceKind::EtcdBackupSchedule)
        }
    };
    if !is_fit {
        let other = BackupRefusal::OtherKind {
            effect: effect.name(),
            kind: resource.kind.clone(),
        };
        refusals.push(other.into());
    }
}

#[cfg(test)]
mod tests;
