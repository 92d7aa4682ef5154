//! Every judgement on an `EtcdRestore` by itself: whether its backup is one, and what its cluster has made of it.
//!
//! Touches no cluster. What becomes of one is the cluster's own decision ([`crate::step`]), which takes no backup that
//! was not proven here.
//!
//! # Flow
//! 1. `plan` turns the spec into a place, or says what is invalid.
//! 2. `prove` has the backup read from its first byte to its last, and remembers what it is.
//! 3. `follow` says what the cluster that it is for does about it, until the cluster is whole again.
//!
//! # Guarantees
//! One that has succeeded or failed is never run again. One that failed has restored nothing, and lost nothing.

mod follow;
mod make;
mod prove;

use std::collections::BTreeMap;

use contract::{
    Condition, Decision, Effect, EtcdRestoreSpec, EtcdRestoreStatus, EventType, Finding,
    FindingKind, Place, Reason, Resource, RestorationStage, RestoreEffect, RestorePhase, Snapshot,
};

use serde_json::Value;

use crate::course::{self, Told};
use crate::{store, stored};

type Course<'a> = course::Course<'a, EtcdRestoreStatus>;

impl Told for EtcdRestoreStatus {
    fn conditions(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }

    fn answer(&mut self, generation: i64) {
        self.observed_generation = Some(generation);
    }

    fn update(self) -> Effect {
        let status = Box::new(self);
        Effect::Restore(RestoreEffect::UpdateStatus { status })
    }
}

/// A restore that can be made.
struct Plan {
    place: Place,
    cluster: String,
    /// The spec of the cluster, where the restore makes it.
    template: Option<Value>,
}

/// Decides on a restore.
pub(crate) fn decide(snapshot: &Snapshot) -> Decision {
    let resource = &snapshot.resource;
    let memory =
        match stored::remembered(resource, "a restore that was made from one that is to be") {
            Ok(memory) => memory,
            Err(finding) => return Course::untold(snapshot, finding),
        };
    let mut course = Course::new(snapshot, &memory);
    if resource.deleted.is_some() {
        course.find(
            FindingKind::Note,
            Reason::Deleting,
            "The resource is being deleted; the backup stays in the store.",
        );
        return course.end();
    }
    if memory.is_over() {
        course.find(
            FindingKind::Note,
            Reason::AsSpecified,
            "It is over and is not run again. Create another EtcdRestore for another one.",
        );
        return course.end();
    }
    let begun = snapshot
        .restore
        .as_deref()
        .and_then(|view| follow::begun(resource, view));
    if let Some(one) = &begun {
        course.status.started_at.clone_from(&one.started_at);
    }
    let plan = match plan(resource) {
        Ok(plan) => plan,
        Err(invalid) => {
            let why = resource.dialect().in_its_words(invalid.message);
            if begun.is_some() {
                let words = format!(
                    "{why} Its cluster goes on from its backup already: correct the spec, or delete this EtcdRestore and \
                     create another one."
                );
                wait(
                    &mut course,
                    FindingKind::Blocked,
                    Reason::InvalidSpec,
                    words,
                );
            } else {
                fail(&mut course, why);
            }
            return course.end();
        }
    };
    course.past_failures();
    let Some(view) = snapshot.restore.as_deref() else {
        course.find(
            FindingKind::Blocked,
            Reason::RestoreWaiting,
            "This host shows nothing of restores; it is older than this module.",
        );
        return course.end();
    };
    // Until members are filled, an edited spec may name another backup: what counts is what it names then.
    let is_filled = begun.is_some_and(|one| one.stage != RestorationStage::Stopping);
    if is_filled || is_proven(resource, &memory) {
        follow::follow(&mut course, &plan, view);
    } else {
        prove::attend(&mut course, &plan, view);
    }
    course.end()
}

/// Whether what the spec names at this moment was read whole.
fn is_proven(resource: &Resource, memory: &EtcdRestoreStatus) -> bool {
    let proof = memory.proof.as_ref();
    proof.is_some_and(|proof| proof.generation == resource.generation)
}

fn plan(resource: &Resource) -> Result<Plan, Finding> {
    let invalid = |message| Finding {
        kind: FindingKind::Invalid,
        reason: Reason::InvalidSpec,
        message,
        member: None,
    };
    let spec: EtcdRestoreSpec = stored::spec(&resource.spec).map_err(invalid)?;
    if spec.etcd_cluster.name.is_empty() {
        return Err(invalid(
            "spec.etcdCluster.name does not say which EtcdCluster goes on from the backup. Set it."
                .to_owned(),
        ));
    }
    if let Some(bump) = spec.bump_revision.filter(|bump| *bump < 0) {
        return Err(invalid(format!(
            "spec.bumpRevision {bump} is negative. Leave it out or set it to 0 or more."
        )));
    }
    // A member of a cluster fetches the backup with a Secret of its own namespace: the operator's own does not get there.
    let place = store::place(&spec.source(), "backupStorageType", &BTreeMap::new())?;
    Ok(Plan {
        place,
        cluster: spec.etcd_cluster.name,
        template: spec.cluster_template,
    })
}

/// Ends a restore before members are filled.
fn fail(course: &mut Course<'_>, why: String) {
    course.status.reason.clone_from(&why);
    course.status.phase = RestorePhase::Failed;
    course.status.run = None;
    let why = why.trim_end_matches('.');
    let what = if course.status.started_at.is_some() {
        "Nothing was restored and nothing is lost"
    } else {
        "Nothing was restored and nothing was touched"
    };
    let words = format!(
        "{what}: {why}. It is not tried again: correct what is wrong and create another EtcdRestore."
    );
    course.tell(EventType::Warning, Reason::RestoreFailed, words.clone());
    course.find(FindingKind::Blocked, Reason::RestoreFailed, words);
}

/// Waits for what may pass by itself or what a person may do.
fn wait(course: &mut Course<'_>, kind: FindingKind, reason: Reason, words: String) {
    course.find(kind, reason, words);
    course.look_again(course::LATER, reason);
}
