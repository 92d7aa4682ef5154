//! One run: begun when all it needs is there, attended until what it stored was read back, resumed after a crash.
//!
//! # Flow
//! 1. `begin` writes the run into the status and lets the host stream.
//! 2. `attend` sees how the host gets on. A host that knows nothing of the run was restarted: if the store has the run's
//!    object it is read back and counts, else a fresh run begins.
//! 3. A failure that may pass is tried again while there is patience; any other ends the run.

use contract::{
    BackupEffect, BackupKey, BackupRun, BackupView, Effect, EventType, Finding, FindingKind,
    Millis, Observed, Reason, Stored, Take, Transfer, TransferState,
};

use super::course::Course;
use super::plan::Plan;
use super::{schedule, source};
use crate::entropy::Entropy;
use crate::{clock, pre, store};

/// How soon to look again while something is waited for.
pub(super) const LATER: Millis = Millis::seconds(2);
/// How often progress is written.
const PROGRESS: Millis = Millis::seconds(5);
/// The files that a client's certificate is made of.
const TLS_KEYS: [&[&str]; 3] = [
    &["etcd-client.crt", "tls.crt"],
    &["etcd-client.key", "tls.key"],
    &["etcd-client-ca.crt", "ca.crt"],
];

/// Refuses a spec that cannot be followed.
pub(super) fn refuse(course: &mut Course<'_>, invalid: Finding) {
    if !course.status.is_over() {
        course.status.reason.clone_from(&invalid.message);
        course.tell(
            EventType::Warning,
            Reason::BackupFailed,
            format!("Nothing was stored: {}", invalid.message),
        );
    }
    course.find(invalid.kind, invalid.reason, invalid.message);
}

/// Begins a run, or says what it waits for.
pub(super) fn begin(course: &mut Course<'_>, plan: &Plan, view: &BackupView) {
    if let Some((reason, why)) = why_not_ready(course, plan) {
        wait(course, plan, reason, why);
        return;
    }
    let source = match source::choose(view, plan.cluster.as_deref()) {
        Ok(source) => source,
        Err(why) => {
            wait(course, plan, Reason::BackupWaiting, why);
            return;
        }
    };
    let now = course.now();
    let key = match plan.rhythm {
        None => plan.place.key.clone(),
        Some(_) => BackupKey {
            revision: source.revision,
            at: clock::stamp(now),
        }
        .name(&plan.place.key),
    };
    let run = BackupRun {
        id: Entropy::of(course.snapshot).token(),
        key: key.clone(),
        endpoint: source.url.to_owned(),
        etcd_version: source.status.version.clone(),
        etcd_revision: source.revision,
        started_at: clock::spell(now),
        ..BackupRun::default()
    };
    let take = Take {
        run: run.id.clone(),
        endpoint: run.endpoint.clone(),
        key,
        within: plan.within,
        witness: plan.rehearsals.is_some(),
    };
    course.find(
        FindingKind::Doing,
        Reason::BackupUnderWay,
        format!(
            "Streaming revision {} of etcd {} from {} to {} {}/{}.",
            run.etcd_revision,
            run.etcd_version,
            run.endpoint,
            plan.place.store,
            plan.place.bucket,
            run.key
        ),
    );
    course.status.run = Some(run);
    push(course, BackupEffect::Take(take));
    schedule::advance_if_due(course, plan);
    course.look_again(LATER, Reason::BackupUnderWay);
}

/// An effect of the run in the status.
fn push(course: &mut Course<'_>, effect: BackupEffect) {
    let mut action = pre::action(&course.snapshot.resource, Effect::Backup(effect));
    action.pre.run = course.status.run.as_ref().map(|run| run.id.clone());
    course.actions.push(action);
}

/// What is missing of the Secrets.
fn why_not_ready(course: &Course<'_>, plan: &Plan) -> Option<(Reason, String)> {
    let tls = plan.tls.as_deref();
    why_no_store(course, plan)
        .or_else(|| tls.and_then(|name| store::why_incomplete(course.snapshot, name, &TLS_KEYS)))
}

/// What is missing of the store's Secret.
pub(super) fn why_no_store(course: &Course<'_>, plan: &Plan) -> Option<(Reason, String)> {
    let place = &plan.place;
    store::why_incomplete(course.snapshot, &place.secret, place.store.secret_keys())
}

/// Attends the run in the status.
pub(super) fn attend(course: &mut Course<'_>, plan: &Plan, view: &BackupView, run: &BackupRun) {
    let own = view
        .transfer
        .as_ref()
        .filter(|transfer| transfer.run == run.id);
    let Some(Transfer { run: _, state }) = own else {
        resume(course, plan, view, run);
        return;
    };
    match state {
        TransferState::Running {
            bytes,
            bytes_per_second,
            trouble,
        } => {
            let trouble = trouble.as_ref();
            let but = trouble.map_or_else(String::new, |why| format!(" It is tried again: {why}."));
            course.find(
                FindingKind::Doing,
                Reason::BackupUnderWay,
                format!("The backup {} is being stored and read back.{but}", run.key),
            );
            progress(course, *bytes, *bytes_per_second);
            course.look_again(PROGRESS, Reason::BackupUnderWay);
        }
        TransferState::Done(stored) => succeed(course, plan, run, stored),
        TransferState::Failed {
            why,
            permanent: true,
        } => fail(course, plan, why.clone()),
        TransferState::Failed {
            why,
            permanent: false,
        } => {
            course.status.run = None;
            wait(course, plan, Reason::BackupWaiting, why.clone());
        }
    }
}

