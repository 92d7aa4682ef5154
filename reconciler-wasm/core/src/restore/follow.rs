//! Says what the cluster does about a backup that is proven, until it is whole again.
//!
//! The cluster decides; its words are repeated here, where the person looks who asked for it.

use contract::{
    EtcdClusterStatus, EventType, FindingKind, Observed, Reason, Resource, Restoration,
    RestorationStage, RestorePhase, RestoreView,
};

use super::{Course, Plan, make, wait};
use crate::{clock, stored};

/// The condition of a cluster that tells of its restoration.
const RECOVERING: &str = "Recovering";

/// How far the cluster is with this very EtcdRestore; none before it has begun.
pub(super) fn begun(resource: &Resource, view: &RestoreView) -> Option<Restoration> {
    let status = view.cluster.seen().and_then(|cluster| status(cluster))?;
    let own = status.restoration.filter(|one| one.uid == resource.uid);
    own.filter(|one| one.stage != RestorationStage::Waiting)
}

fn status(cluster: &Resource) -> Option<EtcdClusterStatus> {
    stored::read(&cluster.status).ok()
}

/// Repeats what the cluster says, and ends when it is whole.
pub(super) fn follow(course: &mut Course<'_>, plan: &Plan, view: &RestoreView) {
    course.status.phase = RestorePhase::Waiting;
    let name = &plan.cluster;
    let held = |course: &mut Course<'_>, words: String| {
        wait(course, FindingKind::Waiting, Reason::RestoreWaiting, words);
    };
    let cluster = match &view.cluster {
        Observed::Seen(cluster) => cluster,
        Observed::Absent if plan.template.is_some() => {
            make::make(course, plan, view);
            return;
        }
        Observed::Absent => {
            held(
                course,
                format!(
                    "The backup is whole. EtcdCluster {name} does not exist; when it is created it is born from the \
                     backup."
                ),
            );
            return;
        }
        Observed::Unknown(why) => {
            held(
                course,
                format!("EtcdCluster {name} could not be read: {why}."),
            );
            return;
        }
    };
    if make::is_anothers(course, plan, cluster) {
        return;
    }
    let Some(status) = status(cluster).filter(|_| !cluster.status.is_null()) else {
        held(
            course,
            format!("The backup is whole; EtcdCluster {name} has not been looked at yet."),
        );
        return;
    };
    match &status.restoration {
        Some(one) if one.uid == course.snapshot.resource.uid => {
            follow_own(course, plan, &status, one);
        }
        Some(other) if other.stage != RestorationStage::Done => held(
            course,
            format!(
                "The backup is whole. EtcdCluster {name} is with EtcdRestore {0} first. If that one is not wanted any \
                 more: kubectl --namespace {1} delete etcdrestore {0}",
                other.restore, course.snapshot.resource.namespace
            ),
        ),
        Some(_) | None => held(
            course,
            format!(
                "The backup is whole; EtcdCluster {name} has not begun yet{}.",
                if status.control_paused {
                    ", because its spec.paused is true"
                } else {
                    ""
                }
            ),
        ),
    }
}

fn follow_own(
    course: &mut Course<'_>,
    plan: &Plan,
    status: &EtcdClusterStatus,
    restoration: &Restoration,
) {
    let condition = status
        .conditions
        .iter()
        .find(|condition| condition.kind == RECOVERING);
    let words = condition.map_or_else(
        || format!("EtcdCluster {} is at it.", plan.cluster),
        |condition| condition.message.clone(),
    );
    match restoration.stage {
        RestorationStage::Waiting => {
            wait(course, FindingKind::Blocked, Reason::RestoreWaiting, words);
        }
        RestorationStage::Stopping | RestorationStage::Filling | RestorationStage::Growing => {
            course.status.phase = RestorePhase::Restoring;
            wait(course, FindingKind::Doing, Reason::Restoring, words);
        }
        RestorationStage::Done => succeed(course, plan, restoration),
    }
}

fn succeed(course: &mut Course<'_>, plan: &Plan, restoration: &Restoration) {
    let time = |text: &Option<String>| text.as_deref().and_then(clock::read);
    let took = time(&restoration.started_at)
        .zip(time(&restoration.ended_at))
        .map(|(began, ended)| ended.since(began).0 / 1000);
    let revision = course
        .status
        .proof
        .as_ref()
        .map_or(0, |proof| proof.etcd_revision);
    course.status.succeeded = true;
    course.status.phase = RestorePhase::Succeeded;
    course.status.duration_seconds = took;
    let words = format!(
        "EtcdCluster {} has its full size again, with all keys of the backup up to revision {revision}.",
        plan.cluster
    );
    course.tell(EventType::Normal, Reason::Restored, words.clone());
    course.find(FindingKind::Note, Reason::Restored, words);
}
