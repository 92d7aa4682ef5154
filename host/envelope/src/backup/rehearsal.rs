//! What may at most be tried of a backup: one that is its own, when the spec asks for it and no pod of a rehearsal is there,
//! under a rehearsal that the status holds, with the operator's own image and etcd's.
//!
//! What the pod may do is the host's, which makes it. Shares no code with the reconciler.

use contract::{Action, EtcdBackupSpec, Observed, RehearsalRun, Rehearse, Resource, Snapshot};
use semver::Version;
use serde::Deserialize;

use super::{BackupHead, BackupRefusal, judge_time};
use crate::Refusal;

const DEFAULT_REPOSITORY: &str = "quay.io/coreos/etcd";

/// What counts of `status.rehearsalRun` immediately before an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RehearsalHead {
    /// Its id.
    pub run: String,
    /// The stored backup that is restored.
    pub key: String,
    /// The sha-256 that this must have.
    pub sha256: String,
    /// It has ended, and its pod is being deleted.
    pub over: bool,
}

impl RehearsalHead {
    /// Takes what counts out of a resource.
    #[must_use]
    pub fn of(resource: &Resource) -> Option<Self> {
        let run = resource.status.get("rehearsalRun")?;
        let run = RehearsalRun::deserialize(run).ok()?;
        Some(Self {
            run: run.id,
            key: run.key,
            sha256: run.sha256,
            over: run.over,
        })
    }
}

pub(super) fn judge(
    wanted: &Rehearse,
    action: &Action,
    snapshot: &Snapshot,
    spec: &EtcdBackupSpec,
    refusals: &mut Vec<Refusal>,
) {
    judge_run(&wanted.run, action, refusals);
    judge_time(wanted.within, refusals);
    let why = why_not_now(wanted, snapshot, spec);
    refusals.extend(why.map(|why| BackupRefusal::NotTried(why).into()));
    // The repository of another cluster than the spec's says nothing.
    let repository = snapshot
        .backup
        .as_ref()
        .and_then(|view| view.repository.as_deref())
        .filter(|name| spec.cluster_ref.is_some() && !name.is_empty());
    let version = wanted
        .image
        .strip_prefix(repository.unwrap_or(DEFAULT_REPOSITORY))
        .and_then(|tag| tag.strip_prefix(":v"));
    if version.is_none_or(|version| Version::parse(version).is_err()) {
        refusals.push(BackupRefusal::ForeignImage(wanted.image.clone()).into());
    }
    if snapshot.operator_image.as_ref() != Some(&wanted.operator_image) {
        refusals.push(BackupRefusal::ForeignImage(wanted.operator_image.clone()).into());
    }
}

/// One that the status holds already may come to its pod late, also when the spec has changed its mind since.
fn why_not_now(
    wanted: &Rehearse,
    snapshot: &Snapshot,
    spec: &EtcdBackupSpec,
) -> Option<&'static str> {
    let Some(known) = RehearsalHead::of(&snapshot.resource) else {
        return (!spec.rehearses()).then_some("spec.backupPolicy.verify does not ask for it");
    };
    if known.run != wanted.run {
        return Some("another rehearsal is under way");
    }
    let pod = snapshot.backup.as_ref().map(|view| &view.rehearsal);
    match pod {
        _ if known.over => Some("it has ended"),
        Some(Observed::Absent) => None,
        Some(Observed::Seen(_)) => Some("its pod is there already"),
        Some(Observed::Unknown(_)) | None => Some("nobody knows whether its pod is there"),
    }
}

/// The run is a name that fits into a pod's, and the precondition is about it.
pub(super) fn judge_run(run: &str, action: &Action, refusals: &mut Vec<Refusal>) {
    let is_name = (1..=32).contains(&run.len())
        && run
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    if !is_name || action.pre.run.as_deref() != Some(run) {
        refusals.push(Refusal::MissingPrecondition {
            effect: action.effect.name(),
            target: action.effect.target(),
            field: "run",
        });
    }
}

/// The status holds this very rehearsal, and it is not over.
pub(super) fn check(wanted: &Rehearse, head: &BackupHead) -> Result<(), Refusal> {
    let own = head.rehearsal.as_ref().filter(|head| {
        !head.over
            && head.run == wanted.run
            && head.key == wanted.key
            && head.sha256 == wanted.sha256
    });
    match own {
        Some(_) => Ok(()),
        None => Err(BackupRefusal::Unrecorded(wanted.run.clone()).into()),
    }
}

pub(super) fn check_run(run: &str, head: &BackupHead) -> Result<(), Refusal> {
    match &head.rehearsal {
        Some(head) if head.run == run => Ok(()),
        Some(_) | None => Err(BackupRefusal::Unrecorded(run.to_owned()).into()),
    }
}