fn progress(course: &mut Course<'_>, bytes: i64, bytes_per_second: i64) {
    let now = course.now();
    let Some(run) = &mut course.status.run else {
        return;
    };
    let written = run.progress_at.as_deref().unwrap_or(&run.started_at);
    let is_time = clock::read(written).is_none_or(|at| at > now || now.since(at) >= PROGRESS);
    if is_time && bytes != run.bytes {
        run.bytes = bytes;
        run.bytes_per_second = bytes_per_second;
        run.progress_at = Some(clock::spell(now));
    }
}

/// Goes on after a restart of the host: what the run stored counts if it can be read back, else it begins anew.
fn resume(course: &mut Course<'_>, plan: &Plan, view: &BackupView, run: &BackupRun) {
    let stored = match &view.stored {
        Observed::Seen(stored) => stored.as_slice(),
        Observed::Absent => &[],
        Observed::Unknown(why) => {
            let why = format!("whether the run before was stored is not known: {why}");
            wait(course, plan, Reason::BackupWaiting, why);
            return;
        }
    };
    // A periodic name is one run's alone; the other one may be an older backup's.
    let is_own = |id: &Option<String>| plan.rhythm.is_some() || id.as_ref() == Some(&run.id);
    let is_stored = stored
        .iter()
        .any(|object| object.key == run.key && is_own(&object.run));
    if is_stored {
        course.find(
            FindingKind::Doing,
            Reason::BackupUnderWay,
            format!(
                "The operator was restarted during the run; the store has {}, which is read back.",
                run.key
            ),
        );
        push(
            course,
            BackupEffect::Verify {
                run: run.id.clone(),
                key: run.key.clone(),
                within: plan.within,
            },
        );
        course.look_again(LATER, Reason::BackupUnderWay);
    } else {
        course.status.run = None;
        begin(course, plan, view);
    }
}

fn succeed(course: &mut Course<'_>, plan: &Plan, run: &BackupRun, stored: &Stored) {
    let now = course.now();
    let path = format!("{}/{}", plan.place.bucket, run.key);
    let status = &mut course.status;
    status.succeeded = true;
    status.reason = String::new();
    status.etcd_version.clone_from(&run.etcd_version);
    status.etcd_revision = run.etcd_revision;
    status.last_success_date = Some(clock::spell(now));
    status.path = Some(path.clone());
    status.size_bytes = Some(stored.bytes);
    status.sha256 = Some(stored.sha256.clone());
    status.duration_milliseconds = Some(stored.took.0);
    status.contents.clone_from(&stored.contents);
    status.run = None;
    status.waiting_since = None;
    status.missed = 0;
    let words = format!(
        "Revision {} of etcd {} is stored as {path} and was read back whole: {} bytes, sha-256 {}.",
        run.etcd_revision, run.etcd_version, stored.bytes, stored.sha256
    );
    course.tell(EventType::Normal, Reason::BackupStored, words.clone());
    course.find(FindingKind::Note, Reason::BackupStored, words);
    if plan.rhythm.is_some() {
        course.look_again(Millis(0), Reason::BackupStored);
    }
}

/// Waits for what may pass by itself, as long as there is patience.
fn wait(course: &mut Course<'_>, plan: &Plan, reason: Reason, why: String) {
    let now = course.now();
    let since = course.status.waiting_since.as_deref().and_then(clock::read);
    // What a wrong clock told does not count.
    let since = since.filter(|since| *since <= now);
    if since.is_some_and(|since| now.since(since) >= plan.patience) {
        fail(course, plan, why);
        return;
    }
    if since.is_none() {
        course.status.waiting_since = Some(clock::spell(now));
    }
    course.find(
        FindingKind::Waiting,
        reason,
        format!(
            "The backup waits: {why}. It is tried for {} s.",
            plan.patience.0 / 1000
        ),
    );
    course.look_again(LATER, reason);
}

fn fail(course: &mut Course<'_>, plan: &Plan, why: String) {
    course.status.succeeded = false;
    course.status.reason.clone_from(&why);
    course.status.last_failure_date = Some(clock::spell(course.now()));
    course.status.run = None;
    course.status.waiting_since = None;
    let after = if plan.rhythm.is_some() {
        schedule::advance_if_due(course, plan);
        "The next one is taken at its time."
    } else {
        "It is not tried again: correct what is wrong and create another EtcdBackup."
    };
    let words = format!("No backup was stored: {why}. {after}");
    course.tell(EventType::Warning, Reason::BackupFailed, words.clone());
    course.find(FindingKind::Blocked, Reason::BackupFailed, words);
    if plan.rhythm.is_some() {
        course.look_again(LATER, Reason::BackupFailed);
    }
}
