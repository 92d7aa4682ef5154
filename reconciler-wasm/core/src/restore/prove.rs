//! Proves a backup: it is read whole, and etcd's own hash must fit, before anything else is asked.
//!
//! What may pass is waited for. What the store or the bytes say for good ends the restore.

use contract::{
    Effect, EventType, FindingKind, Millis, ProofRun, Reason, RestoreEffect, RestorePhase,
    RestoreView, SnapshotProof, Stored, Transfer, TransferState,
};

use super::{Course, Plan, fail, wait};
use crate::course::LATER;
use crate::entropy::Entropy;
use crate::{clock, pre, store};

/// How long the reading may take. What hangs is noticed earlier.
const WITHIN: Millis = Millis::seconds(3600);
/// How soon it is read again after it came to nothing.
const AGAIN: Millis = Millis::seconds(10);

/// Begins to read the backup, or sees how the reading gets on.
pub(super) fn attend(course: &mut Course<'_>, plan: &Plan, view: &RestoreView) {
    course.status.phase = RestorePhase::Proving;
    let run = course.status.run.clone();
    let own = view
        .transfer
        .as_ref()
        .zip(run.as_ref())
        .filter(|(transfer, run)| transfer.run == run.id)
        .map(|(Transfer { run: _, state }, _)| state);
    match own {
        Some(TransferState::Running {
            trouble: Some(why), ..
        }) => wait(
            course,
            FindingKind::Waiting,
            Reason::RestoreWaiting,
            format!(
                "The backup is being read, and nothing is touched before it was: {why}. It is tried again."
            ),
        ),
        Some(TransferState::Running { trouble: None, .. }) => wait(
            course,
            FindingKind::Doing,
            Reason::ProvingSnapshot,
            "The backup is being read from its first byte to its last; nothing is touched before."
                .to_owned(),
        ),
        Some(TransferState::Done(stored)) => succeed(course, plan, view, stored),
        Some(TransferState::Failed {
            why,
            permanent: true,
        }) => fail(course, why.clone()),
        Some(TransferState::Failed {
            why,
            permanent: false,
        }) => pause(course, plan, why),
        // None of this host: it was restarted, or the spec names something else since.
        None => begin(course, plan),
    }
}

fn begin(course: &mut Course<'_>, plan: &Plan) {
    course.status.run = None;
    let place = &plan.place;
    let missing = store::why_incomplete(course.snapshot, &place.secret, place.store.secret_keys());
    if let Some((reason, why)) = missing {
        hold(course, reason, &why);
        return;
    }
    let path = format!("{} {}/{}", place.store, place.bucket, place.key);
    let run = ProofRun {
        id: Entropy::of(course.snapshot).token(),
        started_at: clock::spell(course.now()),
        failed_at: None,
    };
    let effect = Effect::Restore(RestoreEffect::Prove {
        run: run.id.clone(),
        key: place.key.clone(),
        within: WITHIN,
    });
    let mut action = pre::action(&course.snapshot.resource, effect);
    action.pre.run = Some(run.id.clone());
    course.actions.push(action);
    course.status.run = Some(run);
    course.find(
        FindingKind::Doing,
        Reason::ProvingSnapshot,
        format!("Reading {path} from its first byte to its last; nothing is touched before."),
    );
    course.look_again(LATER, Reason::ProvingSnapshot);
}

/// A reason that may pass stands in the status until the next attempt.
fn pause(course: &mut Course<'_>, plan: &Plan, why: &str) {
    let now = course.now();
    let Some(run) = &mut course.status.run else {
        return;
    };
    let failed_at = run.failed_at.get_or_insert_with(|| clock::spell(now));
    if clock::read(failed_at).is_none_or(|failed| now < failed || now.since(failed) >= AGAIN) {
        begin(course, plan);
        return;
    }
    hold(course, Reason::RestoreWaiting, why);
}

fn hold(course: &mut Course<'_>, reason: Reason, why: &str) {
    wait(
        course,
        FindingKind::Waiting,
        reason,
        format!("The backup could not be read yet, and nothing is touched before it was: {why}."),
    );
}

fn succeed(course: &mut Course<'_>, plan: &Plan, view: &RestoreView, stored: &Stored) {
    let Some(content) = &stored.content else {
        fail(course, "what is stored holds no data of etcd".to_owned());
        return;
    };
    let path = format!("{}/{}", plan.place.bucket, plan.place.key);
    let of = if content.version.is_empty() {
        "etcd".to_owned()
    } else {
        format!("etcd {}", content.version)
    };
    course.tell(
        EventType::Normal,
        Reason::ProvingSnapshot,
        format!(
            "{path} is whole: revision {} of {of}, {} bytes, sha-256 {}",
            content.revision, stored.bytes, stored.sha256
        ),
    );
    let proven_at = clock::spell(course.now());
    let generation = course.snapshot.resource.generation;
    course.status.run = None;
    course.status.proof = Some(SnapshotProof {
        path,
        size_bytes: stored.bytes,
        sha256: stored.sha256.clone(),
        etcd_revision: content.revision,
        etcd_version: content.version.clone(),
        proven_at,
        generation,
    });
    super::follow::follow(course, plan, view);
}
